/** Writes the pages that scripts/obsidian draws: what the plugin shows, in an imitation of Obsidian's window. */

import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { EditorSuggest, EditorSuggestContext } from "obsidian";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Target } from "../../src/link-suggest";
import { RELATED_PANE } from "../../src/related/related-pane";
import { SEARCH_PANE } from "../../src/search/search-pane";
import { StatusPage } from "../../src/status/status-page";
import { Home } from "../real-daemon";
import { eventually, load, sharedHome, texts, type, type World } from "../world";

const FOLDER = process.env.VAULTSEEK_PICTURES ?? ".";
const PLUGIN = resolve(import.meta.dirname, "../..");
const NOTE = "Projects/Sump/Sump Pump Replacement.md";
const PERSON = "People/Wendelin Aschauer.md";
/** A generous limit in milliseconds for a search while nothing else is running. */
const AT_REST_MS = 40;

let world: World;

beforeAll(async () => {
	world = await load(sharedHome());
	await world.edit(NOTE);
	await eventually(() => /^\d+ notes$/.test(statusBar().textContent ?? ""));
});

afterAll(() => world.unload());

it("the search window", async () => {
	world.plugin.openSearch();
	await searchAtRest("slugs ate all the lettuce", "Slimy Visitors");
	await eventually(() => document.querySelector(".vaultseek-preview-line.is-match"));
	const modal = document.querySelector<HTMLElement>(".vaultseek-window")!;
	write("search-dark", "1240,800", "dark", windowOf(modal));
	write("search", "1240,800", "light", windowOf(modal));
	world.plugin.context.windows.forEach((each) => each.close());
});

it("the pane of results", async () => {
	const contentEl = await pane("results", SEARCH_PANE);
	await searchAtRest("why did the pump trip tag:work", "Sump Pump Replacement", contentEl);
	for (const field of contentEl.querySelectorAll("input")) {
		field.setAttribute("value", field.value);
	}
	write("results", "1240,860", "light", appWith(contentEl.outerHTML));
	write("results-dark", "1240,860", "dark", appWith(contentEl.outerHTML));
});

it("the related notes", async () => {
	const contentEl = await pane("related", RELATED_PANE);
	await eventually(() => texts(".vaultseek-section", contentEl)[0] === "Related to Sump Pump Replacement");
	write("related", "1240,860", "light", appWith(contentEl.outerHTML));
	write("related-dark", "1240,860", "dark", appWith(contentEl.outerHTML));
});

it("mentions without a link", async () => {
	const before = world.plugin.settings;
	world.plugin.settings = { ...before, results: 3 };
	const contentEl = await pane("related", RELATED_PANE);
	await world.edit(PERSON);
	await eventually(() => texts(".vaultseek-mention", contentEl).length > 3);
	write("mentions", "1240,860", "light", appWith(contentEl.outerHTML, PERSON));
	write("mentions-dark", "1240,860", "dark", appWith(contentEl.outerHTML, PERSON));
	world.plugin.settings = before;
});

it("no daemon", async () => {
	const nowhere = new Home(await mkdtemp(join(tmpdir(), "vo-")));
	await nowhere.furnish();
	const other = await load(nowhere);
	other.plugin.openSearch();
	type("slugs ate all the lettuce");
	await eventually(() => texts(".vaultseek-problem code")[0] === "vaultseek start");
	const modal = document.querySelector<HTMLElement>(".vaultseek-window")!;
	const bar = statusBar(other);
	write("no-daemon", "1240,560", "light", windowOf(modal, bar));
	write("no-daemon-dark", "1240,560", "dark", windowOf(modal, bar));
	other.plugin.context.windows.forEach((each) => each.close());
	other.plugin.unload();
	await rm(nowhere.folder, { recursive: true });
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
	const page = `<div class="note">${note}</div><div style="position:absolute;left:56px;top:130px">${popover.outerHTML}</div>`;
	write("link-dark", "760,420", "dark", page);
	write("link", "760,420", "light", page);
});

it("the state page", async () => {
	const page = new StatusPage(world.plugin.context);
	page.open();
	await eventually(() => texts(".vaultseek-facts dd").includes("vault"));
	write("state", "900,620", "light", windowOf(page.modalEl));
	write("state-dark", "900,620", "dark", windowOf(page.modalEl));
	page.close();
});

/** Show a pane through its command, and return its content. */
async function pane(command: string, viewType: string): Promise<HTMLElement> {
	const { commands__: commands } = world.plugin as unknown as { commands__: Map<string, { callback(): void }> };
	commands.get(command)!.callback();
	const view = await eventually(() => world.app.workspace.getLeavesOfType(viewType)[0]?.view);
	return (view as unknown as { contentEl: HTMLElement }).contentEl;
}

/** Search until the machine is otherwise idle, so that the picture shows the time a reader will see. */
async function searchAtRest(query: string, title: string, root: ParentNode = document): Promise<void> {
	const milliseconds = (): number => Number(/(\d+) ms/.exec(texts(".vaultseek-summary", root)[0] ?? "")?.[1] ?? Infinity);
	for (let attempt = 0; attempt < 40 && milliseconds() > AT_REST_MS; attempt++) {
		type("", root);
		type(query, root);
		await eventually(() => texts(".vaultseek-result-title", root)[0] === title);
	}
}

/** Return a modal in front of the app. */
function windowOf(modal: HTMLElement, bar = statusBar()): string {
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
	return `${appWith("", NOTE, bar)}<div class="modal-container"><div class="modal-bg"></div>${modal.outerHTML}</div>`;
}

/** Return the app with a note, a side bar and the status bar. */
function appWith(side: string, path = NOTE, bar = statusBar()): string {
	const lines = readFileSync(join(world.home.vault, path), "utf8").replace(/^---[^]*?---\n+/, "").split("\n");
	const note = document.createElement("div");
	note.className = "note";
	note.createEl("h1", { text: path.replace(/^.*\/|\.md$/g, "") });
	note.appendText(lines.slice(1).join("\n"));
	const beside = side ? `<div class="side">${side}</div>` : "";
	const below = `<div class="status-bar">${bar.outerHTML}<span>1 backlink</span><span>236 words</span></div>`;
	return `<div class="window"><div class="panes">${note.outerHTML}${beside}</div>${below}</div>`;
}

function statusBar({ plugin }: World = world): HTMLElement {
	return (plugin as unknown as { statusBarItems__: HTMLElement[] }).statusBarItems__[0]!;
}

function write(name: string, size: string, theme: "dark" | "light", body: string): void {
	const styles = ["tests/pictures/obsidian.css", "styles.css"].map((file) => readFileSync(join(PLUGIN, file), "utf8"));
	const own = body.replaceAll(world.home.vault, "/home/ana/notes").replaceAll(world.home.socket, "/home/ana/.local/share/vaultseek/run/daemon.sock");
	writeFileSync(
		join(FOLDER, `${name}.html`),
		`<!doctype html><html data-size="${size}"><meta charset="utf-8"><style>${styles.join("\n")}</style>` +
			`<body class="theme-${theme}">${own}<script>document.querySelector(".is-match")?.scrollIntoView({block:"center"})</script>`,
	);
}
