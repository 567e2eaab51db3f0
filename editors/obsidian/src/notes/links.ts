/** Links, written through Obsidian's own editor. */

import { type App, stripHeadingForLink, type TFile } from "obsidian";
import { editedNote } from "./editing";

/** Return a link to `file`, or the part of it at `subpath`, as Obsidian's settings have it written in the note at `source`. */
export function linkTo(app: App, file: TFile, source: string, subpath?: string, alias?: string): string {
	return app.fileManager.generateMarkdownLink(file, source, subpath, alias);
}

/** Return the end of a link to the heading that a line (from 1) of `file` is under, if there is one. */
export function headingAbove(app: App, file: TFile, line: number): string | undefined {
	const headings = app.metadataCache.getFileCache(file)?.headings ?? [];
	const heading = stripHeadingForLink(headings.filter((each) => each.position.start.line < line).at(-1)?.heading ?? "");
	return heading ? `#${heading}` : undefined;
}

/** Insert a link to `file` at the cursor of the note that is edited. False if none is. */
export function insertLink(app: App, file: TFile, subpath?: string): boolean {
	const note = editedNote(app);
	if (!note?.editor) {
		return false;
	}
	note.editor.replaceSelection(linkTo(app, file, note.file?.path ?? "", subpath));
	return true;
}
