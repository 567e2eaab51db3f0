/** Links, written through Obsidian's own editor. */

import { type App, type Editor, type EditorPosition, stripHeadingForLink, type TFile } from "obsidian";

/** Return a link to `file` as Obsidian's settings have it written in the note at `source`. */
export function linkTo(app: App, file: TFile, source: string, heading?: string, alias?: string): string {
	const stripped = heading ? stripHeadingForLink(heading) : "";
	return app.fileManager.generateMarkdownLink(file, source, stripped ? `#${stripped}` : undefined, alias);
}

/** Return the heading that a line (from 1) of `file` is under. */
export function headingAbove(app: App, file: TFile, line: number): string | undefined {
	const headings = app.metadataCache.getFileCache(file)?.headings ?? [];
	return headings.filter((each) => each.position.start.line < line).at(-1)?.heading;
}

/** Insert a link to `file` at the cursor of the note that is edited. False if none is. */
export function insertLink(app: App, file: TFile, heading?: string): boolean {
	const info = app.workspace.activeEditor;
	if (!info?.editor) {
		return false;
	}
	info.editor.replaceSelection(linkTo(app, file, info.file?.path ?? "", heading));
	return true;
}

/** Return where `name` stands in a line of `editor` (from 0) outside of links and code, or null. */
export function mentionAt(editor: Editor, line: number, name: string): [EditorPosition, EditorPosition] | null {
	const text = editor.getLine(line);
	const hidden = [...text.matchAll(/\[\[.*?\]\]|\[[^\]]*\]\([^)]*\)|`[^`]*`/g)];
	const escaped = name.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&").replace(/\s+/g, "\\s+");
	const pattern = new RegExp(`(^|[^\\p{L}\\p{N}_])(${escaped})(?![\\p{L}\\p{N}_])`, "giu");
	for (const match of text.matchAll(pattern)) {
		const start = match.index + (match[1] ?? "").length;
		const end = start + (match[2] ?? "").length;
		if (!hidden.some((each) => start < each.index + each[0].length && end > each.index)) {
			return [
				{ line, ch: start },
				{ line, ch: end },
			];
		}
	}
	return null;
}
