/** The state page: the daemon, its index of this vault, and problems. */

import { Modal } from "obsidian";
import type { Context } from "../context";
import type { OfVault, Status, VaultStatus } from "../daemon/protocol";
import { Latest } from "../latest";
import { drawProblem, drawSentence } from "../problem";
import { count, shown } from "../text";
import { missingLanes } from "./state";

const MIB = 1024 * 1024;

/** A window that follows the state while it is open. */
export class StatusPage extends Modal {
	private readonly latest = new Latest();
	private ends: (() => void)[] = [];

	constructor(private readonly context: Context) {
		super(context.app);
	}

	override onOpen(): void {
		this.setTitle("Search by vaultseek");
		const { daemon, windows } = this.context;
		windows.add(this);
		const update = (): void => void this.update();
		this.ends = [daemon.linked.on(update), daemon.progress.on(update), daemon.changed.on(update)];
		update();
	}

	override onClose(): void {
		this.context.windows.delete(this);
		this.ends.forEach((end) => end());
		this.latest.stop();
		this.contentEl.empty();
	}

	/** Request the state and show it. */
	async update(): Promise<void> {
		const { context } = this;
		try {
			await this.latest.run(async (signal) => {
				const here = await context.ask("complete", { kind: "tag", text: "", limit: 1 }, signal);
				const status = await context.daemon.request("index/status", {}, signal);
				if (!signal.aborted) {
					this.draw(here, status);
				}
			});
		} catch (error) {
			drawProblem(this.contentEl, error);
		}
	}

	private draw(here: OfVault, { daemon, vaults }: Status): void {
		this.contentEl.empty();
		this.contentEl.addClass("vaultseek-state");
		const vault = vaults.find((each) => each.name === here.vault);
		if (vault) {
			this.drawVault(vault);
		}
		this.facts("Daemon", [
			["Version", daemon.version],
			["Process", `${daemon.pid}, ${Math.round(daemon.memory_bytes / MIB)} MiB`],
			["Socket", daemon.socket],
			["Model", `${daemon.worker.model ?? "none"}, ${daemon.worker.status}`],
		]);
		if (daemon.worker.reason) {
			drawSentence(this.contentEl, { text: daemon.worker.reason });
		}
	}

	private drawVault(vault: VaultStatus): void {
		this.facts("Vault", [
			["Name", vault.name],
			["Folder", vault.path],
			["State", vault.state],
			["Indexed", `${count(vault.notes, "note")}, ${count(vault.embedded, "passage")} embedded`],
			["Left", vault.pending === 0 ? "nothing" : count(vault.pending, "text")],
		]);
		const wrong = [...(vault.reason ? [`${vault.reason}.`] : []), ...missingLanes(vault)];
		for (const text of wrong) {
			drawSentence(this.contentEl, { text });
		}
		if (vault.problem_count > 0) {
			this.drawProblems(vault);
		}
	}

	private drawProblems(vault: VaultStatus): void {
		this.contentEl.createEl("h4", { text: count(vault.problem_count, "problem") });
		for (const problem of vault.problems) {
			const row = this.contentEl.createDiv({ cls: "vaultseek-note-problem" });
			row.createDiv({ cls: "vaultseek-path", text: shown(problem.path) });
			row.createDiv({ text: shown(problem.message) });
			row.addEventListener("click", () => {
				this.close();
				const from = { vault: vault.name, vault_path: vault.path };
				void this.context.open(from, { path: problem.path, line: problem.line ?? 1 }, false);
			});
		}
	}

	private facts(title: string, rows: [string, string][]): void {
		this.contentEl.createEl("h4", { text: title });
		const table = this.contentEl.createEl("dl", { cls: "vaultseek-facts" });
		for (const [name, value] of rows) {
			table.createEl("dt", { text: name });
			table.createEl("dd", { text: shown(value) });
		}
	}
}
