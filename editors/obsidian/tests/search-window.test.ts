import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { NotConnected } from "../src/daemon/errors";
import { drawProblem } from "../src/problem";
import { LiveSearch } from "../src/search/live-search";
import type { SearchPane } from "../src/search/search-pane";
import { SearchWindow } from "../src/search/search-window";
import { notices, opened, press } from "./obsidian";
import { eventually, load, sharedHome, texts, type, type World } from "./world";

let world: World;
let window_: SearchWindow;
const kept: string[] = [];

beforeAll(async () => {
	const home = sharedHome();
	await home.vaultseek("index", "--wait", "--vault", home.vault); // other tests wrote notes just now
	world = await load(home);
});

afterAll(() => world.unload());

afterEach(() => window_.close());

function open(query = ""): void {
	window_ = new SearchWindow(world.plugin.context, (each) => kept.push(each), query);
	window_.open();
}

/** Search, and wait for a first result with this title. */
async function search(query: string, title: string): Promise<void> {
	type(query);
	await eventually(() => texts(".vaultseek-result-title")[0] === title);
}

describe("the search window", () => {
	it("shows results with marked words, lanes, headings and tags, and a preview of the selected one", async () => {
		open();
		await search("float switch wiring", "Float Switch Wiring");
		const first = document.querySelector(".vaultseek-result")!;
		expect(texts("mark", first).join(" ")).toMatch(/float/i);
		expect(texts(".vaultseek-badge", first)).toContain("words");
		expect(first.querySelector(".vaultseek-path")!.textContent).toMatch(/^Projects\/Sump\/Float Switch Wiring\.md/);
		expect(texts(".vaultseek-tag", first)).toContain("#work/pumps/sump");
		await eventually(() => document.querySelector(".vaultseek-preview-line.is-match"));
		expect(texts(".vaultseek-preview mark").length).toBeGreaterThan(0);
		expect(texts(".vaultseek-preview-title")).toEqual(["Float Switch Wiring"]);
		expect(texts(".vaultseek-preview-line")).not.toContain("# Float Switch Wiring");
		expect(texts(".vaultseek-summary")[0]).toMatch(/^\d+ notes? · \d+ ms · /);
	});

	it("moves the selection around its ends and says which option is active", async () => {
		open();
		await search("float switch wiring", "Float Switch Wiring");
		const rows = [...document.querySelectorAll(".vaultseek-result")];
		expect(rows.length).toBeGreaterThan(2);
		const active = (): string | null => document.querySelector(".vaultseek-query")!.getAttribute("aria-activedescendant");
		press(window_.scope, "ArrowDown");
		expect(active()).toBe(rows[1]!.id);
		press(window_.scope, "ArrowUp");
		press(window_.scope, "ArrowUp");
		expect(active()).toBe(rows.at(-1)!.id);
		expect(rows.map((row) => row.getAttribute("aria-selected")).filter((each) => each === "true")).toHaveLength(1);
	});

	it("folds the less certain notes until the selection gets there", async () => {
		open();
		await search("slugs lettuce", "Slimy Visitors");
		const shown = document.querySelectorAll(".vaultseek-result").length;
		const [, folded] = /^(\d+) less certain notes?$/.exec(texts(".vaultseek-fold")[0]!)!;
		Array.from({ length: shown }, () => press(window_.scope, "ArrowDown"));
		const rows = [...document.querySelectorAll(".vaultseek-result")];
		expect(rows).toHaveLength(shown + Number(folded));
		expect(rows[shown]!.getAttribute("aria-selected")).toBe("true");
		expect(texts(".vaultseek-fold")).toEqual([]);
	});

	it("opens the note at the line of the passage, in a new pane with Ctrl", async () => {
		open();
		await search("float switch wiring", "Float Switch Wiring");
		press(window_.scope, "Enter");
		const here = await eventually(() => opened[0]);
		expect(here.path).toBe("Projects/Sump/Float Switch Wiring.md");
		const editor = world.app.workspace.activeEditor!.editor!;
		expect(editor.getLine(here.line!).toLowerCase()).toContain("float");
		await eventually(() => editor.getCursor().line === here.line);
		expect(document.querySelector(".vaultseek-window")).toBeNull();

		open();
		await search("float switch wiring", "Float Switch Wiring");
		press(window_.scope, "Enter", "Mod");
		expect((await eventually(() => opened[1])).leaf).not.toBe(here.leaf);
	});

	it("opens and links the best result of what is typed, not of what was typed before", async () => {
		open();
		await search("float switch wiring", "Float Switch Wiring");
		type("snails slugs lettuce");
		press(window_.scope, "Enter");
		await eventually(() => opened.at(-1)?.path === "Areas/Garden/Slimy Visitors.md");

		open();
		type("float switch wiring");
		press(window_.scope, "Enter");
		await eventually(() => opened.at(-1)?.path === "Projects/Sump/Float Switch Wiring.md");
	});

	it("previews passages whose words have hyphens, and the part with the words of lines that are too long", async () => {
		open();
		type("88-1204-B");
		await eventually(() => texts(".vaultseek-preview mark").includes("88-1204-B"));
		type("wyvernlong");
		await eventually(() => texts(".vaultseek-preview mark").includes("wyvernlong"));
		const [line] = texts(".vaultseek-preview-line.is-match");
		expect(line!.length).toBeLessThan(5000);
		expect(line).toMatch(/^….* wyvernlong .*…$/);
	});

	it("opens a PDF at its page and links to the page, whatever its name", async () => {
		const editor = await world.edit("Inbox.md");
		editor.setValue("");
		const place = { path: "C# Manual.pdf", place: "page=3", line: 40 };
		const from = { vault: "vault", vault_path: world.home.vault };
		await world.plugin.context.open(from, place, "tab");
		expect(opened.at(-1)).toMatchObject({ path: "C# Manual.pdf", subpath: "#page=3" });
		world.plugin.context.insert(from, place, true);
		expect(editor.getValue()).toMatch(/C# Manual.*#page=3/);
		open();
	});

	it("inserts a link at the cursor, or to the heading, or says that no note is edited", async () => {
		const editor = await world.edit("Inbox.md");
		editor.setValue("See .");
		editor.setCursor(0, 4);
		open();
		await search("float switch wiring", "Float Switch Wiring");
		press(window_.scope, "Enter", "Shift");
		expect(editor.getValue()).toBe("See [[Float Switch Wiring]].");

		open();
		await search("both pumps dead power fire brigade", "Sump Pump Replacement");
		editor.setValue("");
		press(window_.scope, "Enter", "Alt");
		expect(editor.getValue()).toMatch(/^\[\[Sump Pump Replacement#+Both pumps dead\?\]\]$/);

		(world.app.workspace.activeLeaf!.view as unknown as { mode: string }).mode = "preview";
		open();
		await search("float switch wiring", "Float Switch Wiring");
		press(window_.scope, "Enter", "Shift");
		expect(notices.at(-1)).toMatch(/^Open a note for editing first/);
	});

	it("lets a result be dragged into a note as a link", async () => {
		open();
		await search("float switch wiring", "Float Switch Wiring");
		const data = new Map<string, string>();
		const event = new Event("dragstart", { cancelable: true });
		Object.assign(event, { dataTransfer: { setData: (kind: string, text: string) => data.set(kind, text) } });
		document.querySelector(".vaultseek-result")!.dispatchEvent(event);
		expect(data.get("text/plain")).toBe("[[Float Switch Wiring]]");
		expect(document.querySelector(".vaultseek-dragging")).toBeNull(); // the picture of what is dragged is taken first
		await eventually(() => document.querySelector(".vaultseek-dragging"));
		document.querySelector(".vaultseek-result")!.dispatchEvent(new Event("dragend"));
		expect(document.querySelector(".vaultseek-window")).toBeNull();
	});

	it("shows the answer to the last letter alone, however fast one types", async () => {
		open();
		const titles = new Set<string>();
		const observer = new MutationObserver(() => texts(".vaultseek-result-title").slice(0, 1).forEach((each) => titles.add(each)));
		observer.observe(document.body, { childList: true, subtree: true });
		const word = "float switch wiring";
		for (let length = 1; length <= word.length; length++) {
			type(word.slice(0, length));
		}
		await eventually(() => texts(".vaultseek-result-title")[0] === "Float Switch Wiring");
		observer.disconnect();
		expect([...titles]).toEqual(["Float Switch Wiring"]);
	});

	it("says which condition no note meets, and names the nearest note and why it is none", async () => {
		open();
		type("float tag:nowhere");
		const nothing = (): string => texts(".vaultseek-nothing")[0] ?? "";
		await eventually(() => /^No note matches: tag nowhere\. The nearest note is .+: excluded by: tag nowhere\.$/.test(nothing()));
		type("tag:nowhere");
		await eventually(() => nothing() === "No note matches: tag nowhere.");
		const strict = { settings: { nothing_below: 0.99 } };
		const found = await new LiveSearch(world.plugin.context).run("xylophone", strict);
		expect(found!.answer.results).toEqual([]);
		expect(found!.nothing).toMatch(/^Nothing found\. The nearest note is .+: .+\.$/);
	});

	it("says what of the query was ignored, and what is wrong with it", async () => {
		open();
		type("float modified:someday");
		await eventually(() => texts(".vaultseek-remark").some((each) => each.includes("someday")));
		type("x".repeat(1100));
		await eventually(() => texts(".vaultseek-problem")[0]);
	});

	it("copies the command that helps, and says so", async () => {
		const copied: string[] = [];
		Object.defineProperty(navigator, "clipboard", { configurable: true, value: { writeText: async (text: string) => copied.push(text) } });
		const el = document.body.createDiv();
		drawProblem(el, new NotConnected("No vaultseek daemon is running."));
		el.querySelector("button")!.click();
		await eventually(() => texts("button", el)[0] === "Copied");
		expect(copied).toEqual(["vaultseek start"]);
		el.remove();
		open();
	});

	it("offers the last searches while the field is empty", async () => {
		open();
		await search("float switch wiring", "Float Switch Wiring");
		press(window_.scope, "Enter");
		await eventually(async () => {
			const history = (await world.plugin.context.ask("search/history" as never, {})) as { opened: { query: string; position: number }[] };
			return history.opened.some((each) => each.query === "float switch wiring" && each.position === 1);
		});
		open();
		expect(texts(".vaultseek-recent")[0]).toBe("float switch wiring");
		document.querySelector<HTMLElement>(".vaultseek-recent")!.click();
		await eventually(() => texts(".vaultseek-result-title")[0] === "Float Switch Wiring");
		await world.plugin.change({ remember: false });
		expect(world.plugin.context.recent.all).toEqual([]);
		await world.plugin.change({ remember: true });
	});

	it("searches in the note that is open, and opens its passages", async () => {
		await world.edit("Reference/Funicular Handbook.md");
		const { commands__: commands } = world.plugin as unknown as { commands__: Map<string, { checkCallback(checking: boolean): boolean }> };
		const command = commands.get("search-note")!;
		expect(command.checkCallback(true)).toBe(true);
		command.checkCallback(false);
		const field = await eventually(() => document.querySelector<HTMLInputElement>(".vaultseek-query"));
		window_ = [...world.plugin.context.windows].at(-1) as SearchWindow;
		expect(field.placeholder).toBe("Search in Funicular Handbook");
		await search("visitors in the machine room", "Visitors in the machine room");
		expect(new Set(texts(".vaultseek-path").map((each) => each.replace(/:\d+$/, "")))).toEqual(new Set(["Reference/Funicular Handbook.md"]));
		expect(document.querySelectorAll(".vaultseek-result").length).toBeGreaterThan(1);
		expect(texts(".vaultseek-summary")[0]).toMatch(/^\d+ passages · /);
		expect(texts(".vaultseek-certainty")).toEqual([]);
		press(window_.scope, "Enter", "Mod", "Shift");
		const pane = await eventually(() => world.app.workspace.getLeavesOfType("vaultseek-search")[0]?.view as unknown as SearchPane);
		await eventually(() => pane.query === 'path:"Reference/Funicular Handbook.md" visitors in the machine room');
	});

	it("hands its query to a pane", async () => {
		open();
		await search("float switch wiring", "Float Switch Wiring");
		press(window_.scope, "Enter", "Mod", "Shift");
		expect(kept).toEqual(["float switch wiring"]);
	});

	it("shows hostile titles and passages as text", async () => {
		open();
		type("zebracorn");
		const title = await eventually(() => texts(".vaultseek-result-title").find((each) => each.includes("img")));
		expect(title).toBe('<img src=x onerror="window.harm=1"> gnp.exe');
		await eventually(() => document.querySelector(".vaultseek-preview-line.is-match"));
		expect(document.querySelector(".vaultseek-window img, .vaultseek-window script, .vaultseek-window iframe")).toBeNull();
		expect(texts(".vaultseek-excerpt mark")).toEqual(["zebracorn", "zebracorn"]);
		expect(texts(".vaultseek-preview mark").length).toBeGreaterThan(1);
		expect((window as { harm?: number }).harm).toBeUndefined();
	});
});
