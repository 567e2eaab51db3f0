/** Bundles the plugin: `node esbuild.config.mjs` watches, `node esbuild.config.mjs production [folder]` builds once. */

import { readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { join } from "node:path";
import process from "node:process";
import esbuild from "esbuild";

const [, , mode, folder = "."] = process.argv;
const production = mode === "production";

/** Returns the notice of this project and those of the packages in the bundle, which their licences ask for. */
function notices() {
	const { name, version, dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
	const bundled = Object.keys(dependencies).map((each) => {
		const folder = join("node_modules", each);
		const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
		return `${each} ${version}\n\n${readFileSync(join(folder, "License.txt"), "utf8").trim()}`;
	});
	return `/*!\n${name} ${version}, by its authors, under the MIT License. It contains\n\n${bundled.join("\n\n")}\n*/`;
}

const context = await esbuild.context({
	entryPoints: ["src/main.ts"],
	bundle: true,
	platform: "node",
	format: "cjs",
	target: "es2022",
	external: ["obsidian", "electron", "@codemirror/*", "@lezer/*", ...builtinModules],
	banner: { js: notices() },
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
