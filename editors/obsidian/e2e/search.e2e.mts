/** The search window in Obsidian itself. Not run where Obsidian cannot be downloaded; see wdio.conf.mts. */

import { $, browser, expect } from "@wdio/globals";

describe("the search window", () => {
	it("opens a note at the passage that was searched for", async () => {
		await browser.executeObsidianCommand("vaultseek:search");
		await $(".vaultseek-query").setValue("float switch");
		await expect($(".vaultseek-result-title")).toHaveText("Float Switch Wiring");
		await browser.keys("Enter");
		await expect($(".workspace-leaf.mod-active .inline-title")).toHaveText("Float Switch Wiring");
	});

	it("asks Obsidian for `[[` and vaultseek for `[[?`", async () => {
		await browser.executeObsidianCommand("file-explorer:new-file");
		await browser.keys("[[?snails eating the salad");
		await expect($(".vaultseek-target .vaultseek-result-title")).toHaveText("Slimy Visitors");
	});
});
