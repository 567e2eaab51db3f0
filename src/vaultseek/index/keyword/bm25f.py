"""BM25F over posting arrays: Robertson and Zaragoza, *The Probabilistic Relevance Framework* (2009), 3.6.

For a term and a note d, over the fields f (title, body, ...)::

    tf(d)    = sum over f of  weight_f * count_f(d) / (1 - b_f + b_f * length_f(d) / average_f)
    idf      = log(1 + (N - df + 0.5) / (df + 0.5))
    score(d) = sum over terms of  idf * tf(d) / (k1 + tf(d))

The counts are added over the fields first and saturated once, and there is one idf: that is what sets BM25F
apart from adding up a BM25 per field. N and df count living notes. ``average_f`` is taken over the notes
that have the field at all: most have no alias and no code, and with them in the average whoever has one
would count as immensely long.

Alternatives (``link*``, the words within one typo) count as one term: their counts are added and df is that
of the union.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.index.keyword.postings import (
    BODY,
    CODE,
    FIELD_BITS,
    FIELD_MASK,
    FIELD_SLOTS,
    FIELDS,
    GAP,
    Bools,
    Ints,
    Segment,
    Strings,
    lengths_of,
    runs,
)

Floats = NDArray[np.float64]

K1 = 1.2
FIELD_WEIGHTS = {
    "title": 2.5, "aliases": 2.5, "headings": 1.0, "tags": 1.0, "path": 0.5, "body": 1.0, "code": 0.8,
}  # fmt: skip
FIELD_B = {
    "title": 0.5, "aliases": 0.3, "headings": 0.5, "tags": 0.3, "path": 0.3, "body": 0.5, "code": 0.5,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scheme:
    """Weight and length normalisation of every field, in the order of ``FIELDS``, and the saturation."""

    weights: tuple[float, ...] = tuple(FIELD_WEIGHTS[field] for field in FIELDS)
    b: tuple[float, ...] = tuple(FIELD_B[field] for field in FIELDS)
    k1: float = K1

    @classmethod
    def weighing(cls, weights: dict[str, float]) -> Scheme:
        """The usual scheme with some fields weighed otherwise; ``ValueError`` for a field there is not."""
        if unknown := set(weights) - set(FIELDS):
            raise ValueError(f"no field {', '.join(sorted(unknown))}; there are {', '.join(FIELDS)}")
        return cls(tuple((FIELD_WEIGHTS | weights)[field] for field in FIELDS))


@dataclass(frozen=True, slots=True)
class View:
    """A segment as a search sees it: which notes live, and the number of its first note among all."""

    segment: Segment
    alive: Bools
    base: int


@dataclass(frozen=True, slots=True)
class TermScores:
    """What a term gave: the notes that have it (ascending, numbered over all segments) and their scores."""

    df: int
    idf: float
    notes: Ints
    scores: Floats


class Collection:
    """All segments at one moment. Nothing in it changes; it may be used from any thread."""

    def __init__(self, parts: Sequence[tuple[Segment, Bools]]) -> None:
        views: list[View] = []
        base = 0
        for segment, alive in parts:
            views.append(View(segment, alive, base))
            base += len(segment)
        self.views = tuple(views)
        self.size = base
        """Notes in all segments, the deleted ones included."""

    @cached_property
    def notes(self) -> Ints:
        """int64[size], the ledger's ids."""
        return _joined([view.segment.tables.notes for view in self.views], np.int64)

    @cached_property
    def alive(self) -> Bools:
        """bool[size]."""
        return _joined([view.alive for view in self.views], np.bool_)

    @cached_property
    def count(self) -> int:
        """N, the number of living notes."""
        return int(np.count_nonzero(self.alive))

    @cached_property
    def averages(self) -> Floats:
        """float64[8], the mean length of each field over the living notes that have it; 1 where none has."""
        return _means(
            [view.segment.tables.lengths.reshape(-1, FIELD_SLOTS)[view.alive] for view in self.views]
        )

    @cached_property
    def chunk_averages(self) -> Floats:
        """float64[2], the mean length of prose and of code over the chunks that have any."""
        return _means([_living_chunk_lengths(view) for view in self.views], width=2)


def score_terms(collection: Collection, terms: Sequence[str], scheme: Scheme) -> TermScores:
    """BM25F of every note that has any of the terms, which count as one."""
    weights, b = _slots(scheme.weights), _slots(scheme.b)
    rate = b / collection.averages
    notes: list[Ints] = []
    counts: list[Floats] = []
    for view in collection.views:
        keys, frequencies = _rows(view.segment, terms)
        if not len(keys):
            continue
        field = keys & FIELD_MASK
        lengths = view.segment.tables.lengths[keys]
        weighted = weights[field] * frequencies / (1 - b[field] + rate[field] * lengths)
        found, sums = _by_note(keys >> FIELD_BITS, weighted)
        living = view.alive[found]
        notes.append(found[living].astype(np.int64) + view.base)
        counts.append(sums[living])
    tf = _joined(counts, np.float64)
    df = len(tf)
    rarity = idf(collection.count, df)
    return TermScores(df, rarity, _joined(notes, np.int64), rarity * tf / (scheme.k1 + tf))


def best(totals: Floats, notes: Ints, candidates: Bools, k: int) -> Ints:
    """The ``k`` best candidates with a positive score, best first, equal ones by the ledger's id."""
    found = np.flatnonzero(candidates & (totals > 0))
    if 0 < k < len(found):
        threshold = np.partition(totals[found], len(found) - k)[len(found) - k]
        found = found[totals[found] >= threshold]
    return found[np.lexsort((notes[found], -totals[found]))][: max(k, 0)]


