"""Chunks of notes, with the numbers that identify their vectors."""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vaultseek.base.model import Chunk
from vaultseek.store.ledger.database import Database, RowCache
from vaultseek.store.ledger.rows import (
    CHUNK_COLUMNS,
    PASSAGE_COLUMNS,
    PassageRow,
    PassageText,
    chunk_of,
    passage_row,
)

CACHED_NOTES = 2000
"""Number of notes whose chunk numbers and chunk ids are cached between two commits."""
CACHED_CHUNKS = 2000
"""Number of chunks, about 2 kB each, that are cached between two commits."""
ChunkValues = Sequence[Sequence[Any]]
"""A note's chunks, in the form of ``NoteRows``."""
_INSERT = (
    "INSERT INTO chunks (note, ordinal, id, heading_path, start_line, end_line, text, code, place, edits)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class ChunkTable:
    """The table ``chunks``, with the passages of notes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._outlines: RowCache[list[tuple[int, str]]] = database.cache(CACHED_NOTES)
        self._chunks: RowCache[Chunk] = database.cache(CACHED_CHUNKS)

    def add(self, notes: Iterable[tuple[int, ChunkValues]]) -> None:
        """Write the chunks of new notes, given as pairs of note id and chunks."""
        self._database.run_many(
            _INSERT,
            ((note, ordinal, *chunk) for note, chunks in notes for ordinal, chunk in enumerate(chunks)),
        )

    def replace(self, note: int, chunks: ChunkValues, *, dirty: bool) -> None:
        """Write those of a note's chunks that differ from the stored chunks. With ``dirty``, also mark the
        vectors of the unchanged chunks as outdated.

        A chunk with the same text and headings keeps its row and its vector. So when a note is moved, its
        chunks keep their vectors, although the chunk ids change with the path.
        """
        sql = "SELECT number, heading_path, text FROM chunks WHERE note = ? ORDER BY ordinal"
        old: dict[tuple[str, str], deque[int]] = defaultdict(deque)
        for number, heading_path, text in self._database.all(sql, note):
            old[heading_path, text].append(number)
        new, same = [], []
        for ordinal, chunk in enumerate(chunks):
            matches = old[chunk[1], chunk[4]]
            if matches:
                same.append((chunk[0], ordinal, chunk[2], chunk[3], *chunk[5:], matches.popleft()))
            else:
                new.append((note, ordinal, *chunk))
        self._delete([number for numbers in old.values() for number in numbers])
        self._database.run_many(_INSERT, new)
        self._database.run_many(
            "UPDATE chunks SET id = ?, ordinal = ?, start_line = ?, end_line = ?, code = ?, place = ?,"
            " edits = ? WHERE number = ?",
            same,
        )
        if dirty:
            self.outdate_vectors(note)

    def outdate_vectors(self, note: int) -> None:
        """Mark the vectors of a note's chunks as outdated in every vector space, so that they are computed
        again."""
        self._database.run(
            "INSERT OR IGNORE INTO unsynced SELECT s.space, 0, 0, c.number, c.note FROM spaces s, chunks c"
            " WHERE c.note = ?",
            note,
        )

    def remove(self, note: int) -> None:
        """Delete a note's chunks."""
        self._delete([row[0] for row in self._database.all("SELECT number FROM chunks WHERE note = ?", note)])

    def by_note(self, notes: Sequence[int]) -> dict[int, list[Chunk]]:
        """Return a dict from each note id to the note's chunks, in document order."""
        chunks: dict[int, list[Chunk]] = {note: [] for note in notes}
        sql = f"SELECT note, {CHUNK_COLUMNS} FROM chunks WHERE note IN ({{}}) ORDER BY ordinal"
        for note, *columns in self._database.all_in(sql, notes):
            chunks[note].append(chunk_of(columns))
        return chunks

    def texts(self, notes: Sequence[int]) -> dict[int, list[PassageText]]:
        """Return a dict from each note id to the texts of the note's chunks, in document order."""
        texts: dict[int, list[PassageText]] = {note: [] for note in notes}
        sql = "SELECT note, start_line, text, code, edits FROM chunks WHERE note IN ({}) ORDER BY ordinal"
        for note, *values in self._database.all_in(sql, notes):
            texts[note].append(PassageText(*values))
        return texts

    def containing(self, text: str) -> Iterator[str]:
        """Yield the displayed texts that contain ``text``, ignoring the case of ASCII letters."""
        pattern = re.sub(r"[\\%_]", r"\\\g<0>", text)
        sql = "SELECT text FROM chunks WHERE text LIKE ? ESCAPE '\\'"
        yield from (row[0] for row in self._database.all(sql, f"%{pattern}%"))

    def rows(self, notes: Sequence[int]) -> list[PassageRow]:
        """Return the passages of ``notes``, in document order within each note."""
        sql = f"SELECT {PASSAGE_COLUMNS} FROM chunks WHERE note IN ({{}}) ORDER BY note, ordinal"
        return [passage_row(row) for row in self._database.all_in(sql, notes)]

    def outlines(self, notes: Sequence[int]) -> dict[int, list[tuple[int, str]]]:
        """Return, by note id, the number and id of each chunk of ``notes``, in document order."""
        return self._outlines.get_or_read(notes, self._read_outlines)

    def by_number(self, numbers: Sequence[int]) -> dict[int, Chunk]:
        """Return chunks by their numbers; numbers that no longer exist are left out."""
        return self._chunks.get_or_read(numbers, self._read_chunks)

    def opening(self, note: int, limit: int) -> str:
        """Return roughly the first ``limit`` characters of a note's text."""
        texts: list[str] = []
        length = 0
        sql = "SELECT text FROM chunks WHERE note = ? ORDER BY ordinal LIMIT 20"
        for (text,) in self._database.all(sql, note):
            texts.append(text)
            length += len(text)
            if length >= limit:
                break
        return "\n\n".join(texts)[:limit]

    def ends(self, note: int, first: int, last: int) -> list[Chunk]:
        """Return the first ``first`` and the last ``last`` chunks of a note, in document order."""
        sql = f"SELECT number, {CHUNK_COLUMNS} FROM chunks WHERE note = ? ORDER BY ordinal {{}} LIMIT ?"
        begin = self._database.all(sql.format("ASC"), note, first)
        end = self._database.all(sql.format("DESC"), note, last) if len(begin) == first else []
        rows = {number: columns for number, *columns in (*begin, *reversed(end))}
        return [chunk_of(columns) for columns in rows.values()]

    def ids(self, numbers: Sequence[int]) -> dict[int, str]:
        """Return chunk ids by chunk number; numbers that no longer exist are left out."""
        return dict(self._database.all_in("SELECT number, id FROM chunks WHERE number IN ({})", numbers))

    def _read_outlines(self, notes: Sequence[int]) -> dict[int, list[tuple[int, str]]]:
        outlines: dict[int, list[tuple[int, str]]] = {}
        sql = "SELECT note, number, id FROM chunks WHERE note IN ({}) ORDER BY note, ordinal"
        for note, number, id in self._database.all_in(sql, notes):
            outlines.setdefault(note, []).append((number, id))
        return outlines

    def _read_chunks(self, numbers: Sequence[int]) -> dict[int, Chunk]:
        sql = f"SELECT number, {CHUNK_COLUMNS} FROM chunks WHERE number IN ({{}})"
        return {number: chunk_of(columns) for number, *columns in self._database.all_in(sql, numbers)}

    def _delete(self, numbers: Sequence[int]) -> None:
        self._database.run_many("DELETE FROM chunks WHERE number = ?", ((number,) for number in numbers))
