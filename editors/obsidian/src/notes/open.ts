/** Opening a note at a passage. */

import { type App, MarkdownView, type PaneType, type TFile, type WorkspaceLeaf } from "obsidian";
import type { Click } from "../settings";
import type { Flash } from "./flash";

/** A place in a file. Lines count from 1; `subpath` is the suffix of a link to a file other than a note. */
export interface Passage {
	file: TFile;
	line: number;
	firstLine: number;
	lastLine: number;
	subpath?: string;
}

/** Maximum number of lines that flash; a longer passage would light up the whole window. */
const FLASHED_LINES = 40;

/** Open the passage in `pane` and flash it. Return the view if it is a Markdown view. */
export async function openPassage(
	app: App,
	flash: Flash,
	passage: Passage,
	pane: PaneType | false,
): Promise<MarkdownView | null> {
	const leaf = app.workspace.getLeaf(pane);
	// Not as the text of a link: a `#` in the name of the file would end it, and Obsidian would make a note of the rest.
	const eState = passage.subpath ? { subpath: passage.subpath } : { line: passage.line - 1 };
	await leaf.openFile(passage.file, { active: true, eState });
	await app.workspace.revealLeaf(leaf);
	return showLines(leaf, flash, passage);
}

/** Return the pane for the click setting. */
export function paneOf(click: Click): PaneType | false {
	return click === "here" ? false : click;
}

function showLines(leaf: WorkspaceLeaf, flash: Flash, passage: Passage): MarkdownView | null {
	const view = leaf.view;
	if (!(view instanceof MarkdownView) || passage.subpath) {
		return null;
	}
	if (view.getMode() === "preview") {
		view.currentMode.applyScroll(passage.line - 1);
		return view;
	}
	const { editor } = view;
	const at = { line: Math.min(passage.line - 1, editor.lastLine()), ch: 0 };
	editor.setCursor(at);
	editor.scrollIntoView({ from: at, to: at }, true);
	flash.lines(editor, passage.firstLine, Math.min(passage.lastLine, passage.firstLine + FLASHED_LINES - 1));
	return view;
}
