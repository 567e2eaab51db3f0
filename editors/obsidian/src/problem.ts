/** A sentence about a problem, with the command that fixes it. */

import { Notice } from "obsidian";
import { type Problem, problemOf } from "./daemon/errors";
import { shown } from "./text";

/** Replace the content of `el` by an error. */
export function drawProblem(el: HTMLElement, error: unknown): void {
	el.empty();
	drawSentence(el, problemOf(error));
}

/** Draw a sentence, and its command with a button that copies it. */
export function drawSentence(el: HTMLElement, problem: Problem): void {
	const box = el.createDiv({ cls: "vaultseek-problem", attr: { role: "status" } });
	box.createDiv({ text: shown(problem.text) });
	const { command } = problem;
	if (command) {
		const line = box.createDiv({ cls: "vaultseek-command" });
		line.createEl("code", { text: command });
		const button = line.createEl("button", { text: "Copy" });
		button.addEventListener("click", () => {
			// The clipboard of the window in which the button is: only one that has the focus may write.
			line.win.navigator.clipboard.writeText(command).then(
				() => button.setText("Copied"),
				() => new Notice("The command could not be copied."),
			);
		});
	}
}

/** Replace the content of `el` by remarks, one per line. */
export function drawRemarks(el: HTMLElement, remarks: readonly string[]): void {
	el.empty();
	for (const remark of remarks) {
		el.createDiv({ cls: "vaultseek-remark", text: remark });
	}
}
