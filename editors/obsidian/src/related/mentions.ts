/** Lines of other notes that mention the active note without a link, and the button that links them. */

import { type EditorPosition, Notice, type TFile } from "obsidian";
import type { Context } from "../context";
import type { Mention, Unlinked } from "../daemon/protocol";
import { openPassage } from "../notes/open";
import { linkTo } from "../notes/links";
import { appendMarked, count, shown } from "../text";

const MOST = 50;

/** Request the mentions of a note. */
export function askMentions(context: Context, file: TFile, signal: AbortSignal): Promise<Unlinked> {
	return context.ask("links/unlinked", { note: context.notes.name(file), limit: MOST }, signal);
}

/** Mentions turned into links here. The daemon learns of them when Obsidian saves their notes. */
export class Linked {
	private readonly places = new Set<string>();
	/** The note that was last opened for one. */
	file: TFile | null = null;

	add(mention: Mention): void {
		this.places.add(`${mention.line} ${mention.path}`);
	}

	has(mention: Mention): boolean {
		return this.places.has(`${mention.line} ${mention.path}`);
	}
}

/** Draw the mentions of `target` into `el`, without mentions that have become links. */
export function drawMentions(el: HTMLElement, context: Context, target: TFile, unlinked: Unlinked, linked: Linked): void {
	const mentions = unlinked.mentions.filter((mention) => !linked.has(mention));
	if (mentions.length === 0) {
		return;
	}
	const total = unlinked.total - (unlinked.mentions.length - mentions.length);
	el.createDiv({ cls: "vaultseek-section", text: `${count(total, "mention")} without a link` });
	for (const mention of mentions) {
		const row = el.createDiv({ cls: "vaultseek-mention" });
		row.createDiv({ cls: "vaultseek-result-title", text: shown(mention.title), attr: { dir: "auto" } });
		const text = row.createDiv({ cls: "vaultseek-excerpt", attr: { dir: "auto" } });
		drawMention(text, mention);
		const place = { path: mention.path, line: mention.line };
		row.addEventListener("click", () => void context.open(unlinked, place, false));
		const button = row.createEl("button", { cls: "vaultseek-link-button", text: "Link" });
		button.setAttrs({ "aria-label": "Turn the mention into a link in the editor" });
		button.addEventListener("click", (event) => {
			event.stopPropagation();
			linkMention(context, unlinked, mention, target, linked)
				.then((done) => done && row.remove())
				.catch((error) => context.complain(error));
		});
	}
}

/** Number of characters of a line shown before the mention. */
const BEFORE = 80;

/** Draw the line of a mention, with the name that would become a link marked. */
function drawMention(el: HTMLElement, { text, highlights: [[start, end]] }: Mention): void {
	const characters = Array.from(text);
	const from = start > BEFORE ? characters.indexOf(" ", start - BEFORE) + 1 : 0;
	const skipped = from > 0 ? from - 1 : 0;
	appendMarked(el, (from > 0 ? "…" : "") + characters.slice(from).join(""), [[start - skipped, end - skipped]]);
}

/** Return the range of a mention's name in a line; null if the text around it has changed. */
function placeIn(line: string, { text, highlights: [[start, end]] }: Mention): [number, number] | null {
	const characters = Array.from(text);
	const length = (from: number, to?: number): number => characters.slice(from, to).join("").length;
	const around = text.replace(/^…/, "");
	const at = line.indexOf(around);
	if (at < 0 || at !== line.lastIndexOf(around)) {
		return null;
	}
	const first = at + around.length - length(start);
	return [first, first + length(start, end)];
}

/**
 * Open the note that mentions `target` and turn the mention into a link in Obsidian's editor, where it can be undone.
 * Returns false, and shows a notice, if the line has changed.
 */
export async function linkMention(
	context: Context,
	from: Unlinked,
	mention: Mention,
	target: TFile,
	linked: Linked,
): Promise<boolean> {
	const file = context.notes.file(from.vault_path, mention.path);
	if (!file) {
		new Notice(`${shown(mention.path)} is not in the vault that is open here.`);
		return false;
	}
	const { line } = mention;
	linked.file = file;
	const view = await openPassage(context.app, context.flash, { file, line, firstLine: line, lastLine: line }, "tab");
	const text = view && line <= view.editor.lineCount() ? view.editor.getLine(line - 1) : "";
	const span = placeIn(text, mention);
	if (!view || !span) {
		new Notice("That line has changed since it was indexed; link it by hand.");
		return false;
	}
	const [start, end] = span.map((ch) => ({ line: line - 1, ch })) as [EditorPosition, EditorPosition];
	const written = view.editor.getRange(start, end);
	const alias = written === target.basename ? undefined : written;
	linked.add(mention);
	view.editor.replaceRange(linkTo(context.app, target, file.path, undefined, alias), start, end);
	return true;
}
