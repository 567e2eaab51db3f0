"""Audit the index of a vault: find notes with outdated vectors, and notes that were never read.

Search results do not reveal either problem.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

from vaultseek.base.model import NOT_EMBEDDED
from vaultseek.core.indexing.unembedded import Item, Unembedded
from vaultseek.store.ledger import Ledger

UNREAD = ("ends_reader", "ends_daemon")
"""Codes of problems that left a note unread because a process ended. The note itself is not necessarily the
cause."""
NOTES_AT_ONCE = 100
"""Number of notes compared before the time limit is checked again."""


@dataclass(frozen=True, slots=True)
class Audit:
    """The result of an audit: the number of notes checked, and the paths of notes with problems.

    ``outdated`` notes have vectors computed from text that has since changed. ``unread`` notes are indexed by
    name only, because a process ended while reading them.
    """

    notes: int
    outdated: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def audit(ledger: Ledger, unembedded: Unembedded, *, seconds: float) -> Audit:
    """Check the notes of a ledger in random order, until all are checked or ``seconds`` have passed."""
    end = time.monotonic() + seconds
    ids = list(ledger.notes.ids())
    random.shuffle(ids)
    outdated: list[str] = []
    unread: list[str] = []
    done = 0
    while done < len(ids) and (not done or time.monotonic() < end):
        some = ids[done : done + NOTES_AT_ONCE]
        outdated += _outdated(ledger, unembedded, some)
        paths = [row.path for row in ledger.notes.by_id(some).values()]
        unread += [path for path in paths if any(ledger.problems.has(path, code) for code in UNREAD)]
        done += len(some)
    return Audit(done, tuple(sorted(outdated)), tuple(sorted(unread)))


def _outdated(ledger: Ledger, unembedded: Unembedded, notes: Sequence[int]) -> list[str]:
    """Return the paths of notes whose current texts have no vector, although the ledger does not list the
    vectors as missing.
    """
    chunks, whole = ledger.space.chunks, ledger.space.notes
    missing = [item for item in unembedded.of_notes(notes) if item.text is not None and not item.vector]
    pending = {row.number for row in chunks([item.chunk for item in missing if item.chunk is not None])}
    pending_notes = set(whole([item.note for item in missing if item.chunk is None]))

    def waits(item: Item) -> bool:
        return item.note in pending_notes if item.chunk is None else item.chunk in pending

    wrong = {item.note for item in missing if not waits(item)}
    paths = [row.path for row in ledger.notes.by_id(sorted(wrong)).values()]
    return [path for path in paths if not ledger.problems.has(path, NOT_EMBEDDED)]
