/** What the windows and panes share. */

import { type App, Notice, type PaneType } from "obsidian";
import type { Daemon } from "./daemon/daemon";
import { problemOf } from "./daemon/errors";
import type { Answers, Method, OfVault, Result } from "./daemon/protocol";
import type { Flash } from "./notes/flash";
import { headingAbove, insertLink, linkTo } from "./notes/links";
import { openPassage } from "./notes/open";
import type { Notes } from "./notes/vault";
import type { RecentSearches } from "./search/recent";
import type { Settings } from "./settings";
import { shown } from "./text";

/** A note of an answer, and where in it the passage is. */
export type Place = Pick<Result, "path" | "line" | "start_line" | "end_line" | "place">;

/** The daemon, the notes and the settings of one Obsidian window, and what can be done with a result. */
export class Context {
	constructor(
		readonly app: App,
		readonly daemon: Daemon,
		readonly notes: Notes,
		readonly settings: () => Settings,
		readonly recent: RecentSearches,
		readonly flash: Flash,
	) {}

	/** Send a request about this vault. Throws DaemonError, NotConnected, and Error if the answer is of another vault. */
	async ask<M extends Method>(method: M, params: object, signal?: AbortSignal): Promise<Answers[M]> {
		const answer = await this.daemon.request(method, { ...this.notes.where, ...params }, signal);
		const from = (answer as Partial<OfVault>).vault_path;
		if (from !== undefined && !this.notes.isHere(from)) {
			throw new Error(this.notes.elsewhere);
		}
		return answer;
	}

	/** Open a passage of an answer, and flash it. */
	async open(from: OfVault, place: Place, pane: PaneType | false): Promise<void> {
		const file = this.notes.file(from.vault_path, place.path);
		if (!file) {
			this.sayOutside(place.path);
			return;
		}
		const line = place.line ?? place.start_line ?? 1;
		const passage = { file, line, firstLine: place.start_line ?? line, lastLine: place.end_line ?? line };
		await openPassage(this.app, this.flash, { ...passage, page: place.place ? `#${place.place}` : undefined }, pane);
	}

	/** Insert a link at the cursor of the note that is edited; with `toHeading`, to the heading above the passage. */
	insert(from: OfVault, place: Place, toHeading = false): void {
		const file = this.notes.file(from.vault_path, place.path);
		const heading = file && toHeading ? headingAbove(this.app, file, place.line ?? 1) : undefined;
		if (!file) {
			this.sayOutside(place.path);
		} else if (!insertLink(this.app, file, heading)) {
			new Notice("Open a note for editing first. The link goes where you write.");
		}
	}

	/** Return the link that a note dropped into the active note becomes, or null if it is outside of the vault. */
	link(from: OfVault, path: string): string | null {
		const file = this.notes.file(from.vault_path, path);
		return file ? linkTo(this.app, file, this.app.workspace.getActiveFile()?.path ?? "") : null;
	}

	/** Show a notice of an error. */
	complain(error: unknown): void {
		const problem = problemOf(error);
		new Notice(problem.command ? `${problem.text}\n${problem.command}` : problem.text);
	}

	private sayOutside(path: string): void {
		new Notice(`${shown(path)} is not in the vault that is open here, or Obsidian does not see it yet.`);
	}
}
