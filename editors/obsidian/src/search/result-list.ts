/** A list of results of which one is selected: in the search window and in the pane. */

import type { OfVault, Result, Search } from "../daemon/protocol";
import { count } from "../text";
import { drawResult } from "./result";

/** Callbacks of a list of results. */
export interface ListActions {
	/** A result was clicked, or Enter was pressed. */
	choose(result: Result, from: Search, event: MouseEvent | KeyboardEvent): void;
	/** Another result is selected; null if there is none. */
	select?(result: Result | null, from: Search | null): void;
	/** Return the link for a dragged result, or null. */
	link(from: OfVault, path: string): string | null;
	/** A drag began or ended. */
	drag?: (dragging: boolean) => void;
}

let lists = 0;

/** Results as options of a listbox; a focused text field can move the selection. */
export class ResultList {
	readonly el: HTMLElement;
	private readonly id = `vaultseek-list-${++lists}`;
	private answer: Search | null = null;
	private rows: HTMLElement[] = [];
	/** The line that stands for the less certain results until it is clicked or passed. */
	private fold: HTMLElement | null = null;
	private index = -1;

	constructor(
		parent: HTMLElement,
		private readonly actions: ListActions,
		private readonly field?: HTMLElement,
	) {
		this.el = parent.createDiv({ cls: "vaultseek-results", attr: { role: "listbox", id: this.id } });
		field?.setAttrs({ role: "combobox", "aria-controls": this.id, "aria-expanded": "true" });
	}

	get selected(): Result | null {
		return this.answer?.results[this.index] ?? null;
	}

	get shown(): Search | null {
		return this.answer;
	}

	/** Show the results of an answer, and keep the selection, or select the first. Fold the less certain ones. */
	show(answer: Search): void {
		const before = this.selected?.path;
		const folds = this.answer?.query !== answer.query || this.fold !== null;
		const scrolled = this.answer?.query === answer.query ? this.el.scrollTop : 0;
		this.answer = answer;
		this.el.empty();
		this.fold = null;
		const certain = answer.results.length - (folds ? answer.less_certain : 0);
		this.rows = answer.results.slice(0, certain).map((result, number) => this.draw(answer, result, number));
		if (certain < answer.results.length) {
			const text = count(answer.less_certain, "less certain note");
			this.fold = this.el.createEl("button", { cls: "vaultseek-fold", text });
			this.fold.addEventListener("click", () => this.unfold());
		}
		const again = answer.results.findIndex((result) => result.path === before);
		this.select(this.index > 0 && again > 0 && again < certain ? again : 0);
		this.el.scrollTop = scrolled; // the same search again, because a note changed, must not move what is read
	}

	/** Show nothing. */
	clear(): void {
		this.answer = null;
		this.fold = null;
		this.rows = [];
		this.el.empty();
		this.select(-1);
	}

	/** Move the selection down by `by`, wrapping at the ends; folded results appear on the way. */
	move(by: number): void {
		if (this.index + by >= this.rows.length) {
			this.unfold();
		}
		const many = this.rows.length;
		if (many > 0) {
			this.select((((this.index + by) % many) + many) % many);
		}
	}

	/** Choose the selected result. */
	choose(event: MouseEvent | KeyboardEvent): void {
		if (this.selected && this.answer) {
			this.actions.choose(this.selected, this.answer, event);
		}
	}

	private unfold(): void {
		if (this.fold && this.answer) {
			const { answer } = this;
			this.fold.remove();
			this.fold = null;
			const rest = answer.results.slice(this.rows.length);
			const first = this.rows.length;
			this.rows.push(...rest.map((result, number) => this.draw(answer, result, first + number)));
		}
	}

	private select(index: number): void {
		this.rows[this.index]?.setAttrs({ "aria-selected": "false" });
		this.index = index;
		const row = this.rows[index];
		row?.setAttrs({ "aria-selected": "true" });
		row?.scrollIntoView?.({ block: "nearest" });
		if (row) {
			this.field?.setAttrs({ "aria-activedescendant": row.id });
		} else {
			this.field?.removeAttribute("aria-activedescendant");
		}
		this.actions.select?.(this.selected, this.answer);
	}

	private draw(answer: Search, result: Result, number: number): HTMLElement {
		const row = this.el.createDiv({
			cls: "vaultseek-result",
			attr: { role: "option", id: `${this.id}-${number}`, "aria-selected": "false", draggable: "true" },
		});
		drawResult(row, result);
		row.addEventListener("mousemove", () => {
			if (this.index !== number) {
				this.select(number);
			}
		});
		row.addEventListener("click", (event) => this.actions.choose(result, answer, event));
		row.addEventListener("auxclick", (event) => {
			if (event.button === 1) {
				this.actions.choose(result, answer, event);
			}
		});
		makeDraggable(row, () => this.actions.link(answer, result.path), this.actions.drag);
		return row;
	}
}

/** Let `el` be dragged into a note, where the text returned by `link` is inserted. */
export function makeDraggable(el: HTMLElement, link: () => string | null, drag?: (dragging: boolean) => void): void {
	el.setAttrs({ draggable: "true" });
	el.addEventListener("dragstart", (event) => {
		const text = link();
		if (text === null) {
			event.preventDefault();
			return;
		}
		event.dataTransfer?.setData("text/plain", text);
		// The browser captures the drag image only after this handler; the window must not disappear before that.
		window.setTimeout(() => drag?.(true), 0);
	});
	el.addEventListener("dragend", () => drag?.(false));
}
