/** The lines around a passage, as they are on disk, with the words of the search marked. */

import type { Context } from "../context";
import type { Note, Result } from "../daemon/protocol";
import { Latest } from "../latest";
import { appendWithWords, shown, writtenWords } from "../text";

const LINES_ABOVE = 8;
const LINES_BELOW = 40;

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
			this.el.empty(); // the note was removed meanwhile; the list will say so
		}
	}

	/** Show nothing. */
	stop(): void {
		this.latest.stop();
		this.el.empty();
	}

	private draw(result: Result, note: Note): void {
		this.el.empty();
		this.el.createDiv({ cls: "vaultseek-preview-title", text: shown(note.title), attr: { dir: "auto" } });
		const words = writtenWords(result);
		const body = this.el.createDiv({ cls: "vaultseek-preview-text" });
		let match: HTMLElement | null = null;
		note.text.split("\n").forEach((text, index) => {
			const row = body.createDiv({ cls: "vaultseek-preview-line", attr: { dir: "auto" } });
			if (/^#{1,6}\s/.test(text)) {
				row.addClass("is-heading");
			}
			if (note.start_line + index === result.line) {
				row.addClass("is-match");
				match = row;
			}
			appendWithWords(row, text, words);
		});
		(match as HTMLElement | null)?.scrollIntoView?.({ block: "center" });
	}
}
