/** State shared by the windows and panes. */

import { type App, type Modal, Notice, type PaneType } from "obsidian";
import type { Daemon } from "./daemon/daemon";
import { problemOf } from "./daemon/errors";
import type { Answers, Method, OfVault, Result, Search } from "./daemon/protocol";
import type { Flash } from "./notes/flash";
import { noteInSight } from "./notes/editing";
import { headingAbove, insertLink, linkTo } from "./notes/links";
import { openPassage } from "./notes/open";
import type { Notes } from "./notes/vault";
import type { RecentSearches } from "./search/recent";
import type { Settings } from "./settings";
import { shown } from "./text";

/** A note of an answer, and the place of its passage. */
export type Place = Pick<Result, "path" | "line" | "start_line" | "end_line" | "place">;

/** The daemon, the notes and the settings of one Obsidian window, and the actions on a result. */
export class Context {
	/** The windows of the plugin that are open; they close when it is switched off. */
	readonly windows = new Set<Modal>();

	constructor(
		readonly app: App,
		readonly daemon: Daemon,
		readonly notes: Notes,
		readonly settings: () => Settings,
		readonly recent: RecentSearches,
		readonly flash: Flash,
	) {}

	/** Send a request about this vault. Throws DaemonError, NotConnected, and UnknownVault if the answer comes from another vault. */
	async ask<M extends Method>(method: M, params: object, signal?: AbortSignal): Promise<Answers[M]> {
		const answer = await this.daemon.request(method, { ...this.notes.where, ...params }, signal);
		const from = (answer as Partial<OfVault>).vault_path;
		if (from !== undefined && !this.notes.isHere(from)) {
			throw this.notes.elsewhere(from);
		}
		return answer;
	}

	/** Keep a search that led to a note, here and in the daemon's history, unless the settings forbid that. */
	led(from: Search, result: Result): void {
		this.recent.add(from.query);
		if (this.settings().remember) {
			const opened = { query: from.query, note: result.path, position: result.rank };
			void this.ask("search/opened", opened).catch(() => undefined); // the note opens without it
		}
	}

	/** Open a passage of an answer and flash it; show a notice if that fails. */
	async open(from: OfVault, place: Place, pane: PaneType | false): Promise<void> {
		const file = this.notes.file(from.vault_path, place.path);
		if (!file) {
			this.sayOutside(place.path);
			return;
		}
		const line = place.line ?? place.start_line ?? 1;
		const passage = { file, line, firstLine: place.start_line ?? line, lastLine: place.end_line ?? line };
		try {
			await openPassage(this.app, this.flash, { ...passage, subpath: subpathOf(place) }, pane);
		} catch (error) {
			this.complain(error);
		}
	}

	/** Insert a link at the cursor of the note that is edited; with `toPart`, to the heading above the passage, or its page. */
	insert(from: OfVault, place: Place, toPart = false): void {
		const file = this.notes.file(from.vault_path, place.path);
		const subpath = file && toPart ? (subpathOf(place) ?? headingAbove(this.app, file, place.line ?? 1)) : undefined;
		if (!file) {
			this.sayOutside(place.path);
		} else if (!insertLink(this.app, file, subpath)) {
			new Notice("Open a note for editing first, so that the link can be inserted.");
		}
	}

	/** Return the link inserted when a note is dropped into the active note, or null if the note is outside the vault. */
	link(from: OfVault, path: string): string | null {
		const file = this.notes.file(from.vault_path, path);
		return file ? linkTo(this.app, file, noteInSight(this.app)?.file?.path ?? "") : null;
	}

	/** Show a notice about an error. */
	complain(error: unknown): void {
		const problem = problemOf(error);
		new Notice(problem.command ? `${problem.text}\n${problem.command}` : problem.text);
	}

	private sayOutside(path: string): void {
		new Notice(`${shown(path)} is not in the vault that is open here, or Obsidian does not see it yet.`);
	}
}

/** Return the suffix of a link to a part of a file other than a note. */
function subpathOf(place: Place): string | undefined {
	return place.place ? `#${place.place}` : undefined;
}
