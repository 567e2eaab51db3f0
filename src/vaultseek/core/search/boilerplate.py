"""Boilerplate: lines that many notes of a vault share, such as a footer."""

from collections import Counter
from collections.abc import Sequence, Set
from weakref import WeakKeyDictionary

from vaultseek.base.text import fold
from vaultseek.store.ledger import Ledger

NOTES_COMPARED, CHUNKS_COMPARED = 32, 2
"""Notes that are compared, and the chunks at the beginning and the end of each of them."""
LEAST_NOTES, LEAST_SHARE = 8, 0.25
"""Number and share of the compared notes that have a line of boilerplate."""
_known: WeakKeyDictionary[Ledger, tuple[int, frozenset[str]]] = WeakKeyDictionary()


def boilerplate(ledger: Ledger) -> frozenset[str]:
    """Return the lines that many notes of the ledger share, by a sample of its present revision."""
    revision, lines = _known.get(ledger, (-1, frozenset()))
    if revision != ledger.revision:
        revision, lines = ledger.revision, shared_lines(ledger.notes.spread(NOTES_COMPARED), ledger)
        _known[ledger] = revision, lines
    return lines


def is_boilerplate(line: str, shared: Set[str]) -> bool:
    """True if a line is one of those that are ``shared``."""
    return bool(shared) and _compared(line) in shared


def shared_lines(notes: Sequence[int], ledger: Ledger) -> frozenset[str]:
    """Return the lines that many of these notes share, in the form in which they are compared."""
    least = max(LEAST_NOTES, LEAST_SHARE * len(notes))
    if len(notes) < least:
        return frozenset()
    counts: Counter[str] = Counter()
    for note in notes:
        texts = ledger.chunks.ends(note, CHUNKS_COMPARED)
        counts.update({_compared(line) for text in texts for line in text.split("\n")} - {""})
    return frozenset(line for line, count in counts.items() if count >= least)


def _compared(line: str) -> str:
    """Return a line as it is compared; "" for one without words."""
    return fold(line) if any(map(str.isalpha, line)) else ""
