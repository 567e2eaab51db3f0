"""Notes of another ledger, written into this one with the ids and numbers that they have there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vaultseek.index.ledger.database import Database
from vaultseek.index.ledger.links import LinkTable
from vaultseek.index.ledger.notes import NoteTable
from vaultseek.index.ledger.rows import NoteRows

_TEMPORARY = 1 << 41
"""Numbers that new chunks get before they have those of the other ledger, which are all below."""


@dataclass(frozen=True, slots=True)
class NoteCopy:
    """A note, its id, the numbers of its chunks, and the paths that its links resolve to, both in order."""

    id: int
    rows: NoteRows
    chunks: Sequence[int]
    links: Sequence[str]


class NoteCopies:
    """The notes of a ledger that is the copy of another one."""

    def __init__(self, database: Database, notes: NoteTable, links: LinkTable) -> None:
        self._database = database
        self._notes = notes
        self._links = links

    def put(self, copies: Sequence[NoteCopy], revision: int) -> None:
        """Add or replace notes, inside a commit. A path that another note had is taken from it."""
        run, run_many = self._database.run, self._database.run_many
        ids = {copy.rows.path: copy.id for copy in copies}
        for path, id in self._database.all_in("SELECT path, id FROM notes WHERE path IN ({})", list(ids)):
            if id != ids[path]:
                self._notes.remove(path, revision)
        run(
            "INSERT INTO sqlite_sequence SELECT 'chunks', 0"
            " WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'chunks')"
        )
        run("UPDATE sqlite_sequence SET seq = ? WHERE name = 'chunks' AND seq < ?", _TEMPORARY, _TEMPORARY)
        self._notes.put_all([(copy.id, copy.rows) for copy in copies], revision)
        numbers = (
            (-number, copy.id, ordinal) for copy in copies for ordinal, number in enumerate(copy.chunks)
        )
        run_many("UPDATE chunks SET number = ? WHERE note = ? AND ordinal = ?", numbers)
        run("UPDATE chunks SET number = -number WHERE number < 0")
        self._links.resolve(
            (copy.id, ordinal, path) for copy in copies for ordinal, path in enumerate(copy.links)
        )

    def source(self) -> str:
        """Return the state of the other ledger that this one is a copy of; "" before the first copy."""
        return self._database.meta("copy_of")

    def set_source(self, source: str) -> None:
        """Set that state."""
        self._database.set_meta("copy_of", source)
