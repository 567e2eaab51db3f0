/** Links by meaning: after `[[?`, the notes that a search finds. Ordinary `[[` is left to Obsidian. */

import {
	type App,
	type Editor,
	type EditorPosition,
	EditorSuggest,
	type EditorSuggestContext,
	type EditorSuggestTriggerInfo,
	type TFile,
} from "obsidian";
import type { Context } from "./context";
import type { Result, Search } from "./daemon/protocol";
import { LatestList } from "./latest";
import { linkTo } from "./notes/links";
import { headingPath } from "./search/result";
import { appendMarked, shown } from "./text";

const OPENING = /\[\[\?([^[\]\n]*)$/;

/** A note that was found, and its answer. */
export interface Target {
	result: Result;
	from: Search;
}

/** The list below `[[?`. */
export class LinkSuggest extends EditorSuggest<Target> {
	private readonly targets = new LatestList<Target>();

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
			this.targets.stop();
			return [];
		}
		const limit = this.vaultseek.settings().results;
		// Obsidian shows the list of whichever call ends last, even an earlier one. If it fails, the status bar says why.
		return this.targets.ask(async (signal) => {
			const from = await this.vaultseek.ask("search", { query: words, limit, typing: true }, signal);
			return from.results.map((result) => ({ result, from }));
		});
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
		// Obsidian closes brackets as they are typed; those after the cursor are part of what is replaced.
		const behind = /^\]{0,2}/.exec(editor.getLine(cursor.line).slice(cursor.ch))?.[0].length ?? 0;
		const link = linkTo(this.vaultseek.app, file, context.file?.path ?? "");
		editor.replaceRange(link, start, { line: cursor.line, ch: cursor.ch + behind });
		editor.setCursor({ line: start.line, ch: start.ch + link.length });
		this.close();
	}
}

/**
 * Put a list before Obsidian's own, which mistake `[[?` for the beginning of a link: Obsidian shows the first that is
 * triggered, and its API has no other way to be first. If Obsidian has no such order, nothing happens.
 */
export function putFirst(app: App, list: EditorSuggest<Target>): void {
	const { editorSuggest } = app.workspace as { editorSuggest?: { suggests?: unknown } };
	const lists = editorSuggest?.suggests;
	if (Array.isArray(lists) && lists.includes(list)) {
		lists.splice(lists.indexOf(list), 1);
		lists.unshift(list);
	}
}
