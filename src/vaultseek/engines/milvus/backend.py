"""Milvus as an engine: a server, or a file of Milvus Lite.

All vaults of a team share the collections; each row has the number of its vault's *shard*. A filter is
the ids of the notes that pass it, as the ledger knows them.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from vaultseek.engines.milvus import schema
from vaultseek.engines.milvus.client import MilvusClient
from vaultseek.engines.milvus.connection import MilvusConnection
from vaultseek.engines.milvus.schema import ID_MASK
from vaultseek.engines.milvus.shard_rows import (
    KINDS,
    NOTES_IN_FILTER,
    ShardRows,
    StateTable,
    parts,
)
from vaultseek.engines.port import (
    NOTES_AND_TEXT,
    BackendStatistics,
    Batch,
    ByMeaning,
    ByWords,
    Hits,
    Kind,
    NoteEntry,
    Query,
    VectorEntries,
)
from vaultseek.engines.writer import fact_of, writer_name
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.settings.engine import EngineOptions
from vaultseek.store.keyword.candidates import term_number

UNINDEXED_NOTES, UNINDEXED_VECTORS = 50, 500
"""Rows that a file of Milvus Lite may keep without an index."""


class MilvusBackend:
    """One vault in Milvus. It connects when it is asked first, and again after it was lost."""

    def __init__(self, options: EngineOptions) -> None:
        self.options = options
        self.shard = shard_number(options.shard)
        self._client = MilvusClient(options)
        self.connection: MilvusConnection = self._client
        self._rows = ShardRows(self._client, self.shard)
        self._search = ShardSearch(self._rows)
        self.states = StateTable(self._client, self.shard)
        """The state of the shard by name, such as that of its writer."""
        self._writing = threading.RLock()

    # -- reading ---------------------------------------------------------------------------------------

    def candidates(self, query: Query, k: int, notes: NoteIds | None = None) -> Hits:
        """See ``Backend.candidates``."""
        if (
            k <= 0
            or (isinstance(query, ByWords) and not query.weights)
            or (notes is not None and not len(notes))
        ):
            return Hits.none()
        if isinstance(query, ByMeaning) and not self._client.has(self._rows.vectors(query.space, query.kind)):
            return Hits.none()
        return self._search.find(query, k, notes)

    def vectors(self, space: str, kind: Kind, notes: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of these notes; of several that of the least number."""
        name = self._rows.vectors(space, kind)
        if not self._client.has(name):
            return {}
        vectors: dict[int, Vectors] = {}
        if kind == "notes":
            keys = [self._rows.key(note) for note in notes]
            rows = self._client.get(name, keys, ["id", "note", "vector"], in_search=True)
        else:
            rows = list(self._rows.of_notes(name, notes, ["id", "note", "vector"], in_search=True))
        for row in sorted(rows, key=lambda row: -row["id"]):
            vectors[row["note"]] = np.asarray(row["vector"], np.float32)
        return vectors

    def count(self, space: str, kind: Kind) -> int:
        """Return the number of vectors of one space and kind."""
        name = self._rows.vectors(space, kind)
        return self._rows.count(name)

    def has_any(self, space: str, kind: Kind) -> bool:
        """True if there is a vector of a space and kind, whether or not searches see it yet."""
        name = self._rows.vectors(space, kind)
        return self._client.has(name) and self._client.first(name, self._rows.within(""), "id") is not None

    def statistics(self, *, vectors: bool = True) -> BackendStatistics:
        """See ``Backend.statistics``."""
        spaces = self._rows.spaces() if vectors else ()
        counts = {
            (space, kind): self._rows.count(self._rows.vectors(space, kind))
            for space in spaces
            for kind in KINDS
        }
        counts = {key: count for key, count in counts.items() if count}
        passages = [row["passages"] for row in self._rows.select("notes", "", ["passages"])]
        return BackendStatistics(len(passages), sum(passages), counts, self.position())

    def position(self) -> str | None:
        """Return the position of the last batch; None before the first."""
        return self.state().get("position")

    def state(self, name: str | None = None) -> dict[str, Any]:
        """Return what is kept under a name, this vault's shard by default; nothing if there is none."""
        rows = self._client.get(
            "state", [self.options.shard if name is None else name], ["position", "facts", "shard"]
        )
        return dict(rows[0]) if rows else {}

    def shards(self) -> dict[str, str]:
        """Return the names of the vaults by all shards of the engine, "" where none was given."""
        rows = {row["name"]: row for row in self._client.rows("state", "", ["name", "position", "facts"])}
        found = [name for name, row in rows.items() if row["position"] and "/" not in name]
        return {name: fact_of(rows.get(writer_name(name), {}), "name") for name in sorted(found)}

    # -- writing ---------------------------------------------------------------------------------------

    def apply(self, batch: Batch) -> None:
        """See ``Backend.apply``."""
        with self._writing:
            if batch.removed:
                self._remove(batch.removed)
            if batch.notes:
                self._put_notes(batch.notes)
            for entries in batch.vectors:
                self._put_vectors(entries)
            for space, kind, numbers in batch.forgotten:
                self._client.delete(
                    self._rows.vectors(space, kind), [self._rows.key(number) for number in numbers.tolist()]
                )
            if batch.position is not None:
                self.set_state(self.options.shard, batch.position)
            if batch.vectors:
                self._client.index_rows(UNINDEXED_VECTORS)

    def _put_notes(self, entries: Sequence[NoteEntry]) -> None:
        self._client.upsert("notes", [schema.note_values(self.shard, entry) for entry in entries])

    def _put_vectors(self, entries: VectorEntries) -> None:
        name = self._rows.vectors(entries.space, entries.kind)
        if not self._client.has(name):
            self._client.create(name, schema.vector_fields(entries.vectors.shape[1]))
        rows = zip(entries.numbers.tolist(), entries.notes.tolist(), entries.vectors, strict=True)
        self._client.upsert(
            name, [schema.vector_values(self.shard, number, note, vector) for number, note, vector in rows]
        )

    def _remove(self, notes: Sequence[int]) -> None:
        names = self._rows.vector_collections()
        for part in parts(notes, NOTES_IN_FILTER):
            for name in names:
                self._client.delete_where(name, self._rows.within(f"note in {part}"))
        self._client.delete("notes", [self._rows.key(note) for note in notes])

    def transaction(self) -> AbstractContextManager[None]:
        """Return a context that does nothing: Milvus has no transactions."""
        return nullcontext()

    def check(self) -> str:
        """Return the version of the server, after a trial of what it is to keep. Raises Unavailable."""
        client = MilvusClient(self.options, read_only=True)
        try:
            version = client.version
            client.try_schema()
            return version
        finally:
            client.close()

    def delete(self) -> None:
        """Delete the shard with all that it has."""
        self.drop()
        self.states.forget()

    def optimize(self) -> None:
        """Index what was written last, so that it is as fast to search as the rest."""
        with self._writing:
            self._client.index_rows(UNINDEXED_NOTES)

    def set_state(self, name: str, position: str, facts: str = "{}") -> None:
        """Keep a position and facts, as JSON, under a name."""
        with self._writing:
            row = {
                "name": name,
                "shard": self.shard,
                "position": position,
                "facts": facts,
                "anchor": {schema.ANCHOR: 1.0},
            }
            self._client.upsert("state", [row])

    def drop(self, *parts: str) -> None:
        """See ``Backend.drop``."""
        with self._writing:
            wanted = parts or (NOTES_AND_TEXT, *self._rows.spaces())
            names = [
                self._rows.vectors(each, kind) for each in wanted if each != NOTES_AND_TEXT for kind in KINDS
            ]
            if NOTES_AND_TEXT in wanted:
                self._client.delete("state", [self.options.shard])
                names.append("notes")
            for name in names:
                if self._client.has(name):
                    self._client.delete_where(name, f"shard == {self.shard}")

    def close(self) -> None:
        """Close the connection for good."""
        self._client.close()


