/** The plugin, which connects the daemon, the windows and the panes. */

import { debounce, Plugin, type TFile, type WorkspaceLeaf } from "obsidian";
import { BASES_VIEW, basesView } from "./bases-view";
import { Context } from "./context";
import { socketPath } from "./daemon/address";
import { Daemon } from "./daemon/daemon";
import { LinkSuggest, putFirst } from "./link-suggest";
import { noteInSight } from "./notes/editing";
import { Flash } from "./notes/flash";
import { Notes } from "./notes/vault";
import { RELATED_PANE, RelatedPane } from "./related/related-pane";
import { RecentSearches } from "./search/recent";
import { SEARCH_PANE, SearchPane } from "./search/search-pane";
import { SearchWindow } from "./search/search-window";
import { DEFAULTS, readSettings, type Settings } from "./settings";
import { VaultseekSettingTab } from "./settings-tab";
import { VaultState } from "./status/state";
import { StatusBar } from "./status/status-bar";
import { StatusPage } from "./status/status-page";

/** Milliseconds without a keystroke in the settings before the new address is tried. */
const RECONNECT_MS = 500;

export default class VaultseekPlugin extends Plugin {
	settings: Settings = DEFAULTS;
	context!: Context;
	private state!: VaultState;
	private readonly reconnect = debounce(() => this.context.daemon.restart(), RECONNECT_MS, true);

	override async onload(): Promise<void> {
		this.settings = await this.readStored();
		const settings = (): Settings => this.settings;
		const flash = new Flash();
		const daemon = new Daemon(() => socketPath(this.settings.socket), `obsidian-${this.manifest.version}`);
		const recent = new RecentSearches(this.app, () => this.settings.remember);
		this.context = new Context(this.app, daemon, new Notes(this.app, settings), settings, recent, flash);
		this.registerEditorExtension(flash.extension);
		this.addViews();
		this.addCommands();
		this.addSettingTab(new VaultseekSettingTab(this.app, this, this));
		this.addState();
		this.register(() => this.context.windows.forEach((window) => window.close()));
		this.register(() => flash.stop());
		this.register(() => {
			this.reconnect.cancel();
			daemon.stop();
		});
		daemon.start();
	}

	/** Store changed settings, and reconnect if the socket or the vault has changed. */
	async change(settings: Partial<Settings>): Promise<void> {
		const before = this.settings;
		this.settings = { ...before, ...settings };
		await this.saveData(this.settings);
		this.apply(before);
	}

	/** Adopt settings that another device or program wrote. */
	override async onExternalSettingsChange(): Promise<void> {
		const before = this.settings;
		this.settings = await this.readStored();
		this.apply(before);
	}

	/** Return the stored settings; the defaults if the file is damaged. */
	private async readStored(): Promise<Settings> {
		return readSettings(await this.loadData().catch(() => null));
	}

	private apply(before: Settings): void {
		if (!this.settings.remember) {
			this.context.recent.clear();
		}
		if (this.settings.socket !== before.socket || this.settings.vault !== before.vault) {
			this.reconnect();
		}
	}

	private addViews(): void {
		const { context } = this;
		this.registerView(SEARCH_PANE, (leaf) => new SearchPane(leaf, context));
		this.registerView(RELATED_PANE, (leaf) => new RelatedPane(leaf, context));
		const links = new LinkSuggest(context);
		this.registerEditorSuggest(links);
		putFirst(this.app, links);
		this.registerBasesView(BASES_VIEW, basesView(context));
	}

	private addCommands(): void {
		const search = (): void => this.openSearch();
		this.addRibbonIcon("search", "Search by word, meaning and link", search);
		this.addCommand({ id: "search", name: "Search", callback: search });
		this.addCommand({
			id: "search-selection",
			name: "Search for the selection",
			editorCallback: (editor) => this.openSearch(firstWords(editor.getSelection())),
		});
		this.addCommand({
			id: "search-note",
			name: "Search in this note",
			checkCallback: (checking) => {
				const file = noteInSight(this.app)?.file;
				if (file && !checking) {
					void this.openSearchIn(file);
				}
				return Boolean(file);
			},
		});
		this.addCommand({ id: "results", name: "Open a pane of results", callback: () => void this.openResults("") });
		this.addCommand({
			id: "related",
			name: "Open related notes",
			callback: () => void this.openPane(RELATED_PANE),
		});
		this.addCommand({ id: "state", name: "Show the state of the index", callback: () => this.openState() });
	}

	private addState(): void {
		const bar = new StatusBar(this.addStatusBarItem(), () => this.openState());
		this.state = new VaultState(this.context, (state) => bar.show(state));
		this.state.start();
		this.register(() => this.state.stop());
	}

	/** Open the search window. */
	openSearch(query?: string): void {
		new SearchWindow(this.context, (kept) => void this.openResults(kept), query).open();
	}

	private async openSearchIn(file: TFile): Promise<void> {
		const first = { note: this.context.notes.name(file), start_line: 1, end_line: 1 };
		try {
			const note = await this.context.ask("note/get", first);
			new SearchWindow(this.context, (kept) => void this.openResults(kept), "", note).open();
		} catch (error) {
			this.context.complain(error);
		}
	}

	private openState(): void {
		void this.state.refresh();
		new StatusPage(this.context).open();
	}

	private async openResults(query: string): Promise<void> {
		const leaf = await this.openPane(SEARCH_PANE, query ? { query } : undefined);
		if (leaf?.view instanceof SearchPane) {
			leaf.view.focusField();
		}
	}

	/** Show the pane of a type in the right side bar, reusing an existing one. */
	private async openPane(type: string, state?: Record<string, unknown>): Promise<WorkspaceLeaf | null> {
		const { workspace } = this.app;
		const there: WorkspaceLeaf | undefined = workspace.getLeavesOfType(type)[0];
		const leaf = there ?? workspace.getRightLeaf(false);
		if (leaf && (!there || state)) {
			await leaf.setViewState({ type, state });
		}
		if (leaf) {
			await workspace.revealLeaf(leaf);
		}
		return leaf;
	}
}

/** Maximum length of a selection put into the field; the daemon accepts more, but it would be unreadable there. */
const MOST_SELECTED = 300;

/** Return the first line of a selected text, cut between two words if it is long. */
function firstWords(selection: string): string {
	const line = selection.trim().split("\n")[0] ?? "";
	return line.length <= MOST_SELECTED ? line : line.slice(0, MOST_SELECTED).replace(/\s+\S*$/, "");
}
