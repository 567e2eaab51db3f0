/** Links, written through Obsidian's own editor. */

import { type App, stripHeadingForLink, type TFile } from "obsidian";
import { editedNote } from "./editing";

/** Return a link to `file`, or the part of it at `subpath`, as Obsidian's settings require in the note at `source`. */
export function linkTo(app: App, file: TFile, source: string, subpath?: string, alias?: string): string {
	return app.fileManager.generateMarkdownLink(file, source, subpath, alias);
}

/** Return the suffix of a link to the heading above a line (from 1) of `file`, if there is one. */
export function headingAbove(app: App, file: TFile, line: number): string | undefined {
	const headings = app.metadataCache.getFileCache(file)?.headings ?? [];
	const heading = stripHeadingForLink(headings.filter((each) => each.position.start.line < line).at(-1)?.heading ?? "");
	return heading ? `#${heading}` : undefined;
}

/** Insert a link to `file` at the cursor of the edited note. False if there is none. */
export function insertLink(app: App, file: TFile, subpath?: string): boolean {
	const note = editedNote(app);
	if (!note?.editor) {
		return false;
	}
	note.editor.replaceSelection(linkTo(app, file, note.file?.path ?? "", subpath));
	return true;
}
