"""The vectors of a collection as one matrix, which is scanned completely for every query.

Vectors are first scored with eight-bit integers. The error of such a score is bounded, so full precision is
needed only to choose among possible results. The answer is the same as if all vectors were scored in full
precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import simsimd
from numpy.typing import NDArray

from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.columns import Column, Table
from vaultseek.semantic.vectors.port import NoteIds, Numbers, Scores, VectorBatch

VECTOR_PASSAGES = 5
"""Maximum number of passages that a search returns per note."""
VECTOR_TIES = 1000
"""Maximum number of notes returned beyond ``k`` because they tie with the ``k``-th, so that the result
does not depend on the order in which vectors were stored."""
SCAN_FULL = 2_000_000
"""Maximum number of elements in a matrix that is scanned in full precision."""
SCAN_GATHERED = 0.3
"""Maximum share of allowed rows at which a search copies and scans only these rows. Above it, a search scans
all rows."""
_LEVELS = 127
_ROUNDING = 1e-6
"""Bound on the rounding errors of float32 scores."""
_BLOCK = 2048
_GONE = -1
"""Note number of a deleted row. Used as an index, it selects the last element of an array with one element
per note."""


class VectorHits(NamedTuple):
    """Vectors near the query, best first: the numbers of the vectors, their notes, and their cosines."""

    numbers: Numbers
    notes: NoteIds
    scores: Scores

    def at(self, indexes: NDArray[Any]) -> VectorHits:
        """Return the hits at ``indexes``."""
        return VectorHits(self.numbers[indexes], self.notes[indexes], self.scores[indexes])

    @classmethod
    def none(cls) -> VectorHits:
        """Return an empty list of hits."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.float32))


