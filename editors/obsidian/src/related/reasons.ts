/** The reasons for which a note is related, in words. */

import type { LinkReason, RelatedNote, Result } from "../daemon/protocol";
import { shown } from "../text";

const LINKS = { out: "linked from here", in: "links here", both: "linked both ways" };

/** Return why a note is related to the active one. */
export function reasonsOf(note: RelatedNote): string[] {
	const reasons: string[] = [];
	if (note.link) {
		reasons.push(LINKS[note.link]);
	} else if (note.lanes.links) {
		reasons.push("linked through other notes");
	}
	if (note.lanes.semantic) {
		reasons.push("similar in meaning");
	}
	if (note.lanes.keyword) {
		reasons.push("same words");
	}
	return reasons;
}

/** Return why a link to a note is suggested. */
export function reasonsOfLink(reasons: LinkReason[]): string[] {
	return reasons.map((each) => {
		switch (each.kind) {
			case "mentioned":
				return `mentioned on line ${each.line}`;
			case "mentions":
				return `mentions this note on line ${each.line}`;
			case "links_back":
				return "links here";
			case "cited_together":
				return each.count === 1 ? "1 note links to both" : `${each.count} notes link to both`;
			case "common_links":
				return `${each.count} ${each.count === 1 ? "note" : "notes"} connected to both by a link`;
			case "followed":
				return `linked from ${each.count} similar ${each.count === 1 ? "note" : "notes"}`;
			case "meaning":
				return "similar in meaning";
		}
	});
}

/** Return why a note is related to the selected text. */
export function reasonsOfResult(result: Result): string[] {
	const reasons: string[] = [];
	if (result.lanes?.semantic) {
		reasons.push("similar in meaning");
	}
	if (result.lanes?.keyword) {
		reasons.push("same words");
	}
	if (result.lanes?.graph) {
		reasons.push(result.via ? `connected to ${shown(result.via.title)} by a link` : "linked to similar notes");
	}
	return reasons;
}
