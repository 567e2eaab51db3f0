/** The search window in Obsidian itself. Not run where Obsidian cannot be downloaded; see wdio.conf.mts. */

import { $, browser, expect } from "@wdio/globals";

/** Results take long while the daemon indexes the copy of the vault. */
const INDEXED = { wait: 45_000 };

describe("the search window", () => {
	it("opens a note at the passage that was searched for", async () => {
		await browser.executeObsidianCommand("vaultseek:search");
		await $(".vaultseek-query").setValue("float switch");
		await expect($(".vaultseek-result-title")).toHaveText("Float Switch Wiring", INDEXED);
		await browser.keys("Enter");
		await expect($(".workspace-leaf.mod-active .inline-title")).toHaveText("Float Switch Wiring");
	});

	it("asks Obsidian for `[[` and vaultseek for `[[?`", async () => {
		await browser.executeObsidianCommand("file-explorer:new-file");
		await browser.keys("[[?snails eating the salad");
		await expect($(".vaultseek-target .vaultseek-result-title")).toHaveText("Slimy Visitors", INDEXED);
	});

	it("keeps its panes when a note is opened from them, and inserts a link from them", async () => {
		await browser.executeObsidianCommand("vaultseek:related");
		const row = $(".vaultseek-related");
		await expect(row).toExist(INDEXED);
		const title = await row.$(".vaultseek-result-title").getText();
		await row.$("button").click();
		await expect($(".workspace-leaf.mod-active .cm-content, .mod-root .cm-content")).toHaveText(expect.stringContaining(title));
		await $(".vaultseek-related").click();
		await expect($(".vaultseek-pane")).toExist();
	});
});
