/** A query field, the results below, and remarks on them; the search window and the pane each have one. */

import type { Context } from "../context";
import type { Note } from "../daemon/protocol";
import { drawProblem, drawRemarks } from "../problem";
import { FilterSuggest } from "./filter-suggest";
import { LiveSearch } from "./live-search";
import { type ListActions, ResultList } from "./result-list";
import { shown } from "../text";

/** Elements of the window, and actions on the results. */
export interface SearchBoxParts {
	top: HTMLElement;
	list: HTMLElement;
	foot: HTMLElement;
	actions: ListActions;
	/** The only note to search. */
	within?: Note | null;
	/** Called while the query is empty, to fill the space of the list. */
	empty(el: HTMLElement): void;
}

/** A search that follows its field, and runs again when the daemon is back. */
export class SearchBox {
	readonly field: HTMLInputElement;
	readonly list: ResultList;
	private readonly remarks: HTMLElement;
	private readonly message: HTMLElement;
	private readonly search: LiveSearch;
	private readonly filters: FilterSuggest;
	private readonly ends: (() => void)[];
	/** True if the shown answer may be incomplete because indexing continues. */
	private lacks = false;
	/** The query of the shown list. */
	private answered: string | null = null;
	/** The action of a key pressed before the answer arrived. */
	private waiting: (() => void) | null = null;

	constructor(
		context: Context,
		private readonly parts: SearchBoxParts,
		private readonly typed: (query: string) => void = () => undefined,
	) {
		this.search = new LiveSearch(context, parts.within);
		this.field = parts.top.createEl("input", {
			cls: "vaultseek-query prompt-input",
			type: "text",
			placeholder: parts.within ? `Search in ${shown(parts.within.title)}` : "Search by word, meaning or tag:…",
			attr: { spellcheck: "false", autocomplete: "off", "aria-label": "Search the notes" },
		});
		this.remarks = parts.list.createDiv({ cls: "vaultseek-remarks" });
		this.message = parts.list.createDiv({ cls: "vaultseek-message" });
		this.list = new ResultList(parts.list, parts.actions, this.field);
		this.filters = new FilterSuggest(context, this.field);
		this.field.addEventListener("input", () => {
			this.waiting = null;
			void this.update();
		});
		const again = (): void => void this.update();
		this.ends = [
			context.daemon.linked.on((link) => link.connected && again()),
			context.daemon.changed.on(again),
			context.daemon.progress.on((progress) => this.lacks && progress.phase === "done" && again()),
		];
	}

	/** True while a filter is being completed and its list handles the keys. */
	get completes(): boolean {
		return this.filters.isShown;
	}

	get query(): string {
		return this.field.value.trim();
	}

	/** Call `act` once the list shows the answer to the field's query; never if the query changes before that. */
	whenAnswered(act: () => void): void {
		if (this.answered === this.query) {
			act();
		} else {
			this.waiting = act;
		}
	}

	/** Put a query into the field and search for it. */
	async setQuery(query: string): Promise<void> {
		this.field.value = query;
		await this.update();
	}

	/** Search for the query in the field. */
	async update(): Promise<void> {
		const query = this.query;
		this.typed(query);
		if (!query) {
			this.search.stop();
			this.answered = query;
			this.show([], "");
			this.list.clear();
			this.parts.empty(this.message);
			return;
		}
		try {
			const found = await this.search.run(query, { typing: true });
			if (found) {
				this.show(found.remarks, found.summary);
				this.list.show(found.answer);
				this.lacks = found.answer.partial.length > 0 || found.answer.index.pending > 0;
				if (found.nothing) {
					this.message.createDiv({ cls: "vaultseek-nothing", text: found.nothing });
				}
				this.answered = query;
				const act = this.waiting;
				this.waiting = null;
				act?.();
			}
		} catch (error) {
			this.answered = query;
			this.waiting = null;
			this.list.clear();
			this.show([], "");
			drawProblem(this.message, error);
		}
	}

	/** Stop searching, and remove all listeners. */
	stop(): void {
		this.waiting = null;
		this.ends.forEach((end) => end());
		this.search.stop();
		this.filters.stop();
	}

	private show(remarks: string[], foot: string): void {
		this.message.empty();
		drawRemarks(this.remarks, remarks);
		this.parts.foot.setText(foot);
	}
}
