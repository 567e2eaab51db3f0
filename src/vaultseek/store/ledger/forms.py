"""Normal forms in notes: the days and months in a note's dates, names, properties and text, and its
identifiers.

Filters use this table to find the notes that may contain a day or an identifier, however it is written.
"""

from collections.abc import Collection, Iterable, Sequence

from vaultseek.content.query.normal_forms import MARK
from vaultseek.store.ledger.database import Database

INSIDE = f"{MARK}*"
"""Normal form stored for a note that has markup or an invisible character inside a word of its names or
properties. Names and properties are stored as written, so any word may be hidden in them."""
MORE = MARK
"""Normal form stored for a note that has more normal forms than are stored. Such a note may have any form."""


class FormTable:
    """The table ``forms``, with ISO days ``2026-05-17``, months ``2026-05`` and identifiers ``=e4107`` by
    note."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, notes: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Add the forms of notes that have no forms in the table yet, given as pairs of note id and forms."""
        rows = ((note, form) for note, forms in notes for form in forms)
        self._database.run_many("INSERT INTO forms (note, form) VALUES (?, ?)", rows)

    def remove(self, note: int) -> None:
        """Delete the forms of a note."""
        self._database.run("DELETE FROM forms WHERE note = ?", note)

    def having(self, forms: Collection[str]) -> set[int]:
        """Return one set of ids: notes that may have one of the given forms, and notes that may contain any
        word."""
        sql = "SELECT note FROM forms WHERE form IN ({})"
        wanted = [*forms, MORE, INSIDE] if forms else [INSIDE]
        return {row[0] for row in self._database.all_in(sql, wanted)}

    def of_days(self, first: str, last: str, limit: int) -> list[int]:
        """Return the ids of up to ``limit`` notes that contain a day from ``first`` to ``last``, or a month
        in that period."""
        sql = "SELECT DISTINCT note FROM forms WHERE form BETWEEN ? AND ? LIMIT ?"
        return [
            row[0] for row in self._database.all(sql, first[:7] if _is_whole(first) else first, last, limit)
        ]

    def naming_days(self, notes: Sequence[int], first: str, last: str) -> set[int]:
        """Return those of the given notes that contain a day from ``first`` to ``last``, or a month in that
        period."""
        low = first[:7] if _is_whole(first) else first
        sql = "SELECT note, form FROM forms WHERE note IN ({})"
        return {note for note, form in self._database.all_in(sql, notes) if low <= form <= last}


def _is_whole(first: str) -> bool:
    """Return true if a period begins with a whole month, so that the period includes dates that name only
    that month."""
    return first.endswith("-01")
