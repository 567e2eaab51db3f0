import type { WorkspaceLeaf } from "obsidian-test-mocks/obsidian";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { RELATED_PANE, type RelatedPane } from "../src/related/related-pane";
import { SEARCH_PANE, type SearchPane } from "../src/search/search-pane";
import { notices, opened } from "./obsidian";
import { eventually, load, sharedHome, texts, type, type World } from "./world";

let world: World;
const home = sharedHome();

beforeAll(async () => {
	world = await load(home);
});

afterAll(() => world.unload());

afterEach(() => {
	notices.length = opened.length = 0;
});

/** Show the pane of a type through its command, and return it. */
async function pane<T>(command: string, viewType: string): Promise<T & { contentEl: HTMLElement }> {
	const { commands__: commands } = world.plugin as unknown as { commands__: Map<string, { callback(): void }> };
	commands.get(command)!.callback();
	const leaf = (): WorkspaceLeaf | undefined => world.app.workspace.getLeavesOfType(viewType)[0];
	await eventually(() => leaf()?.view);
	return leaf()!.view as never;
}

describe("the pane of related notes", () => {
	it("follows the active note, and gives a reason for each", async () => {
		await world.edit("Projects/Sump/Sump Pump Replacement.md");
		const view = await pane<RelatedPane>("related", RELATED_PANE);
		await eventually(() => texts(".vaultseek-section", view.contentEl)[0] === "Related to Sump Pump Replacement");
		const rows = [...view.contentEl.querySelectorAll(".vaultseek-related")];
		const wiring = rows.find((row) => texts(".vaultseek-result-title", row)[0] === "Float Switch Wiring")!;
		expect(texts(".vaultseek-badge", wiring)).toContain("linked from here");
		expect(rows.every((row) => texts(".vaultseek-badge", row).length > 0)).toBe(true);

		await world.edit("Projects/Sump/Float Switch Wiring.md");
		await eventually(() => texts(".vaultseek-section", view.contentEl)[0] === "Related to Float Switch Wiring");
	});

	it("lists the links that the note may lack, and inserts one at the cursor", async () => {
		const editor = await world.edit("Areas/Home/Papa's Watch.md");
		const view = await pane<RelatedPane>("related", RELATED_PANE);
		await eventually(() => texts(".vaultseek-section", view.contentEl).includes("Links that may be missing"));
		const rows = [...view.contentEl.querySelectorAll(".vaultseek-related")];
		const missing = rows.find((row) => texts(".vaultseek-badge", row).some((badge) => badge.startsWith("mentioned on line")))!;
		expect(texts(".vaultseek-result-title", missing)).toEqual(["Graça Brandão"]);
		const before = editor.getValue();
		missing.querySelector("button")!.click();
		expect(editor.getValue()).not.toBe(before);
		expect(editor.getValue()).toContain("[[Graça Brandão]]");
	});

	it("says so of a file that the daemon has no text of", async () => {
		await pane<RelatedPane>("related", RELATED_PANE);
		await world.edit("Attachments/weltklang.png");
		const view = world.app.workspace.getLeavesOfType(RELATED_PANE)[0]!.view as unknown as RelatedPane;
		await eventually(() => texts(".vaultseek-nothing", view.contentEl)[0]?.startsWith("vaultseek has not indexed any text of this file"));
	});

	it("follows the selected paragraph", async () => {
		const editor = await world.edit("Inbox.md");
		const view = await pane<RelatedPane>("related", RELATED_PANE);
		editor.setValue("The lettuce was gone: Spanish slugs, fourteen heads.");
		editor.setSelection({ line: 0, ch: 0 }, { line: 0, ch: 51 });
		document.dispatchEvent(new Event("selectionchange"));
		await eventually(() => texts(".vaultseek-section", view.contentEl)[0] === "Related to the selection");
		const first = view.contentEl.querySelector(".vaultseek-related")!;
		expect(texts(".vaultseek-result-title", first)).toEqual(["Slimy Visitors"]);
		expect(texts(".vaultseek-badge", first)).toContain("same words");
		expect(texts(".vaultseek-selection", view.contentEl)[0]).toContain("Spanish slugs");
	});

	it("follows a selection in reading view, and keeps it while the pane has the focus", async () => {
		const view = await pane<RelatedPane>("related", RELATED_PANE);
		await world.edit("Inbox.md");
		const note = world.app.workspace.activeLeaf!.view as unknown as { mode: string; containerEl: HTMLElement };
		note.mode = "preview";
		document.body.appendChild(note.containerEl);
		const passage = note.containerEl.createEl("p", { text: "Gauge at P2 said 71, and the accumulator 31 bar of nitrogen." });
		document.getSelection()!.selectAllChildren(passage);
		document.dispatchEvent(new Event("selectionchange"));
		await eventually(() => texts(".vaultseek-selection", view.contentEl)[0]?.includes("nitrogen"));

		document.getSelection()!.removeAllRanges();
		world.app.workspace.setActiveLeaf((view as unknown as { leaf: WorkspaceLeaf }).leaf);
		await view.follow();
		expect(texts(".vaultseek-section", view.contentEl)[0]).toBe("Related to the selection");
		view.contentEl.querySelector<HTMLElement>(".vaultseek-related button")!.click();
		expect(notices.at(-1)).toMatch(/^Open a note for editing first/);
		note.containerEl.remove();
	});

	it("hears of selections in windows of their own, and of none when it is closed", async () => {
		const view = await pane<RelatedPane>("related", RELATED_PANE);
		const other = document.implementation.createHTMLDocument();
		let asked = 0;
		view.follow = async () => void (asked += 1);
		const { workspace } = world.app;
		workspace.trigger("window-open", {}, { document: other });
		other.dispatchEvent(new Event("selectionchange"));
		await eventually(() => asked === 1);
		workspace.trigger("window-close", {}, { document: other });
		other.dispatchEvent(new Event("selectionchange"));
		document.dispatchEvent(new Event("selectionchange"));
		await eventually(() => asked === 2);
		delete (view as Partial<RelatedPane>).follow;
	});

	it("inserts a link at the cursor of the note also when the pane has the focus", async () => {
		const editor = await world.edit("Inbox.md");
		const view = await pane<RelatedPane>("related", RELATED_PANE);
		await eventually(() => texts(".vaultseek-section", view.contentEl)[0] === "Related to Inbox");
		editor.setValue("");
		world.app.workspace.setActiveLeaf((view as unknown as { leaf: WorkspaceLeaf }).leaf);
		expect(world.app.workspace.activeEditor).toBeNull();
		view.contentEl.querySelector<HTMLElement>(".vaultseek-related button")!.click();
		expect(editor.getValue()).toMatch(/^\[\[.+\]\]$/);
		expect(view.navigation).toBe(false);
	});

	it("inserts a link to a note at the cursor", async () => {
		const editor = await world.edit("Projects/Sump/Sump Pump Replacement.md");
		const view = await pane<RelatedPane>("related", RELATED_PANE);
		await eventually(() => texts(".vaultseek-section", view.contentEl)[0] === "Related to Sump Pump Replacement");
		const title = texts(".vaultseek-related .vaultseek-result-title", view.contentEl)[0]!;
		editor.setValue("");
		view.contentEl.querySelector<HTMLElement>(".vaultseek-related button")!.click();
		expect(editor.getValue()).toBe(`[[${title}]]`);
		expect(opened.length).toBe(1);
	});

	it("makes a mention a link in the editor", async () => {
		await home.write("Zebrafinch.md", "# Zebrafinch\n");
		await home.write("Mentions.md", "# Mentions\n\n[[Zebrafinch]] and a zebrafinch here.\n\nA zebrafinch there.\n");
		await home.vaultseek("index", "--wait", "--vault", home.vault);
		world.unload();
		world = await load(home);
		await world.edit("Zebrafinch.md");
		const view = await pane<RelatedPane>("related", RELATED_PANE);
		await eventually(() => texts(".vaultseek-section", view.contentEl)[1] === "2 mentions without a link");
		const mentions = (): HTMLElement[] => [...view.contentEl.querySelectorAll<HTMLElement>(".vaultseek-mention")];
		expect(texts(".vaultseek-excerpt mark", mentions()[0]!)).toEqual(["zebrafinch"]); // and not the one in the link
		mentions()[0]!.querySelector("button")!.click();
		await eventually(() => mentions().length === 1);
		const editor = world.app.workspace.activeEditor!.editor!;
		expect(editor.getLine(2)).toBe("[[Zebrafinch]] and a [[Zebrafinch|zebrafinch]] here.");
		editor.undo();
		expect(editor.getLine(2)).toBe("[[Zebrafinch]] and a zebrafinch here.");
		expect(texts(".vaultseek-section", view.contentEl)[0]).toBe("Related to Zebrafinch");
	});
});

