/** The parts of vaultseek's protocol that the plugin uses; docs/protocol.md describes them. */

export const PROTOCOL_VERSION = 1;

/** The vault of a request: by name, or by a folder in it. */
export type Where = { vault: string } | { cwd: string };

/** A range of characters (not of UTF-16 units), the second one exclusive. */
export type Range = readonly [number, number];

export interface OfVault {
	vault: string;
	vault_path: string;
}

export interface LanePart {
	rank: number | null;
	score: number | null;
}

/** A lane that was left out of an answer, and why. */
export interface MissingLane {
	lane: string;
	code: string;
	reason: string;
}

export interface Via {
	path: string;
	title: string;
}

/** A note in the answer to a search. One beyond the first 200 of a list has no passage. */
export interface Result {
	rank: number;
	path: string;
	title: string;
	file_name?: string | null;
	score: number;
	modified: string;
	/** Likelihood that the note is relevant, never rising down the list. Further passages of a note have none. */
	certainty?: number;
	heading_path?: string[];
	start_line?: number;
	end_line?: number;
	line?: number;
	column?: number;
	property?: string | null;
	preview?: string;
	highlights?: Range[];
	tags?: string[];
	lanes?: Record<string, LanePart | null>;
	via?: Via | null;
	currency?: { state: string; text: string } | null;
	/** Other passages that match, best first, if several were requested. */
	passages?: Partial<Result>[];
	/** The part of a file other than a note, as in a link after the path and a `#`: `page=3`. */
	place?: string | null;
}

export interface IndexNow {
	notes: number;
	chunks: number;
	embedded: number;
	pending: number;
	state: string;
	code: string | null;
	reason: string | null;
}

export interface Interpreted {
	rank_text: string;
	phrases: string[];
	filters: string[];
	notes: string[];
}

/** Remarks on an answer for people, besides its results. */
export interface Remark {
	code: string;
	text: string;
}

export interface Search extends OfVault {
	query: string;
	search_method: string;
	took_ms: number;
	results: Result[];
	count: number;
	total?: number | null;
	partial: MissingLane[];
	index: IndexNow;
	interpreted: Interpreted;
	remarks?: Remark[];
	/** Number of unlikely results at the end. */
	less_certain: number;
	nearest?: { path: string; confidence: number } | null;
}

export interface Why extends OfVault {
	path: string;
	title: string;
	verdict: string;
	reason: string;
}

export interface Note extends OfVault {
	path: string;
	title: string;
	lines: number;
	start_line: number;
	end_line: number;
	text: string;
}

export interface RelatedNote {
	rank: number;
	path: string;
	title: string;
	score: number;
	link: "out" | "in" | "both" | null;
	lanes: Record<string, LanePart | null>;
	preview: string;
}

export interface Related extends OfVault {
	path: string;
	title: string;
	results: RelatedNote[];
	partial: MissingLane[];
	remarks?: Remark[];
}

/** A line of another note that mentions a note by `name` without a link. */
export interface Mention {
	path: string;
	title: string;
	line: number;
	name: string;
	/** The line or, after `…`, a part of it. */
	text: string;
	/** Range of the name in `text`. */
	highlights: [Range];
}

export interface Unlinked extends OfVault {
	names: string[];
	mentions: Mention[];
	total: number;
}

export type LinkReason =
	| { kind: "mentioned" | "mentions"; line: number }
	| { kind: "cited_together" | "common_links" | "followed"; count: number }
	| { kind: "links_back" | "meaning" };

export interface Suggestion {
	path: string;
	title: string;
	likely: boolean;
	reasons: LinkReason[];
}

export interface Suggestions extends OfVault {
	suggestions: Suggestion[];
}

export interface Completion {
	text: string;
	match: string;
	path?: string | null;
	count?: number | null;
	/** "operator" for the name of a filter. */
	is?: string | null;
	/** For a query: the number of characters before the cursor that `text` replaces. */
	replaces?: number;
	about?: string | null;
}

export interface Completions extends OfVault {
	items: Completion[];
}

export interface LaneStatus {
	up: boolean;
	code: string | null;
	reason: string | null;
}

export interface NoteProblem {
	path: string;
	code: string;
	message: string;
	line: number | null;
}

export interface VaultStatus extends IndexNow {
	name: string;
	path: string;
	share?: number;
	eta_seconds?: number | null;
	lanes: Record<string, LaneStatus>;
	problems: NoteProblem[];
	problem_count: number;
}

export interface Status {
	daemon: {
		pid: number;
		version: string;
		memory_bytes: number;
		socket: string;
		worker: { status: string; reason: string | null; model: string | null };
	};
	vaults: VaultStatus[];
}

export interface Progress {
	vault: string;
	phase: string;
	share: number;
	waiting_for: string | null;
	notes: number;
	notes_done: number;
	notes_total: number;
	chunks: number;
	embedded: number;
	pending: number;
}

export interface Changed extends OfVault {
	revision: number;
	paths: string[];
	more: boolean;
}

export interface Hello {
	protocol_version: number;
	server: { name: string; version: string; pid: number };
	capabilities?: { methods?: string[] };
}

/** Answers by method. */
export interface Answers {
	initialize: Hello;
	search: Search;
	"search/why": Why;
	"search/opened": OfVault;
	"note/get": Note;
	"note/related": Related;
	"links/unlinked": Unlinked;
	"graph/suggest": Suggestions;
	complete: Completions;
	"index/status": Status;
	"index/subscribe": { vaults: Progress[] };
}

export type Method = keyof Answers;
