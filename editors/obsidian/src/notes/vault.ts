/** The vault on both sides: its folder in Obsidian, its name and paths in the daemon. */

import { realpathSync } from "node:fs";
import { isAbsolute, join, relative, sep } from "node:path";
import { type App, FileSystemAdapter, normalizePath, type TFile } from "obsidian";
import { UnknownVault } from "../daemon/errors";
import type { Where } from "../daemon/protocol";
import type { Settings } from "../settings";

/** The notes of this vault. */
export class Notes {
	private readonly folder: string;

	constructor(
		private readonly app: App,
		private readonly settings: () => Settings,
	) {
		const adapter = app.vault.adapter;
		this.folder = adapter instanceof FileSystemAdapter ? real(adapter.getBasePath()) : "";
	}

	/** The vault, as parameters of a request. */
	get where(): Where {
		const name = this.settings().vault.trim();
		return name ? { vault: name } : { cwd: this.folder };
	}

	/** Return the name by which the daemon knows the note of a file: its absolute path. */
	name(file: TFile): string {
		return join(this.folder, file.path);
	}

	/** Return the file at `path` in the daemon's vault, or null if it is outside the open vault. */
	file(vaultPath: string, path: string): TFile | null {
		const inside = relative(this.folder, join(vaultPath, path));
		if (inside === ".." || inside.startsWith(`..${sep}`) || isAbsolute(inside)) {
			return null;
		}
		return this.app.vault.getFileByPath(normalizePath(inside.split(sep).join("/")));
	}

	/** True if a vault of the daemon shares notes with the open one: one of them contains the other. */
	isHere(vaultPath: string): boolean {
		return contains(this.folder, vaultPath) || contains(vaultPath, this.folder);
	}

	/** Return the error for a daemon that answers from another vault, in the folder `vaultPath`. */
	elsewhere(vaultPath: string): UnknownVault {
		const name = this.settings().vault.trim();
		if (name) {
			return new UnknownVault(
				`The vault ${name} named in the settings is ${vaultPath}, not the one that is open here. Leave the name empty, or correct it.`,
			);
		}
		const folder = `'${this.folder.replace(/'/g, "'\\''")}'`;
		return new UnknownVault("vaultseek does not know this vault yet. Add it:", `vaultseek vault add ${folder}`);
	}
}

function contains(folder: string, path: string): boolean {
	const inside = relative(folder, path);
	return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** Return a path without symbolic links, as the daemon names folders. */
function real(path: string): string {
	try {
		return realpathSync.native(path);
	} catch {
		return path; // it is missing or unreadable, which the daemon will report
	}
}
