/** A search that follows a text field: each letter supersedes the search before. */

import type { Context } from "../context";
import type { Interpreted, Note, Related, Result, Search } from "../daemon/protocol";
import { Latest } from "../latest";
import { count, shown } from "../text";

/** The answer to a search, and sentences about it. */
export interface Found {
	answer: Search;
	/** Remarks besides the results: lanes left out, parts of the query that were ignored. */
	remarks: string[];
	/** Number of results, time, and lanes. */
	summary: string;
	/** The reason why there are no results; null if there are some. */
	nothing: string | null;
}

/** Parameters of a search besides its words. */
export interface More {
	limit?: number;
	typing?: boolean;
	/** Settings of the daemon's `[search]`, for this search. */
	settings?: object;
}

/** Searches of which only the latest counts. */
export class LiveSearch {
	private readonly latest = new Latest();

	/** `within` is the only note to search, by its passages. */
	constructor(
		private readonly context: Context,
		private readonly within: Note | null = null,
	) {}

	/** Search for `query`; returns null if a later search superseded this one. `more` are other parameters. */
	run(query: string, more: More = {}): Promise<Found | null> {
		return this.latest.run(async (signal) => {
			if (this.within) {
				return this.searchWithin(this.within, query, more, signal);
			}
			const limit = this.context.settings().results;
			const answer = await this.context.ask("search", { query, limit, ...more }, signal);
			const nothing = answer.results.length > 0 ? null : await this.explain(query, answer, more, signal);
			return { answer, remarks: remarksOn(answer), summary: summary(answer, answer.total ?? answer.count, "note"), nothing };
		});
	}

	private async searchWithin(note: Note, query: string, more: More, signal: AbortSignal): Promise<Found> {
		// The filter takes a part of a path, so it may let other notes through.
		const only = { filters: { path: note.path }, limit: MOST_WITH_THE_PATH, passages: MOST_PASSAGES };
		const whole = await this.context.ask("search", { query, ...only, ...more }, signal);
		const results = whole.results.filter((result) => result.path === note.path).flatMap(passagesOf);
		const answer = { ...whole, results, less_certain: 0 };
		const nothing = results.length > 0 ? null : "Nothing found in this note.";
		return { answer, remarks: remarksOn(answer), summary: summary(answer, results.length, "passage"), nothing };
	}

	/** Cancel the running search. */
	stop(): void {
		this.latest.stop();
	}

	/** Return why nothing was found, with the name of the nearest note. */
	private async explain(query: string, answer: Search, { settings = {} }: More, signal: AbortSignal): Promise<string> {
		const { interpreted } = answer;
		const filters = interpreted.filters.map(shown).join(", ");
		const nothing = filters ? `No note matches: ${filters}.` : "Nothing found.";
		const nearest = answer.nearest?.path ?? (await this.nearestByWords(interpreted, signal));
		if (nearest === undefined) {
			return answer.index.notes === 0 ? "This vault has no notes yet." : nothing;
		}
		const why = await this.context.ask("search/why", { query, note: nearest, settings }, signal);
		return `${nothing} The nearest note is ${shown(why.title)}: ${shown(why.reason)}.`;
	}

	/** Return the first note found by the words of a query without its filters. */
	private async nearestByWords({ rank_text, filters }: Interpreted, signal: AbortSignal): Promise<string | undefined> {
		if (!rank_text.trim() || filters.length === 0) {
			return undefined;
		}
		const words = { query: rank_text, plain: true, limit: 1 };
		return (await this.context.ask("search", words, signal)).results[0]?.path;
	}
}

/** Maximum notes and passages requested from the daemon for a search in one note. */
const MOST_WITH_THE_PATH = 200;
const MOST_PASSAGES = 20;

/** Return a result for each matching passage of a note, named after the heading above it. */
function passagesOf(note: Result): Result[] {
	return [note, ...(note.passages ?? [])].map((passage) => {
		const headings = passage.heading_path ?? [];
		return {
			...note,
			...passage,
			title: headings.at(-1) ?? note.title,
			heading_path: headings.slice(1, -1),
			lanes: {},
			certainty: undefined,
		};
	});
}

/** Return the line below the results: number, time and lanes. */
function summary(answer: Search, many: number, noun: string): string {
	return `${count(many, noun)} · ${Math.max(1, Math.round(answer.took_ms))} ms · ${answer.search_method}`;
}

/** Return the remarks on an answer for the user. */
export function remarksOn(answer: Search | Related): string[] {
	return (answer.remarks ?? []).map((remark) => `${capital(shown(remark.text))}.`);
}

function capital(text: string): string {
	return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}
