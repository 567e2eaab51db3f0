"""The passages of the notes that a search ranks: all are scored at once, and named for the notes shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from vaultseek.store.keyword.answer import ChunkHit
from vaultseek.store.keyword.bm25f import ChunkScores
from vaultseek.store.keyword.segment import Ints, run_indexes
from vaultseek.store.keyword.snapshot import ChunkIds, Floats, Snapshot

PASSAGES = 3
"""Passages per note in the result."""


@dataclass(frozen=True, slots=True)
class Passages:
    """All passages of some notes: those of note ``i`` are from ``firsts[i]`` up to ``firsts[i + 1]``.

    firsts: int64[n + 1]. chunks: int64[c], numbered over all segments. scores: float64[c].
    """

    ids: ChunkIds
    firsts: Ints
    chunks: Ints
    scores: Floats

    def best_scores(self) -> Floats:
        """Return the score of each note's best passage, float64[n]; 0 for a note without one."""
        best = np.zeros(len(self.firsts) - 1)
        present = self.firsts[1:] > self.firsts[:-1]
        if len(self.scores):
            best[present] = np.maximum.reduceat(self.scores, self.firsts[:-1][present])
        return best

    def best(self, row: int) -> tuple[ChunkHit, ...]:
        """Return the best passages of the note in this row, best first, as far as they match."""
        first, last = self.firsts[row : row + 2].tolist()
        scores = self.scores[first:last]
        order = np.argsort(-scores, kind="stable")[:PASSAGES].tolist()
        return tuple(
            ChunkHit(self.ids[int(self.chunks[first + place])], float(scores[place]))
            for place in order
            if scores[place] > 0
        )


def score_passages(
    snapshot: Snapshot, notes: Ints, weighted: Iterable[tuple[ChunkScores, float]]
) -> Passages:
    """Score every passage of the notes, which are numbered over all segments, by terms and their weights."""
    totals = np.zeros(snapshot.chunk_count)
    for term, weight in weighted:
        totals[term.chunks] += weight * term.scores
    starts = snapshot.first_chunks[notes]
    sizes = snapshot.first_chunks[notes + 1] - starts
    chunks = run_indexes(starts, sizes)
    firsts = np.zeros(len(notes) + 1, np.int64)
    np.cumsum(sizes, out=firsts[1:])
    return Passages(snapshot.chunk_ids, firsts, chunks, totals[chunks])
