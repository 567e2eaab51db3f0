/** The filters that a query field completes: tags, folders, properties and their values, linked notes. */

import { AbstractInputSuggest } from "obsidian";
import type { Context } from "../context";
import { Latest } from "../latest";
import { shown } from "../text";
import { suggest, type Suggestion } from "./filters";

/** Completion of the filter that stands before the cursor of a text field. */
export class FilterSuggest extends AbstractInputSuggest<Suggestion> {
	private readonly latest = new Latest();

	constructor(
		private readonly context: Context,
		private readonly field: HTMLInputElement,
	) {
		super(context.app, field);
	}

	async getSuggestions(): Promise<Suggestion[]> {
		const before = this.field.value.slice(0, this.field.selectionStart ?? this.field.value.length);
		const { context } = this;
		const work = (signal: AbortSignal): Promise<Suggestion[]> =>
			suggest(before, {
				complete: async (kind, text, property) => {
					const more = property === undefined ? {} : { property };
					return (await context.ask("complete", { kind, text, ...more }, signal)).items;
				},
				folders: () => context.app.vault.getAllFolders().map((folder) => folder.path),
			});
		try {
			return (await this.latest.run(work)) ?? [];
		} catch {
			return []; // the list of results says what is wrong
		}
	}

	renderSuggestion(suggestion: Suggestion, el: HTMLElement): void {
		el.addClass("vaultseek-filter");
		el.createSpan({ text: shown(suggestion.text) });
		el.createSpan({ cls: "suggestion-note", text: shown(suggestion.about) });
	}

	selectSuggestion(suggestion: Suggestion): void {
		const { field } = this;
		const cursor = field.selectionStart ?? field.value.length;
		field.setRangeText(suggestion.text, cursor - suggestion.replaced, cursor, "end");
		field.dispatchEvent(new Event("input"));
		this.close();
	}
}
