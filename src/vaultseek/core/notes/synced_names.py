"""Names of all notes that are kept in memory, folded and ranked, and synced with the ledger.

Neither a key nor a save costs more in a large vault: the names of notes that changed since are completed
beside those that are ranked, until these are many.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from vaultseek.core.notes.completer import GRADES, Completer, Match, Named
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import RemovalsPruned, changed_rows

RECENT_NOTES = 500
"""Changed notes that are always completed beside the ranked names; more than these are ranked among them."""
RECENT_PART = 16
"""In a large vault, one part in this many may be completed beside the ranked names."""

NamesOfRow = Callable[..., Iterable[Named]]
"""Function that returns the names in a row, given the note's id and the other columns."""


class SyncedNames:
    """The names that ``names`` makes of the ``columns`` of each note, at the ledger's current revision.

    Notes that do not meet the SQL ``condition`` have none.
    """

    def __init__(
        self, ledger: Ledger, columns: str, names: NamesOfRow, condition: str = "1", grades: int = GRADES
    ) -> None:
        self._ledger = ledger
        self._columns = columns
        self._names = names
        self._condition = condition
        self._grades = grades
        self._lock = threading.Lock()
        self._ranking = threading.Lock()
        self._revision = 0
        self._ranked = Completer(())
        self._changed: dict[int, list[Named]] = {}
        self._recent = Completer(())

    @property
    def crowded(self) -> bool:
        """True if so many notes changed that their names should be ranked."""
        return len(self._changed) > max(RECENT_NOTES, len(self._ranked) // RECENT_PART)

    def complete(self, typed: str, limit: int, grades: int | None = None) -> list[Match]:
        """Return the best completions, of the first ``grades`` only."""
        grades = grades or self._grades
        with self._lock:
            self._sync()
            ranked = self._ranked.complete(typed, limit, without=self._changed, grades=grades)
            recent = self._recent.complete(typed, limit, grades=grades)
        return sorted((*ranked, *recent), key=lambda match: (match.grade, len(match.entry.text)))[:limit]

    def rank_recent(self) -> None:
        """Read the names, if they have not been read; rank those of changed notes, if they are many.

        This takes long in a large vault; completions are answered meanwhile.
        """
        with self._ranking:
            with self._lock:
                self._sync()
                ranked, changed = self._ranked, dict(self._changed)
                if not self.crowded:
                    return
            names = (name for names in changed.values() for name in names)
            merged = ranked.merged(names, without=changed.keys())
            with self._lock:
                if self._ranked is ranked:
                    self._ranked = merged
                    later = self._changed.items()
                    self._set_changed(
                        {note: names for note, names in later if names is not changed.get(note)}
                    )

    def _sync(self) -> None:
        revision = self._ledger.revision
        if revision == self._revision:
            return
        try:
            rows, removed = changed_rows(self._ledger, self._revision, self._columns, self._condition)
        except RemovalsPruned:
            self._revision = 0
            rows, removed = changed_rows(self._ledger, 0, self._columns, self._condition)
        names = {row[0]: list(self._names(*row)) for row in rows}
        if self._revision:
            self._set_changed({**self._changed, **{note: [] for note in removed}, **names})
        else:
            self._ranked = Completer(name for own in names.values() for name in own)
            self._set_changed({})
        self._revision = revision

    def _set_changed(self, changed: dict[int, list[Named]]) -> None:
        self._changed = changed
        self._recent = Completer(name for names in changed.values() for name in names)
