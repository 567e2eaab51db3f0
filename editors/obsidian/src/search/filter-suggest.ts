/** Filters completed in a query field: tags, folders, properties and their values, kinds, linked notes. */

import { AbstractInputSuggest } from "obsidian";
import type { Context } from "../context";
import type { Completion } from "../daemon/protocol";
import { LatestList } from "../latest";
import { shown } from "../text";
const MOST = 12;

/** A text, its meaning, and the start of the text that it replaces, as more may be typed before it is chosen. */
interface Offer {
	text: string;
	about: string;
	start: number;
}

/** Completion of the filter before the cursor of a text field. */
export class FilterSuggest extends AbstractInputSuggest<Offer> {
	/** True while the list is shown and handles the keys. */
	isShown = false;
	/** Not `suggestions`: the class above has a field of that name that its types do not show. */
	private readonly offers = new LatestList<Offer>();
	/** The query into which a suggestion was inserted; nothing is offered for it again. */
	private written = "";

	constructor(
		private readonly context: Context,
		private readonly field: HTMLInputElement,
	) {
		super(context.app, field);
	}

	override open(): void {
		super.open();
		this.isShown = true;
	}

	override close(): void {
		super.close();
		this.isShown = false;
	}

	/** Close the list and stop requests. */
	stop(): void {
		this.offers.stop();
		this.close();
	}

	async getSuggestions(): Promise<Offer[]> {
		const { field } = this;
		const before = field.value.slice(0, field.selectionStart ?? field.value.length);
		// The list of results reports errors.
		return this.offers.ask(async (signal) =>
			before === this.written ? [] : this.offer(before, signal),
		);
	}

	renderSuggestion(suggestion: Offer, el: HTMLElement): void {
		el.addClass("vaultseek-filter");
		el.createSpan({ text: shown(suggestion.text) });
		el.createSpan({ cls: "suggestion-note", text: shown(suggestion.about) });
	}

	selectSuggestion({ text, start }: Offer): void {
		const { field } = this;
		const cursor = field.selectionStart ?? field.value.length;
		const closed = text.endsWith("]") && field.value.charAt(cursor) === "]" ? 1 : 0;
		field.setRangeText(text, Math.min(start, cursor), cursor + closed, "end");
		// After a property, its values are offered.
		this.written = text.endsWith(":") ? "" : field.value.slice(0, field.selectionStart ?? field.value.length);
		field.dispatchEvent(new Event("input"));
		this.close();
	}

	private async offer(before: string, signal: AbortSignal): Promise<Offer[]> {
		const { items } = await this.context.ask("complete", { kind: "query", text: before, limit: MOST }, signal);
		const offers = items
			// A word such as `line` is also the name of a filter.
			.filter((item) => item.is !== "operator")
			.map((item) => ({ text: item.text, about: meaning(item), start: before.length - (item.replaces ?? 0) }));
		return offers.filter((each) => each.text !== before.slice(each.start));
	}
}

function meaning(item: Completion): string {
	return item.path ?? (item.count ? `${item.count} ${item.count === 1 ? "note" : "notes"}` : "");
}
