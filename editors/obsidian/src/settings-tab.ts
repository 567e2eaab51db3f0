/** The settings of the plugin, on Obsidian's page of settings. */

import { type App, type Plugin, PluginSettingTab, Setting, type SettingDefinitionControl } from "obsidian";
import { socketPath } from "./daemon/address";
import { CLICKS, MOST_RESULTS, readSettings, type Settings } from "./settings";

/** What the page changes. */
export interface SettingsHolder {
	settings: Settings;
	/** Store changed settings, and connect anew if the socket or the vault is another. */
	change(settings: Partial<Settings>): Promise<void>;
}

type Definition = SettingDefinitionControl<keyof Settings>;

/** The page. Obsidian draws it from the definitions; before version 1.13 it did not, so `display` does it too. */
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
				desc: "Path of the daemon's socket. Leave it empty for the usual one.",
				control: { type: "text", key: "socket", placeholder: socketPath("") },
			},
			{
				name: "Vault",
				desc: "Name of the vault in vaultseek. Leave it empty for the one that this folder is in.",
				control: { type: "text", key: "vault" },
			},
			{
				name: "Results",
				desc: `Number of results of a search, up to ${MOST_RESULTS}.`,
				control: { type: "number", key: "results", min: 1, max: MOST_RESULTS, step: 1 },
			},
			{ name: "A click on a result", control: { type: "dropdown", key: "click", options: CLICKS } },
			{
				name: "Recent searches",
				desc: "Offer the last searches in an empty search window. They stay on this device.",
				control: { type: "toggle", key: "remember" },
			},
		];
	}

	override getControlValue(key: string): unknown {
		return this.holder.settings[key as keyof Settings];
	}

	/** Store a value; one that is wrong leaves the setting as it was. */
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
			setting.addText((text) => text.setValue(String(value)).onChange((typed) => store(Number(typed))));
		} else if (control.type === "text") {
			const placeholder = control.placeholder ?? "";
			setting.addText((text) => text.setPlaceholder(placeholder).setValue(String(value)).onChange(store));
		}
	}
}
