import { existsSync } from "node:fs";
import { join } from "node:path";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import type { BasesViewRegistration, EditorSuggest, EditorSuggestContext } from "obsidian";
import { editorInfoField } from "obsidian";
import { App, QueryController } from "obsidian-test-mocks/obsidian";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SearchBasesView } from "../src/bases-view";
import type { Target } from "../src/link-suggest";
import { narrowed, quoted } from "../src/search/filters";
import { readSettings } from "../src/settings";
import { VaultseekSettingTab } from "../src/settings-tab";
import { missingLanes, stateOf } from "../src/status/state";
import { StatusPage } from "../src/status/status-page";
import { appendMarked, appendWithWords, shown } from "../src/text";
import type { RelatedPane } from "../src/related/related-pane";
import { type EditorSuggests, inputSuggests, opened } from "./obsidian";
import { eventually, load, sharedHome, texts, type, type World } from "./world";

let world: World;
const home = sharedHome();

/** What the mock of a plugin keeps of what was registered. */
interface Registered {
	editorSuggests__: EditorSuggest<Target>[];
	editorExtensions__: never[];
	basesViewRegistrations__: Map<string, BasesViewRegistration>;
	settingTabs__: VaultseekSettingTab[];
	commands__: Map<string, object>;
}

const registered = (): Registered => world.plugin as unknown as Registered;

beforeAll(async () => {
	world = await load(home);
});

afterAll(() => world.unload());

describe("links by meaning", () => {
	it("comes before Obsidian's own list, which takes [[? for a link, and is gone with the plugin", async () => {
		const other = await load(home);
		const { suggests } = (other.app.workspace as unknown as { editorSuggest: EditorSuggests }).editorSuggest;
		expect(suggests).toEqual([(other.plugin as unknown as Registered).editorSuggests__[0], { own: "[[" }]);
		other.unload();
		expect(suggests).toEqual([{ own: "[[" }]);
	});

	it("shows the list for what was typed last, whichever answer arrives last", async () => {
		const [list] = registered().editorSuggests__;
		const ask = (query: string): Promise<Target[]> =>
			Promise.resolve(list!.getSuggestions({ query } as EditorSuggestContext));
		const lists = await Promise.all(["s", "sl", "float switch wiring"].map(ask));
		expect(lists.map((each) => each[0]?.result.title)).toEqual(Array(3).fill("Float Switch Wiring"));
		expect(await ask(" ")).toEqual([]);
	});

	it("offers notes after [[? and leaves [[ to Obsidian", async () => {
		const [list] = registered().editorSuggests__;
		const editor = await world.edit("Inbox.md");
		const file = world.file("Inbox.md");
		editor.setValue("See [[Slimy");
		expect(list!.onTrigger({ line: 0, ch: 11 }, editor, file)).toBeNull();
		// Obsidian closes the brackets as they are typed.
		editor.setValue("See [[?slimy visitors lettuce]] now");
		const cursor = { line: 0, ch: "See [[?slimy visitors lettuce".length };
		editor.setCursor(cursor);
		const trigger = list!.onTrigger(cursor, editor, file)!;
		expect(trigger).toEqual({ start: { line: 0, ch: 4 }, end: cursor, query: "slimy visitors lettuce" });
		const context = { ...trigger, editor, file } as EditorSuggestContext;
		list!.context = context;
		const targets = await list!.getSuggestions(context);
		expect(targets[0]!.result.title).toBe("Slimy Visitors");
		const row = document.createElement("div");
		list!.renderSuggestion(targets[0]!, row);
		expect(texts("mark", row).length).toBeGreaterThan(0);
		list!.selectSuggestion(targets[0]!, new KeyboardEvent("keydown"));
		expect(editor.getValue()).toBe("See [[Slimy Visitors]] now");
		expect(editor.getCursor()).toEqual({ line: 0, ch: 22 });
	});
});

