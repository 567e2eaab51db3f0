/** What the mocks of Obsidian leave out: windows that stay open, keys, panes, and notes that are opened from disk. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
	AbstractInputSuggest,
	FileSystemAdapter,
	MarkdownView,
	Modal,
	Notice,
	Plugin,
	Scope,
	TextComponent,
	Workspace,
	WorkspaceLeaf,
} from "obsidian-test-mocks/obsidian";

/** The texts of the notices since the last test began. */
export const notices: string[] = [];
/** The arguments with which each leaf was opened. */
export const opened: { path: string; line: number | undefined; subpath?: string | undefined; leaf: object }[] = [];
/** The creators of views that the plugin registered. */
export const viewTypes = new Map<string, (leaf: never) => OpenView>();

interface OpenView {
	onOpen(): Promise<void>;
	onClose(): Promise<void>;
	setState(state: unknown, result: object): Promise<void>;
	load(): void;
}

/** The prototypes of the mocks, which are stricter in their types than Obsidian is. */
type Patched = Record<string, unknown>;
const patch = (type: { prototype: object }, methods: Patched): void => {
	Object.assign(type.prototype, methods);
};

patch(Modal, {
	open(this: Modal) {
		document.body.appendChild(this.containerEl);
		this.onOpen();
	},
	close(this: Modal) {
		this.onClose();
		this.containerEl.remove();
	},
});

patch(Notice, {
	constructor__(message: string | DocumentFragment) {
		notices.push(typeof message === "string" ? message : (message.textContent ?? ""));
	},
});

/** The keys of a scope. */
const keys = new WeakMap<object, { modifiers: string[]; key: string | null; act: (event: KeyboardEvent) => unknown }[]>();

patch(Scope, {
	register(this: Scope, modifiers: string[] | null, key: string | null, act: (event: KeyboardEvent) => unknown) {
		keys.set(this, [...(keys.get(this) ?? []), { modifiers: modifiers ?? [], key, act }]);
		return {};
	},
});

/** Press a key in a scope, such as a modal's. */
export function press(scope: object, key: string, ...modifiers: ("Mod" | "Shift" | "Alt" | "Ctrl")[]): void {
	const wanted = [...modifiers].sort().join();
	const found = keys.get(scope)?.find((each) => each.key === key && [...each.modifiers].sort().join() === wanted);
	if (!found) {
		throw new Error(`nothing listens to ${[...modifiers, key].join(" ")}`);
	}
	const has = (name: "Mod" | "Shift" | "Alt" | "Ctrl"): boolean => modifiers.includes(name);
	const init = { key, ctrlKey: has("Mod") || has("Ctrl"), shiftKey: has("Shift"), altKey: has("Alt") };
	found.act(new KeyboardEvent("keydown", init));
}

patch(WorkspaceLeaf, {
	async openFile(this: WorkspaceLeaf, file: { path: string }, state?: { eState?: { line?: number; subpath?: string } }) {
		const { app__: app } = this;
		if (file.path.endsWith(".pdf")) {
			opened.push({ path: file.path, line: undefined, subpath: state?.eState?.subpath, leaf: this });
			return;
		}
		const view = MarkdownView.create2__(this);
		const adapter = app.vault.adapter as unknown as FileSystemAdapter;
		view.setViewData(readFileSync(join(adapter.getBasePath(), file.path), "utf8"), true);
		(view as unknown as { file: object }).file = file;
		(this as unknown as { file: object }).file = file;
		this.view = view as never;
		opened.push({ path: file.path, line: state?.eState?.line, leaf: this });
		app.workspace.setActiveLeaf(this);
	},
	async setViewState(this: WorkspaceLeaf, state: { type: string; state?: object }) {
		(this as unknown as { viewState: object }).viewState = { ...state };
		const create = viewTypes.get(state.type);
		if (!create) {
			return;
		}
		let view = this.view as unknown as OpenView | null;
		if (!view) {
			view = create(this as never);
			this.view = view as never;
			view.load();
			await view.onOpen();
		}
		await view.setState(state.state ?? {}, {});
	},
});

/** The leaf of a note that was active last, and its file. */
const recent = new WeakMap<object, { leaf: WorkspaceLeaf; file: object }>();

patch(Workspace, {
	setActiveLeaf(this: Workspace, leaf: WorkspaceLeaf) {
		this.activeLeaf = leaf;
		const view: object | null = leaf.view;
		this.trigger("active-leaf-change", leaf);
		// As in Obsidian: when a pane beside the notes becomes active, no editor is active.
		this.activeEditor = view instanceof MarkdownView ? (view as never) : null;
		if (view instanceof MarkdownView) {
			recent.set(this, { leaf, file: view.file as object });
			this.trigger("file-open", view.file);
		}
	},
	getActiveViewOfType(this: Workspace, type: new () => object) {
		const view = this.activeLeaf?.view;
		return view && (view as object) instanceof type ? view : null;
	},
	getActiveFile(this: Workspace) {
		return recent.get(this)?.file ?? null;
	},
	getMostRecentLeaf(this: Workspace) {
		return recent.get(this)?.leaf ?? null;
	},
});

/** Obsidian's lists below the cursor, in the order in which they are queried: its own come first. */
export interface EditorSuggests {
	suggests: object[];
}

patch(Plugin, {
	registerEditorSuggest(this: Plugin, list: object) {
		(this as unknown as { editorSuggests__: object[] }).editorSuggests__.push(list);
		const { suggests } = (this.app.workspace as unknown as { editorSuggest: EditorSuggests }).editorSuggest;
		suggests.push(list);
		this.register(() => suggests.splice(suggests.indexOf(list), 1));
	},
});

/** The lists of suggestions below fields. */
export const inputSuggests: { field: HTMLInputElement; offered: object[]; choose(number: number): void }[] = [];

interface InputSuggest {
	getSuggestions(query: string): Promise<object[]>;
	selectSuggestion(suggestion: object, event: Event): void;
	open(): void;
	close(): void;
}

patch(AbstractInputSuggest, {
	constructor2__(this: InputSuggest, _app: object, field: HTMLInputElement) {
		const entry = { field, offered: [] as object[], choose: (number: number) => this.selectSuggestion(entry.offered[number]!, new Event("click")) };
		inputSuggests.push(entry);
		field.addEventListener("input", () => {
			// As in Obsidian: whichever list arrives is shown, even one that was requested earlier.
			void this.getSuggestions(field.value).then((offered) => {
				entry.offered = offered;
				if (offered.length > 0) {
					this.open();
				} else {
					this.close();
				}
			});
		});
	},
});

patch(TextComponent, {
	onChange(this: TextComponent, changed: (value: string) => unknown) {
		this.inputEl.addEventListener("input", () => void changed(this.inputEl.value));
		return this;
	},
});
