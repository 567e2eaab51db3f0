"""The best notes of a query: the sum of its terms' scores, and the few notes where it is highest.

Terms that can add most come first. Before a common word is added up everywhere, what it and those after it
can still add is compared with the score of the k-th best note so far: if no other note can come among the
best any more, only those with a chance are looked up (Turtle and Flood, *Query evaluation: strategies and
optimizations*, 1995, "max score"). The result is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from vaultseek.store.keyword.bm25f import TermScores
from vaultseek.store.keyword.common_term import CommonTerm, has_bit
from vaultseek.store.keyword.segment import Bools, Ints
from vaultseek.store.keyword.snapshot import Floats, Snapshot, joined

LONG_LIST = 8192
"""Notes with a term from which looking up single notes may be faster than adding it up everywhere."""
ROUNDING = 1e-9
"""Share of a bound that rounding may hide."""

Weighted = tuple[TermScores | CommonTerm, float]


def best_notes(
    weighted: Sequence[Weighted], snapshot: Snapshot, allowed: Bools | None, k: int, ties: int = 0
) -> tuple[Ints, int]:
    """Return the ``k`` best notes, best first and ties by the ledger's id, and how many match at all.

    Up to ``ties`` more are returned that are as good as the ``k``-th. ``allowed``: bool[size], the notes to
    look at; None for all. A note matches if its score is above 0.
    """
    terms = sorted(
        ((term, weight) for term, weight in weighted if weight * term.best > 0),
        key=lambda each: -each[1] * each[0].best,
    )
    sums = _Sums(snapshot.size, allowed)
    rest = list(accumulate((weight * term.best for term, weight in reversed(terms)), initial=0.0))[::-1]
    for number, (term, weight) in enumerate(terms):
        if term.df > LONG_LIST and sums.count > k > 0 and sums.highest > rest[number]:
            least = sums.threshold(k)
            if least * (1 - ROUNDING) > rest[number]:
                notes, scores = sums.finish(terms[number:], rest[number:], least, k)
                return _first(notes, scores, snapshot, k, ties), sums.count_with(
                    [term for term, _ in terms[number:]]
                )
        sums.add(term, weight)
    notes = sums.notes()
    return _first(notes, sums.totals[notes], snapshot, k, ties), sums.count


def count_both(first: TermScores | CommonTerm, second: TermScores | CommonTerm) -> int:
    """Return how many notes have both terms."""
    rarer, other = (first, second) if first.df <= second.df else (second, first)
    if rarer.bits is not None and other.bits is not None:
        return _count_bits(rarer.bits & other.bits)
    notes = rarer.whole().notes
    if other.bits is not None:
        return int(np.count_nonzero(has_bit(other.bits, notes)))
    return int(np.count_nonzero(other.at(notes)[1]))


class _Sums:
    """The scores of the notes that have any of the terms added so far."""

    def __init__(self, size: int, allowed: Bools | None) -> None:
        self.totals = np.zeros(size)
        self.count = 0
        self.highest = 0.0
        self._allowed = allowed
        self._parts: list[Ints] = []

    def add(self, term: TermScores | CommonTerm, weight: float) -> None:
        """Add the scores of a term; a note counts once, when its score rises above 0."""
        whole = term.whole()
        notes, scores = whole.notes, whole.scores
        if not scores.all():
            notes, scores = notes[scores > 0], scores[scores > 0]
        if self._allowed is not None:
            inside = self._allowed[notes]
            notes, scores = notes[inside], scores[inside]
        before = self.totals[notes]
        fresh = notes[before == 0]
        after = before + weight * scores
        self.totals[notes] = after
        self.highest = max(self.highest, float(after.max(initial=0.0)))
        self._parts.append(fresh)
        self.count += len(fresh)

    def notes(self) -> Ints:
        """Return the notes with any of the terms, in no order."""
        return joined(self._parts, np.int32)

    def threshold(self, k: int) -> float:
        """Return the ``k``-th best score so far."""
        return _kth(self.totals[self.notes()], k)

    def finish(
        self, terms: Sequence[Weighted], rest: Sequence[float], least: float, k: int
    ) -> tuple[Ints, Floats]:
        """Return the notes that can be among the ``k`` best with the other terms, and their whole scores.

        ``rest``: what the terms from each one on can add at most. ``least``: the ``k``-th best score so far.
        """
        notes = self.notes()
        scores = self.totals[notes]
        for number, ((term, weight), most) in enumerate(zip(terms, rest, strict=False)):
            chance = scores + most * (1 + ROUNDING) >= least
            notes, scores = notes[chance], scores[chance]
            if not number:
                order = np.argsort(notes)
                notes, scores = notes[order], scores[order]
            scores = scores + weight * term.at(notes)[0]
            least = max(least, _kth(scores, k))
        return notes, scores

    def count_with(self, others: Sequence[TermScores | CommonTerm]) -> int:
        """Return how many notes have any of the terms added so far or of the others."""
        common = [term.bits for term in others if term.bits is not None]
        for term in others:
            if term.bits is None:
                self.add(term, 1.0)
        if not common:
            return self.count
        bits = np.bitwise_or.reduce(common)
        if self._allowed is not None:
            bits &= np.packbits(self._allowed, bitorder="little")
        return _count_bits(bits) + int(np.count_nonzero(~has_bit(bits, self.notes())))


def _first(notes: Ints, scores: Floats, snapshot: Snapshot, k: int, ties: int) -> Ints:
    """Return the ``k`` best of the notes and up to ``ties`` as good as the last of these, best first; ties by
    the ledger's id."""
    if 0 < k < len(notes):
        near = scores >= _kth(scores, k)
        notes, scores = notes[near], scores[near]
    most = k + ties if k > 0 else 0
    return notes[np.lexsort((snapshot.notes[notes], -scores))[:most]]


def _kth(scores: Floats, k: int) -> float:
    """Return the ``k``-th highest score."""
    return float(np.partition(scores, len(scores) - k)[len(scores) - k])


def _count_bits(bits: Ints) -> int:
    return int(np.bitwise_count(bits).sum())