describe("filters", () => {
	it("narrow all of a query with alternatives", () => {
		expect(narrowed("path:a.md", "relay lettuce")).toBe("path:a.md relay lettuce");
		expect(narrowed("path:a.md", 'relay "this OR that"')).toBe('path:a.md relay "this OR that"');
		expect(narrowed("path:a.md", "relay OR lettuce")).toBe("path:a.md (relay OR lettuce)");
	});

	it("are completed in the field, once for each letter, and not again after a choice", async () => {
		world.plugin.openSearch();
		const { field, choose } = inputSuggests.at(-1)!;
		const offered = (): string[] => (inputSuggests.at(-1)!.offered as { text: string }[]).map((each) => each.text);
		for (const letters of ["tag", "tag:", "tag:w", "tag:work/pu"]) {
			type(letters);
		}
		await eventually(() => offered()[0] === "work/pumps");
		choose(0);
		expect(field.value).toBe("tag:work/pumps");
		await eventually(() => offered().length === 0);
		type("tag:work/pumps/");
		await eventually(() => offered().includes("work/pumps/sump"));

		type("[stat");
		await eventually(() => offered()[0] === "status:");
		choose(0);
		await eventually(() => offered().includes("open]"));
		field.value = "[status:o] float";
		field.setSelectionRange(9, 9);
		field.dispatchEvent(new Event("input"));
		await eventually(() => offered()[0] === "open]");
		choose(0);
		expect(field.value).toBe("[status:open] float");
		for (const [query, text] of [
			["path:su", "Projects/Sump/"],
			["link:float", '"Float Switch Wiring"'],
			["-kind:p", "pdf"],
			["modified:las", '"last week"'],
		] as const) {
			type(query);
			await eventually(() => offered()[0] === text);
		}
		type("line");
		await eventually(() => offered().length === 0);
		world.plugin.context.windows.forEach((each) => each.close());
	});

	it("are quoted where they need it", () => {
		expect(quoted('a "b" c')).toBe('"a \\"b\\" c"');
	});
});

describe("text of notes", () => {
	it("is marked by characters, not by halves of them, and has nothing that hides", () => {
		const el = document.createElement("p");
		appendMarked(el, "💥 \u202efloat <b>", [[2, 8]]);
		expect(el.innerHTML).toBe("💥 <mark>float</mark> &lt;b&gt;");
		expect(shown("a\u0007b\u200ec")).toBe("abc");
	});

	it("has names with hyphens marked", () => {
		const el = document.createElement("p");
		appendWithWords(el, "E-4107 (and E-4107a): [x]", ["E-4107", "[x]"]);
		expect(texts("mark", el)).toEqual(["E-4107", "[x]"]);
	});

	it("has its words marked whole, and in any script", () => {
		const el = document.createElement("p");
		appendWithWords(el, "Float, floats; afloat (float)", ["float"]);
		expect(texts("mark", el)).toEqual(["Float", "float"]);
		const chinese = document.createElement("p");
		appendWithWords(chinese, "云南的茶", ["茶"]);
		expect(texts("mark", chinese)).toEqual(["茶"]);
	});
});

describe("the state", () => {
	const vault = {
		...{ name: "v", path: "/v", notes: 3, chunks: 3, embedded: 3, pending: 0, state: "ready", code: null, reason: null },
		...{ lanes: { semantic: { up: false, code: "loading", reason: "the model is being loaded" } } },
		...{ problems: [], problem_count: 0 },
	};

	it("is said in words", () => {
		const connected = { connected: true, version: "1" } as const;
		expect(stateOf({ connected: false, reason: "No." }, null, null).level).toBe("absent");
		expect(stateOf(connected, { ...vault, lanes: {} }, null)).toMatchObject({ level: "ready", label: "3 notes" });
		expect(stateOf(connected, vault, null).about).toBe("No search by meaning: the model is being loaded.");
		expect(missingLanes(vault)).toHaveLength(1);
		const paused = { ...vault, state: "disk_full", reason: "the disk is full", lanes: {} };
		expect(stateOf(connected, paused, null)).toMatchObject({ level: "degraded", about: "the disk is full." });
	});

	it("is shown on a page, with what is wrong with notes", async () => {
		const page = new StatusPage(world.plugin.context);
		page.open();
		await eventually(() => texts(".vaultseek-facts dd").includes("vault"));
		expect(texts(".vaultseek-facts dd")).toContain(home.socket);
		expect(texts("h4").some((each) => /^\d+ problems?$/.test(each))).toBe(true);
		page.close();
	});
});

