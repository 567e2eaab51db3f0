/** The pane that keeps the results of a search beside the note. */

import { ItemView, type ViewStateResult, type WorkspaceLeaf } from "obsidian";
import type { Context } from "../context";
import { SearchBox } from "./search-box";
import { paneFor } from "./search-window";

export const SEARCH_PANE = "vaultseek-search";

/** A search in a side bar. It is stored with the layout, and runs again when notes have changed. */
export class SearchPane extends ItemView {
	private box: SearchBox | null = null;
	private foot: HTMLElement | null = null;

	/** A note opened from the pane must not replace it. */
	override navigation = false;

	constructor(
		leaf: WorkspaceLeaf,
		private readonly context: Context,
	) {
		super(leaf);
	}

	getViewType(): string {
		return SEARCH_PANE;
	}

	getDisplayText(): string {
		return this.box?.query ? `Search: ${this.box.query}` : "Search results";
	}

	override getIcon(): string {
		return "search";
	}

	/** The query in the field. */
	get query(): string {
		return this.box?.query ?? "";
	}

	/** Put the cursor into the field. */
	focusField(): void {
		this.box?.field.focus();
	}

	override async onOpen(): Promise<void> {
		const { contentEl, context } = this;
		contentEl.empty();
		contentEl.addClass("vaultseek-pane");
		const top = contentEl.createDiv({ cls: "vaultseek-top" });
		const list = contentEl.createDiv({ cls: "vaultseek-column" });
		this.foot = contentEl.createDiv({ cls: "vaultseek-foot vaultseek-summary" });
		const box = new SearchBox(
			context,
			{
				top,
				list,
				foot: this.foot,
				actions: {
					choose: (result, from, event) => {
						context.led(from, result);
						void context.open(from, result, paneFor(event, context));
					},
					link: (from, path) => context.link(from, path),
				},
				empty: (el) => el.setText("Type a search; its results stay here."),
			},
			() => this.app.workspace.requestSaveLayout(),
		);
		this.box = box;
		box.field.addEventListener("keydown", (event) => this.press(event));
		await box.update();
	}

	override async onClose(): Promise<void> {
		this.box?.stop();
		this.box = null;
		this.contentEl.empty();
	}

	override getState(): Record<string, unknown> {
		return { query: this.query };
	}

	override async setState(state: unknown, result: ViewStateResult): Promise<void> {
		const query = (state as { query?: unknown } | null)?.query;
		if (typeof query === "string" && query !== this.query) {
			await this.box?.setQuery(query);
		}
		await super.setState(state, result);
	}

	private press(event: KeyboardEvent): void {
		if (event.isComposing || event.defaultPrevented || !this.box || this.box.completes) {
			return;
		}
		if (event.key === "ArrowDown" || event.key === "ArrowUp") {
			event.preventDefault();
			this.box.list.move(event.key === "ArrowDown" ? 1 : -1);
		} else if (event.key === "Enter") {
			event.preventDefault();
			const { box } = this;
			box.whenAnswered(() => box.list.choose(event));
		}
	}
}
