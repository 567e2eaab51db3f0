"""Milvus as an engine: a server, or a file of Milvus Lite.

All vaults of a team share the collections; each row has the number of its vault's *shard*. Filters are pushed
down: as an expression where there is one, and as the ids of the notes where there are few of them. What the
engine lets through is looked at again.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from vaultseek.engines.milvus import schema
from vaultseek.engines.milvus.client import MilvusClient
from vaultseek.engines.milvus.connection import MilvusConnection
from vaultseek.engines.milvus.expression import expression_of
from vaultseek.engines.milvus.schema import ID_MASK
from vaultseek.engines.milvus.shard_batch import ShardBatch
from vaultseek.engines.milvus.shard_rows import KINDS, NOTES_IN_FILTER, ShardRows
from vaultseek.engines.milvus.shard_search import ShardSearch
from vaultseek.engines.milvus.tables import CopyTable, StateTable
from vaultseek.engines.port import (
    ALL,
    NOTES_AND_TEXT,
    BackendStatistics,
    Batch,
    ByMeaning,
    ByWords,
    Hits,
    Kind,
    Query,
    Restriction,
)
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.settings.engine import MilvusOptions

UNINDEXED_NOTES, UNINDEXED_VECTORS = 50, 500
"""Rows that a file of Milvus Lite may keep without an index."""


class MilvusBackend:
    """One vault in Milvus. It connects when it is asked first, and again after it was lost."""

    def __init__(self, options: MilvusOptions) -> None:
        self.options = options
        self.shard = shard_number(options.shard)
        self._client = MilvusClient(options)
        self.connection: MilvusConnection = self._client
        self._rows = ShardRows(self._client, self.shard)
        self._search = ShardSearch(self._rows)
        self._batch = ShardBatch(self._rows)
        self.copies = CopyTable(self._client, self.shard)
        """The copies of notes, for searchers."""
        self.states = StateTable(self._client, self.shard)
        """Names with what is said of the shard, by its writer among others."""
        self._writing = threading.RLock()

    # -- reading ---------------------------------------------------------------------------------------

    def candidates(self, query: Query, k: int, within: Restriction = ALL) -> Hits:
        """See ``Backend.candidates``."""
        if k <= 0 or (isinstance(query, ByWords) and not query.weights):
            return Hits.none()
        if isinstance(query, ByMeaning) and not self._client.has(self._rows.vectors(query.space, query.kind)):
            return Hits.none()
        within = self._decided(within)
        if within.notes is not None and not len(within.notes):
            return Hits.none()
        return self._search.find(query, k, within)

    def scores(self, query: Query, numbers: Sequence[int]) -> dict[int, float]:
        """See ``Backend.scores``."""
        if isinstance(query, ByMeaning) and not self._client.has(self._rows.vectors(query.space, query.kind)):
            return {}
        scores: dict[int, float] = {}
        for start in range(0, len(numbers), NOTES_IN_FILTER):
            keys = [self._rows.key(number) for number in numbers[start : start + NOTES_IN_FILTER]]
            hits = self._search.nearest(query, len(keys), f"id in {keys}")
            scores |= dict(zip(hits.numbers.tolist(), hits.scores.tolist(), strict=True))
        return scores

    def matching(self, condition: Any) -> NoteIds:
        """Return the ids of the notes that match a condition, sorted; decided by the engine's rows alone."""
        from vaultseek.engines.milvus.rows import RowFacts

        expression = expression_of(condition)
        fields = ["note", "cut", *([] if expression.is_exact else ["row", "links"])]
        ids: list[int] = []
        for row in self._rows.select("notes", expression.with_cut, fields, in_search=True):
            if expression.is_exact and not row["cut"]:
                ids.append(row["note"])
                continue
            full = row if "row" in row else self.note_rows([row["note"]])[row["note"]]
            if condition.matches(RowFacts(full, self)):
                ids.append(row["note"])
        return np.array(sorted(ids), np.int64)

    def note_rows(self, notes: Sequence[int]) -> dict[int, Any]:
        """Return what is stored of these notes, by id: ``row``, as JSON, and ``links``, paths."""
        keys = [self._rows.key(note) for note in notes]
        fields = ["note", "row", "links", "modified", "created"]
        return {row["note"]: row for row in self._client.get("notes", keys, fields, in_search=True)}

    def passage_rows(self, notes: Sequence[int]) -> dict[int, list[Any]]:
        """Return the passages of these notes in their order, by note: ``text``, and ``row`` as JSON."""
        passages: dict[int, list[Any]] = {note: [] for note in notes}
        fields = ["id", "note", "ordinal", "text", "row"]
        for row in self._rows.of_notes("passages", notes, fields, in_search=True):
            passages[row["note"]].append(row)
        return {note: sorted(rows, key=lambda row: row["ordinal"]) for note, rows in passages.items()}

    def sources_of(self, path: str) -> list[str]:
        """Return the rows of the notes that link to a path."""
        from vaultseek.engines.milvus.expression import quoted

        condition = f"array_contains(links, {quoted(path)})"
        return [row["row"] for row in self._rows.select("notes", condition, ["row"], in_search=True)]

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

    def numbers(self, space: str, kind: Kind, notes: Sequence[int]) -> list[int]:
        """Return the numbers of all vectors of these notes."""
        name = self._rows.vectors(space, kind)
        if not self._client.has(name):
            return []
        return [row["id"] & ID_MASK for row in self._rows.of_notes(name, notes, ["id"])]

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
        return BackendStatistics(
            self._rows.count("notes"), self._rows.count("passages"), counts, self.position()
        )

    def position(self) -> str | None:
        """Return the position of the last batch; None before the first."""
        return self.state().get("position")

    def state(self, name: str | None = None) -> dict[str, Any]:
        """Return what is kept under a name, this vault's shard by default; nothing if there is none."""
        rows = self._client.get(
            "state", [self.options.shard if name is None else name], ["position", "facts", "shard"]
        )
        return dict(rows[0]) if rows else {}

    def shards(self) -> list[str]:
        """Return the names of all shards of the engine, of this vault and of others."""
        names = [
            row["name"] for row in self._client.rows("state", "", ["name", "position"]) if row["position"]
        ]
        return sorted(name for name in names if "/" not in name)

    @property
    def version(self) -> str:
        """The version of the server."""
        return self._client.version

    # -- writing ---------------------------------------------------------------------------------------

    def apply(self, batch: Batch) -> None:
        """See ``Backend.apply``."""
        with self._writing:
            if batch.removed:
                self._batch.remove(batch.removed)
            if batch.notes:
                self._batch.put_notes(batch.notes)
            for entries in batch.vectors:
                self._batch.put_vectors(entries)
            for space, kind, numbers in batch.forgotten:
                self._client.delete(
                    self._rows.vectors(space, kind), [self._rows.key(number) for number in numbers.tolist()]
                )
            if batch.position is not None:
                size = "{}" if batch.size is None else json.dumps({"notes": batch.size})
                self.set_state(self.options.shard, batch.position, size)
            if batch.vectors:
                self._client.index_rows(UNINDEXED_VECTORS)

    def settle(self) -> None:
        """Make what was written last as fast to search as the rest."""
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
                names += ["notes", "passages", "copies"]
            for name in names:
                if self._client.has(name):
                    self._client.delete_where(name, f"shard == {self.shard}")

    def close(self) -> None:
        """Close the connection for good."""
        self._client.close()

    # -- candidates ------------------------------------------------------------------------------------

    def _decided(self, within: Restriction) -> Restriction:
        """Return a restriction that an expression or a list of notes decides exactly."""
        if within.condition is None or within.notes is not None:
            return within
        expression = expression_of(within.condition)
        if expression.is_exact and not self._has_cut():
            return within
        return Restriction(within.condition, self.matching(within.condition))

    def _has_cut(self) -> bool:
        """True if the fields of a note do not hold all there is, so that no expression is exact for it."""
        return self._client.first("notes", self._rows.within("cut == true"), "id", in_search=True) is not None


def shard_number(name: str) -> int:
    """Return the number of a shard, which stands above the ids of its notes: 22 bits, never negative."""
    return int.from_bytes(hashlib.blake2s(name.encode(), digest_size=4).digest()) >> 10
