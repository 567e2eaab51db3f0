/** Writes the pages that scripts/obsidian draws: what the plugin shows, in an imitation of Obsidian's window. */

import { readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import type { EditorSuggest, EditorSuggestContext } from "obsidian";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Target } from "../../src/link-suggest";
import { RELATED_PANE } from "../../src/related/related-pane";
import { StatusPage } from "../../src/status/status-page";
import { eventually, load, sharedHome, texts, type, type World } from "../world";

const FOLDER = process.env.VAULTSEEK_PICTURES ?? ".";
const PLUGIN = resolve(import.meta.dirname, "../..");
const NOTE = "Projects/Sump/Sump Pump Replacement.md";

let world: World;

beforeAll(async () => {
	world = await load(sharedHome());
	await world.edit(NOTE);
	await eventually(() => /^\d+ notes$/.test(statusBar().textContent ?? ""));
});

afterAll(() => world.unload());

it("the search window", async () => {
	world.plugin.openSearch();
	type("slugs ate all the lettuce");
	await eventually(() => texts(".vaultseek-result-title")[0] === "Slimy Visitors");
	await eventually(() => document.querySelector(".vaultseek-preview-line.is-match"));
	const modal = document.querySelector<HTMLElement>(".vaultseek-window")!;
	write("search", "1240,800", "dark", windowOf(modal));
	write("search-light", "1240,800", "light", windowOf(modal));
	document.querySelector(".vaultseek-query")!.dispatchEvent(new KeyboardEvent("keydown"));
	modal.parentElement!.remove();
});

it("the related notes", async () => {
	const { commands__: commands } = world.plugin as unknown as { commands__: Map<string, { callback(): void }> };
	commands.get("related")!.callback();
	const view = await eventually(() => world.app.workspace.getLeavesOfType(RELATED_PANE)[0]?.view);
	const { contentEl } = view as unknown as { contentEl: HTMLElement };
	await eventually(() => texts(".vaultseek-section", contentEl)[0] === "Related to Sump Pump Replacement");
	write("related", "1240,860", "light", appWith(contentEl.outerHTML));
	write("related-dark", "1240,860", "dark", appWith(contentEl.outerHTML));
});

it("links by meaning", async () => {
	const [list] = (world.plugin as unknown as { editorSuggests__: EditorSuggest<Target>[] }).editorSuggests__;
	const targets = await list!.getSuggestions({ query: "who repaired the brakes" } as EditorSuggestContext);
	expect(targets.length).toBeGreaterThan(2);
	const popover = document.createElement("div");
	popover.className = "suggestion-container";
	targets.slice(0, 4).forEach((target, number) => {
		const row = popover.createDiv({ cls: `suggestion-item${number === 0 ? " is-selected" : ""}` });
		list!.renderSuggestion(target, row);
	});
	const note = "<h1>Handover</h1>The pads were changed, see [[?who repaired the brakes]]";
	write("link", "760,420", "dark", `<div class="note">${note}</div><div style="position:absolute;left:56px;top:130px">${popover.outerHTML}</div>`);
});

it("the state page", async () => {
	const page = new StatusPage(world.plugin.context);
	page.open();
	await eventually(() => texts(".vaultseek-facts dd").includes("vault"));
	write("state", "900,620", "light", windowOf(page.modalEl));
	page.close();
});

/** Return a modal in front of the app. */
function windowOf(modal: HTMLElement): string {
	modal.classList.add("modal");
	const content = modal.querySelector<HTMLElement>(".vaultseek-top")?.parentElement;
	content?.classList.add("modal-content");
	for (const title of modal.children) {
		if (title.childElementCount === 0 && title.textContent) {
			title.classList.add("modal-title");
			modal.prepend(title);
		}
	}
	for (const field of modal.querySelectorAll("input")) {
		field.setAttribute("value", field.value);
	}
	return `${appWith("")}<div class="modal-container"><div class="modal-bg"></div>${modal.outerHTML}</div>`;
}

/** Return the app with a note, a side bar and the status bar. */
function appWith(side: string): string {
	const lines = readFileSync(join(world.home.vault, NOTE), "utf8").replace(/^---[^]*?---\n+/, "").split("\n");
	const note = document.createElement("div");
	note.className = "note";
	note.createEl("h1", { text: "Sump Pump Replacement" });
	note.appendText(lines.slice(1).join("\n"));
	const pane = side ? `<div class="side">${side}</div>` : "";
	const bar = `<div class="status-bar">${statusBar().outerHTML}<span>1 backlink</span><span>236 words</span></div>`;
	return `<div class="window"><div class="panes">${note.outerHTML}${pane}</div>${bar}</div>`;
}

function statusBar(): HTMLElement {
	return (world.plugin as unknown as { statusBarItems__: HTMLElement[] }).statusBarItems__[0]!;
}

function write(name: string, size: string, theme: "dark" | "light", body: string): void {
	const styles = ["tests/pictures/obsidian.css", "styles.css"].map((file) => readFileSync(join(PLUGIN, file), "utf8"));
	const own = body.replaceAll(world.home.vault, "/home/ana/notes").replaceAll(world.home.socket, "/run/user/1000/vaultseek/daemon.sock");
	writeFileSync(
		join(FOLDER, `${name}.html`),
		`<!doctype html><html data-size="${size}"><meta charset="utf-8"><style>${styles.join("\n")}</style>` +
			`<body class="theme-${theme}">${own}<script>document.querySelector(".is-match")?.scrollIntoView({block:"center"})</script>`,
	);
}