def shard_number(name: str) -> int:
    """Return the number of a shard, which stands above the ids of its notes: 22 bits, never negative."""
    return int.from_bytes(hashlib.blake2s(name.encode(), digest_size=4).digest()) >> 10


MOST_HITS = 16_384
"""Most candidates of one search, by the engine's own limit."""
PASSAGES_PER_NOTE = 4
"""Passages asked for, for each note that is wanted; more, if those are of fewer notes."""


class ShardSearch:
    """The searches of one shard. Every method raises ``Unavailable``."""

    def __init__(self, rows: ShardRows) -> None:
        self._rows = rows

    def find(self, query: Query, k: int, notes: NoteIds | None) -> Hits:
        """Return the ``k`` best notes, or the passages of the ``k`` best, among ``notes``.

        Few notes are a filter of the engine as their ids. Of more, the hits are compared with them first, and
        only if too few remain is the engine asked for parts of them.
        """
        if notes is None or len(notes) > NOTES_IN_FILTER:
            hits = self._search_deeper(query, k, "", notes)
            if notes is None or hits.is_whole or _note_count(hits) >= min(k, len(notes)):
                return hits
        of_parts = [
            self._search_deeper(query, min(k, len(part)), f"note in {part}", None)
            for part in parts(notes.tolist(), NOTES_IN_FILTER)
        ]
        return _merged(of_parts).of_first_notes(k)

    def _search_deeper(self, query: Query, k: int, condition: str, notes: NoteIds | None) -> Hits:
        """Search deeper and deeper, until there are ``k`` notes or no more of them."""
        is_passages = isinstance(query, ByMeaning) and query.kind == "passages"
        depth = min(MOST_HITS, k * PASSAGES_PER_NOTE if is_passages else k + 1)
        while True:
            hits = self.nearest(query, depth, condition)
            is_whole = len(hits) < depth
            if notes is not None:
                inside = np.isin(hits.notes, notes)
                hits = Hits(hits.numbers[inside], hits.notes[inside], hits.scores[inside], False)
            if is_whole or depth == MOST_HITS or _note_count(hits) >= k:
                return Hits(hits.numbers, hits.notes, hits.scores, is_whole).of_first_notes(k)
            depth = min(MOST_HITS, depth * 4)

    def nearest(self, query: Query, limit: int, condition: str) -> Hits:
        """Return the first hits that satisfy a condition; of equal ones those of lower numbers first."""
        if isinstance(query, ByWords):
            name, field, metric = "notes", "terms", "IP"
            vector: Any = {}
            for term, weight in query.weights.items():
                number = term_number(term)
                vector[number] = max(vector.get(number, 0.0), float(weight))
        else:
            name, field, metric = self._rows.vectors(query.space, query.kind), "vector", "COSINE"
            vector = np.asarray(query.vector, np.float32)
        rows = self._rows.client.search(name, field, metric, vector, self._rows.within(condition), limit)
        numbers = np.array([key & ID_MASK for key, _, _ in rows], np.int64)
        notes = np.array([note for _, note, _ in rows], np.int64)
        scores = np.array([score for _, _, score in rows], np.float64)
        order = np.lexsort((numbers, -scores))
        return Hits(numbers[order], notes[order], scores[order])


def _note_count(hits: Hits) -> int:
    return len(np.unique(hits.notes))


def _merged(parts: Sequence[Hits]) -> Hits:
    numbers, notes = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("numbers", "notes")
    )
    scores = np.concatenate([part.scores for part in parts])
    order = np.lexsort((numbers, -scores))
    return Hits(numbers[order], notes[order], scores[order], all(part.is_whole for part in parts))
