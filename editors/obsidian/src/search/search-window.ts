/** The search window: a field, live results, and a preview of the selected one. */

import { Keymap, Modal, type Modifier, type PaneType, Platform } from "obsidian";
import type { Context } from "../context";
import type { Note, Result, Search } from "../daemon/protocol";
import { paneOf } from "../notes/open";
import { shown } from "../text";
import { narrowed, quoted } from "./filters";
import { Preview } from "./preview";
import { SearchBox } from "./search-box";

/** Return the keys of the window, as named on this system, and their actions. */
function keys(): readonly [string, string][] {
	const [mod, alt, shift] = Platform.isMacOS ? ["⌘", "⌥", "⇧"] : ["ctrl", "alt", "shift"];
	return [
		["↑↓", "select"],
		["↵", "open"],
		[`${mod} ↵`, "in a new pane"],
		[`${shift} ↵`, "insert a link"],
		[`${alt} ↵`, "insert a link to the heading"],
		[`${mod} ${shift} ↵`, "keep in a pane"],
	];
}

/** A modal window; `keep` shows its results in a pane instead. `within` is the only note to search. */
export class SearchWindow extends Modal {
	private box: SearchBox | null = null;
	private preview: Preview | null = null;

	constructor(
		private readonly context: Context,
		private readonly keep: (query: string) => void,
		private readonly first = "",
		private readonly within: Note | null = null,
	) {
		super(context.app);
	}

	override onOpen(): void {
		this.context.windows.add(this);
		this.modalEl.addClass("vaultseek-window", "prompt");
		const { contentEl } = this;
		contentEl.empty();
		const top = contentEl.createDiv({ cls: "vaultseek-top prompt-input-container" });
		const columns = contentEl.createDiv({ cls: "vaultseek-columns" });
		const list = columns.createDiv({ cls: "vaultseek-column" });
		const preview = new Preview(columns.createDiv({ cls: "vaultseek-preview" }), this.context);
		const foot = contentEl.createDiv({ cls: "vaultseek-foot prompt-instructions" });
		for (const [key, does] of keys()) {
			const instruction = foot.createDiv({ cls: "prompt-instruction" });
			instruction.createSpan({ cls: "prompt-instruction-command", text: key });
			instruction.createSpan({ text: does });
		}
		this.preview = preview;
		this.box = new SearchBox(this.context, {
			top,
			list,
			foot: foot.createDiv({ cls: "vaultseek-summary" }),
			actions: {
				choose: (result, from, event) => void this.choose(result, from, paneFor(event, this.context)),
				select: (result) => void preview.show(result),
				link: (from, path) => this.context.link(from, path),
				drag: (dragging) => this.drag(dragging),
			},
			within: this.within,
			empty: (el) => this.offerRecent(el),
		});
		this.registerKeys(this.box);
		void this.box.setQuery(this.first);
		this.box.field.focus();
		this.box.field.select();
	}

	override onClose(): void {
		this.context.windows.delete(this);
		this.box?.stop();
		this.preview?.stop();
		this.box = this.preview = null;
		this.contentEl.empty();
	}

	/** The query in the field. */
	get query(): string {
		return this.box?.query ?? "";
	}

	private registerKeys(box: SearchBox): void {
		const key = (modifiers: Modifier[], name: string, act: (event: KeyboardEvent) => void): void => {
			this.scope.register(modifiers, name, (event) => {
				if (event.isComposing) {
					return true; // the key belongs to an input method
				}
				act(event);
				return false;
			});
		};
		key([], "ArrowDown", () => box.list.move(1));
		key([], "ArrowUp", () => box.list.move(-1));
		key(["Ctrl"], "n", () => box.list.move(1));
		key(["Ctrl"], "p", () => box.list.move(-1));
		key([], "Enter", (event) => box.whenAnswered(() => box.list.choose(event)));
		key(["Mod"], "Enter", (event) => box.whenAnswered(() => box.list.choose(event)));
		key(["Mod", "Alt"], "Enter", (event) => box.whenAnswered(() => box.list.choose(event)));
		key(["Shift"], "Enter", () => box.whenAnswered(() => this.insert(box, false)));
		key(["Alt"], "Enter", () => box.whenAnswered(() => this.insert(box, true)));
		key(["Mod", "Shift"], "Enter", () => {
			this.context.recent.add(box.query);
			this.keep(this.within ? narrowed(`path:${quoted(this.within.path)}`, box.query) : box.query);
			this.close();
		});
	}

	private async choose(result: Result, from: Search, pane: PaneType | false): Promise<void> {
		this.led(from, result);
		this.close();
		await this.context.open(from, result, pane);
	}

	/** A search within one note is kept only in the recent searches, because it does not compare notes. */
	private led(from: Search, result: Result): void {
		if (this.within) {
			this.context.recent.add(from.query);
		} else {
			this.context.led(from, result);
		}
	}

	private insert(box: SearchBox, toHeading: boolean): void {
		const result = box.list.selected;
		const from = box.list.shown;
		if (result && from) {
			this.led(from, result);
			this.close();
			this.context.insert(from, result, toHeading);
		}
	}

	/** While a result is dragged, the note below must be reachable; the window closes afterwards. */
	private drag(dragging: boolean): void {
		this.containerEl.toggleClass("vaultseek-dragging", dragging);
		if (!dragging) {
			this.close();
		}
	}

	private offerRecent(el: HTMLElement): void {
		el.empty();
		const queries = this.context.recent.all;
		if (queries.length > 0) {
			el.createDiv({ cls: "vaultseek-recent-title", text: "Recent searches" });
		}
		for (const query of queries) {
			const row = el.createEl("button", { cls: "vaultseek-recent", text: shown(query) });
			row.addEventListener("click", () => {
				void this.box?.setQuery(query);
				this.box?.field.focus();
			});
		}
	}
}

/** Return the pane requested by a click or key, or else the one in the settings. */
export function paneFor(event: MouseEvent | KeyboardEvent, context: Context): PaneType | false {
	const wanted = Keymap.isModEvent(event);
	if (wanted === true) {
		return "tab";
	}
	return wanted || paneOf(context.settings().click);
}
