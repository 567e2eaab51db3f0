"""Chunks and notes whose vectors are not in the vector store, listed as a whole and read by the page."""

from __future__ import annotations

from collections.abc import Sequence

from vaultseek.store.ledger.database import Database
from vaultseek.store.ledger.rows import CHUNK_COLUMNS, ChunkRow, chunk_row


class PendingTexts:
    """The chunks and notes without the mark ``stored``. ``VectorTable`` sets the marks."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def chunks(self, numbers: Sequence[int]) -> list[ChunkRow]:
        """Return those of the chunks with these numbers whose vectors are not in the store, in this order."""
        sql = f"SELECT {CHUNK_COLUMNS} FROM chunks c WHERE c.stored = 0 AND c.number IN ({{}})"
        rows = {row.number: row for row in map(chunk_row, self._database.all_in(sql, numbers))}
        return [rows[number] for number in numbers if number in rows]

    def chunk_numbers(self, limit: int) -> list[int]:
        """Return the numbers of chunks in the order of ``VectorTable.pending_chunks``."""
        rows = self._database.all(
            "SELECT c.number FROM chunks c JOIN notes n ON n.id = c.note WHERE c.stored = 0"
            " ORDER BY n.turn, n.modified DESC, c.note, c.ordinal LIMIT ?",
            limit,
        )
        return [row[0] for row in rows]

    def note_ids(self, limit: int) -> list[int]:
        """Return the ids of notes in the order of ``VectorTable.pending_notes``."""
        sql = "SELECT id FROM notes WHERE stored = 0 ORDER BY turn, modified DESC LIMIT ?"
        return [row[0] for row in self._database.all(sql, limit)]

    def notes(self, ids: Sequence[int]) -> list[int]:
        """Return those of these notes whose note vectors are not in the store."""
        rows = self._database.all_in("SELECT id FROM notes WHERE stored = 0 AND id IN ({})", ids)
        return [row[0] for row in rows]

    def add(self, chunks: Sequence[int], notes: Sequence[int]) -> None:
        """Remove the mark: the vector store does not hold these vectors."""
        with self._database.transaction():
            self._database.run_many(
                "UPDATE chunks SET stored = 0 WHERE number = ?", ((chunk,) for chunk in chunks)
            )
            self._database.run_many("UPDATE notes SET stored = 0 WHERE id = ?", ((note,) for note in notes))
