/** The edited note and the selection in it, in any window. */

import { type App, type MarkdownFileInfo, MarkdownView } from "obsidian";

/** Return the current note, even while a pane beside it has the focus. */
export function noteInSight(app: App): MarkdownFileInfo | null {
	const { workspace } = app;
	const recent = workspace.getMostRecentLeaf()?.view;
	return workspace.activeEditor ?? (recent instanceof MarkdownView ? recent : null);
}

/** Return the editable note; null if none is open, or it is open in reading view. */
export function editedNote(app: App): MarkdownFileInfo | null {
	const note = noteInSight(app);
	return note?.editor && !isRead(note) ? note : null;
}

/** Return the selected text in the current note, in editing or reading view. */
export function selectedText(app: App): string {
	const note = noteInSight(app);
	if (!isRead(note)) {
		return note?.editor?.getSelection() ?? "";
	}
	const selection = note.containerEl.win.getSelection();
	return selection && note.containerEl.contains(selection.anchorNode) ? selection.toString() : "";
}

function isRead(note: MarkdownFileInfo | null): note is MarkdownView {
	return note instanceof MarkdownView && note.getMode() === "preview";
}
