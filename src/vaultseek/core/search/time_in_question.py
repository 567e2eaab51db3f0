"""The time named in a question: a preference for notes from that time, which removes no note.

A note is from that time if its own day is, in its file name or a property; else if its text names a day of
it; or, if it contains no day, if it was last modified then.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

import numpy as np

from vaultseek.content.query.times import Days, SpokenTime
from vaultseek.core.search.formula import Floats
from vaultseek.core.search.lanes import Evidence, Table
from vaultseek.core.search.signals import Signal
from vaultseek.settings.search import SearchSettings
from vaultseek.store.ledger import Ledger, NoteRow

TIME_BOOST = 2.0
"""Factor for a note whose own day is in the time that the question names."""
NAMED, MODIFIED = 0.8, 0.6
"""Share of the boost for a note whose text names a day in that time, and for an undated note modified
then."""
PROPOSED = 200
"""Maximum number of notes from that time that are ranked although no lane proposes them."""


def notes_of(time: SpokenTime | None, ledger: Ledger) -> Collection[int]:
    """Return the ids of notes with a day in that time; None if there are many."""
    if time is None:
        return ()
    found = ledger.days.within(*_iso(time.days), limit=PROPOSED + 1)
    return found if len(found) <= PROPOSED else ()


class InTime(Signal):
    """A note from the time that the question names."""

    figure = "time"
    sentence = "it dates from the time named in the query"

    def weight(self, settings: SearchSettings) -> float:
        return TIME_BOOST - 1.0

    def values(self, query: Evidence, notes: Table) -> Floats:
        time = query.parsed.time
        if time is None:
            return np.zeros(len(notes))
        named = NAMED * notes.having(query.vault.ledger.days.naming(notes.ids.tolist(), *_iso(time.days)))
        own = np.array([_own_share(row, time.days) for row in notes.notes], np.float64)
        shares: Floats = np.maximum(named, own)
        return shares


def _own_share(row: NoteRow, days: Days) -> float:
    if not days.first <= row.created.local.date() <= days.last:
        return 0.0
    return MODIFIED if row.created.seconds == row.modified else 1.0


def _iso(days: Sequence[date]) -> tuple[str, str]:
    first, last = days
    return first.isoformat(), last.isoformat()
