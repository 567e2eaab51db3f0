"""The candidates of a shard of Milvus: as many notes as are asked for, however many passages that takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vaultseek.engines.milvus.expression import expression_of
from vaultseek.engines.milvus.schema import ID_MASK
from vaultseek.engines.milvus.shard_rows import NOTES_IN_FILTER, ShardRows, parts
from vaultseek.engines.port import ByMeaning, ByWords, Hits, Query, Restriction
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.keyword.candidates import term_number

MOST_HITS = 16_384
"""Most candidates of one search, by the engine's own limit."""
PASSAGES_PER_NOTE = 4
"""Passages asked for, for each note that is wanted; more, if those are of fewer notes."""


class ShardSearch:
    """The searches of one shard. Every method raises ``Unavailable``.

    Few notes are a filter as their ids; of more the condition is pushed down and the ids are compared here.
    """

    def __init__(self, rows: ShardRows) -> None:
        self._rows = rows

    def find(self, query: Query, k: int, within: Restriction) -> Hits:
        """Return the ``k`` best notes, or the passages of the ``k`` best, within a restriction."""
        notes = within.notes
        if notes is not None and len(notes) <= NOTES_IN_FILTER:
            return self._deepened(query, min(k, len(notes)), f"note in {notes.tolist()}", None)
        condition = expression_of(within.condition).text
        hits = self._deepened(query, k, condition, notes)
        if hits.is_whole or notes is None or _note_count(hits) >= min(k, len(notes)):
            return hits
        of_parts = [
            self._deepened(query, k, f"note in {part}", None)
            for part in parts(notes.tolist(), NOTES_IN_FILTER)
        ]
        return _first_notes(_merged(of_parts), k)

    def _deepened(self, query: Query, k: int, condition: str, notes: NoteIds | None) -> Hits:
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
                whole = Hits(hits.numbers, hits.notes, hits.scores, is_whole)
                return _first_notes(whole, k)
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


def _first_notes(hits: Hits, k: int) -> Hits:
    """Return the hits of the first ``k`` notes."""
    _, firsts = np.unique(hits.notes, return_index=True)
    if len(firsts) <= k:
        return hits
    best = hits.notes[np.sort(firsts)[:k]]
    inside = np.isin(hits.notes, best)
    return Hits(hits.numbers[inside], hits.notes[inside], hits.scores[inside], False)