describe("the settings", () => {
	it("take the default in place of what is wrong", () => {
		const odd = { socket: 3, results: 1000, click: "upstairs", remember: "yes" };
		expect(readSettings(odd)).toEqual(readSettings(null));
		expect(readSettings({ results: 5, click: "split" })).toMatchObject({ results: 5, click: "split" });
	});

	it("are changed on their page, in old and new Obsidian", async () => {
		const [tab] = registered().settingTabs__;
		expect(tab!.getSettingDefinitions().map((each) => each.control.key)).toEqual(Object.keys(readSettings(null)));
		await tab!.setControlValue("results", 7);
		await tab!.setControlValue("results", 0);
		expect(tab!.getControlValue("results")).toBe(7);
		await tab!.setControlValue("results", 20);
	});

	it("are read again when another device wrote them, and may be damaged", async () => {
		const other = await load(home);
		await eventually(() => other.plugin.context.daemon.state.connected);
		await other.plugin.saveData({ socket: join(home.folder, "other.sock"), results: 3 });
		await other.plugin.onExternalSettingsChange();
		expect(other.plugin.settings.results).toBe(3);
		await eventually(() => !other.plugin.context.daemon.state.connected);
		other.plugin.loadData = () => Promise.reject(new SyntaxError("Unexpected end of JSON input"));
		await other.plugin.onExternalSettingsChange();
		expect(other.plugin.settings).toEqual(readSettings(null));
		other.unload();
	});

	it("say what is wrong with a value, and keep the old one, in old and new Obsidian", async () => {
		const [tab] = registered().settingTabs__;
		const check = async (key: string, value: unknown): Promise<string | void> => {
			const definition = tab!.getSettingDefinitions().find((each) => each.control.key === key)!;
			return (definition.control.validate as (value: unknown) => string | void | Promise<string | void>)(value);
		};
		expect(await check("socket", "")).toBeUndefined();
		expect(await check("socket", home.socket)).toBeUndefined();
		expect(await check("socket", "~/not/yet.sock")).toBeUndefined();
		expect(await check("socket", "run/daemon.sock")).toMatch(/full path/);
		const isTooLong = existsSync("/proc/self/fd") ? undefined : expect.stringMatching(/103 bytes/);
		expect(await check("socket", `/${"x".repeat(120)}`)).toEqual(isTooLong);
		expect(await check("socket", join(home.vault, "Inbox.md"))).toMatch(/not a socket/);
		expect(await check("socket", join(home.vault, "Inbox.md/below"))).toBeUndefined();
		await eventually(() => world.plugin.context.daemon.state.connected);
		expect(await check("vault", " vault ")).toBeUndefined();
		expect(await check("vault", "vau")).toBe("vaultseek has no vault with this name. Its vaults are: vault.");
		expect(await check("results", 1.5)).toMatch(/whole number/);
		expect(await check("results", 200)).toBeUndefined();

		tab!.display();
		expect(tab!.containerEl.childElementCount).toBe(5);
		const [socket, , results] = [...tab!.containerEl.querySelectorAll("input")];
		const write = (field: HTMLInputElement, value: string): void => {
			field.value = value;
			field.dispatchEvent(new Event("input"));
		};
		write(socket!, "nowhere");
		write(results!, "many");
		await eventually(() => texts(".vaultseek-wrong", tab!.containerEl).filter(Boolean).length === 2);
		expect(world.plugin.settings).toMatchObject({ socket: home.socket, results: 20 });
		write(results!, "30");
		await eventually(() => world.plugin.settings.results === 30);
		await tab!.setControlValue("results", 20);
	});
});

describe("the view of a base", () => {
	it("ranks the rows of the base, and leaves out what is not found", async () => {
		const registration = registered().basesViewRegistrations__.get("vaultseek-search")!;
		const parent = document.body.createDiv();
		const controller = QueryController.create2__(App.createConfigured__(), {} as never, parent);
		const view = registration.factory(controller as never, parent) as SearchBasesView;
		view.load();
		await view.rank();
		expect(parent.textContent).toContain("Type a search");
		const paths = ["Inbox.md", "Areas/Garden/Slimy Visitors.md", "Projects/Sump/Float Switch Wiring.md"];
		const rows = paths.map((path) => ({ file: world.file(path), getValue: () => "<i>cell</i>" }));
		Object.assign(view.config, {
			get: (key: string) => (key === "query" ? "float switch wiring path:Projects" : true),
			getOrder: () => ["file.name", "note.status"],
			getDisplayName: () => "Status",
		});
		(view.data as unknown as { data: object[] }).data = rows;
		await view.rank();
		expect(texts("a", parent)).toEqual(["Float Switch Wiring"]);
		expect(texts("th", parent)).toEqual(["Note", "Status"]);
		expect(texts("td", parent)[1]).toBe("<i>cell</i>");
		expect(texts(".vaultseek-remark", parent)).toEqual(["The search finds 1 of the 3 rows in this base."]);

		let query = "the";
		Object.assign(view.config, { get: (key: string) => (key === "query" ? query : false) });
		await view.rank();
		expect(texts(".vaultseek-excerpt", parent)).toEqual([]); // switched off in the options of the view
		query = "tag:nowhere";
		view.onDataUpdated();
		await eventually(() => texts(".vaultseek-remark", parent).includes("No note matches: tag nowhere."));
		query = "path:Areas OR path:Projects";
		await view.rank();
		expect(texts("a", parent).sort()).toEqual(["Float Switch Wiring", "Slimy Visitors"]);
		parent.querySelector("a")!.click();
		expect((await eventually(() => opened.at(-1))).path).toMatch(/Slimy Visitors|Float Switch/);
		view.unload();
		expect(parent.childElementCount).toBe(0);
	});
});

