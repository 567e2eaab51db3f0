/** Bundles the plugin: `node esbuild.config.mjs` watches, `node esbuild.config.mjs production [folder]` builds once. */

import { builtinModules } from "node:module";
import { join } from "node:path";
import process from "node:process";
import esbuild from "esbuild";

const [, , mode, folder = "."] = process.argv;
const production = mode === "production";

const context = await esbuild.context({
	entryPoints: ["src/main.ts"],
	bundle: true,
	platform: "node",
	format: "cjs",
	target: "es2022",
	external: ["obsidian", "electron", "@codemirror/*", "@lezer/*", ...builtinModules],
	// The packages are all of this project's own licence or MIT; their notices stay at the end of the file.
	legalComments: "eof",
	logLevel: "warning",
	minify: production,
	sourcemap: production ? false : "inline",
	treeShaking: true,
	outfile: join(folder, "main.js"),
});

if (production) {
	await context.rebuild();
	await context.dispose();
} else {
	await context.watch();
}
