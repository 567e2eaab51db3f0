/** What the mocks of Obsidian leave out: windows that stay open, keys, panes, and notes that are opened from disk. */

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { FileSystemAdapter, MarkdownView, Modal, Notice, Scope, Workspace, WorkspaceLeaf } from "obsidian-test-mocks/obsidian";

/** The texts of the notices since the last test began. */
export const notices: string[] = [];
/** What each leaf was opened with. */
export const opened: { path: string; line: number | undefined; leaf: object }[] = [];
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
	async openFile(this: WorkspaceLeaf, file: { path: string }, state?: { eState?: { line?: number } }) {
		const { app__: app } = this;
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

patch(Workspace, {
	setActiveLeaf(this: Workspace, leaf: WorkspaceLeaf) {
		this.activeLeaf = leaf;
		const view: object | null = leaf.view;
		this.trigger("active-leaf-change", leaf);
		if (view instanceof MarkdownView) {
			this.activeEditor = { editor: view.editor, file: view.file } as never;
			this.trigger("file-open", view.file);
		}
	},
	getActiveViewOfType(this: Workspace, type: new () => object) {
		const view = this.activeLeaf?.view;
		return view && (view as object) instanceof type ? view : null;
	},
	getActiveFile(this: Workspace) {
		return (this.activeEditor as { file?: object } | null)?.file ?? null;
	},
});