describe("mentions that are links", () => {
	const LONG = `${"Many a word about birds and trees. ".repeat(60)}[[Waxwing]] and #waxwing 🐦: a wax\u00a0wing and a WAXWING.`;
	const LINES = [
		["Seen on #waxwing today; the waxwing is wet.", "Seen on #waxwing today; the [[Waxwing|waxwing]] is wet."],
		["Cost [^waxwing] and a waxwing", "Cost [^waxwing] and a [[Waxwing|waxwing]]"],
		["$waxwing$ <!-- waxwing --> %% waxwing %% waxwing", "$waxwing$ <!-- waxwing --> %% waxwing %% [[Waxwing|waxwing]]"],
		["\t🐦 [a waxwing](https://x.example/Waxwing_(x)) is a waxwing", "\t🐦 [a waxwing](https://x.example/Waxwing_(x)) is a [[Waxwing|waxwing]]"],
		[LONG, LONG.replace("WAXWING", "[[Waxwing|WAXWING]]")],
	] as const;

	it("are not changed by a link beside them", async () => {
		await home.write("Waxwing.md", "It.\n");
		await home.write("Birds.md", LINES.map(([line]) => `x\n${line}\n`).join("\n"));
		await home.vaultseek("index", "--wait", "--vault", home.vault);
		world.unload();
		world = await load(home);
		await world.edit("Waxwing.md");
		const view = await pane<RelatedPane>("related", RELATED_PANE);
		const mentions = (): HTMLElement[] => [...view.contentEl.querySelectorAll<HTMLElement>(".vaultseek-mention")];
		await eventually(() => mentions().length === LINES.length);
		expect(mentions().flatMap((each) => texts("mark", each))).toEqual(["waxwing", "waxwing", "waxwing", "waxwing", "WAXWING"]);
		for (const [number, [, linked]] of LINES.entries()) {
			mentions()[0]!.querySelector("button")!.click();
			await eventually(() => mentions().length === LINES.length - number - 1);
			expect(world.app.workspace.activeEditor!.editor!.getLine(3 * number + 1)).toBe(linked);
		}
	});

	it("leave a line alone that has changed", async () => {
		await home.write("Waxwing.md", "It.\n");
		await home.write("Birds.md", "A waxwing there.\n");
		await home.vaultseek("index", "--wait", "--vault", home.vault);
		world.unload();
		world = await load(home);
		await world.edit("Waxwing.md");
		const view = await pane<RelatedPane>("related", RELATED_PANE);
		await eventually(() => texts("mark", view.contentEl).includes("waxwing"));
		const button = view.contentEl.querySelector<HTMLElement>(".vaultseek-mention button")!;
		await home.write("Birds.md", "A `waxwing` there.\n");
		button.click();
		await eventually(() => notices.some((notice) => notice.includes("has changed since it was indexed")));
		expect(world.app.workspace.activeEditor!.editor!.getValue()).toBe("A `waxwing` there.\n");
	});
});

