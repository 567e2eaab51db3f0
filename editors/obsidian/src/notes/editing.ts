/** The note that is edited, and what is selected in it, in whatever window that is. */

import { type App, type MarkdownFileInfo, MarkdownView } from "obsidian";

/** Return the note that is looked at, also while a pane beside it has the focus. */
export function noteInSight(app: App): MarkdownFileInfo | null {
	const { workspace } = app;
	const recent = workspace.getMostRecentLeaf()?.view;
	return workspace.activeEditor ?? (recent instanceof MarkdownView ? recent : null);
}

/** Return the note that can be written in; null if none is open, or it is open for reading. */
export function editedNote(app: App): MarkdownFileInfo | null {
	const note = noteInSight(app);
	return note?.editor && !isRead(note) ? note : null;
}

/** Return the text that is selected in the note that is looked at, for editing or for reading. */
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
