/** The pane of notes that are related to the active note, or to the text that is selected in it. */

import { Component, debounce, ItemView, type TFile, type WorkspaceLeaf } from "obsidian";
import type { Context } from "../context";
import { DaemonError } from "../daemon/errors";
import type { OfVault, Related, Search, Suggestions, Unlinked } from "../daemon/protocol";
import { Latest } from "../latest";
import { noteInSight, selectedText } from "../notes/editing";
import { drawProblem } from "../problem";
import { remarksOn } from "../search/live-search";
import { makeDraggable } from "../search/result-list";
import { paneFor } from "../search/search-window";
import { shown } from "../text";
import { askMentions, drawMentions, Linked } from "./mentions";
import { reasonsOf, reasonsOfLink, reasonsOfResult } from "./reasons";

export const RELATED_PANE = "vaultseek-related";

/** Minimum length of a selection used instead of the whole note: a few words. */
const SELECTED_CHARS = 12;
/** Maximum length of a text that the daemon accepts. */
const MOST_CHARS = 10_000;
const WAIT_MS = 300;

/** A note in the pane. */
interface Row {
	path: string;
	title: string;
	preview: string;
	reasons: string[];
	line?: number;
	start_line?: number;
	end_line?: number;
}

/** Notes related to the current note. */
export class RelatedPane extends ItemView {
	private readonly latest = new Latest();
	private subject: { file: TFile; selection: string } | null = null;
	private linked = new Linked();

	/** A note opened from the pane must not replace it. */
	override navigation = false;

	constructor(
		leaf: WorkspaceLeaf,
		private readonly context: Context,
	) {
		super(leaf);
	}

	getViewType(): string {
		return RELATED_PANE;
	}

	getDisplayText(): string {
		return "Related notes";
	}

	override getIcon(): string {
		return "waypoints";
	}

	override async onOpen(): Promise<void> {
		this.contentEl.addClass("vaultseek-pane");
		const soon = debounce(() => void this.follow(), WAIT_MS, true);
		this.registerEvent(this.app.workspace.on("file-open", () => void this.follow()));
		this.registerEvent(this.app.workspace.on("active-leaf-change", () => soon()));
		this.followWindows(soon);
		this.register(
			this.context.daemon.linked.on((link) => {
				if (link.connected) {
					void this.refresh();
				}
			}),
		);
		this.register(this.context.daemon.changed.on(() => void this.refresh()));
		this.register(() => soon.cancel());
		await this.follow();
	}

	override async onClose(): Promise<void> {
		this.latest.stop();
		this.subject = null;
		this.contentEl.empty();
	}

	/** Call `soon` when the selection changes, in any window of Obsidian. */
	private followWindows(soon: () => void): void {
		const { workspace } = this.app;
		const windows = new Map<Document, Component>();
		const listen = (doc: Document): void => {
			if (!windows.has(doc)) {
				const component = this.addChild(new Component());
				component.registerDomEvent(doc, "selectionchange", soon);
				windows.set(doc, component);
			}
		};
		listen(this.contentEl.doc);
		workspace.iterateAllLeaves((leaf) => listen(leaf.view.containerEl.doc));
		this.registerEvent(workspace.on("window-open", (_, win) => listen(win.document)));
		this.registerEvent(
			workspace.on("window-close", (_, win) => {
				const component = windows.get(win.document);
				if (component && win.document !== this.contentEl.doc) {
					this.removeChild(component);
					windows.delete(win.document);
				}
			}),
		);
	}

	/** Show the notes related to the active note, or to the selection in it, unless they are already shown. */
	async follow(): Promise<void> {
		const file = noteInSight(this.app)?.file ?? this.app.workspace.getActiveFile();
		if (!file) {
			if (!this.subject) {
				this.contentEl.setText("Open a note to see related notes here.");
			}
			return;
		}
		const selected = selectedText(this.app).trim();
		const selection = selected.length < SELECTED_CHARS ? "" : Array.from(selected).slice(0, MOST_CHARS).join("");
		if (!selection && (file === this.linked.file || (file === this.subject?.file && this.isActive))) {
			return; // the other mentions stay in sight, and what is clicked here does not change under the pointer
		}
		if (this.subject?.file !== file || this.subject.selection !== selection) {
			this.subject = { file, selection };
			this.linked = new Linked();
			await this.refresh();
		}
	}

	/** True while the pane has the focus: then nothing is selected in a note that is open for reading. */
	private get isActive(): boolean {
		return this.app.workspace.getActiveViewOfType(RelatedPane) === this;
	}