describe("a passage in the editor", () => {
	it("flashes for a moment", () => {
		const { flash } = world.plugin.context;
		const cm = {} as never;
		const state = EditorState.create({
			doc: "one\ntwo\nthree",
			extensions: [flash.extension, editorInfoField.init(() => ({ editor: cm }) as never)],
		});
		const view = new EditorView({ state, parent: document.body });
		flash.lines(view.state.field(editorInfoField).editor!, 2, 9);
		expect(texts(".vaultseek-flash")).toEqual(["two", "three"]);
		view.destroy();
	});
});

describe("the plugin", () => {
	it("leaves nothing behind when it is switched off", async () => {
		const timers = new Set<unknown>();
		const { setTimeout: set, clearTimeout: clear } = window;
		window.setTimeout = ((act: () => void, ms?: number) => {
			const timer = set.call(window, () => (timers.delete(timer), act()), ms);
			timers.add(timer);
			return timer;
		}) as typeof window.setTimeout;
		window.clearTimeout = (timer) => (timers.delete(timer), clear.call(window, timer));
		const listeners = new Map<string, number>();
		const { addEventListener: add, removeEventListener: remove } = document;
		document.addEventListener = ((...all: Parameters<typeof add>) => (listeners.set(all[0], (listeners.get(all[0]) ?? 0) + 1), add.apply(document, all))) as typeof add;
		document.removeEventListener = ((...all: Parameters<typeof remove>) => (listeners.set(all[0], (listeners.get(all[0]) ?? 0) - 1), remove.apply(document, all))) as typeof remove;

		const other = await load(home);
		await eventually(() => other.plugin.context.daemon.state.connected);
		await other.edit("Inbox.md");
		const { commands__: commands } = other.plugin as unknown as { commands__: Map<string, { callback(): void }> };
		commands.get("related")!.callback();
		commands.get("results")!.callback();
		const panes = (): RelatedPane[] =>
			["vaultseek-related", "vaultseek-search"].map((each) => other.app.workspace.getLeavesOfType(each)[0]?.view as unknown as RelatedPane);
		await eventually(() => panes().every(Boolean) && texts(".vaultseek-related", panes()[0]!.contentEl).length > 0);
		commands.get("state")!.callback();
		other.plugin.openSearch("float");
		await eventually(() => texts(".vaultseek-result").length > 0);
		const sockets = (): number =>
			(process as unknown as { getActiveResourcesInfo(): string[] }).getActiveResourcesInfo().filter((each) => each === "PipeWrap").length;
		const before = sockets();
		for (const pane of panes()) {
			await pane.onClose(); // as Obsidian does with the views of a plugin that goes
			(pane as unknown as { unload(): void }).unload();
			expect(pane.contentEl.childElementCount).toBe(0);
		}
		other.plugin.unload();
		await eventually(() => sockets() < before);
		expect(other.plugin.context.daemon.state.connected).toBe(false);
		expect(document.querySelector(".vaultseek-window, .modal-container, .vaultseek-state")).toBeNull();
		expect(Object.fromEntries([...listeners].filter(([, many]) => many !== 0))).toEqual({});
		const { linked, progress, changed } = other.plugin.context.daemon;
		expect([linked, progress, changed].map((each) => (each as unknown as { listeners: Set<object> }).listeners.size)).toEqual([0, 0, 0]);
		await eventually(() => timers.size === 0);
		Object.assign(window, { setTimeout: set, clearTimeout: clear });
		Object.assign(document, { addEventListener: add, removeEventListener: remove });
	});
});
