"""Boilerplate: lines that many notes of a vault share, such as a footer."""

from collections import Counter
from collections.abc import Set
from weakref import WeakKeyDictionary

from vaultseek.content.markdown.plain import plain_line
from vaultseek.store.ledger import Ledger

NOTES_COMPARED, CHUNKS_COMPARED = 32, 2
"""Notes that are compared, and the chunks at the beginning and the end of each of them."""
LEAST_NOTES, LEAST_SHARE = 8, 0.25
"""Number and share of the compared notes that have a line of boilerplate."""
_COMMENT_OR_CODE = ("%%", "<!--", "-->", "```", "~~~")

_known: WeakKeyDictionary[Ledger, tuple[int, frozenset[str]]] = WeakKeyDictionary()


def boilerplate(ledger: Ledger) -> frozenset[str]:
    """Return the plain lines that many notes of the ledger share, by a sample of its present revision."""
    revision, lines = _known.get(ledger, (-1, frozenset()))
    if revision != ledger.revision:
        revision, lines = ledger.revision, _shared_lines(ledger)
        _known[ledger] = revision, lines
    return lines


def without_boilerplate(text: str, shared: Set[str]) -> str:
    """Return ``text`` with the lines that are ``shared`` left empty, so that all keep their numbers."""
    if not shared:
        return text
    return "\n".join("" if _compared(line) in shared else line for line in text.split("\n"))


def _shared_lines(ledger: Ledger) -> frozenset[str]:
    notes = ledger.notes.spread(NOTES_COMPARED)
    least = max(LEAST_NOTES, LEAST_SHARE * len(notes))
    if len(notes) < least:
        return frozenset()
    counts: Counter[str] = Counter()
    for note in notes:
        texts = ledger.chunks.ends(note, CHUNKS_COMPARED)
        counts.update({_compared(line) for text in texts for line in text.split("\n")} - {""})
    return frozenset(line for line, count in counts.items() if count >= least)


def _compared(line: str) -> str:
    """Return a line as it is compared; "" for one that has no words, or that is a sign of a block."""
    if any(sign in line for sign in _COMMENT_OR_CODE):
        return ""
    plain = plain_line(line).casefold()
    return plain if any(map(str.isalpha, plain)) else ""
