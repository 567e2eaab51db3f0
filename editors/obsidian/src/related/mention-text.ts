/** The place of a mention in its line. */

import { escapePattern } from "../text";

/** Links, addresses and code: the daemon looks for mentions outside of them. */
const LINKED =
	/!?\[\[[^[\]]*\]\]|!?\[[^[\]]*\]\([^()]*\)|!?\[[^[\]]*\]\[[^[\]]*\]|<[^<>\s]+>|https?:\/\/\S+|`[^`]*`/g;
const LETTER = /[\p{L}\p{N}\p{M}]/u;
/** Scripts whose words have no spaces between them. */
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]/u;

/** Return where the first `name` outside of links and code stands in a line: its beginning and its end. */
export function mentionIn(text: string, name: string): [number, number] | null {
	const prose = text.replace(LINKED, (link) => "\0".repeat(link.length));
	for (const match of prose.matchAll(namePattern(name))) {
		const end = match.index + match[0].length;
		if (!joined(prose, match.index) && !joined(prose, end)) {
			return [match.index, end];
		}
	}
	return null;
}

/** Return the expression for a name, whatever spaces are between its words, and however its accents are written. */
function namePattern(name: string): RegExp {
	const words = name.trim().split(/\s+/);
	const written = (form: "NFC" | "NFD"): string => words.map((word) => escapePattern(word.normalize(form))).join("\\s+");
	return new RegExp(`${written("NFC")}|${written("NFD")}`, "giu");
}

/** True if a word goes on over the place `at`. */
function joined(text: string, at: number): boolean {
	const before = /.$/u.exec(text.slice(Math.max(0, at - 2), at))?.[0] ?? "";
	const after = /^./u.exec(text.slice(at, at + 2))?.[0] ?? "";
	const spaced = !UNSPACED.test(before) && !UNSPACED.test(after);
	return LETTER.test(before) && LETTER.test(after) && spaced;
}
