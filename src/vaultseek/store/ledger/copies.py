"""Notes of another ledger, written into this one with all that is known of them there.

A copy is exact: ids, numbers, links with the lines they are in, and what they resolve to. So the same search
gives the same answer from either ledger.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vaultseek.store.ledger.database import Database
from vaultseek.store.ledger.links import LinkTable
from vaultseek.store.ledger.notes import NoteTable
from vaultseek.store.ledger.rows import NOTE_VALUES, NoteRows

_TEMPORARY = 1 << 41
"""Numbers that new chunks get before they have those of the other ledger, which are all below."""
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

    def as_text(self) -> str:
        """Return all of it as ASCII."""
        rows = self.rows._replace(hash=self.rows.hash.hex())  # type: ignore[arg-type]
        text = json.dumps([self.id, rows, self.chunks, self.links], separators=(",", ":"))
        return base64.b85encode(zlib.compress(text.encode())).decode()

    @classmethod
    def of_text(cls, text: str) -> NoteCopy:
        """Return the copy that ``as_text`` wrote. Raises ValueError for any other text."""
        try:
            id, values, chunks, links = json.loads(zlib.decompress(base64.b85decode(text)))
            rows = NoteRows(*values)
            return cls(id, rows._replace(hash=bytes.fromhex(str(rows.hash))), chunks, links)
        except (zlib.error, TypeError) as error:
            raise ValueError(str(error)) from error


class NoteCopies:
    """The notes of a ledger that is the copy of another one, and those of a ledger to be copied."""

    def __init__(self, database: Database, notes: NoteTable, links: LinkTable) -> None:
        self._database = database
        self._notes = notes
        self._links = links

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


def _by_first(rows: Iterable[Sequence[Any]]) -> dict[Any, list[Sequence[Any]]]:
    """Return the rest of each row by its first value."""
    by_first: dict[Any, list[Sequence[Any]]] = {}
    for first, *rest in rows:
        by_first.setdefault(first, []).append(rest)
    return by_first
