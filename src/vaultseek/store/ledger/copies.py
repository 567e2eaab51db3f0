"""Notes with all that the ledger has of them, for an engine that keeps the same rows.

A copy is exact: ids, numbers, links with the lines they are in, and what they resolve to. So the same search
gives the same answer from the engine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vaultseek.store.ledger.database import Database
from vaultseek.store.ledger.rows import NOTE_VALUES, NoteRows

_NO_FILE = (0, 0, 0, 0)
"""State of the file of a note that is elsewhere."""
_CHUNKS = "SELECT note, number, id, heading_path, start_line, end_line, text, code, place FROM chunks"
_LINKS = (
    "SELECT note, resolved, kind, target, heading, block, alias, line, property, first, last, key FROM links"
)


@dataclass(frozen=True, slots=True)
class NoteCopy:
    """A note, its id, the numbers of its chunks, and the paths that its links resolve to, both in order."""

    id: int
    rows: NoteRows
    chunks: Sequence[int]
    links: Sequence[str | None]


class NoteCopies:
    """The notes of a ledger, to be copied."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_notes(self, ids: Sequence[int]) -> dict[int, NoteCopy]:
        """Return copies of these notes by id; ids that no longer exist are left out."""
        read = self._database.all_in
        notes = list(read(f"SELECT id, {NOTE_VALUES} FROM notes WHERE id IN ({{}})", ids))
        chunks = _by_first(read(f"{_CHUNKS} WHERE note IN ({{}}) ORDER BY note, ordinal", ids))
        links = _by_first(read(f"{_LINKS} WHERE note IN ({{}}) ORDER BY note, ordinal", ids))
        tags = _by_first(read("SELECT note, tag FROM tags WHERE note IN ({})", ids))
        names = _by_first(read("SELECT note, name FROM names WHERE note IN ({})", ids))
        paths = [row[1] for row in notes]
        sql = "SELECT path, code, message, line FROM problems WHERE path IN ({}) AND of_scan = 0"
        problems = _by_first(read(sql, paths))
        copies: dict[int, NoteCopy] = {}
        for id, path, _, _, _, _, _, _, hash, *values in notes:
            of_others = (
                [row[1:] for row in chunks.get(id, ())],
                [row[1:] for row in links.get(id, ())],
                sorted(tag for (tag,) in tags.get(id, ())),
                sorted(name for (name,) in names.get(id, ())),
                problems.get(path, []),
            )
            rows = NoteRows._make((path, _NO_FILE, 0, bytes(hash), *values, *of_others))
            numbers = [row[0] for row in chunks.get(id, ())]
            copies[id] = NoteCopy(id, rows, numbers, [row[0] for row in links.get(id, ())])
        return copies

    def mark_changed(self, ids: Sequence[int], revision: int) -> None:
        """Have notes count as changed at ``revision``, so that what follows the ledger reads them again."""
        self._database.run_many("UPDATE notes SET revision = ? WHERE id = ?", ((revision, id) for id in ids))

    def times(self, paths: Sequence[str]) -> dict[str, tuple[int, float]]:
        """Return id and time of the last modification of each of these notes, by path."""
        sql = "SELECT path, id, modified FROM notes WHERE path IN ({})"
        return {path: (id, time) for path, id, time in self._database.all_in(sql, paths)}


def _by_first(rows: Iterable[Sequence[Any]]) -> dict[Any, list[Sequence[Any]]]:
    by_first: dict[Any, list[Sequence[Any]]] = {}
    for first, *rest in rows:
        by_first.setdefault(first, []).append(rest)
    return by_first
