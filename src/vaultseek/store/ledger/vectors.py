"""Computed vectors, and which vectors the vector store holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from vaultseek.base.model import JSON, NOT_EMBEDDED
from vaultseek.store.ledger.database import Database
from vaultseek.store.ledger.rows import (
    CHUNK_COLUMNS,
    NOTE_COLUMNS,
    ChunkRow,
    NoteRow,
    chunk_row,
    note_row,
    note_vector_id,
    to_json,
)

_PENDING_CHUNKS = (
    "SELECT {} FROM chunks c JOIN notes n ON n.id = c.note WHERE c.stored = 0"
    " ORDER BY n.turn, n.modified DESC, c.note, c.ordinal LIMIT ?"
)
_PENDING_NOTES = "SELECT {} FROM notes WHERE stored = 0 ORDER BY turn, modified DESC LIMIT ?"


class VectorTable:
    """The tables ``vectors`` and ``orphans``, and the marks ``stored`` of chunks and notes.

    A mark says that the vector store named ``store()`` holds the vector of that chunk or note.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- computed vectors ------------------------------------------------------------------------------

    def put(self, vectors: Mapping[str, bytes]) -> None:
        """Keep computed vectors, as float32 bytes, by the key of their text."""
        with self._database.transaction():
            self._database.run_many("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors.items())
            computed = self.embeddings_computed() + len(vectors)
            self._database.set_meta("embeddings_computed", str(computed))

    def get(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Return the vectors of these keys, as float32 bytes; unknown keys are left out."""
        return dict(self._database.all_in("SELECT key, vector FROM vectors WHERE key IN ({})", keys))

    def embeddings_computed(self) -> int:
        """Return how many texts were put through the model since this ledger was created."""
        return int(self._database.meta("embeddings_computed"))

    def computed_since_sweep(self) -> int:
        """Return how many texts were put through the model since ``note_sweep`` was called last."""
        return self.embeddings_computed() - int(self._database.meta("computed_at_sweep") or 0)

    def keys_after(self, key: str, limit: int) -> list[str]:
        """Return the first keys after this one, in their order."""
        sql = "SELECT key FROM vectors WHERE key > ? ORDER BY key LIMIT ?"
        return [row[0] for row in self._database.all(sql, key, limit)]

    def delete(self, keys: Sequence[str]) -> None:
        """Delete the vectors of these keys."""
        with self._database.transaction():
            self._database.run_many("DELETE FROM vectors WHERE key = ?", ((key,) for key in keys))

    def note_sweep(self) -> None:
        """Note that the vectors of no use were deleted."""
        self._database.set_meta("computed_at_sweep", str(self.embeddings_computed()))

    # -- marks -----------------------------------------------------------------------------------------

    def mark_stored(self, chunks: Sequence[int], notes: Sequence[int], orphans: Sequence[str]) -> None:
        """Record that the vector store holds these vectors, and that those orphans were deleted from it.

        A chunk or note that was removed while its vector was being stored becomes an orphan.
        """
        run_many = self._database.run_many
        with self._database.transaction():
            run_many("DELETE FROM orphans WHERE id = ?", ((orphan,) for orphan in orphans))
            run_many("UPDATE chunks SET stored = 1 WHERE number = ?", ((chunk,) for chunk in chunks))
            run_many("UPDATE notes SET stored = 1 WHERE id = ?", ((note,) for note in notes))
            run_many(
                "INSERT OR IGNORE INTO orphans SELECT ?1"
                " WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE number = ?2)",
                ((str(chunk), chunk) for chunk in chunks),
            )
            run_many(
                "INSERT OR IGNORE INTO orphans SELECT ?1"
                " WHERE NOT EXISTS (SELECT 1 FROM notes WHERE id = ?2)",
                ((note_vector_id(note), note) for note in notes),
            )

    def pending_chunks(self, limit: int) -> list[ChunkRow]:
        """Return chunks whose vectors are not in the store, those of recently modified notes first."""
        rows = self._database.all(_PENDING_CHUNKS.format(CHUNK_COLUMNS), limit)
        return [chunk_row(row) for row in rows]

    def pending_notes(self, limit: int) -> list[NoteRow]:
        """Return notes whose note vector is not in the store, recently modified ones first."""
        return [note_row(row) for row in self._database.all(_PENDING_NOTES.format(NOTE_COLUMNS), limit)]

    def orphans(self, limit: int) -> list[str]:
        """Return ids in the vector store that no longer belong to a chunk or note."""
        return [row[0] for row in self._database.all("SELECT id FROM orphans LIMIT ?", limit)]

    # -- stores ----------------------------------------------------------------------------------------

    def store(self) -> str:
        """Return the name of the vector store that the marks are about; "" if there is none yet."""
        return self._database.meta("store")

    def begin_store(self, store: str) -> None:
        """Start with the new, empty vector store ``store``: clear all marks."""
        with self._database.transaction():
            self._database.run("UPDATE chunks SET stored = 0 WHERE stored != 0")
            self._database.run("UPDATE notes SET stored = 0 WHERE stored != 0")
            self._database.run("DELETE FROM orphans")
            self._database.run("DELETE FROM problems WHERE code = ?", NOT_EMBEDDED)  # all are tried again
            self._database.set_meta("store", store)

    def store_model(self) -> str:
        """Return the name, as in the settings, of the model that the present store is made with."""
        return self._database.meta("store_model")

    def set_store_model(self, model: str) -> None:
        """Set the name, as in the settings, of the model that the present store is made with."""
        self._database.set_meta("store_model", model)

    def previous_store(self) -> JSON | None:
        """Return the store that answers queries until the present one is full."""
        text = self._database.meta("previous_store")
        return dict(json.loads(text)) if text else None

    def set_previous_store(self, previous: JSON | None) -> None:
        """Set the store that answers queries until the present one is full; None once it is full."""
        self._database.set_meta("previous_store", "" if previous is None else to_json(previous))

    def second_store(self) -> str:
        """Return the version of the store of the second vector space, as it was written last; "" if none."""
        return self._database.meta("second_store")

    def set_second_store(self, version: str) -> None:
        """Set the version of the store of the second vector space."""
        self._database.set_meta("second_store", version)


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
        return [row[0] for row in self._database.all(_PENDING_CHUNKS.format("c.number"), limit)]

    def note_ids(self, limit: int) -> list[int]:
        """Return the ids of notes in the order of ``VectorTable.pending_notes``."""
        return [row[0] for row in self._database.all(_PENDING_NOTES.format("id"), limit)]

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
