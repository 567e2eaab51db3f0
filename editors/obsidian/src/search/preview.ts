/** The lines around a passage as on disk, with the words of the search marked. */

import type { Context } from "../context";
import type { Note, Result } from "../daemon/protocol";
import { Latest } from "../latest";
import { appendWithWords, writtenWords } from "../text";

const LINES_ABOVE = 8;
const LINES_BELOW = 40;
/** Maximum characters shown of a line: a table or a page without line breaks may have megabytes. */
const LINE_CHARS = 4000;

/** The preview beside the list. */
export class Preview {
	private readonly latest = new Latest();

	constructor(
		private readonly el: HTMLElement,
		private readonly context: Context,
	) {}

	/** Show the passage of a result; a later call supersedes this one. */
	async show(result: Result | null): Promise<void> {
		if (!result) {
			this.stop();
			return;
		}
		const line = result.line ?? 1;
		const lines = { start_line: Math.max(1, line - LINES_ABOVE), end_line: line + LINES_BELOW };
		try {
			const note = await this.latest.run((signal) =>
				this.context.ask("note/get", { note: result.path, ...lines }, signal),
			);
			if (note) {
				this.draw(result, note);
			}
		} catch {
			this.el.empty(); // the note was removed in the meantime; the list will report it
		}
	}

	/** Show nothing. */
	stop(): void {
		this.latest.stop();
		this.el.empty();
	}

	/** Scroll to a row: `scrollIntoView` would move the window around it as well. */
	private center(row: HTMLElement | null): void {
		const { el } = this;
		el.scrollTop = row ? row.offsetTop - (el.clientHeight - row.clientHeight) / 2 : 0;
	}

	private draw(result: Result, note: Note): void {
		this.el.empty();
		const words = writtenWords(result);
		appendWithWords(this.el.createDiv({ cls: "vaultseek-preview-title", attr: { dir: "auto" } }), note.title, words);
		const body = this.el.createDiv({ cls: "vaultseek-preview-text" });
		let match: HTMLElement | null = null;
		const lines = note.text.split("\n");
		const title = lines.findIndex((text) => /^#\s+(.*?)[\s#]*$/.exec(text)?.[1] === note.title);
		lines.forEach((text, index) => {
			if (index === title) {
				return; // it is above the passage already
			}
			const row = body.createDiv({ cls: "vaultseek-preview-line", attr: { dir: "auto" } });
			if (/^#{1,6}\s/.test(text)) {
				row.addClass("is-heading");
			}
			if (note.start_line + index === result.line) {
				row.addClass("is-match");
				match = row;
			}
			appendWithWords(row, excerpt(text, words), words);
		});
		this.center(match);
	}
}

/** Return a line, or, if it is too long, the part around the first of the words. */
function excerpt(text: string, words: readonly string[]): string {
	if (text.length <= LINE_CHARS) {
		return text;
	}
	const places = words.map((word) => text.indexOf(word)).filter((place) => place >= 0);
	const start = Math.max(0, Math.min(...places, text.length - LINE_CHARS) - LINE_CHARS / 4);
	const from = places.length > 0 ? start : 0;
	const end = from + LINE_CHARS;
	return `${from > 0 ? "…" : ""}${text.slice(from, end)}${end < text.length ? "…" : ""}`;
}