def score_chunks(
    collection: Collection, weighted: Sequence[tuple[Sequence[str], float]], scheme: Scheme, notes: Ints
) -> list[tuple[Strings, Ints, Floats]]:
    """BM25F of every chunk of the notes given, for terms and what each counts (its idf, times its weight).

    The same formula over two fields, prose and code. Per note: the ids of the chunks of its segment, which of
    them are the note's, and their scores.
    """
    results: dict[int, tuple[Strings, Ints, Floats]] = {}
    for view in collection.views:
        inside = np.sort(notes[(notes >= view.base) & (notes < view.base + len(view.segment))]) - view.base
        if len(inside):
            chunks = _Chunks(view, inside, collection.chunk_averages, scheme)
            for terms, weight in weighted:
                chunks.add(terms, weight)
            results.update(chunks.by_note())
    return [results[note] for note in notes.tolist()]


def idf(count: int, df: int) -> float:
    """``log(1 + (N - df + 0.5) / (df + 0.5))``: never negative."""
    return float(np.log1p((count - df + 0.5) / (df + 0.5)))


def _rows(segment: Segment, terms: Sequence[str]) -> tuple[Ints, Ints]:
    """Keys and counts of all these terms, by key."""
    found = [segment.rows(number) for number in map(segment.term, terms) if number >= 0]
    if len(found) == 1:
        return found[0]
    keys = _joined([keys for keys, _ in found], np.uint32)
    order = np.argsort(keys, kind="stable")
    return keys[order], _joined([counts for _, counts in found], np.uint32)[order]


def _by_note(notes: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Values of the same note, which stand side by side, added up."""
    new = np.empty(len(notes), bool)
    new[0] = True
    np.not_equal(notes[1:], notes[:-1], out=new[1:])
    firsts = np.flatnonzero(new)
    return notes[firsts], np.add.reduceat(values, firsts)


class _Chunks:
    """The chunks of some notes of one segment, side by side, and their scores so far."""

    def __init__(self, view: View, notes: Ints, averages: Floats, scheme: Scheme) -> None:
        tables = view.segment.tables
        first = tables.first_chunks.astype(np.int64)
        self._view, self._notes, self._k1 = view, notes, scheme.k1
        self._sizes = lengths_of(first)[notes]
        self._ends = np.cumsum(self._sizes)
        self._numbers = runs(first[notes], self._sizes)
        self._lengths = tables.chunk_lengths.reshape(-1, 2)[self._numbers].astype(np.int64)
        self._weights = (scheme.weights[BODY], scheme.weights[CODE])
        b = np.array([scheme.b[BODY], scheme.b[CODE]])
        self._norms = 1 - b + b * self._lengths / averages
        self._rank = np.full(len(view.segment), -1, np.int64)
        self._rank[notes] = np.arange(len(notes))
        self._scores = np.zeros(len(self._numbers))
        self._bounds = [self._first_positions(column) for column in (0, 1)]

    def add(self, terms: Sequence[str], weight: float) -> None:
        tf = np.zeros(len(self._scores))
        for number in map(self._view.segment.term, terms):
            if number >= 0:
                self._count(number, tf)
        self._scores += weight * tf / (self._k1 + tf)

    def by_note(self) -> dict[int, tuple[Strings, Ints, Floats]]:
        ids = self._view.segment.tables.chunk_ids
        firsts = (self._ends - self._sizes).tolist()
        return {
            note + self._view.base: (ids, self._numbers[first:end], self._scores[first:end])
            for note, first, end in zip(self._notes.tolist(), firsts, self._ends.tolist(), strict=True)
        }

    def _count(self, term: int, tf: Floats) -> None:
        keys, counts = self._view.segment.rows(term)
        ranks = self._rank[keys >> FIELD_BITS]
        fields = keys & FIELD_MASK
        ends = np.cumsum(counts, dtype=np.int64)
        positions: Ints | None = None
        for column, field in enumerate((BODY, CODE)):
            rows = np.flatnonzero((ranks >= 0) & (fields == field))
            if not len(rows):
                continue
            positions = self._view.segment.positions(term) if positions is None else positions
            sizes = counts[rows].astype(np.int64)
            at = positions[runs(ends[rows] - sizes, sizes)].astype(np.int64)
            places = np.repeat(ranks[rows], sizes) << 32 | at
            chunks = np.searchsorted(self._bounds[column], places, side="right") - 1
            occurrences = np.bincount(chunks, minlength=len(tf))
            tf += self._weights[column] * occurrences / self._norms[:, column]

    def _first_positions(self, column: int) -> Ints:
        """Where each chunk begins in its note's body or code, under the note's rank: ascending over all."""
        steps = self._lengths[:, column] + GAP
        ends = np.cumsum(steps)
        before = np.concatenate([[0], ends])[self._ends - self._sizes]
        places = ends - steps - np.repeat(before, self._sizes)
        ranks = np.repeat(np.arange(len(self._sizes), dtype=np.int64), self._sizes)
        first: Ints = ranks << 32 | places
        return first


def _living_chunk_lengths(view: View) -> Ints:
    tables = view.segment.tables
    living = np.repeat(view.alive, lengths_of(tables.first_chunks))
    return tables.chunk_lengths.reshape(-1, 2)[living]


def _means(lengths: Sequence[Ints], width: int = FIELD_SLOTS) -> Floats:
    totals, present = np.zeros(width, np.int64), np.zeros(width, np.int64)
    for part in lengths:
        for slot, column in enumerate(part.T):
            totals[slot] += column.sum(dtype=np.int64)
            present[slot] += np.count_nonzero(column)
    return np.where(present > 0, totals / np.maximum(present, 1), 1.0)


def _slots(values: Sequence[float]) -> Floats:
    return np.array([*values, *[0.0] * (FIELD_SLOTS - len(values))])


def _joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)
