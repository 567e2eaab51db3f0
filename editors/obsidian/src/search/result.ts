/** Drawing of a result. */

import type { Result } from "../daemon/protocol";
import { appendMarked, shown } from "../text";

const LANES: Record<string, { badge: string; about: string }> = {
	keyword: { badge: "words", about: "Contains words from the search" },
	semantic: { badge: "meaning", about: "Similar in meaning" },
	graph: { badge: "link", about: "Linked to a note that was found" },
};
const MOST_TAGS = 4;

/** Draw a result into `el`: title, lanes, headings, the passage with its marked words, and its place. */
export function drawResult(el: HTMLElement, result: Result): void {
	const head = el.createDiv({ cls: "vaultseek-result-head" });
	head.createDiv({ cls: "vaultseek-result-title", text: shown(result.title), attr: { dir: "auto" } });
	if (result.file_name) {
		head.createDiv({ cls: "vaultseek-result-file", text: shown(result.file_name) });
	}
	drawBadges(head.createDiv({ cls: "vaultseek-badges" }), result);
	if (result.currency) {
		el.createDiv({ cls: `vaultseek-currency is-${result.currency.state}`, text: shown(result.currency.text) });
	}
	const headings = headingPath(result);
	if (headings) {
		el.createDiv({ cls: "vaultseek-headings", text: headings, attr: { dir: "auto" } });
	}
	if (result.preview) {
		const excerpt = el.createDiv({ cls: "vaultseek-excerpt", attr: { dir: "auto" } });
		appendMarked(excerpt, result.preview, result.highlights ?? []);
	}
	drawWhere(el.createDiv({ cls: "vaultseek-where" }), result);
}

/** Return the headings above the passage, without the title of the note. */
export function headingPath(result: Result): string {
	const headings = result.heading_path ?? [];
	return shown((headings[0] === result.title ? headings.slice(1) : headings).join(" › "));
}

function drawBadges(el: HTMLElement, result: Result): void {
	if (result.property) {
		el.createSpan({ cls: "vaultseek-badge", text: shown(result.property), title: "The property that matches" });
	}
	for (const [lane, { badge, about }] of Object.entries(LANES)) {
		const part = result.lanes?.[lane];
		if (part) {
			const via = lane === "graph" && result.via ? `Connected to ${shown(result.via.title)} by a link` : about;
			el.createSpan({ cls: `vaultseek-badge is-${lane}`, text: badge, title: via });
		}
	}
	if (result.certainty !== undefined) {
		const percent = Math.round(result.certainty * 100);
		const meter = el.createSpan({ cls: "vaultseek-certainty", title: `Certainty ${percent}%` });
		meter.createSpan({ cls: "vaultseek-certainty-bar" }).setCssProps({ "--vaultseek-certainty": `${percent}%` });
	}
}

function drawWhere(el: HTMLElement, result: Result): void {
	const line = result.line && result.line > 1 ? `:${result.line}` : "";
	el.createSpan({ cls: "vaultseek-path", text: shown(result.path) + line });
	for (const tag of (result.tags ?? []).slice(0, MOST_TAGS)) {
		el.createSpan({ cls: "vaultseek-tag", text: `#${shown(tag)}` });
	}
}
