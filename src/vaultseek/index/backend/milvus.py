"""Milvus as an engine: a server, or a file of Milvus Lite, through pymilvus, which only this module imports.

All vaults of a team share the collections; each row has the number of its vault's *shard*. Filters are pushed
down: as an expression where there is one, and as the ids of the notes where there are few of them. What the
engine lets through is looked at again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from vaultseek.index.backend import schema
from vaultseek.index.backend.copy_table import CopyTable
from vaultseek.index.backend.expression import expression_of
from vaultseek.index.backend.milvus_client import MilvusClient
from vaultseek.index.backend.port import (
    ALL,
    NOTES_AND_TEXT,
    BackendStatistics,
    Batch,
    ByMeaning,
    ByWords,
    Hits,
    Kind,
    NoteEntry,
    Query,
    Restriction,
    VectorEntries,
)
from vaultseek.index.backend.schema import FACTS, ID_MASK
from vaultseek.index.backend.state_table import StateTable
from vaultseek.index.keyword.candidates import term_number
from vaultseek.index.vectors.port import NoteIds
from vaultseek.models.encoder import Vectors
from vaultseek.settings.engine import MilvusOptions

MOST_HITS = 16_384
"""Most candidates of one search, by the engine's own limit."""
NOTES_IN_FILTER = 4000
"""Ids in one expression; of more notes the condition is pushed down and the ids are compared here."""
ROWS = 500
"""Rows in one request."""
PAGE = 5000
UNINDEXED_NOTES, UNINDEXED_VECTORS = 50, 500
"""Rows that a file of Milvus Lite may keep without an index."""
PASSAGES_PER_NOTE = 4
"""Passages asked for, for each note that is wanted; more, if those are of fewer notes."""
OLDEST = (2, 5)
"""Oldest version of a server."""
KINDS: tuple[Kind, Kind] = ("passages", "notes")

T = TypeVar("T")
log = logging.getLogger(__name__)


