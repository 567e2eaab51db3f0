/** The settings of the plugin, as stored. */

/** Where a click on a result opens the note. */
export type Click = "here" | "tab" | "split" | "window";

export interface Settings {
	/** Path of the daemon's socket; empty for the default. */
	socket: string;
	/** Name of the vault in vaultseek; empty for the vault that contains this folder. */
	vault: string;
	/** Number of results. */
	results: number;
	click: Click;
	/** True to offer recent searches in an empty search window. */
	remember: boolean;
}

export const DEFAULTS: Settings = { socket: "", vault: "", results: 20, click: "here", remember: true };

export const MOST_RESULTS = 200;

export const CLICKS: Record<Click, string> = {
	here: "Opens the note in the current tab",
	tab: "Opens the note in a new tab",
	split: "Opens the note beside the current tab",
	window: "Opens the note in a new window",
};

/** Return settings from stored data, with defaults for missing or invalid values. */
export function readSettings(data: unknown): Settings {
	const stored = (typeof data === "object" && data !== null ? data : {}) as Record<string, unknown>;
	return {
		socket: typeof stored.socket === "string" ? stored.socket : DEFAULTS.socket,
		vault: typeof stored.vault === "string" ? stored.vault : DEFAULTS.vault,
		results: resultCount(stored.results) ?? DEFAULTS.results,
		click: isClick(stored.click) ? stored.click : DEFAULTS.click,
		remember: typeof stored.remember === "boolean" ? stored.remember : DEFAULTS.remember,
	};
}

/** Return a number of results, or null if it is not valid. */
export function resultCount(value: unknown): number | null {
	const count = Number(value);
	return Number.isInteger(count) && count >= 1 && count <= MOST_RESULTS ? count : null;
}

function isClick(value: unknown): value is Click {
	return typeof value === "string" && value in CLICKS;
}
