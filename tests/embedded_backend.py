"""The embedded engine behind the port of engines: the keyword index, and vectors over any store.

Searches of a vault do not pass here: they ask the keyword index and the worker directly, which is faster. It
is what other engines are compared with, by the contract that tests hold both to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from vaultseek.content.query.filters import Filter
from vaultseek.engines.port import (
    ALL,
    NOTES_AND_TEXT,
    BackendStatistics,
    Batch,
    ByWords,
    Hits,
    Kind,
    Query,
    Restriction,
)
from vaultseek.errors import IndexDamaged, Unavailable
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.port import NoteIds, VectorBatch
from vaultseek.store.documents import document_of
from vaultseek.store.keyword.index import KeywordIndex

Decide = Callable[[Filter], NoteIds]
"""Function that returns the notes that match a condition, sorted."""
OpenVectors = Callable[[str, Kind], VectorIndex]
"""Function that opens the vectors of a space and kind, empty ones if there are none."""


class EmbeddedBackend:
    """The embedded engine of one vault; see ``Backend``."""

    def __init__(self, keyword: KeywordIndex, open_vectors: OpenVectors, decide: Decide) -> None:
        self._keyword = keyword
        self._open_vectors = open_vectors
        self._decide = decide
        self._vectors: dict[tuple[str, Kind], VectorIndex] = {}
        self._passages: dict[int, int] = {}

    def candidates(self, query: Query, k: int, within: Restriction = ALL) -> Hits:
        """See ``Backend.candidates``."""
        allowed = within.notes
        if within.condition is not None and allowed is None:
            allowed = self._decide(within.condition)
        if isinstance(query, ByWords):
            best = self._keyword.weigh(query.weights, k + 1, allowed)
            notes = np.array(list(best), np.int64)[:k]
            return Hits(notes, notes, np.array(list(best.values()))[:k], len(best) <= k)
        index = self._vectors.get((query.space, query.kind))
        if index is None:
            return Hits.none()
        hits = index.search(query.vector, k, allowed)
        return Hits(hits.numbers, hits.notes, hits.scores.astype(np.float64), False)

    def scores(self, query: Query, numbers: Sequence[int]) -> dict[int, float]:
        """See ``Backend.scores``."""
        wanted = np.array(sorted(numbers), np.int64)
        if isinstance(query, ByWords):
            return self._keyword.weigh(query.weights, len(numbers), wanted)
        index = self._vectors.get((query.space, query.kind))
        return {} if index is None else index.scores(query.vector, wanted)

    def statistics(self, *, vectors: bool = True) -> BackendStatistics:
        """See ``Backend.statistics``."""
        counts = {key: len(index) for key, index in self._vectors.items() if vectors and len(index)}
        passages = sum(self._passages.values())
        return BackendStatistics(len(self._keyword), passages, counts, self._keyword.revision or None)

    def apply(self, batch: Batch) -> None:
        """See ``Backend.apply``."""
        try:
            self._apply(batch)
        except IndexDamaged as error:
            raise Unavailable(str(error), "index_damaged") from error

    def drop(self, *parts: str) -> None:
        """See ``Backend.drop``."""
        wanted = parts or (NOTES_AND_TEXT, *{space for space, _ in self._vectors})
        if NOTES_AND_TEXT in wanted:
            self._keyword.apply([], list(self._passages), "")
            self._passages.clear()
        self._vectors = {key: index for key, index in self._vectors.items() if key[0] not in wanted}

    def _apply(self, batch: Batch) -> None:
        documents = [document_of(entry.row, [chunk.chunk for chunk in entry.chunks]) for entry in batch.notes]
        position = self._keyword.revision or "" if batch.position is None else batch.position
        for entries in batch.vectors:
            notes = np.array([row.id for row in entries.notes], np.int64)
            self._index(entries.space, entries.kind).apply(
                VectorBatch(entries.numbers, notes, entries.vectors)
            )
        for space, kind, numbers in batch.forgotten:
            self._index(space, kind).apply(VectorBatch.empty(), numbers)
        for index in self._vectors.values():
            if batch.removed:
                index.apply(VectorBatch.empty(), index.numbers(list(batch.removed)))
        self._keyword.apply(documents, batch.removed, position)
        for note in batch.removed:
            self._passages.pop(note, None)
        self._passages |= {entry.row.id: len(entry.chunks) for entry in batch.notes}

    def _index(self, space: str, kind: Kind) -> VectorIndex:
        if (space, kind) not in self._vectors:
            self._vectors[space, kind] = self._open_vectors(space, kind)
        return self._vectors[space, kind]


def counts_of(statistics: BackendStatistics) -> Mapping[str, int]:
    """Return the numbers of an engine by name, as they are shown and compared."""
    vectors = {f"vectors of {kind}": count for (_, kind), count in statistics.vectors.items()}
    return {"notes": statistics.notes, "passages": statistics.passages, **vectors}
