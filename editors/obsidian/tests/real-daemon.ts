/** A real daemon with the sample vault, for all tests. It runs in directories of its own. */

import { execFile, type ExecFileException } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { TestProject } from "vitest/node";

const PROJECT = resolve(import.meta.dirname, "../../..");
const PYTHON = process.env.VAULTSEEK_PYTHON ?? join(PROJECT, ".venv/bin/python");

declare module "vitest" {
	interface ProvidedContext {
		home: string;
	}
}

/** A home of its own, in which `vaultseek` runs as a user would run it. */
export class Home {
	constructor(readonly folder: string) {}

	/** The vault that is indexed. */
	get vault(): string {
		return join(this.folder, "vault");
	}

	get socket(): string {
		return join(this.folder, "data/vaultseek/run/daemon.sock");
	}

	get environment(): NodeJS.ProcessEnv {
		const inherited = Object.entries(process.env).filter(([name]) => !/^VAULTSEEK_/.test(name));
		const homes = ["CONFIG", "DATA", "STATE", "CACHE"].map((name) => [
			`XDG_${name}_HOME`,
			join(this.folder, name.toLowerCase()),
		]);
		return {
			...Object.fromEntries(inherited),
			...Object.fromEntries(homes),
			HOME: this.folder,
			// The pictures use the default model, as a user would; the tests need no model that loads slowly.
			...(process.env.VAULTSEEK_PICTURES ? {} : { VAULTSEEK_MODEL__NAME: "hashing" }),
		};
	}

	/** Run a command to its end and return what it printed. */
	vaultseek(...words: string[]): Promise<string> {
		return new Promise((done, fail) => {
			const options = { env: this.environment, cwd: this.folder };
			execFile(PYTHON, ["-m", "vaultseek", ...words], options, (error: ExecFileException | null, out, err) => {
				if (error) {
					fail(new Error(`vaultseek ${words.join(" ")}: ${err}`));
				} else {
					done(out);
				}
			});
		});
	}

	/** Make the directories and copy the sample vault. */
	async furnish(): Promise<void> {
		await cp(join(PROJECT, "tests/data/vault"), this.vault, { recursive: true });
		await mkdir(join(this.vault, ".obsidian"), { recursive: true });
	}

	/** Write a note. */
	async write(path: string, text: string): Promise<void> {
		await writeFile(join(this.vault, path), text);
	}
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
	const home = new Home(await mkdtemp(join(tmpdir(), "vo-")));
	await home.furnish();
	for (const [path, text] of Object.entries(process.env.VAULTSEEK_PICTURES ? {} : HOSTILE)) {
		await home.write(path, text);
	}
	await home.vaultseek("vault", "add", home.vault);
	await home.vaultseek("index", "--wait", "--vault", home.vault);
	project.provide("home", home.folder);
	return async () => {
		await home.vaultseek("stop");
		await rm(home.folder, { recursive: true, force: true });
	};
}

/** Notes with hostile content: markup in their text, and lines too long to fit. */
const HOSTILE = {
	"Hostile.md":
		"---\ntitle: '&lt;img src=x onerror=\"window.harm=1\"&gt; \u202egnp.exe'\naliases: ['<script>window.harm=2</script>']\n---\n" +
		"# <b onclick=alert(1)>zebracorn</b>\n\nzebracorn <iframe src=javascript:window.harm=3></iframe> 💥 zebracorn\n",
	"Long.md": `# Long\n\n${"alpha beta ".repeat(4000)}wyvernlong ${"gamma delta ".repeat(4000)}\n`,
	"C# Manual.pdf": "%PDF-1.4 nothing of it can be read\n",
};
