"""Days and months of notes: the notes' own dates, and the dates mentioned in their properties and text."""

from collections.abc import Iterable, Sequence

from vaultseek.store.ledger.database import Database


class DayTable:
    """The table ``days``: ISO days ``2026-05-17`` and months ``2026-05`` by note."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, notes: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Add the days of notes without days in the table, as pairs of note id and days."""
        rows = ((note, day) for note, days in notes for day in days)
        self._database.run_many("INSERT INTO days (note, day) VALUES (?, ?)", rows)

    def remove(self, note: int) -> None:
        """Delete the days of a note."""
        self._database.run("DELETE FROM days WHERE note = ?", note)

    def within(self, first: str, last: str, limit: int) -> list[int]:
        """Return the ids of up to ``limit`` notes with a day, or a whole month, from ``first`` to
        ``last``."""
        sql = "SELECT DISTINCT note FROM days WHERE day BETWEEN ? AND ? LIMIT ?"
        return [
            row[0] for row in self._database.all(sql, first[:7] if _is_whole(first) else first, last, limit)
        ]

    def naming(self, notes: Sequence[int], first: str, last: str) -> set[int]:
        """Return the ids among these notes that have a day from ``first`` to ``last``, or one of these
        months."""
        low = first[:7] if _is_whole(first) else first
        sql = "SELECT note, day FROM days WHERE note IN ({})"
        return {note for note, day in self._database.all_in(sql, notes) if low <= day <= last}


def _is_whole(first: str) -> bool:
    """Return True if a period begins with a whole month, so that it includes dates of that month without a
    day."""
    return first.endswith("-01")
