"""BM25F over posting arrays: Robertson and Zaragoza, *The Probabilistic Relevance Framework* (2009), 3.6.

For a term and a note d, over the fields f (title, body, ...)::

    tf(d)    = sum over f of  weight_f * count_f(d) / (1 - b_f + b_f * length_f(d) / average_f)
    idf      = log(1 + (N - df + 0.5) / (df + 0.5))
    score(d) = sum over terms of  idf * tf(d) / (k1 + tf(d))

Counts are first added over the fields, and then saturated once, with one idf; a sum of BM25 scores per field
would saturate the count of each field. N and df count live notes, that is, notes that are not deleted.
``average_f`` is the mean length over the notes that have the field. Most notes have no alias and no code; if
these notes counted, the alias of a note would seem extremely long.

Alternatives (``link*``, the words within one edit) count as one term: their counts are added, and df counts
the union of their notes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.store.keyword.segment import (
    BODY,
    CODE,
    FIELD_BITS,
    FIELD_MASK,
    FIELD_SLOTS,
    FIELDS,
    POSITION_BITS,
    Bools,
    Ints,
)
from vaultseek.store.keyword.snapshot import Floats, SegmentView, Snapshot, joined

K1 = 1.2
"""Saturation constant: the weighted term frequency at which a term reaches half of its maximum score."""
FIELD_WEIGHTS = {
    "title": 2.5, "aliases": 2.5, "headings": 1.0, "tags": 1.0, "path": 0.5, "body": 1.0, "code": 0.8,
}  # fmt: skip
"""Weight of an occurrence in each field."""
FIELD_B = {
    "title": 0.5, "aliases": 0.3, "headings": 0.5, "tags": 0.3, "path": 0.3, "body": 0.5, "code": 0.5,
}  # fmt: skip
"""Length normalization of each field, from 0 (none) to 1 (full)."""


TermNumbers = Sequence[tuple[SegmentView, Sequence[int]]]
"""For each segment, the vocabulary numbers of a term and its alternatives."""


@dataclass(frozen=True, slots=True)
class FieldNorms:
    """Constants for weighting an occurrence by its field and the field's length, each float64[8]."""

    weights: Floats
    b: Floats
    rate: Floats

    @classmethod
    def of(cls, averages: Floats) -> FieldNorms:
        """Return the norms for the average field lengths ``averages``."""
        b = _by_slot(FIELD_B)
        return cls(_by_slot(FIELD_WEIGHTS), b, b / averages)

    def weigh(self, lengths: Ints, keys: Ints, counts: Ints) -> Floats:
        """Return the weighted term frequency of each row, given the length of the row's field."""
        field = keys & FIELD_MASK
        norms = 1 - self.b[field] + self.rate[field] * lengths
        weighted: Floats = self.weights[field] * counts / norms
        return weighted


@dataclass(frozen=True, slots=True)
class TermScores:
    """Scores of one term in the notes that contain it; alternatives count as one term.

    notes: int32[df], numbered across all segments, ascending. scores: float64[df].
    """

    df: int
    idf: float
    notes: Ints
    scores: Floats

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return self.notes.nbytes + self.scores.nbytes

    def at(self, notes: Ints) -> tuple[Floats, Bools]:
        """Return the score of each of ``notes`` and a mask of the notes that contain the term. ``notes`` may
        be in any order; notes without the term score 0."""
        if not len(self.notes):
            return np.zeros(len(notes)), np.zeros(len(notes), np.bool_)
        rows = np.minimum(self.notes.searchsorted(notes), len(self.notes) - 1)
        present = self.notes[rows] == notes
        return present * self.scores[rows], present


