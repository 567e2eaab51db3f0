"""The best notes of a query: the sum of its terms' scores, and the few notes where it is highest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vaultseek.index.keyword.bm25f import TermScores
from vaultseek.index.keyword.segment import Bools, Ints
from vaultseek.index.keyword.snapshot import Floats, Snapshot


def best_notes(
    weighted: Sequence[tuple[TermScores, float]], snapshot: Snapshot, allowed: Bools | None, k: int
) -> tuple[Ints, Floats, int]:
    """Return the ``k`` best notes, best first and ties by the ledger's id, their scores, and how many match.

    ``allowed``: bool[size], the notes to look at; None for all. A note matches if its score is above 0.
    """
    totals = np.zeros(snapshot.size)
    for term, weight in weighted:
        totals[term.notes] += weight * term.scores
    matches = np.flatnonzero(totals > 0 if allowed is None else allowed & (totals > 0))
    count, scores = len(matches), totals[matches]
    if 0 < k < count:
        threshold = np.partition(scores, count - k)[count - k]
        near = scores >= threshold
        matches, scores = matches[near], scores[near]
    order = np.lexsort((snapshot.notes[matches], -scores))[: max(k, 0)]
    return matches[order], scores[order], count


def count_both(first: TermScores, second: TermScores) -> int:
    """Return how many notes have both terms."""
    rarer, other = (first, second) if first.df <= second.df else (second, first)
    return int(np.count_nonzero(other.rows(rarer.notes)[1]))
