/** Text of notes, made safe to show. All of it is set as text; nothing of a note becomes markup. */

import type { Range, Result } from "./daemon/protocol";

/** Characters that are invisible or change the text direction: a title could imitate another one. */
// eslint-disable-next-line no-control-regex -- these are what it is about
const INVISIBLE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
/** Scripts whose words have no spaces between them. */
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}]/u;

/** Return `text` without characters that a reader cannot see. */
export function shown(text: string): string {
	return text.replace(INVISIBLE, "");
}

/** Return a number with its noun: "1 note", "2 notes". */
export function count(number: number, noun: string): string {
	return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** Append `text` to `el`, with the `ranges` of its characters marked. */
export function appendMarked(el: HTMLElement, text: string, ranges: readonly Range[]): void {
	const characters = Array.from(text);
	let done = 0;
	for (const [start, end] of ranges) {
		if (start < done || end <= start) {
			continue;
		}
		el.appendText(shown(characters.slice(done, start).join("")));
		el.createEl("mark", { text: shown(characters.slice(start, end).join("")) });
		done = end;
	}
	el.appendText(shown(characters.slice(done).join("")));
}

/** Return the words that a result's preview marks, as they are written there. */
export function writtenWords(result: Result): string[] {
	const characters = Array.from(result.preview ?? "");
	const words = (result.highlights ?? []).map(([start, end]) => characters.slice(start, end).join(""));
	return [...new Set(words.filter((word) => word.trim()))];
}

/** Append `text` to `el`, with every occurrence of the `words` marked. */
export function appendWithWords(el: HTMLElement, text: string, words: readonly string[]): void {
	const pattern = wordPattern(words);
	let done = 0;
	for (const match of pattern ? text.matchAll(pattern) : []) {
		const word = match[2] ?? "";
		const start = match.index + (match[1] ?? "").length;
		el.appendText(shown(text.slice(done, start)));
		el.createEl("mark", { text: shown(word) });
		done = start + word.length;
	}
	el.appendText(shown(text.slice(done)));
}

/** Return an expression that matches exactly `text`. A hyphen stays: with the flag `u`, it must not be escaped. */
function escapePattern(text: string): string {
	return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** Return the expression that matches any of the words: the preceding characters, then the word. */
function wordPattern(words: readonly string[]): RegExp | null {
	if (words.length === 0) {
		return null;
	}
	const longestFirst = [...words].sort((one, other) => other.length - one.length);
	const parts = longestFirst.map((word) => {
		const escaped = escapePattern(word);
		return UNSPACED.test(word) ? escaped : `${escaped}(?![\\p{L}\\p{N}_])`;
	});
	const before = words.some((word) => UNSPACED.test(word)) ? "()" : "(^|[^\\p{L}\\p{N}_])";
	return new RegExp(`${before}(${parts.join("|")})`, "giu");
}
