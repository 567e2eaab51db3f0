"""Successions, which record that one note replaces another. Each has a target, as written and as resolved.

``is_successor`` is 1 if the target is a successor, and 0 if it is a predecessor. It is 2 if the target is
plain text, which names a successor only if there is a note with that name. Targets resolve like link targets
(``LinkTable.resolve``). Ordinals are negative, which distinguishes them from the ordinals of links.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from vaultseek.store.ledger.database import Database

_IS_SUCCESSOR = "(is_successor = 1 OR is_successor = 2 AND resolved IS NOT NULL)"
_NAMED = (
    "SELECT note, target, resolved FROM successions"
    f" WHERE {_IS_SUCCESSOR} AND note IN ({{}}) ORDER BY ordinal DESC"
)
_NAMING = (
    "SELECT s.resolved, n.path FROM successions s JOIN notes n ON n.id = s.note"
    " WHERE s.is_successor = 0 AND s.resolved IN ({}) ORDER BY n.path"
)


class Successor(NamedTuple):
    """A successor of a note: the target as written, and the successor's path, or None if the successor does
    not exist."""

    target: str
    path: str | None


class SuccessionTable:
    """The table ``successions``, which records which notes replace which."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, notes: Iterable[tuple[int, Sequence[Sequence[Any]]]]) -> None:
        """Write the successions of notes that have none in the table yet, given as pairs of a note id and
        rows in the form of ``NoteRows``."""
        rows = ((note, -i, *each) for note, of_note in notes for i, each in enumerate(of_note, 1))
        self._database.run_many("INSERT INTO successions VALUES (?, ?, ?, ?, ?, NULL)", rows)

    def remove(self, note: int) -> None:
        """Delete the successions that a note names."""
        self._database.run("DELETE FROM successions WHERE note = ?", note)

    def successors(self, paths: Mapping[int, str]) -> dict[str, list[Successor]]:
        """Return a dict from each note's path to the note's successors. Those that the note itself names come
        first. ``paths`` maps the notes' ids to their paths."""
        found: dict[str, list[Successor]] = {}
        for note, target, resolved in self._database.all_in(_NAMED, list(paths)):
            found.setdefault(paths[note], []).append(Successor(target, resolved))
        for replaced, path in self._database.all_in(_NAMING, list(paths.values())):
            found.setdefault(replaced, []).append(Successor(path, path))
        return {
            path: list({each.path or each.target: each for each in successors if each.path != path}.values())
            for path, successors in found.items()
        }

    def replaced(self) -> list[int]:
        """Return the ids of all notes with a successor, whether the note itself or another note names it."""
        sql = (
            f"SELECT note FROM successions WHERE {_IS_SUCCESSOR} AND resolved IS NOT (SELECT path FROM notes"
            " WHERE id = note) UNION SELECT n.id FROM successions s JOIN notes n ON n.path = s.resolved"
            " WHERE s.is_successor = 0 AND n.id != s.note"
        )
        return [row[0] for row in self._database.all(sql)]
