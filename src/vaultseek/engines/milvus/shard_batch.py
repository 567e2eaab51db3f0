"""Writing a batch to the collections of Milvus: notes, passages, copies and vectors of one shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from vaultseek.engines.milvus import schema
from vaultseek.engines.milvus.client import ROWS
from vaultseek.engines.milvus.schema import FACTS
from vaultseek.engines.milvus.shard_rows import NOTES_IN_FILTER, ShardRows, parts
from vaultseek.engines.port import NoteEntry, VectorEntries


class ShardBatch:
    """The writing of one shard. Every method raises ``Unavailable``, or OSError where a disk is full."""

    def __init__(self, rows: ShardRows) -> None:
        self._rows = rows
        self._client = rows.client

    def put_notes(self, entries: Sequence[NoteEntry]) -> None:
        """Replace notes whole, and give their vectors the facts that have changed.

        Of a note that is there already, what is the same is not written again.
        """
        keys = [self._rows.key(entry.row.id) for entry in entries]
        stored = {row["note"]: row for row in self._client.get("notes", keys, ["note", *FACTS])}
        values = [schema.note_values(self._rows.shard, entry) for entry in entries]
        passages = [
            schema.passage_values(self._rows.shard, ordinal, chunk)
            for entry in entries
            for ordinal, chunk in enumerate(entry.chunks)
        ]
        copies = [row for entry in entries for row in schema.copy_values(self._rows.shard, entry)]
        self._put_passages(passages, list(stored))
        self._client.upsert("copies", copies)
        changed = {
            row["note"]: row
            for row in values
            if row["note"] in stored and any(row[name] != stored[row["note"]][name] for name in FACTS)
        }
        self._forget("copies", list(stored), {row["id"] for row in copies})
        if changed:
            self._refresh_vectors(changed)
        self._client.upsert("notes", values)

    def _put_passages(self, passages: Sequence[Any], stored: Sequence[int]) -> None:
        """Write the passages that the notes ``stored`` have not as they are, and delete their others.

        What a row says of a passage has its id, which is made of the text.
        """
        same = ("ordinal", "row")
        rows = self._rows.of_notes("passages", stored, ["id", *same])
        old = {row["id"]: tuple(row[name] for name in same) for row in rows}
        new = [row for row in passages if old.get(row["id"]) != tuple(row[name] for name in same)]
        self._client.upsert("passages", new)
        self._client.delete("passages", list(old.keys() - {row["id"] for row in passages}))

    def _forget(self, name: str, notes: Sequence[int], keys: set[int]) -> None:
        """Delete the rows of these notes that do not have one of the keys."""
        old = [row["id"] for row in self._rows.of_notes(name, notes, ["id"])]
        self._client.delete(name, [key for key in old if key not in keys])

    def _refresh_vectors(self, changed: Mapping[int, Any]) -> None:
        """Give the vectors of changed notes the new facts, by which they are filtered."""
        for name in self._rows.vector_collections():
            rows = self._rows.of_notes(name, list(changed), ["id", "note", "shard", "vector"])
            while some := list(islice(rows, ROWS)):
                self._client.upsert(
                    name, [{**row, **{fact: changed[row["note"]][fact] for fact in FACTS}} for row in some]
                )

    def put_vectors(self, entries: VectorEntries) -> None:
        """Add or replace vectors."""
        name = self._rows.vectors(entries.space, entries.kind)
        if not self._client.has(name):
            self._client.create(name, schema.vector_fields(entries.vectors.shape[1]))
        rows = zip(entries.numbers.tolist(), entries.notes, entries.vectors, strict=True)
        self._client.upsert(
            name,
            [schema.vector_values(self._rows.shard, number, row, vector) for number, row, vector in rows],
        )

    def remove(self, notes: Sequence[int]) -> None:
        """Remove notes with all that belongs to them."""
        names = ["passages", "copies", *self._rows.vector_collections()]
        for part in parts(notes, NOTES_IN_FILTER):
            for name in names:
                self._client.delete_where(name, self._rows.within(f"note in {part}"))
        self._client.delete("notes", [self._rows.key(note) for note in notes])
