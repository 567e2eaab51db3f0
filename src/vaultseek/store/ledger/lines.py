"""Table of the forms of lines and properties by note. It shows which lines and properties many notes
share."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from vaultseek.store.ledger.database import Database, RowCache
from vaultseek.store.ledger.line_forms import Form

CACHED_LABELS = 2000
"""Number of labels whose `Spread` is cached between two commits."""
SPREAD_ROWS = 400
"""Maximum number of lines that are read for a label."""
LEAST_NOTES = 8
"""Minimum number of notes that must share a line for it to count as part of a template."""


class Spread(NamedTuple):
    """Spread of a label in the vault: the number of notes with the label, and the number of lines with each
    value.

    At most ``SPREAD_ROWS`` lines are counted.
    """

    notes: int
    values: Mapping[int, int]

    @property
    def is_varied(self) -> bool:
        """True if most notes have their own value, as in ``Decision: buy a kiln``."""
        return 2 * len(self.values) > sum(self.values.values())

    def share(self, value: int) -> float:
        """Return the share of the notes with the label that have ``value``."""
        return min(1.0, self.values.get(value, 0) / self.notes) if self.notes else 0.0


class LineTable:
    """The table ``lines``, with the label and value of lines, names and properties, by note."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._spreads: RowCache[Spread] = database.cache(CACHED_LABELS)

    def add(self, notes: Iterable[tuple[int, Sequence[Sequence[int]]]]) -> None:
        """Add the forms of notes that have no forms in the table yet, given as pairs of note id and (label,
        value)."""
        rows = ((note, label, value) for note, lines in notes for label, value in lines)
        self._database.run_many("INSERT INTO lines (note, label, value) VALUES (?, ?, ?)", rows)

    def remove(self, note: int) -> None:
        """Delete the forms of a note."""
        self._database.run("DELETE FROM lines WHERE note = ?", note)

    def spreads(self, labels: Sequence[int]) -> dict[int, Spread]:
        """Return the `Spread` of each of the given labels."""
        return self._spreads.get_or_read(labels, lambda missing: {each: self._read(each) for each in missing})

    def repeated(self, forms: Iterable[Form | None], least: int = LEAST_NOTES) -> set[Form]:
        """Return the ``forms`` that recur in the vault: at least ``least`` notes have the label, and the
        values recur in several notes or differ only in numbers."""
        ids = {form: form.ids for form in forms if form is not None}
        spreads = self.spreads(sorted({numbers[0][0] for numbers in ids.values()}))
        return {form for form, numbers in ids.items() if _is_repeated(spreads[numbers[0][0]], numbers, least)}

    def _read(self, label: int) -> Spread:
        sql = "SELECT note, value FROM lines WHERE label = ? LIMIT ?"
        rows = self._database.all(sql, label, SPREAD_ROWS)
        return Spread(len({note for note, _ in rows}), Counter(value for _, value in rows))


def _is_repeated(spread: Spread, numbers: Sequence[tuple[int, int]], least: int) -> bool:
    if spread.notes < least or spread.is_varied:
        return False
    return all(not value or spread.values.get(value, 0) > 1 for _, value in numbers)