	/** Repeat the request and show the answer. */
	async refresh(): Promise<void> {
		const subject = this.subject;
		if (!subject) {
			return;
		}
		try {
			await this.latest.run(async (signal) => {
				const draw = subject.selection
					? await this.askSelection(subject.file, subject.selection, signal)
					: await this.askNote(subject.file, signal);
				if (!signal.aborted) {
					this.contentEl.empty();
					draw();
				}
			});
		} catch (error) {
			if (error instanceof DaemonError && error.code === "not_found") {
				// A new note is shown as soon as the daemon reports it; pictures and sound have no text.
				this.contentEl.empty();
				this.contentEl.createDiv({ cls: "vaultseek-nothing", text: "vaultseek has not indexed any text of this file." });
			} else {
				drawProblem(this.contentEl, error);
			}
		}
	}

	private async askNote(file: TFile, signal: AbortSignal): Promise<() => void> {
		const note = this.context.notes.name(file);
		const limit = this.context.settings().results;
		const [related, unlinked, missing]: [Related, Unlinked, Suggestions | null] = await Promise.all([
			this.context.ask("note/related", { note, limit }, signal),
			askMentions(this.context, file, signal),
			this.context.ask("graph/suggest", { note, limit }, signal).catch(() => null), // the rest does without
		]);
		return () => {
			this.drawHead(`Related to ${shown(related.title)}`, remarksOn(related));
			this.drawRows(
				related,
				related.results.map((each) => ({ ...each, reasons: reasonsOf(each) })),
			);
			if (missing) {
				this.drawMissing(missing);
			}
			drawMentions(this.contentEl, this.context, file, unlinked, this.linked);
		};
	}

	/** Draw the links that the note may be missing, if any; a button inserts one. */
	private drawMissing(missing: Suggestions): void {
		const likely = missing.suggestions.filter((each) => each.likely);
		if (likely.length > 0) {
			this.drawHead("Links that may be missing", []);
			this.drawRows(
				missing,
				likely.map((each) => ({ ...each, preview: "", reasons: reasonsOfLink(each.reasons) })),
			);
		}
	}

	private async askSelection(file: TFile, text: string, signal: AbortSignal): Promise<() => void> {
		const limit = this.context.settings().results + 1;
		const found: Search = await this.context.ask("search", { query: text, plain: true, limit }, signal);
		const others = found.results.filter((each) => this.context.notes.file(found.vault_path, each.path) !== file);
		return () => {
			this.drawHead("Related to the selection", remarksOn(found));
			this.contentEl.createDiv({ cls: "vaultseek-selection", text: shown(text), attr: { dir: "auto" } });
			this.drawRows(
				found,
				others.map((each) => ({ ...each, preview: each.preview ?? "", reasons: reasonsOfResult(each) })),
			);
		};
	}

	private drawHead(title: string, missing: string[]): void {
		this.contentEl.createDiv({ cls: "vaultseek-section", text: title, attr: { dir: "auto" } });
		for (const reason of missing) {
			this.contentEl.createDiv({ cls: "vaultseek-remark", text: shown(reason) });
		}
	}

	private drawRows(from: OfVault, rows: Row[]): void {
		if (rows.length === 0) {
			this.contentEl.createDiv({ cls: "vaultseek-nothing", text: "No note is related." });
		}
		for (const row of rows) {
			this.drawRow(from, row);
		}
	}

	private drawRow(from: OfVault, row: Row): void {
		const { context } = this;
		const el = this.contentEl.createDiv({ cls: "vaultseek-related" });
		const head = el.createDiv({ cls: "vaultseek-result-head" });
		head.createDiv({ cls: "vaultseek-result-title", text: shown(row.title), attr: { dir: "auto" } });
		const reasons = el.createDiv({ cls: "vaultseek-reasons" });
		for (const reason of row.reasons) {
			reasons.createSpan({ cls: "vaultseek-badge", text: reason });
		}
		el.createDiv({ cls: "vaultseek-excerpt", text: shown(row.preview), attr: { dir: "auto" } });
		el.addEventListener("click", (event) => {
			void context.open(from, row, paneFor(event, context));
		});
		const button = head.createEl("button", { cls: "vaultseek-link-button", text: "Link" });
		button.setAttrs({ "aria-label": "Insert a link at the cursor" });
		button.addEventListener("click", (event) => {
			event.stopPropagation();
			context.insert(from, row);
		});
		makeDraggable(el, () => context.link(from, row.path));
	}
}