describe("the pane of results", () => {
	it("keeps a search, opens its notes, and is stored with the layout", async () => {
		world.plugin.settings = { ...world.plugin.settings, click: "tab" };
		const view = await pane<SearchPane>("results", SEARCH_PANE);
		expect(view.contentEl.textContent).toContain("Type a search");
		type("float switch wiring", view.contentEl);
		await eventually(() => texts(".vaultseek-result-title", view.contentEl)[0] === "Float Switch Wiring");
		expect(view.getState()).toEqual({ query: "float switch wiring" });
		expect(view.getDisplayText()).toBe("Search: float switch wiring");
		view.contentEl.querySelector<HTMLElement>(".vaultseek-result")!.click();
		expect((await eventually(() => opened[0])).path).toBe("Projects/Sump/Float Switch Wiring.md");
		await view.setState({ query: "slimy visitors" }, {} as never);
		await eventually(() => texts(".vaultseek-result-title", view.contentEl)[0] === "Slimy Visitors");
	});

	it("searches again when notes change", async () => {
		const view = await pane<SearchPane>("results", SEARCH_PANE);
		await view.setState({ query: "quaggafoal" }, {} as never);
		await eventually(() => texts(".vaultseek-summary", view.contentEl)[0]);
		await home.write("Quagga.md", "# Quagga\n\nA quaggafoal.\n");
		await eventually(() => texts(".vaultseek-result-title", view.contentEl)[0] === "Quagga");
		const list = view.contentEl.querySelector(".vaultseek-results")!;
		list.scrollTop = 40;
		await home.write("Quagga Two.md", "# Quagga Two\n\nAnother quaggafoal.\n");
		await eventually(() => texts(".vaultseek-result-title", view.contentEl).includes("Quagga Two"));
		expect(list.scrollTop).toBe(40); // what is read stays where it is
		type("quaggafoal two", view.contentEl);
		await eventually(() => list.scrollTop === 0);
	});
});
