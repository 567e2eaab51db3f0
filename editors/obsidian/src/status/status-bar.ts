/** The item of the status bar: connected, indexing, degraded; a click opens the state page. */

import { setIcon, setTooltip } from "obsidian";
import type { State } from "./state";

const ICONS: Record<State["level"], string> = {
	ready: "search-check",
	busy: "loader",
	degraded: "alert-triangle",
	absent: "plug-zap",
};

/** An item of the status bar. */
export class StatusBar {
	private readonly icon: HTMLElement;
	private readonly label: HTMLElement;

	constructor(
		private readonly el: HTMLElement,
		onClick: () => void,
	) {
		el.addClass("vaultseek-status", "mod-clickable");
		this.icon = el.createSpan({ cls: "status-bar-item-icon" });
		this.label = el.createSpan({ cls: "vaultseek-status-label" });
		el.addEventListener("click", onClick);
	}

	/** Show a state. */
	show(state: State): void {
		setIcon(this.icon, ICONS[state.level]);
		this.label.setText(state.label);
		this.el.setAttrs({ "data-level": state.level });
		setTooltip(this.el, `vaultseek: ${state.about}`, { placement: "top" });
	}
}
