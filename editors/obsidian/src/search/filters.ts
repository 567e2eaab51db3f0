/** Completion of the filter that stands before the cursor of a query. */

import type { Completion } from "../daemon/protocol";

/** A text for the query in place of the `replaced` characters before the cursor, and what it stands for. */
export interface Suggestion {
	text: string;
	replaced: number;
	about: string;
}

/** The sources of names: the daemon, and Obsidian for folders. */
export interface Names {
	complete(kind: "tag" | "property" | "value" | "note", text: string, property?: string): Promise<Completion[]>;
	folders(): string[];
}

const TAG = /(?:^|[\s(])-?tag:#?([^\s()]*)$/;
const VALUE = /(?:^|[\s(])-?\[([^\]:]+):([^\]]*)$/;
const PROPERTY = /(?:^|[\s(])-?\[([^\]:]*)$/;
const LINK = /(?:^|[\s(])-?link:("[^"]*|[^\s()"]*)$/;
const PATH = /(?:^|[\s(])-?path:("[^"]*|[^\s()"]*)$/;
const MOST = 12;

/** Return what may be meant by the end of `before`, the part of the query before the cursor; likeliest first. */
export async function suggest(before: string, names: Names): Promise<Suggestion[]> {
	let match: RegExpExecArray | null;
	if ((match = TAG.exec(before))) {
		return named(await names.complete("tag", match[1] ?? ""), match[1] ?? "", (text) => text);
	}
	if ((match = VALUE.exec(before))) {
		const items = await names.complete("value", match[2] ?? "", match[1]);
		return named(items, match[2] ?? "", (text) => `${text}]`);
	}
	if ((match = PROPERTY.exec(before))) {
		return named(await names.complete("property", match[1] ?? ""), match[1] ?? "", (text) => `${text}:`);
	}
	if ((match = LINK.exec(before))) {
		const items = await names.complete("note", unquoted(match[1] ?? ""));
		return named(items, match[1] ?? "", quoted);
	}
	if ((match = PATH.exec(before))) {
		return folders(names.folders(), match[1] ?? "");
	}
	return [];
}

/** Return a value as it is written behind an operator. */
export function quoted(value: string): string {
	return /[\s()"]/.test(value) ? `"${value.replace(/"/g, '\\"')}"` : value;
}

function unquoted(typed: string): string {
	return typed.replace(/^"/, "");
}

function named(items: Completion[], typed: string, written: (text: string) => string): Suggestion[] {
	return items.slice(0, MOST).map((item) => ({
		text: written(item.text.replace(/^#/, "")),
		replaced: typed.length,
		about: item.count ? `${item.count} ${item.count === 1 ? "note" : "notes"}` : (item.path ?? ""),
	}));
}

function folders(all: string[], typed: string): Suggestion[] {
	const part = unquoted(typed).toLocaleLowerCase();
	const matching = all.filter((folder) => folder.toLocaleLowerCase().includes(part));
	matching.sort((one, other) => startsWith(other, part) - startsWith(one, part) || one.localeCompare(other));
	return matching.slice(0, MOST).map((folder) => ({
		text: quoted(`${folder}/`),
		replaced: typed.length,
		about: "folder",
	}));
}

function startsWith(folder: string, part: string): number {
	return folder.toLocaleLowerCase().startsWith(part) ? 1 : 0;
}
