import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import type { BasesViewRegistration, EditorSuggest, EditorSuggestContext } from "obsidian";
import { editorInfoField } from "obsidian";
import { App, QueryController } from "obsidian-test-mocks/obsidian";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SearchBasesView } from "../src/bases-view";
import type { Target } from "../src/link-suggest";
import { quoted, suggest } from "../src/search/filters";
import { readSettings } from "../src/settings";
import { VaultseekSettingTab } from "../src/settings-tab";
import { missingLanes, stateOf } from "../src/status/state";
import { StatusPage } from "../src/status/status-page";
import { appendMarked, appendWithWords, shown } from "../src/text";
import { eventually, load, sharedHome, texts, type World } from "./world";

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
	it("offers notes after [[? and leaves [[ to Obsidian", async () => {
		const [list] = registered().editorSuggests__;
		const editor = await world.edit("Inbox.md");
		const file = world.file("Inbox.md");
		editor.setValue("See [[Slimy");
		expect(list!.onTrigger({ line: 0, ch: 11 }, editor, file)).toBeNull();
		// Obsidian closes the brackets while one types.
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
	const complete = (before: string): Promise<string[]> =>
		suggest(before, {
			complete: async (kind, text, property) =>
				(await world.plugin.context.ask("complete", { kind, text, property: property ?? null })).items,
			folders: () => ["Projects", "Projects/Sump", "My notes"],
		}).then((all) => all.map((each) => before.slice(0, before.length - each.replaced) + each.text));

	it("are completed by the names of the vault", async () => {
		expect(await complete("float tag:work/pu")).toContain("float tag:work/pumps/sump");
		expect(await complete("-[stat")).toContain("-[status:");
		expect(await complete("[status:o")).toContain("[status:open]");
		expect(await complete("path:su")).toEqual(["path:Projects/Sump/"]);
		expect(await complete("path:my")).toEqual(['path:"My notes/"']);
		expect(await complete("link:float")).toContain('link:"Float Switch Wiring"');
		expect(await complete("plain words")).toEqual([]);
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
		tab!.display();
		expect(tab!.containerEl.childElementCount).toBe(5);
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
		await view.update();
		expect(parent.textContent).toContain("Type a search");
		const paths = ["Inbox.md", "Areas/Garden/Slimy Visitors.md", "Projects/Sump/Float Switch Wiring.md"];
		const rows = paths.map((path) => ({ file: world.file(path), getValue: () => "<i>cell</i>" }));
		Object.assign(view.config, {
			get: (key: string) => (key === "query" ? "float switch wiring path:Projects" : true),
			getOrder: () => ["file.name", "note.status"],
			getDisplayName: () => "Status",
		});
		(view.data as unknown as { data: object[] }).data = rows;
		await view.update();
		expect(texts("a", parent)).toEqual(["Float Switch Wiring"]);
		expect(texts("th", parent)).toEqual(["Note", "Status"]);
		expect(texts("td", parent)[1]).toBe("<i>cell</i>");
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
		const other = await load(home);
		await eventually(() => other.plugin.context.daemon.state.connected);
		const sockets = (): number =>
			(process as unknown as { getActiveResourcesInfo(): string[] }).getActiveResourcesInfo().filter((each) => each === "PipeWrap").length;
		const before = sockets();
		other.unload();
		await eventually(() => sockets() < before);
		expect(other.plugin.context.daemon.state.connected).toBe(false);
	});
});