class MilvusBackend:
    """One vault in Milvus. It connects when it is asked first, and again after it was lost."""

    def __init__(self, options: MilvusOptions) -> None:
        self.options = options
        self.shard = shard_number(options.shard)
        self._client = MilvusClient(options)
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
        if isinstance(query, ByMeaning) and not self._client.has(self._vectors(query.space, query.kind)):
            return Hits.none()
        within = self._decided(within)
        if within.notes is not None and not len(within.notes):
            return Hits.none()
        return self._search(query, k, within)

    def scores(self, query: Query, numbers: Sequence[int]) -> dict[int, float]:
        """See ``Backend.scores``."""
        if isinstance(query, ByMeaning) and not self._client.has(self._vectors(query.space, query.kind)):
            return {}
        scores: dict[int, float] = {}
        for start in range(0, len(numbers), NOTES_IN_FILTER):
            keys = [self._key(number) for number in numbers[start : start + NOTES_IN_FILTER]]
            hits = self._hits(query, len(keys), f"id in {keys}")
            scores |= dict(zip(hits.numbers.tolist(), hits.scores.tolist(), strict=True))
        return scores

    def matching(self, condition: Any) -> NoteIds:
        """Return the ids of the notes that match a condition, sorted; decided by the engine's rows alone."""
        from vaultseek.index.backend.rows import RowFacts

        expression = expression_of(condition)
        fields = ["note", "cut", *([] if expression.is_exact else ["row", "links"])]
        ids: list[int] = []
        for row in self._own_rows("notes", expression.with_cut, fields, in_search=True):
            if expression.is_exact and not row["cut"]:
                ids.append(row["note"])
                continue
            full = row if "row" in row else self.note_rows([row["note"]])[row["note"]]
            if condition.matches(RowFacts(full, self)):
                ids.append(row["note"])
        return np.array(sorted(ids), np.int64)

    def note_rows(self, notes: Sequence[int]) -> dict[int, Any]:
        """Return what is stored of these notes, by id: ``row``, as JSON, and ``links``, paths."""
        keys = [self._key(note) for note in notes]
        fields = ["note", "row", "links", "modified", "created"]
        return {row["note"]: row for row in self._client.get("notes", keys, fields, in_search=True)}

    def passage_rows(self, notes: Sequence[int]) -> dict[int, list[Any]]:
        """Return the passages of these notes in their order, by note: ``text``, and ``row`` as JSON."""
        passages: dict[int, list[Any]] = {note: [] for note in notes}
        for part in _parts(notes, NOTES_IN_FILTER):
            for row in self._own_rows(
                "passages", f"note in {part}", ["id", "note", "ordinal", "text", "row"], in_search=True
            ):
                passages[row["note"]].append(row)
        return {note: sorted(rows, key=lambda row: row["ordinal"]) for note, rows in passages.items()}

    def sources_of(self, path: str) -> list[str]:
        """Return the rows of the notes that link to a path."""
        from vaultseek.index.backend.expression import quoted

        condition = f"array_contains(links, {quoted(path)})"
        return [row["row"] for row in self._own_rows("notes", condition, ["row"], in_search=True)]

    def vectors(self, space: str, kind: Kind, notes: Sequence[int]) -> dict[int, Vectors]:
        """Return the vectors of these notes; of several that of the least number."""
        name = self._vectors(space, kind)
        if not self._client.has(name):
            return {}
        vectors: dict[int, Vectors] = {}
        if kind == "notes":
            keys = [self._key(note) for note in notes]
            rows = self._client.get(name, keys, ["id", "note", "vector"], in_search=True)
        else:
            rows = [
                row
                for part in _parts(notes, NOTES_IN_FILTER)
                for row in self._own_rows(name, f"note in {part}", ["id", "note", "vector"], in_search=True)
            ]
        for row in sorted(rows, key=lambda row: -row["id"]):
            vectors[row["note"]] = np.asarray(row["vector"], np.float32)
        return vectors

    def numbers(self, space: str, kind: Kind, notes: Sequence[int]) -> list[int]:
        """Return the numbers of all vectors of these notes."""
        name = self._vectors(space, kind)
        if not self._client.has(name):
            return []
        return [
            row["id"] & ID_MASK
            for part in _parts(notes, NOTES_IN_FILTER)
            for row in self._own_rows(name, f"note in {part}", ["id"])
        ]

    def count(self, space: str, kind: Kind) -> int:
        """Return the number of vectors of one space and kind."""
        name = self._vectors(space, kind)
        return self._own_count(name) if self._client.has(name) else 0

    def statistics(self, *, vectors: bool = True) -> BackendStatistics:
        """See ``Backend.statistics``."""
        spaces = self._known_spaces() if vectors else ()
        counts = {
            (space, kind): self._own_count(self._vectors(space, kind))
            for space in spaces
            for kind in KINDS
            if self._client.has(self._vectors(space, kind))
        }
        counts = {key: count for key, count in counts.items() if count}
        return BackendStatistics(
            self._own_count("notes"), self._own_count("passages"), counts, self.position()
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
                self._remove(batch.removed)
            if batch.notes:
                self._put_notes(batch.notes)
            for entries in batch.vectors:
                self._put_vectors(entries)
            for space, kind, numbers in batch.forgotten:
                self._client.delete(
                    self._vectors(space, kind), [self._key(number) for number in numbers.tolist()]
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
            wanted = parts or (NOTES_AND_TEXT, *self._known_spaces())
            names = [self._vectors(each, kind) for each in wanted if each != NOTES_AND_TEXT for kind in KINDS]
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
        return self._client.first("notes", self._filter("cut == true"), "id") is not None

    def _search(self, query: Query, k: int, within: Restriction) -> Hits:
        notes = within.notes
        if notes is not None and len(notes) <= NOTES_IN_FILTER:
            return self._deepened(query, min(k, len(notes)), f"note in {notes.tolist()}", None)
        condition = expression_of(within.condition).text
        hits = self._deepened(query, k, condition, notes)
        if hits.is_whole or notes is None or _note_count(hits) >= min(k, len(notes)):
            return hits
        parts = [
            self._deepened(query, k, f"note in {part}", None)
            for part in _parts(notes.tolist(), NOTES_IN_FILTER)
        ]
        return _first_notes(_merged(parts), k)

    def _deepened(self, query: Query, k: int, condition: str, notes: NoteIds | None) -> Hits:
        """Search deeper and deeper, until there are ``k`` notes or no more of them."""
        is_passages = isinstance(query, ByMeaning) and query.kind == "passages"
        depth = min(MOST_HITS, k * PASSAGES_PER_NOTE if is_passages else k + 1)
        while True:
            hits = self._hits(query, depth, condition)
            is_whole = len(hits) < depth
            if notes is not None:
                inside = np.isin(hits.notes, notes)
                hits = Hits(hits.numbers[inside], hits.notes[inside], hits.scores[inside], False)
            if is_whole or depth == MOST_HITS or _note_count(hits) >= k:
                whole = Hits(hits.numbers, hits.notes, hits.scores, is_whole)
                return _first_notes(whole, k)
            depth = min(MOST_HITS, depth * 4)

    def _hits(self, query: Query, limit: int, condition: str) -> Hits:
        if isinstance(query, ByWords):
            name, field, metric = "notes", "terms", "IP"
            vector: Any = {}
            for term, weight in query.weights.items():
                number = term_number(term)
                vector[number] = max(vector.get(number, 0.0), float(weight))
        else:
            name, field, metric = self._vectors(query.space, query.kind), "vector", "COSINE"
            vector = np.asarray(query.vector, np.float32)
        rows = self._client.search(name, field, metric, vector, self._filter(condition), limit)
        numbers = np.array([key & ID_MASK for key, _, _ in rows], np.int64)
        notes = np.array([note for _, note, _ in rows], np.int64)
        scores = np.array([score for _, _, score in rows], np.float64)
        order = np.lexsort((numbers, -scores))
        return Hits(numbers[order], notes[order], scores[order])

    # -- rows ------------------------------------------------------------------------------------------

    def _put_notes(self, entries: Sequence[NoteEntry]) -> None:
        keys = [self._key(entry.row.id) for entry in entries]
        stored = {row["note"]: row for row in self._client.get("notes", keys, ["note", *FACTS])}
        values = [schema.note_values(self.shard, entry) for entry in entries]
        passages = [
            schema.passage_values(self.shard, ordinal, chunk)
            for entry in entries
            for ordinal, chunk in enumerate(entry.chunks)
        ]
        copies = [row for entry in entries for row in schema.copy_values(self.shard, entry)]
        self._put_passages(passages, list(stored))
        self._client.upsert("copies", copies)
        changed = {
            row["note"]: row
            for row in values
            if row["note"] in stored and any(row[name] != stored[row["note"]][name] for name in FACTS)
        }
        if stored:
            self._forget("copies", list(stored), {row["id"] for row in copies})
        if changed:
            self._refresh_vectors(changed)
        self._client.upsert("notes", values)

    def _put_passages(self, passages: Sequence[Any], stored: Sequence[int]) -> None:
        """Write the passages that the notes ``stored`` have not as they are, and delete their others.

        What a row says of a passage has its id, which is made of the text.
        """
        same = ("ordinal", "row")
        old = (
            {
                row["id"]: tuple(row[name] for name in same)
                for row in self._own_rows("passages", f"note in {list(stored)}", ["id", *same])
            }
            if stored
            else {}
        )
        new = [row for row in passages if old.get(row["id"]) != tuple(row[name] for name in same)]
        self._client.upsert("passages", new)
        self._client.delete("passages", list(old.keys() - {row["id"] for row in passages}))

    def _forget(self, name: str, notes: Sequence[int], keys: set[int]) -> None:
        """Delete the rows of these notes that do not have one of the keys."""
        old = [row["id"] for row in self._own_rows(name, f"note in {list(notes)}", ["id"])]
        self._client.delete(name, [key for key in old if key not in keys])

    def _refresh_vectors(self, changed: Mapping[int, Any]) -> None:
        """Give the vectors of changed notes the new facts, by which they are filtered."""
        for space in self._known_spaces():
            for kind in KINDS:
                name = self._vectors(space, kind)
                if not self._client.has(name):
                    continue
                for part in _parts(list(changed), NOTES_IN_FILTER):
                    rows = self._own_rows(name, f"note in {part}", ["id", "note", "shard", "vector"])
                    self._client.upsert(
                        name,
                        [{**row, **{fact: changed[row["note"]][fact] for fact in FACTS}} for row in rows],
                    )

    def _put_vectors(self, entries: VectorEntries) -> None:
        name = self._vectors(entries.space, entries.kind)
        if not self._client.has(name):
            self._client.create(name, schema.vector_fields(entries.vectors.shape[1]))
        rows = zip(entries.numbers.tolist(), entries.notes, entries.vectors, strict=True)
        self._client.upsert(
            name, [schema.vector_values(self.shard, number, row, vector) for number, row, vector in rows]
        )

    def _remove(self, notes: Sequence[int]) -> None:
        vectors = [self._vectors(space, kind) for space in self._known_spaces() for kind in KINDS]
        for part in _parts(notes, NOTES_IN_FILTER):
            for name in ("passages", "copies", *vectors):
                if self._client.has(name):
                    self._client.delete_where(name, self._filter(f"note in {part}"))
        self._client.delete("notes", [self._key(note) for note in notes])

    def _own_rows(
        self, name: str, condition: str, fields: Sequence[str], *, in_search: bool = False
    ) -> Iterator[Any]:
        return self._client.rows(name, self._filter(condition), fields, in_search=in_search)

    def _own_count(self, name: str) -> int:
        return self._client.count(name, self._filter(""))

    def _filter(self, condition: str) -> str:
        own = f"shard == {self.shard}"
        return f"{own} and ({condition})" if condition else own

    def _key(self, number: int) -> int:
        return self.shard << schema.ID_BITS | number

    def _vectors(self, space: str, kind: Kind) -> str:
        return f"{space}_{kind}"

    def _known_spaces(self) -> list[str]:
        """Return the spaces that there are vectors of."""
        names = [name.rpartition("_") for name in self._client.names()]
        return sorted({space for space, _, kind in names if space and kind in KINDS})


def shard_number(name: str) -> int:
    """Return the number of a shard, which stands above the ids of its notes: 22 bits, never negative."""
    return int.from_bytes(hashlib.blake2s(name.encode(), digest_size=4).digest()) >> 10


def _parts(values: Sequence[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(values), size):
        yield list(values[start : start + size])


def _note_count(hits: Hits) -> int:
    return len(np.unique(hits.notes))


def _merged(parts: Sequence[Hits]) -> Hits:
    numbers, notes = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("numbers", "notes")
    )
    scores = np.concatenate([part.scores for part in parts])
    order = np.lexsort((numbers, -scores))
    return Hits(numbers[order], notes[order], scores[order], all(part.is_whole for part in parts))


def _first_notes(hits: Hits, k: int) -> Hits:
    """Return the hits of the first ``k`` notes."""
    _, firsts = np.unique(hits.notes, return_index=True)
    if len(firsts) <= k:
        return hits
    best = hits.notes[np.sort(firsts)[:k]]
    inside = np.isin(hits.notes, best)
    return Hits(hits.numbers[inside], hits.notes[inside], hits.scores[inside], False)