@dataclass(frozen=True, slots=True)
class Codes:
    """Vectors as eight-bit integers: ``vector = scale * code``, with a small error.

    ``error`` is the length of the largest error vector, ``length`` the length of the longest coded vector.
    """

    codes: NDArray[np.int8]
    scales: Scores
    error: float
    length: float

    @classmethod
    def of(cls, vectors: Vectors) -> Codes:
        """Return the codes of ``vectors``."""
        peaks = np.abs(vectors).max(axis=1, initial=0.0)
        scales = np.where(peaks > 0, peaks / _LEVELS, 1.0).astype(np.float32)
        rounded = np.rint(vectors / scales[:, None])
        coded = rounded * scales[:, None]
        errors, lengths = (np.einsum("ij,ij->i", each, each) for each in (vectors - coded, coded))
        largest = [float(np.sqrt(squares.max(initial=0.0))) for squares in (errors, lengths)]
        return cls(rounded.astype(np.int8), scales, largest[0], largest[1])

    def scores(self, vector: Vectors, rows: NDArray[np.int64] | None) -> tuple[Scores, float]:
        """Return approximate scores for ``rows`` (None for all rows), and an upper bound on their errors."""
        query = Codes.of(vector[None])
        codes, scales = (self.codes, self.scales) if rows is None else (self.codes[rows], self.scales[rows])
        scores = _products(query.codes, codes)
        scores *= scales * query.scales[0]
        length = float(np.linalg.norm(vector))
        bound = query.error * self.length + length * self.error
        return scores, bound + _ROUNDING * (1 + length)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of the matrix: the vector, number and note of each row; the note is -1 for a deleted row.

    ``notes_end`` is greater than every note's number. Without ``codes``, the rows are scored in full
    precision.
    """

    vectors: Vectors
    numbers: Numbers
    notes: NoteIds
    notes_end: int
    codes: Codes | None

    def search(self, vector: Vectors, k: int, allowed: NoteIds | None = None) -> VectorHits:
        """Return the best hits for the ``k`` nearest notes, and for notes that tie with the ``k``-th.

        Hits are sorted, best first, with a few hits per note. Ties are sorted by vector number.

        With ``allowed``, only notes in ``allowed`` are searched; the filter is exact and is applied first.
        """
        if k <= 0 or not len(self.notes):
            return VectorHits.none()
        rows, notes = self._allowed_rows(allowed)
        if self.codes is None:
            scores, error = self._full_scores(vector, rows), 0.0
        else:
            scores, error = self.codes.scores(vector, rows)
        near = self._near_rows(vector, scores, notes, rows, k, error)
        scores, notes = scores[near], notes[near]
        rows = near if rows is None else rows[near]
        if self.codes is None:
            return _cut(VectorHits(self.numbers[rows], notes, scores), k)
        return self.score(vector, rows[_first_of_each_note(scores, notes, error)], k)

    def score(self, vector: Vectors, rows: NDArray[np.int64], k: int) -> VectorHits:
        """Return the result of a search that covers only ``rows``, scored in full precision."""
        scores = self._full_scores(vector, rows)
        return _cut(VectorHits(self.numbers[rows], self.notes[rows], scores), k)

    def rows_of(self, allowed: NoteIds) -> NDArray[np.int64]:
        """Return the numbers of the rows that belong to notes in ``allowed``."""
        return np.flatnonzero(self.is_allowed(allowed))

    def is_allowed(self, allowed: NoteIds | None) -> NDArray[np.bool_]:
        """Return a mask of the rows whose notes are in ``allowed``. If ``allowed`` is None, return a mask of
        the rows in use."""
        rows: NDArray[np.bool_] = self.notes != _GONE
        if allowed is not None:
            mask = np.zeros(self.notes_end + 1, dtype=bool)
            mask[allowed[(allowed >= 0) & (allowed < self.notes_end)]] = True
            rows = mask[self.notes]
        return rows

    def _allowed_rows(self, allowed: NoteIds | None) -> tuple[NDArray[np.int64] | None, NoteIds]:
        """Return the rows to score (None for all rows), and the note of each of them (-1 if the note is not
        allowed)."""
        if allowed is None:
            return None, self.notes
        is_allowed = self.is_allowed(allowed)
        if np.count_nonzero(is_allowed) > SCAN_GATHERED * len(is_allowed):
            return None, np.where(is_allowed, self.notes, _GONE)
        rows = np.flatnonzero(is_allowed)
        return rows, self.notes[rows]

    def _full_scores(self, vector: Vectors, rows: NDArray[np.int64] | None) -> Scores:
        return _products(vector[None], self.vectors if rows is None else self.vectors[rows])

    def _near_rows(
        self,
        vector: Vectors,
        scores: Scores,
        notes: NoteIds,
        rows: NDArray[np.int64] | None,
        k: int,
        error: float,
    ) -> NDArray[np.int64]:
        """Return the indexes of those scores whose notes could be among the ``k`` best."""
        best = np.full(self.notes_end + 1, -np.inf, dtype=np.float32)
        np.maximum.at(best, notes, scores)
        best[_GONE] = -np.inf
        scored = best[best > -np.inf]
        floor = -np.inf
        if len(scored) > k:
            floor = np.partition(scored, -k)[-k]
            if error:  # the k best scores in full precision are a lower bound for the k best of all
                near = np.flatnonzero((scores >= floor) & (notes != _GONE))
                least = _best_scores(
                    self._full_scores(vector, near if rows is None else rows[near]), notes[near]
                )
                floor = np.partition(least, -k)[-k] - error
        return np.flatnonzero((best >= floor)[notes] & (notes != _GONE))


class Matrix:
    """The numbers, notes and codes of a collection's vectors. The vectors themselves are in a file.

    One thread writes. ``codes_bytes`` limits the memory for the codes; if they exceed it, no codes are kept.
    """

    def __init__(self, codes_bytes: int) -> None:
        self._codes_bytes = codes_bytes
        self._numbers = Column(np.int64)
        self._notes = Column(np.int64)
        self._row_of = Table()
        self._codes: Column | None = None
        self._scales = Column(np.float32)
        self._error = self._length = 0.0
        self._notes_end = 0
        self.gone = 0
        """Number of rows whose vectors were deleted or replaced."""
        self.in_budget = True
        """True while the codes of all rows fit into ``codes_bytes``."""

    def __len__(self) -> int:
        return len(self._numbers) - self.gone

    def reserve(self, count: int) -> None:
        """Allocate memory for a total of ``count`` rows."""
        for column in (self._numbers, self._notes, self._scales):
            column.reserve(count)

    def append(self, batch: VectorBatch, deletes: Numbers) -> None:
        """Delete vectors, then add or replace vectors."""
        self.code(batch.vectors)
        self.place(batch.numbers, batch.notes, deletes)

    def place(self, numbers: Numbers, notes: NoteIds, deletes: Numbers) -> None:
        """Delete vectors, then assign numbers and notes to the next rows."""
        rows = self._row_of.get(np.concatenate([deletes, numbers]))
        rows = np.unique(rows[rows >= 0])
        self._notes.change(rows, _GONE)
        self.gone += len(rows)
        self._row_of.set(deletes, -1)
        self._row_of.set(numbers, np.arange(len(self._numbers), len(self._numbers) + len(numbers)))
        self._numbers.append(numbers)
        self._notes.append(notes)
        self._notes_end = max(self._notes_end, int(notes.max(initial=-1)) + 1)

    def code(self, vectors: Vectors) -> None:
        """Compute the codes of the next rows, unless that would exceed the budget."""
        if not self.in_budget or not len(vectors):
            return
        if self._codes is None:
            self._codes = Column(np.int8, vectors.shape[1])
        if (len(self._codes) + len(vectors)) * vectors.shape[1] > self._codes_bytes:
            self.in_budget, self._codes, self._scales = False, None, Column(np.float32)
            return
        for start in range(0, len(vectors), _BLOCK):
            codes = Codes.of(vectors[start : start + _BLOCK])
            self._codes.append(codes.codes)
            self._scales.append(codes.scales)
            self._error = max(self._error, codes.error)
            self._length = max(self._length, codes.length)

    def snapshot(self, vectors: Vectors) -> Snapshot:
        """Return a snapshot of the matrix; ``vectors`` contains its rows in full precision."""
        codes = None
        if self._codes is not None and vectors.size > SCAN_FULL:
            codes = Codes(self._codes.rows, self._scales.rows, self._error, self._length)
        return Snapshot(vectors, self._numbers.rows, self._notes.rows, self._notes_end, codes)


def _products(vector: NDArray[Any], rows: NDArray[Any]) -> Scores:
    """Return the product of ``vector``, ``(1, dimension)``, with each row, computed in this thread."""
    if not len(rows):
        return np.zeros(0, np.float32)
    # ``out`` is not used. Each call with ``out`` drops a reference to None that the call does not own; after
    # many calls, the process crashes.
    tensor = simsimd.cdist(vector, rows, "dot", out_dtype="float32")
    products: Scores = np.array(tensor, dtype=np.float32)[0]  # a copy, because the tensor owns the memory
    return products


def _best_scores(scores: Scores, notes: NoteIds) -> Scores:
    order = np.argsort(notes, kind="stable")
    best: Scores = np.maximum.reduceat(scores[order], _runs(notes[order])[0])
    return best


def _first_of_each_note(scores: Scores, notes: NoteIds, error: float) -> NDArray[np.int64]:
    """Return the indexes of the scores that may be among the best ``VECTOR_PASSAGES`` of their note."""
    order = np.lexsort((-scores, notes))
    begins, lengths = _runs(notes[order])
    is_long = lengths >= VECTOR_PASSAGES
    floors = np.full(len(lengths), -np.inf, dtype=np.float32)
    floors[is_long] = scores[order[begins[is_long] + VECTOR_PASSAGES - 1]] - 2 * error
    first: NDArray[np.int64] = order[scores[order] >= np.repeat(floors, lengths)]
    return first


def _runs(notes: NoteIds) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start and length of each run of equal note ids."""
    is_first = np.ones(len(notes) + 1, dtype=bool)
    np.not_equal(notes[1:], notes[:-1], out=is_first[1:-1])
    edges = is_first.nonzero()[0]
    return edges[:-1], edges[1:] - edges[:-1]


def _cut(hits: VectorHits, k: int) -> VectorHits:
    """Return the best hits for the ``k`` best notes, and for notes that tie with the ``k``-th, in order."""
    hits = hits.at(np.lexsort((hits.numbers, -hits.scores)))
    by_note = np.argsort(hits.notes, kind="stable")
    begins, lengths = _runs(hits.notes[by_note])
    first = by_note[begins]  # the best hit of each note
    ranked = np.sort(first)
    last = ranked[: _with_ties(hits.scores[ranked], k)].max(initial=-1)
    is_near = np.repeat(first <= last, lengths)
    places = np.arange(len(by_note)) - np.repeat(begins, lengths)
    return hits.at(np.sort(by_note[is_near & (places < VECTOR_PASSAGES)]))


def _with_ties(scores: Scores, k: int) -> int:
    """Return the number of sorted scores that are among the ``k`` best or tie with the ``k``-th."""
    if len(scores) <= k:
        return k
    return min(int(np.searchsorted(-scores, -scores[k - 1], side="right")), k + VECTOR_TIES)
