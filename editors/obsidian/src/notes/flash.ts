/** Lines of an editor that light up for a moment, so that the eye finds the passage. */

import { type Extension, RangeSetBuilder, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, EditorView, ViewPlugin } from "@codemirror/view";
import { type Editor, editorInfoField } from "obsidian";

const SECONDS = 1.6;

/** Lines from 1, the last one inclusive; null ends the flash. */
type Lines = { first: number; last: number } | null;

const setFlash = StateEffect.define<Lines>();
const LINE = Decoration.line({ class: "vaultseek-flash" });

const flashed = StateField.define<DecorationSet>({
	create: () => Decoration.none,
	update: (decorations, transaction) => {
		for (const effect of transaction.effects) {
			if (effect.is(setFlash)) {
				return effect.value ? decorate(transaction.state.doc, effect.value) : Decoration.none;
			}
		}
		return decorations.map(transaction.changes);
	},
	provide: (field) => EditorView.decorations.from(field),
});

/** The open editors, and the passage that flashes in one of them. */
export class Flash {
	/** The extension that every editor needs. */
	readonly extension: Extension;
	private readonly views = new Set<EditorView>();
	private readonly timers = new Set<number>();

	constructor() {
		const views = this.views;
		const plugin = ViewPlugin.define((view) => {
			views.add(view);
			return { destroy: () => views.delete(view) };
		});
		this.extension = [flashed, plugin];
	}

	/** Flash the lines of `editor`, which count from 1. */
	lines(editor: Editor, first: number, last: number): void {
		const view = [...this.views].find((each) => each.state.field(editorInfoField, false)?.editor === editor);
		if (!view) {
			return;
		}
		view.dispatch({ effects: setFlash.of({ first, last }) });
		const timer = window.setTimeout(() => {
			this.timers.delete(timer);
			if (this.views.has(view)) {
				view.dispatch({ effects: setFlash.of(null) });
			}
		}, SECONDS * 1000);
		this.timers.add(timer);
	}

	/** Forget the editors. */
	stop(): void {
		this.timers.forEach((timer) => window.clearTimeout(timer));
		this.timers.clear();
		this.views.clear();
	}
}

function decorate(doc: EditorView["state"]["doc"], lines: { first: number; last: number }): DecorationSet {
	const builder = new RangeSetBuilder<Decoration>();
	for (let number = Math.max(1, lines.first); number <= Math.min(lines.last, doc.lines); number++) {
		const start = doc.line(number).from;
		builder.add(start, start, LINE);
	}
	return builder.finish();
}
