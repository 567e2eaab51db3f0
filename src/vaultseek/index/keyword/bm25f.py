"""BM25F over posting arrays: Robertson and Zaragoza, *The Probabilistic Relevance Framework* (2009), 3.6.

For a term and a note d, over the fields f (title, body, ...)::

    tf(d)    = sum over f of  weight_f * count_f(d) / (1 - b_f + b_f * length_f(d) / average_f)
    idf      = log(1 + (N - df + 0.5) / (df + 0.5))
    score(d) = sum over terms of  idf * tf(d) / (k1 + tf(d))

Counts are added over the fields first and saturated once, and there is one idf: that is the difference to
adding up a BM25 score per field. N and df count living notes. ``average_f`` is the mean over the notes that
have the field at all: most have no alias and no code, and if they counted, a note with one would seem
immensely long.

Alternatives (``link*``, the words within one edit) count as one term: their counts are added, and df is that
of their union.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.index.keyword.segment import (
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
    run_indexes,
    run_lengths,
)
from vaultseek.index.keyword.snapshot import Floats, SegmentView, Snapshot, joined

K1 = 1.2
"""Saturation: the term frequency that gives half of the highest score."""
FIELD_WEIGHTS = {
    "title": 2.5, "aliases": 2.5, "headings": 1.0, "tags": 1.0, "path": 0.5, "body": 1.0, "code": 0.8,
}  # fmt: skip
"""Weight of an occurrence in each field."""
FIELD_B = {
    "title": 0.5, "aliases": 0.3, "headings": 0.5, "tags": 0.3, "path": 0.3, "body": 0.5, "code": 0.5,
}  # fmt: skip
"""Length normalization of each field, from 0 (none) to 1 (full)."""


@dataclass(frozen=True, slots=True)
class Parameters:
    """Weight and length normalization of each field, in the order of ``FIELDS``, and the saturation."""

    weights: tuple[float, ...] = tuple(FIELD_WEIGHTS[field] for field in FIELDS)
    b: tuple[float, ...] = tuple(FIELD_B[field] for field in FIELDS)
    k1: float = K1

    @classmethod
    def with_weights(cls, weights: dict[str, float]) -> Parameters:
        """Return the default parameters with other weights of some fields.

        Raises ``ValueError`` for an unknown field.
        """
        if unknown := set(weights) - set(FIELDS):
            raise ValueError(f"no field {', '.join(sorted(unknown))}; there are {', '.join(FIELDS)}")
        return cls(tuple((FIELD_WEIGHTS | weights)[field] for field in FIELDS))


@dataclass(frozen=True, slots=True)
class TermScores:
    """The scores of one term: ``notes``, numbered over all segments and ascending, and ``scores``."""

    df: int
    idf: float
    notes: Ints
    scores: Floats


def score_terms(snapshot: Snapshot, terms: Sequence[str], parameters: Parameters) -> TermScores:
    """Score every note that has any of the terms, which count as one term."""
    weights, b = _by_slot(parameters.weights), _by_slot(parameters.b)
    rate = b / snapshot.averages
    notes: list[Ints] = []
    frequencies: list[Floats] = []
    for view in snapshot.views:
        keys, counts = _rows(view.segment, terms)
        if not len(keys):
            continue
        field = keys & FIELD_MASK
        lengths = view.segment.tables.lengths[keys]
        weighted = weights[field] * counts / (1 - b[field] + rate[field] * lengths)
        matches, sums = _sum_by_note(keys >> FIELD_BITS, weighted)
        living = view.alive[matches]
        notes.append(matches[living].astype(np.int64) + view.base)
        frequencies.append(sums[living])
    tf = joined(frequencies, np.float64)
    df = len(tf)
    rarity = idf(snapshot.count, df)
    return TermScores(df, rarity, joined(notes, np.int64), rarity * tf / (parameters.k1 + tf))


def top_notes(scores: Floats, notes: Ints, candidates: Bools, k: int) -> Ints:
    """Return the ``k`` best candidates with a positive score, best first; ties by the ledger's id."""
    matches = np.flatnonzero(candidates & (scores > 0))
    if 0 < k < len(matches):
        threshold = np.partition(scores[matches], len(matches) - k)[len(matches) - k]
        matches = matches[scores[matches] >= threshold]
    return matches[np.lexsort((notes[matches], -scores[matches]))][: max(k, 0)]


