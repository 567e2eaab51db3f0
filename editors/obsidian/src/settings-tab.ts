/** The settings of the plugin, in Obsidian's settings window. */

import { type App, type Plugin, PluginSettingTab, Setting, type SettingDefinitionControl } from "obsidian";
import type { Context } from "./context";
import { socketPath, wrongSocket } from "./daemon/address";
import { CLICKS, MOST_RESULTS, readSettings, resultCount, type Settings } from "./settings";
import { shown } from "./text";

/** The parts of the plugin that the page changes. */
export interface SettingsHolder {
	settings: Settings;
	context: Context;
	/** Store changed settings, and reconnect if the socket or the vault has changed. */
	change(settings: Partial<Settings>): Promise<void>;
}

type Definition = SettingDefinitionControl<keyof Settings>;

/** The page. Obsidian draws it from the definitions, but only since version 1.13, so `display` does so as well. */
export class VaultseekSettingTab extends PluginSettingTab {
	constructor(
		app: App,
		plugin: Plugin,
		private readonly holder: SettingsHolder,
	) {
		super(app, plugin);
	}

	override getSettingDefinitions(): Definition[] {
		return [
			{
				name: "Socket",
				desc: "Path of the daemon's socket. Leave it empty for the default.",
				control: { type: "text", key: "socket", placeholder: socketPath(""), validate: wrongSocket },
			},
			{
				name: "Vault",
				desc: "Name of the vault in vaultseek. Leave it empty for the vault that contains this folder.",
				control: { type: "text", key: "vault", validate: (name) => this.wrongVault(name) },
			},
			{
				name: "Results",
				desc: `Number of results for each search, up to ${MOST_RESULTS}.`,
				control: { type: "number", key: "results", min: 1, max: MOST_RESULTS, step: 1, validate: wrongCount },
			},
			{ name: "A click on a result", control: { type: "dropdown", key: "click", options: CLICKS } },
			{
				name: "Recent searches",
				desc: "Offer recent searches in an empty search window. They stay on this device.",
				control: { type: "toggle", key: "remember" },
			},
		];
	}

	override getControlValue(key: string): unknown {
		return this.holder.settings[key as keyof Settings];
	}

	/** Store a value; an invalid one leaves the setting unchanged. */
	override setControlValue(key: string, value: unknown): Promise<void> {
		const { settings } = this.holder;
		const changed = readSettings({ ...settings, [key]: value });
		const accepted = changed[key as keyof Settings] === value;
		return this.holder.change(accepted ? changed : settings);
	}

	override display(): void {
		this.containerEl.empty();
		for (const definition of this.getSettingDefinitions()) {
			const setting = new Setting(this.containerEl).setName(definition.name);
			if (definition.desc) {
				setting.setDesc(definition.desc);
			}
			this.addControl(setting, definition.control);
		}
	}

	private addControl(setting: Setting, control: Definition["control"]): void {
		const store = (value: unknown): void => void this.setControlValue(control.key, value);
		const value = this.getControlValue(control.key);
		if (control.type === "toggle") {
			setting.addToggle((toggle) => toggle.setValue(value === true).onChange(store));
		} else if (control.type === "dropdown") {
			setting.addDropdown((menu) => menu.addOptions(control.options).setValue(String(value)).onChange(store));
		} else if (control.type === "number") {
			const typed = storeValid(setting, Number, control.validate, store);
			setting.addText((text) => text.setValue(String(value)).onChange(typed));
		} else if (control.type === "text") {
			const typed = storeValid(setting, (text) => text.trim(), control.validate, store);
			const placeholder = control.placeholder ?? "";
			setting.addText((text) => text.setPlaceholder(placeholder).setValue(String(value)).onChange(typed));
		}
	}

	/** Return the problem of a vault name, if the daemon can check it. */
	private async wrongVault(written: string): Promise<string | undefined> {
		const name = written.trim();
		const { daemon, notes } = this.holder.context;
		if (!name || !daemon.state.connected) {
			return undefined;
		}
		const { vaults } = await daemon.request("index/status", {});
		const vault = vaults.find((each) => each.name === name);
		if (!vault) {
			return `vaultseek has no vault with this name. Its vaults are: ${vaults.map((each) => shown(each.name)).join(", ")}.`;
		}
		return notes.isHere(vault.path) ? undefined : `This is the vault in ${shown(vault.path)}, not the one that is open here.`;
	}
}

function wrongCount(value: unknown): string | undefined {
	return resultCount(value) === null ? `Enter a whole number from 1 to ${MOST_RESULTS}.` : undefined;
}

/** Return a function that stores a valid typed value, and shows the problem of an invalid one below the setting. */
function storeValid<V>(
	setting: Setting,
	read: (typed: string) => V,
	validate: ((value: V) => string | void | Promise<string | void>) | undefined,
	store: (value: V) => void,
): (typed: string) => Promise<void> {
	const message = setting.infoEl.createDiv({ cls: "vaultseek-wrong", attr: { role: "alert" } });
	let latest = "";
	return async (typed) => {
		latest = typed;
		const value = read(typed);
		const wrong = await Promise.resolve(validate?.(value)).catch(() => undefined);
		if (typed === latest) {
			message.setText(wrong ?? "");
			if (!wrong) {
				store(value);
			}
		}
	};
}
