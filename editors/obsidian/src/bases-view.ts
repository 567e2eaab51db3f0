/**
 * A view of a base that shows the rows found by a search, in its order.
 *
 * Obsidian gives a view the rows that pass the base's filters; a view cannot add others. So the search ranks these
 * rows and leaves out the ones that it does not find.
 */

import { type BasesEntry, type BasesViewRegistration, BasesView, type QueryController } from "obsidian";
import type { Context } from "./context";
import { MOST_RESULTS } from "./settings";
import { drawProblem, drawRemarks } from "./problem";
import { LiveSearch } from "./search/live-search";
import { paneFor } from "./search/search-window";
import type { Result, Search } from "./daemon/protocol";
import { appendMarked, count, shown } from "./text";

export const BASES_VIEW = "vaultseek-search";

/** Return the registration of the view. */
export function basesView(context: Context): BasesViewRegistration {
	return {
		name: "Search by vaultseek",
		icon: "search",
		factory: (controller, el) => new SearchBasesView(controller, el, context),
		options: () => [
			{ type: "text", key: "query", displayName: "Search", default: "", placeholder: "float switch tag:work" },
			{ type: "toggle", key: "passages", displayName: "Show the passages", default: true },
		],
	};
}

/** A table of the rows that a search finds. */
export class SearchBasesView extends BasesView {
	readonly type = BASES_VIEW;
	private readonly live: LiveSearch;
	private readonly rowsEl: HTMLElement;

	constructor(
		controller: QueryController,
		parent: HTMLElement,
		private readonly context: Context,
	) {
		super(controller);
		this.live = new LiveSearch(context);
		this.rowsEl = parent.createDiv({ cls: "vaultseek-base" });
	}

	override onload(): void {
		const again = (): void => void this.rank();
		this.register(this.context.daemon.linked.on((link) => link.connected && again()));
		this.register(this.context.daemon.changed.on(again));
	}

	override onunload(): void {
		this.live.stop();
		this.rowsEl.remove();
	}

	onDataUpdated(): void {
		void this.rank();
	}

	/** Search, and show the rows that are found. */
	async rank(): Promise<void> {
		const query = this.config.get("query");
		if (typeof query !== "string" || !query.trim()) {
			this.rowsEl.setText("Type a search in this view's options.");
			return;
		}
		try {
			const found = await this.live.run(query, { limit: MOST_RESULTS });
			if (found) {
				this.draw(found.answer, found.nothing ? [...found.remarks, found.nothing] : found.remarks);
			}
		} catch (error) {
			drawProblem(this.rowsEl, error);
		}
	}

	private draw(answer: Search, remarks: string[]): void {
		this.rowsEl.empty();
		const entries = new Map(this.data.data.map((entry) => [entry.file.path, entry]));
		const rows = answer.results.flatMap((result) => {
			const entry = entries.get(this.context.notes.file(answer.vault_path, result.path)?.path ?? "");
			return entry ? [{ result, entry }] : [];
		});
		drawRemarks(this.rowsEl.createDiv({ cls: "vaultseek-remarks" }), [...remarks, ...left(answer, rows.length, entries.size)]);
		const columns = this.config.getOrder().filter((id) => id !== "file.name");
		const table = this.rowsEl.createEl("table", { cls: "vaultseek-base-table" });
		const head = table.createEl("thead").createEl("tr");
		for (const name of ["Note", ...columns.map((id) => this.config.getDisplayName(id))]) {
			head.createEl("th", { text: shown(name) });
		}
		const body = table.createEl("tbody");
		for (const { result, entry } of rows) {
			this.drawRow(body.createEl("tr"), answer, result, entry, columns);
		}
	}

	private drawRow(
		row: HTMLElement,
		answer: Search,
		result: Result,
		entry: BasesEntry,
		columns: ReturnType<BasesView["config"]["getOrder"]>,
	): void {
		const name = row.createEl("td");
		const link = name.createEl("a", { cls: "internal-link", text: shown(result.title) });
		link.addEventListener("click", (event) => {
			event.preventDefault();
			void this.context.open(answer, result, paneFor(event, this.context));
		});
		if (this.config.get("passages") !== false && result.preview) {
			appendMarked(name.createDiv({ cls: "vaultseek-excerpt" }), result.preview, result.highlights ?? []);
		}
		for (const id of columns) {
			row.createEl("td", { text: shown(entry.getValue(id)?.toString() ?? "") });
		}
	}
}

/** Return the remark on the rows of a base that are not shown. */
function left(answer: Search, rows: number, all: number): string[] {
	if (answer.results.length === 0 || rows === all) {
		return [];
	}
	if (answer.results.length < MOST_RESULTS) {
		return [`The search finds ${rows} of the ${count(all, "row")} in this base.`];
	}
	const first = `The first ${MOST_RESULTS} notes that the search finds include ${rows} of the ${count(all, "row")} in this base.`;
	return [`${first} To find more of them, add a filter such as path: to the search.`];
}
