/** A search that follows a text field: each letter supersedes the search before. */

import type { Context } from "../context";
import type { Interpreted, MissingLane, Search } from "../daemon/protocol";
import { Latest } from "../latest";
import { count, shown } from "../text";

/** The answer to a search, and sentences about it. */
export interface Found {
	answer: Search;
	/** What the user should know besides the results: lanes left out, parts of the query that were ignored. */
	remarks: string[];
	/** Why there are no results; null if there are some. */
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

	constructor(private readonly context: Context) {}

	/** Search for `query`; returns null if a later search superseded this one. `more` are other parameters. */
	run(query: string, more: More = {}): Promise<Found | null> {
		return this.latest.run(async (signal) => {
			const limit = this.context.settings().results;
			const answer = await this.context.ask("search", { query, limit, ...more }, signal);
			const nothing = answer.results.length > 0 ? null : await this.explain(query, answer, more, signal);
			return { answer, remarks: remarksOn(answer), nothing };
		});
	}

	/** Cancel the search that runs. */
	stop(): void {
		this.latest.stop();
	}

	/** Return why nothing was found, with the name of the note that is nearest. */
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

	/** Return the note that the words of a query alone find first. */
	private async nearestByWords({ rank_text, filters }: Interpreted, signal: AbortSignal): Promise<string | undefined> {
		if (!rank_text.trim() || filters.length === 0) {
			return undefined;
		}
		const words = { query: rank_text, plain: true, limit: 1 };
		return (await this.context.ask("search", words, signal)).results[0]?.path;
	}
}

/** Return the line under the results: how many, how fast, by which lanes. */
export function summary(answer: Search): string {
	const many = count(answer.total ?? answer.count, "note");
	return `${many} · ${Math.max(1, Math.round(answer.took_ms))} ms · ${answer.search_method}`;
}

/** Return what the user should know of an answer besides its results. */
export function remarksOn(answer: Search): string[] {
	const remarks = answer.partial.map(missing);
	if (answer.index.pending > 0 && remarks.length === 0) {
		remarks.push(`Still indexing: ${count(answer.index.pending, "text")} left.`);
	}
	if (answer.weak && answer.results.length > 0) {
		remarks.push("No note matches well; these are the nearest.");
	}
	return [...remarks, ...answer.interpreted.notes.map((note) => `${capital(shown(note))}.`)];
}

const LANE_NAMES: Record<string, string> = {
	keyword: "Without the search by word",
	semantic: "Without the search by meaning",
	graph: "Without links",
	vault: "Notes may be missing",
};

function missing(lane: MissingLane): string {
	return `${LANE_NAMES[lane.lane] ?? `Without ${lane.lane}`}: ${shown(lane.reason)}.`;
}

function capital(text: string): string {
	return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}
