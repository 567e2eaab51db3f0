/** The daemon's work for this vault, in words. */

import type { Context } from "../context";
import type { Link } from "../daemon/daemon";
import type { Progress, Status, VaultStatus } from "../daemon/protocol";
import { count, shown } from "../text";

/** The state, a few words for the status bar, and the full sentence. */
export interface State {
	level: "ready" | "busy" | "degraded" | "absent";
	label: string;
	about: string;
}

/** Return the state from the connection, the vault's status, and its last progress. */
export function stateOf(link: Link, vault: VaultStatus | null, progress: Progress | null): State {
	if (!link.connected) {
		return { level: "absent", label: link.label ?? "No daemon", about: `${shown(link.reason)} Click to see what to do.` };
	}
	if (!vault) {
		return { level: "busy", label: "Opening the vault", about: "The daemon has not answered for this vault yet." };
	}
	const missing = missingLanes(vault);
	if (progress && progress.phase !== "done") {
		return { level: "busy", label: progressLabel(progress), about: missing.join(" ") || "Search already works." };
	}
	if (vault.reason || missing.length > 0) {
		return {
			level: "degraded",
			label: vault.reason ? "Not up to date" : "Not everything works",
			about: [vault.reason ? `${shown(vault.reason)}.` : "", ...missing].join(" ").trim(),
		};
	}
	if (vault.pending > 0) {
		return { level: "busy", label: `Indexing: ${vault.pending} left`, about: "Search already works." };
	}
	return { level: "ready", label: count(vault.notes, "note"), about: "Everything is indexed." };
}

/** Return the lanes that do not take part in searches, and the reasons. */
export function missingLanes(vault: VaultStatus): string[] {
	const names: Record<string, string> = { keyword: "by word", semantic: "by meaning", graph: "by link" };
	return Object.entries(vault.lanes)
		.filter(([, lane]) => !lane.up)
		.map(([name, lane]) => `No search ${names[name] ?? name}: ${shown(lane.reason ?? "it is not ready")}.`);
}

function progressLabel(progress: Progress): string {
	if (progress.phase === "embedding") {
		return `Indexing ${progress.embedded} of ${progress.chunks} passages`;
	}
	return `Indexing ${progress.notes_done} of ${progress.notes_total} notes`;
}

/** Follows the state of this vault. */
export class VaultState {
	private vault: VaultStatus | null = null;
	private progress: Progress | null = null;
	private name: string | null = null;
	private readonly ends: (() => void)[] = [];

	constructor(
		private readonly context: Context,
		private readonly changed: (state: State) => void,
	) {}

	/** Start following. */
	start(): void {
		const { daemon } = this.context;
		this.ends.push(
			daemon.linked.on((link) => {
				this.vault = this.progress = this.name = null;
				this.tell();
				if (link.connected) {
					void this.subscribe();
				}
			}),
			daemon.progress.on((progress) => {
				if (progress.vault === this.name) {
					this.progress = progress;
					this.tell();
					if (progress.phase === "done") {
						void this.refresh();
					}
				}
			}),
			daemon.changed.on((change) => {
				if (change.vault === this.name) {
					void this.refresh();
				}
			}),
		);
		this.tell();
	}

	/** Stop following. */
	stop(): void {
		this.ends.splice(0).forEach((end) => end());
	}

	/** Request the status again. */
	async refresh(): Promise<void> {
		if (this.name === null) {
			return;
		}
		try {
			const status = await this.context.daemon.request("index/status", {});
			this.vault = ofName(status, this.name);
			this.tell();
		} catch {
			// the connection broke, which `linked` reports
		}
	}

	/** The known state. */
	get state(): State {
		return stateOf(this.context.daemon.state, this.vault, this.progress);
	}

	/** Get the name of the vault, which opens it in the daemon, and subscribe to its progress. */
	private async subscribe(): Promise<void> {
		const { context } = this;
		try {
			const { vault, vault_path } = await context.ask("complete", { kind: "tag", text: "", limit: 1 });
			this.name = vault;
			const { vaults } = await context.daemon.request("index/subscribe", { vault });
			this.progress = vaults.find((each) => each.vault === vault) ?? null;
			// Earlier answers may have missed a change.
			context.daemon.changed.fire({ vault, vault_path, revision: 0, paths: [], more: true });
		} catch (error) {
			if (context.daemon.state.connected) {
				const about = error instanceof Error ? error.message : String(error);
				this.changed({ level: "degraded", label: "No vault", about: shown(about) });
			}
		}
	}

	private tell(): void {
		this.changed(this.state);
	}
}

function ofName(status: Status, name: string): VaultStatus | null {
	return status.vaults.find((each) => each.name === name) ?? null;
}
