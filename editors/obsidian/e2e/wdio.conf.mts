/**
 * Runs the plugin in Obsidian itself. NOT run by scripts/test or by .ci/run: it downloads Obsidian.
 *
 * Where that is possible: build the plugin (`npm run build` in the folder above), start a daemon with the vault
 * (`vaultseek start`), then `npm install && npm run check && npm test` here. The service copies the vault, and the daemon
 * indexes that copy as soon as the plugin asks for it. The check of types is all of it that has been run.
 */

/// <reference types="@wdio/globals/types" />
/// <reference types="@wdio/mocha-framework" />
/// <reference types="wdio-obsidian-service" />

import { resolve } from "node:path";

const plugin = resolve(import.meta.dirname, "..");

export const config: WebdriverIO.Config = {
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
