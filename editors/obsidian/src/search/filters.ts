/** Completion of the filter before the cursor of a query. */

import type { Completion } from "../daemon/protocol";

/** A text that replaces the `replaced` characters before the cursor, and its meaning. */
export interface Suggestion {
	text: string;
	replaced: number;
	about: string;
}

/** The sources of names: the daemon, and Obsidian for folders and extensions. */
export interface Names {
	complete(kind: "tag" | "property" | "value" | "note" | "heading", text: string, property?: string): Promise<Completion[]>;
	folders(): string[];
	extensions(): string[];
}

/** A filter: its beginning, and the possible continuations. */
interface Filter {
	/** The last group is the text typed so far; for a value, the group before is the property. */
	pattern: RegExp;
	offer(names: Names, typed: string, property: string): Promise<Suggestion[]>;
}

const MOST = 12;
/** The kinds of files that the daemon reads, as docs/files.md names them. */
const KINDS = ["note", "canvas", "base", "excalidraw", "text", "org", "html", "pdf", "image", "session"];
/** Characters that end a property's value, or give it a meaning other than plain text. */
const MEANS_MORE = /[[\]()"]|\sOR\s|^[<>/]|^null$/;
const PERIODS = ["yesterday", '"last week"', '"last month"', "7d", '"3 months"'];

const FILTERS: readonly Filter[] = [
	{
		pattern: /(?:^|[\s(])-?tag:#?([^\s()]*)$/i,
		offer: async (names, typed) => named(await names.complete("tag", typed), typed, (text) => text),
	},
	{
		pattern: /(?:^|[\s(])-?\[([^\]:]+):("[^"]*|[^\]]*)$/,
		offer: async (names, typed, property) => {
			const values = await names.complete("value", bare(typed), property);
			return named(values.filter((each) => !each.text.includes("\n")), typed, (text) => `${MEANS_MORE.test(text) ? inQuotes(text) : text}]`);
		},
	},
	{
		pattern: /(?:^|[\s(])-?\[([^\]:]*)$/,
		offer: async (names, typed) => named(await names.complete("property", typed), typed, (text) => `${text}:`),
	},
	{ pattern: operator("link"), offer: async (names, typed) => named(await names.complete("note", bare(typed)), typed, quoted) },
	{
		pattern: operator("heading"),
		offer: async (names, typed) => named(await names.complete("heading", bare(typed)), typed, quoted),
	},
	{ pattern: operator("path"), offer: async (names, typed) => folders(names.folders(), typed) },
	{ pattern: operator("kind"), offer: async (_, typed) => words(KINDS, typed, "kind of file") },
	{ pattern: operator("ext"), offer: async (names, typed) => words(names.extensions(), typed, "extension") },
	{ pattern: operator("created|modified|before|after"), offer: async (_, typed) => words(PERIODS, typed, "date") },
];

/** Return completions for the end of `before`, the part of the query before the cursor; likeliest first. */
export async function suggest(before: string, names: Names): Promise<Suggestion[]> {
	for (const filter of FILTERS) {
		const match = filter.pattern.exec(before);
		if (match) {
			const typed = match.at(-1) ?? "";
			const suggestions = await filter.offer(names, typed, match[1] ?? "");
			return suggestions.filter((each) => each.text !== typed);
		}
	}
	return [];
}

/** Return a value as written after an operator. */
export function quoted(value: string): string {
	return /[\s()"]/.test(value) ? inQuotes(value) : value;
}

function inQuotes(value: string): string {
	return `"${value.replace(/"/g, '\\"')}"`;
}

/** Return a query from a filter and all the words that it narrows. */
export function narrowed(filter: string, query: string): string {
	const alternatives = /\bOR\b/.test(query.replace(/"(?:\\.|[^"\\])*("|$)/g, ""));
	return alternatives ? `${filter} (${query})` : `${filter} ${query}`;
}

/** Return the expression for an operator followed by a word or an open quote. */
function operator(name: string): RegExp {
	return new RegExp(`(?:^|[\\s(])-?(?:${name}):("[^"]*|[^\\s()"]*)$`, "i");
}

function bare(typed: string): string {
	return typed.replace(/^"/, "");
}

function named(items: Completion[], typed: string, written: (text: string) => string): Suggestion[] {
	return items.slice(0, MOST).map((item) => ({
		text: written(item.text.replace(/^#/, "")),
		replaced: typed.length,
		about: item.count ? `${item.count} ${item.count === 1 ? "note" : "notes"}` : (item.path ?? ""),
	}));
}

function words(all: readonly string[], typed: string, about: string): Suggestion[] {
	const part = bare(typed).toLocaleLowerCase();
	const matching = all.filter((word) => bare(word).toLocaleLowerCase().startsWith(part));
	return matching.slice(0, MOST).map((text) => ({ text, replaced: typed.length, about }));
}

function folders(all: string[], typed: string): Suggestion[] {
	const part = bare(typed).toLocaleLowerCase();
	const matching = all.filter((folder) => folder !== "/" && folder.toLocaleLowerCase().includes(part));
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