def score_chunks(
    snapshot: Snapshot, weighted: Sequence[tuple[Sequence[str], float]], parameters: Parameters, notes: Ints
) -> list[tuple[Strings, Ints, Floats]]:
    """Score every chunk of these notes for (terms, weight), where the weight includes the idf.

    The same formula over two fields, prose and code. Returns per note: the chunk ids of its segment, the
    indexes in them of the note's chunks, and the scores of these.
    """
    results: dict[int, tuple[Strings, Ints, Floats]] = {}
    for view in snapshot.views:
        inside = np.sort(notes[(notes >= view.base) & (notes < view.base + len(view.segment))]) - view.base
        if len(inside):
            chunks = _ChunkScorer(view, inside, snapshot.chunk_averages, parameters)
            for terms, weight in weighted:
                chunks.add(terms, weight)
            results.update(chunks.by_note())
    return [results[note] for note in notes.tolist()]


def idf(count: int, df: int) -> float:
    """Return ``log(1 + (N - df + 0.5) / (df + 0.5))``, which is never negative."""
    return float(np.log1p((count - df + 0.5) / (df + 0.5)))


def _rows(segment: Segment, terms: Sequence[str]) -> tuple[Ints, Ints]:
    """Return keys and counts of all these terms, ordered by key."""
    rows = [segment.rows(number) for number in map(segment.term, terms) if number >= 0]
    if len(rows) == 1:
        return rows[0]
    keys = joined([keys for keys, _ in rows], np.uint32)
    order = np.argsort(keys, kind="stable")
    return keys[order], joined([counts for _, counts in rows], np.uint32)[order]


def _sum_by_note(notes: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Add up the values of each note; those of the same note stand side by side."""
    begins = np.empty(len(notes), bool)
    begins[0] = True
    np.not_equal(notes[1:], notes[:-1], out=begins[1:])
    firsts = np.flatnonzero(begins)
    return notes[firsts], np.add.reduceat(values, firsts)


class _ChunkScorer:
    """The scores of the chunks of some notes of one segment, added up term by term."""

    def __init__(self, view: SegmentView, notes: Ints, averages: Floats, parameters: Parameters) -> None:
        tables = view.segment.tables
        first = tables.first_chunks.astype(np.int64)
        self._view, self._notes, self._k1 = view, notes, parameters.k1
        self._sizes = run_lengths(first)[notes]
        self._ends = np.cumsum(self._sizes)
        self._numbers = run_indexes(first[notes], self._sizes)
        self._lengths = tables.chunk_lengths.reshape(-1, 2)[self._numbers].astype(np.int64)
        self._weights = (parameters.weights[BODY], parameters.weights[CODE])
        b = np.array([parameters.b[BODY], parameters.b[CODE]])
        self._norms = 1 - b + b * self._lengths / averages
        self._rank = np.full(len(view.segment), -1, np.int64)
        self._rank[notes] = np.arange(len(notes))
        self._scores = np.zeros(len(self._numbers))
        self._bounds = [self._first_positions(column) for column in (0, 1)]

    def add(self, terms: Sequence[str], weight: float) -> None:
        """Add the scores of one query term."""
        tf = np.zeros(len(self._scores))
        for number in map(self._view.segment.term, terms):
            if number >= 0:
                self._add_frequencies(number, tf)
        self._scores += weight * tf / (self._k1 + tf)

    def by_note(self) -> dict[int, tuple[Strings, Ints, Floats]]:
        """Return the chunks and scores of each note, as ``score_chunks`` does."""
        ids = self._view.segment.tables.chunk_ids
        firsts = (self._ends - self._sizes).tolist()
        return {
            note + self._view.base: (ids, self._numbers[first:end], self._scores[first:end])
            for note, first, end in zip(self._notes.tolist(), firsts, self._ends.tolist(), strict=True)
        }

    def _add_frequencies(self, term: int, tf: Floats) -> None:
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
            in_field = positions[run_indexes(ends[rows] - sizes, sizes)].astype(np.int64)
            places = np.repeat(ranks[rows], sizes) << 32 | in_field
            chunks = np.searchsorted(self._bounds[column], places, side="right") - 1
            occurrences = np.bincount(chunks, minlength=len(tf))
            tf += self._weights[column] * occurrences / self._norms[:, column]

    def _first_positions(self, column: int) -> Ints:
        """Return where each chunk begins, ascending: rank of its note << 32 | position in the field."""
        steps = self._lengths[:, column] + GAP
        ends = np.cumsum(steps)
        before = np.concatenate([[0], ends])[self._ends - self._sizes]
        positions = ends - steps - np.repeat(before, self._sizes)
        ranks = np.repeat(np.arange(len(self._sizes), dtype=np.int64), self._sizes)
        places: Ints = ranks << 32 | positions
        return places


def _by_slot(values: Sequence[float]) -> Floats:
    return np.array([*values, *[0.0] * (FIELD_SLOTS - len(values))])
