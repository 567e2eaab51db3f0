/**
 * Runs the plugin in Obsidian itself. NOT run by scripts/test or by .ci/run: it downloads Obsidian.
 *
 * Where that is possible: build the plugin (`npm run build` in the folder above), start a daemon with the vault
 * (`vaultseek vault add tests/data/vault`), then `npm install && npm test` here.
 */

import { resolve } from "node:path";

const plugin = resolve(import.meta.dirname, "..");

export const config = {
	runner: "local",
	framework: "mocha",
	specs: ["./*.e2e.mts"],
	maxInstances: 1,
	capabilities: [
		{
			browserName: "obsidian",
			browserVersion: "latest",
			"wdio:obsidianOptions": {
				installerVersion: "earliest",
				plugins: [plugin],
				vault: resolve(plugin, "../../tests/data/vault"),
			},
		},
	],
	services: ["obsidian"],
	reporters: ["obsidian"],
	cacheDir: resolve(import.meta.dirname, ".obsidian-cache"),
	mochaOpts: { ui: "bdd", timeout: 60_000 },
	logLevel: "warn",
};
