"""The time in a question: a preference for notes whose dates lie in it. No note is dropped for its dates.

A note lies there by its own day, which its file name or a property states, by a day that its text names, or,
if it states none, by its last modification.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import date

from vaultseek.base.when import present
from vaultseek.content.query.grammar import Query
from vaultseek.content.query.times import Days, SpokenTime, find_time
from vaultseek.store.ledger import Ledger, NoteRow

TIME_BOOST = 2.0
"""Factor for a note whose own day lies in the time of the question."""
NAMED, MODIFIED = 0.8, 0.6
"""Share of the boost for a note that names a day of that time, and for an undated one changed then."""
NO_TIME = "when:any"
"""Term of a query whose words name no time."""
PROPOSED = 200
"""Maximum number of notes of a time that are ranked even if no lane proposes them."""


def time_of(query: Query) -> SpokenTime | None:
    """Return the time that a query names outside its phrases, None for none."""
    text = query.rank_text
    time = find_time(text, present().date()) if query.reads_time and text else None
    return None if time is None or any(time.text in phrase for phrase in query.phrases) else time


def notes_of(time: SpokenTime | None, ledger: Ledger) -> Collection[int]:
    """Return the ids of the notes that have or name a day of that time; none if there are many."""
    if time is None:
        return ()
    found = ledger.days.within(*_iso(time.days), limit=PROPOSED + 1)
    return found if len(found) <= PROPOSED else ()


def time_shares(time: SpokenTime | None, notes: Mapping[int, NoteRow], ledger: Ledger) -> dict[str, float]:
    """Return by path how far notes lie in the time of a question, in [0, 1]; only what is above 0."""
    if time is None:
        return {}
    naming = ledger.days.naming(list(notes), *_iso(time.days))
    shares: dict[str, float] = {}
    for id, row in notes.items():
        share = _own_share(row, time.days)
        if id in naming:
            share = max(share, NAMED)
        if share:
            shares[row.path] = share
    return shares


def time_factor(share: float) -> float:
    """Return the factor for the score of a note that lies so far in the time of a question."""
    return 1.0 + (TIME_BOOST - 1.0) * share


def _own_share(row: NoteRow, days: Days) -> float:
    if not days.first <= row.created.local.date() <= days.last:
        return 0.0
    return MODIFIED if row.created.seconds == row.modified else 1.0


def _iso(days: Sequence[date]) -> tuple[str, str]:
    first, last = days
    return first.isoformat(), last.isoformat()