def score_terms(snapshot: Snapshot, numbers: TermNumbers) -> TermScores:
    """Score every note that contains any of the terms in ``numbers``, which count as one term."""
    rows = [(view, *view.segment.rows(term)) for view, terms in numbers for term in terms]
    keys = joined([keys.astype(np.int64) + (view.base << FIELD_BITS) for view, keys, _ in rows], np.int64)
    counts = joined([counts for _, _, counts in rows], np.uint32)
    lengths = joined([view.segment.tables.lengths[keys] for view, keys, _ in rows], np.uint32)
    if any(len(terms) > 1 for _, terms in numbers):
        order = np.argsort(keys, kind="stable")
        keys, counts, lengths = keys[order], counts[order], lengths[order]
    weighted = FieldNorms.of(snapshot.averages).weigh(lengths, keys, counts)
    notes, tf = _sum_by_run(keys >> FIELD_BITS, weighted)
    if not all(view.all_alive for view, _ in numbers):
        living = snapshot.alive[notes]
        notes, tf = notes[living], tf[living]
    df = len(tf)
    rarity = idf(snapshot.count, df)
    return TermScores(df, rarity, notes.astype(np.int32), rarity * tf / (K1 + tf))


def score_chunks(snapshot: Snapshot, places: Sequence[Ints], weights: Sequence[float]) -> Floats:
    """Return the score of each chunk, float64[chunk_count]: the sum over terms of weight times score.

    ``places`` has the occurrences of each term, ascending (see ``segment``). Uses the same formula over two
    fields, prose and code, without the idf.
    """
    of_terms = np.repeat(np.arange(len(places)), [*map(len, places)])
    everything = joined(places, np.int64)
    fields = everything >> POSITION_BITS & FIELD_MASK
    of_text = np.flatnonzero((fields == BODY) | (fields == CODE))
    if not len(of_text):
        return np.zeros(snapshot.chunk_count)
    field_weights = np.array([FIELD_WEIGHTS["body"], FIELD_WEIGHTS["code"]])
    b = np.array([FIELD_B["body"], FIELD_B["code"]])
    table, size = snapshot.chunk_places, 2 * snapshot.chunk_count
    starts = table.firsts.searchsorted(everything[of_text], side="right") - 1
    keys, counts = _count_runs(of_terms[of_text] * size + starts)
    terms, starts = np.divmod(keys, size)
    slots = table.slots[starts]
    column = slots & 1
    norms = 1 - b[column] + b[column] * snapshot.chunk_lengths[slots] / snapshot.chunk_averages[column]
    weighted = field_weights[column] * counts / norms
    numbers = terms * size + slots
    order = np.argsort(numbers, kind="stable")
    numbers, tf = _sum_by_run(numbers[order] >> 1, weighted[order])
    terms, chunks = np.divmod(numbers, snapshot.chunk_count)
    scores = np.array(weights)[terms] * (tf / (K1 + tf))
    totals: Floats = np.bincount(chunks, scores, snapshot.chunk_count).astype(np.float64, copy=False)
    return totals


def idf(count: int, df: int) -> float:
    """Return ``log(1 + (N - df + 0.5) / (df + 0.5))``, which is never negative."""
    return math.log1p((count - df + 0.5) / (df + 0.5))


def _sum_by_run(keys: Ints, values: Floats) -> tuple[Ints, Floats]:
    firsts = run_firsts(keys)
    return keys[firsts], np.add.reduceat(values, firsts)


def _count_runs(keys: Ints) -> tuple[Ints, Ints]:
    firsts = run_firsts(keys)
    ends = np.empty_like(firsts)
    ends[:-1], ends[-1] = firsts[1:], len(keys)
    return keys[firsts], ends - firsts


def run_firsts(keys: Ints) -> Ints:
    """Return the index of the first key of each run of equal keys."""
    begins = np.ones(len(keys), np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=begins[1:])
    firsts: Ints = np.flatnonzero(begins)
    return firsts


def _by_slot(values: Mapping[str, float]) -> Floats:
    return np.array([*(values[field] for field in FIELDS), *[0.0] * (FIELD_SLOTS - len(FIELDS))])
