/** The plugin in Obsidian, with the notes of a vault on disk. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Editor, TFile } from "obsidian";
import { App, FileSystemAdapter } from "obsidian-test-mocks/obsidian";
import { inject, vi } from "vitest";
import VaultseekPlugin from "../src/main";
import manifest from "../manifest.json";
import { notices, opened, viewTypes } from "./obsidian";
import { Home } from "./real-daemon";

/** The daemon of all tests. */
export function sharedHome(): Home {
	return new Home(inject("home"));
}

/** A plugin that is loaded, and the app that it is loaded in. */
export interface World {
	home: Home;
	app: App;
	plugin: VaultseekPlugin;
	/** Open a note for editing. */
	edit(path: string): Promise<Editor>;
	/** Return a note. */
	file(path: string): TFile;
	/** Switch the plugin off. */
	unload(): void;
}

/** Load the plugin in an Obsidian that shows the vault of `home`. */
export async function load(home: Home, settings: object = {}): Promise<World> {
	notices.length = 0;
	opened.length = 0;
	const adapter = FileSystemAdapter.create__(home.vault).asOriginalType__();
	const app = App.createConfigured__({ adapter, files: notesOf(home.vault) });
	Object.assign(app.workspace, { editorSuggest: { suggests: [{ own: "[[" }] } });
	const plugin = new VaultseekPlugin(app as never, manifest as never);
	await plugin.saveData({ socket: home.socket, ...settings });
	Object.assign(plugin, { loaded__: true }); // as load() does, whose end cannot be waited for
	await plugin.onload();
	for (const [type, create] of (plugin as unknown as { views__: typeof viewTypes }).views__) {
		viewTypes.set(type, create);
	}
	const file = (path: string): TFile => {
		const note = app.vault.getFileByPath(path);
		if (!note) {
			throw new Error(`no note ${path}`);
		}
		return note as never;
	};
	return {
		home,
		app,
		plugin,
		file,
		async edit(path) {
			const leaf = app.workspace.getLeaf("tab");
			await leaf.openFile(file(path) as never);
			return app.workspace.activeEditor?.editor as Editor;
		},
		unload() {
			plugin.unload();
			document.body.empty();
		},
	};
}

/** Wait until `condition` is true, and return what it returns. */
export function eventually<T>(condition: () => T): Promise<NonNullable<T>> {
	return vi.waitUntil(condition, { timeout: 60_000, interval: 20 }) as Promise<NonNullable<T>>;
}

/** Return the texts of the elements below `root` that match a selector. */
export function texts(selector: string, root: ParentNode = document): string[] {
	return [...root.querySelectorAll(selector)].map((each) => each.textContent ?? "");
}

/** Type a query into the field below `root`. */
export function type(query: string, root: ParentNode = document): void {
	const field = root.querySelector<HTMLInputElement>(".vaultseek-query");
	if (!field) {
		throw new Error("no field to type into");
	}
	field.value = query;
	field.setSelectionRange(query.length, query.length);
	field.dispatchEvent(new Event("input"));
}

function notesOf(folder: string): Record<string, string> {
	const notes: Record<string, string> = {};
	for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
		const path = join(entry.parentPath, entry.name).slice(folder.length + 1);
		if (entry.isFile() && !path.startsWith(".")) {
			// The mocks parse properties more strictly than Obsidian, which accepts a template as it is.
			notes[path] = /^Templates|\.(?!md$)[^.]*$/.test(path) ? "" : readFileSync(join(folder, path), "utf8");
		}
	}
	return notes;
}
