/** Recent searches, kept on this device. */

import type { App } from "obsidian";

const KEY = "vaultseek-recent-searches";
const KEPT = 12;

/** The searches that led to a note, the latest first. */
export class RecentSearches {
	constructor(
		private readonly app: App,
		private readonly remembers: () => boolean,
	) {}

	get all(): string[] {
		const stored: unknown = this.remembers() ? this.app.loadLocalStorage(KEY) : null;
		return Array.isArray(stored) ? stored.filter((each): each is string => typeof each === "string") : [];
	}

	/** Put `query` first. */
	add(query: string): void {
		const words = query.trim();
		if (words && this.remembers()) {
			this.app.saveLocalStorage(KEY, [words, ...this.all.filter((each) => each !== words)].slice(0, KEPT));
		}
	}

	/** Forget all. */
	clear(): void {
		this.app.saveLocalStorage(KEY, null);
	}
}
