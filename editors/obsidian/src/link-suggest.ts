/** Links by meaning: after `[[?`, the notes that a search finds. Ordinary `[[` is left to Obsidian. */

import {
	type Editor,
	type EditorPosition,
	EditorSuggest,
	type EditorSuggestContext,
	type EditorSuggestTriggerInfo,
	type TFile,
} from "obsidian";
import type { Context } from "./context";
import type { Result, Search } from "./daemon/protocol";
import { Latest } from "./latest";
import { linkTo } from "./notes/links";
import { headingPath } from "./search/result";
import { appendMarked, shown } from "./text";

const OPENING = /\[\[\?([^[\]\n]*)$/;

/** A note that was found, and the answer that it is from. */
export interface Target {
	result: Result;
	from: Search;
}

/** The list below `[[?`. */
export class LinkSuggest extends EditorSuggest<Target> {
	private readonly latest = new Latest();

	constructor(private readonly vaultseek: Context) {
		super(vaultseek.app);
		this.setInstructions([
			{ command: "↵", purpose: "insert the link" },
			{ command: "[[?", purpose: "finds notes by meaning" },
		]);
	}

	onTrigger(cursor: EditorPosition, editor: Editor, _file: TFile | null): EditorSuggestTriggerInfo | null {
		const match = OPENING.exec(editor.getLine(cursor.line).slice(0, cursor.ch));
		if (!match) {
			return null;
		}
		return { start: { line: cursor.line, ch: match.index }, end: cursor, query: match[1] ?? "" };
	}

	async getSuggestions({ query }: EditorSuggestContext): Promise<Target[]> {
		const words = query.trim();
		if (!words) {
			this.latest.stop();
			return [];
		}
		const limit = this.vaultseek.settings().results;
		try {
			const from = await this.latest.run((signal) =>
				this.vaultseek.ask("search", { query: words, limit, typing: true }, signal),
			);
			return (from?.results ?? []).map((result) => ({ result, from: from as Search }));
		} catch {
			return []; // the status bar says what is wrong
		}
	}

	renderSuggestion({ result }: Target, el: HTMLElement): void {
		el.addClass("vaultseek-target");
		el.createDiv({ cls: "vaultseek-result-title", text: shown(result.title), attr: { dir: "auto" } });
		const headings = headingPath(result);
		if (headings) {
			el.createDiv({ cls: "vaultseek-headings", text: headings });
		}
		const excerpt = el.createDiv({ cls: "vaultseek-excerpt", attr: { dir: "auto" } });
		appendMarked(excerpt, result.preview ?? "", result.highlights ?? []);
	}

	selectSuggestion({ result, from }: Target): void {
		const { context } = this;
		const file = this.vaultseek.notes.file(from.vault_path, result.path);
		if (!context || !file) {
			this.close();
			return;
		}
		const { editor, start } = context;
		const cursor = editor.getCursor();
		// Obsidian closes brackets while one types; those behind the cursor are part of what is replaced.
		const behind = /^\]{0,2}/.exec(editor.getLine(cursor.line).slice(cursor.ch))?.[0].length ?? 0;
		const link = linkTo(this.vaultseek.app, file, context.file?.path ?? "");
		editor.replaceRange(link, start, { line: cursor.line, ch: cursor.ch + behind });
		editor.setCursor({ line: start.line, ch: start.ch + link.length });
		this.close();
	}
}
