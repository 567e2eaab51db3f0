"""Changes to a ledger since a position; every index uses them to follow the ledger.

An index applies the pages of changes that ``changes`` yields, and stores each page's position together with
the page's content. All indexes use the same method names: ``sync`` applies the changes, ``synced_revision``
is the last revision that is fully applied, and ``pending_count`` is the number of notes changed since that
revision.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from vaultseek.store.ledger.ledger import Ledger
from vaultseek.store.ledger.notes import LAST_NOTE


class RemovalsPruned(Exception):
    """Raised when removals after a position were pruned from the ledger; the index must be rebuilt."""


class Position(NamedTuple):
    """A position in the order of changes, by revision, then by note id; the default is the beginning."""

    revision: int = 0
    note: int = LAST_NOTE

    @property
    def synced_revision(self) -> int:
        """The last revision whose changes all come before this position."""
        return self.revision if self.note == LAST_NOTE else self.revision - 1


class Changes(NamedTuple):
    """A page of changes: notes to write in order of change, notes to delete, and the position after them."""

    notes: list[int]
    removed: list[int]
    position: Position


def changes(ledger: Ledger, since: Position, size: int) -> Iterator[Changes]:
    """Yield the changes after ``since``, at most ``size`` notes at a time, until none are left.

    Raises RemovalsPruned if removals after ``since`` have been pruned, which may also happen while pages are
    read.
    """
    looked = since.revision
    while True:
        current = ledger.revision  # read first, because commits from here on belong to the next run
        removed = _removed_since(ledger, looked)
        rows = ledger.notes.changed_since(since.revision, size + 1, since.note)
        if not rows and not removed:
            return
        rows = [(note, revision) for note, revision in rows if revision <= current]
        page, more = rows[:size], rows[size:]
        if not more:
            since = Position(current)
        elif more[0][1] > page[-1][1]:
            since = Position(more[0][1] - 1)
        else:
            since = Position(page[-1][1], page[-1][0])
        yield Changes([note for note, _ in page], removed, since)
        looked = current


def pending_count(ledger: Ledger, since: Position, most: int = -1) -> int:
    """Return the number of notes that changed after ``since``, but stop counting at ``most``."""
    sql = "SELECT count(*) FROM (SELECT 1 FROM notes WHERE (revision, id) > (?, ?) LIMIT ?)"
    return int(ledger.select(sql, *since, most)[0][0])


def changed_rows(
    ledger: Ledger, since: int, columns: str, condition: str = "1 = 1"
) -> tuple[list[Any], list[int] | None]:
    """Return ``columns`` of the notes that changed after the revision ``since``, and the ids of removed
    notes.

    This serves to update data kept in memory. If ``since`` is 0 or the removals were pruned, return instead
    all notes that satisfy ``condition``, and None for the removed ids.
    """
    removed = ledger.notes.removed_since(since) if since else None
    where, since = (f"{condition} AND revision > ?", 0) if removed is None else ("revision > ?", since)
    return ledger.select(f"SELECT {columns} FROM notes WHERE {where}", since), removed


def _removed_since(ledger: Ledger, revision: int) -> list[int]:
    removed = ledger.notes.removed_since(revision) if revision else []
    if removed is None:
        raise RemovalsPruned
    return removed
