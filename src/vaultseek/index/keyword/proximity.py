"""Proximity: notes with the query's words near each other, by one more BM25 term for each pair of words.

Two adjacent words of a query mean more where they stand together (sequential dependence model, Metzler and
Croft, SIGIR 2005, 3.2: unordered windows). A pair counts as often as its second word is at most
``WINDOW`` positions before or after the first, within one field::

    score = sum over pairs of  idf(pair) * near / (near + k1 * (1 - b + b * length / average))

``idf(pair)`` is that of the notes with both words, near each other or not: an upper bound of the notes with
the pair that is known without reading positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.index.keyword.bm25f import Parameters
from vaultseek.index.keyword.segment import BODY, FIELD_BITS, FIELD_SLOTS, Bools, Ints, Segment
from vaultseek.index.keyword.snapshot import Floats, SegmentView, Snapshot

WINDOW = 8
"""Distance in positions up to which two words are near each other."""
_POSITION_BITS = 32


@dataclass(frozen=True, slots=True)
class Pair:
    """Two adjacent words of a query, each as the terms that it matches."""

    first: Sequence[str]
    second: Sequence[str]
    idf: float


def proximity(snapshot: Snapshot, pairs: Sequence[Pair], parameters: Parameters, notes: Ints) -> Floats:
    """Return the proximity score of each note, float64[len(notes)]; notes are numbered over all segments."""
    scores = np.zeros(len(notes))
    for view in snapshot.views:
        inside = np.flatnonzero((notes >= view.base) & (notes < view.base + len(view.segment)))
        if len(inside) and pairs:
            scores[inside] = _score_segment(
                view, pairs, parameters, notes[inside] - view.base, snapshot.averages
            )
    return scores


def _score_segment(
    view: SegmentView, pairs: Sequence[Pair], parameters: Parameters, notes: Ints, averages: Floats
) -> Floats:
    candidates = np.zeros(len(view.segment), np.bool_)
    candidates[notes] = True
    lengths = view.segment.tables.lengths[notes.astype(np.int64) * FIELD_SLOTS + BODY]
    b = parameters.b[BODY]
    norms = parameters.k1 * (1 - b + b * lengths / averages[BODY])
    cache: dict[str, Ints] = {}
    scores = np.zeros(len(notes))
    for pair in pairs:
        first, second = (_places(view, terms, candidates, cache) for terms in (pair.first, pair.second))
        near = np.bincount(_notes_with_near(first, second), minlength=len(view.segment))[notes]
        scores += pair.idf * near / (near + norms)
    return scores


def _notes_with_near(first: Ints, second: Ints) -> Ints:
    """Return the note of each place in ``first`` that has one of ``second`` around it in the same field."""
    indexes = np.searchsorted(second, first - WINDOW)
    exists = indexes < len(second)
    indexes, first = indexes[exists], first[exists]
    notes: Ints = first[np.abs(second[indexes] - first) <= WINDOW] >> (_POSITION_BITS + FIELD_BITS)
    return notes


def _places(view: SegmentView, terms: Sequence[str], candidates: Bools, cache: dict[str, Ints]) -> Ints:
    """Return the places of any of the terms in the candidate notes, ascending; ``cache`` is by term."""
    for term in terms:
        if term not in cache:
            number = view.segment.term(term)
            cache[term] = (
                _term_places(view.segment, number, candidates) if number >= 0 else np.zeros(0, np.int64)
            )
    places = [cache[term] for term in terms]
    if len(places) == 1:
        return places[0]
    joined: Ints = np.sort(np.concatenate([*places, np.zeros(0, np.int64)]))
    return joined


def _term_places(segment: Segment, term: int, candidates: Bools) -> Ints:
    """Return each occurrence in the candidate notes as one number made of note, field and position."""
    keys, counts = segment.rows(term)
    rows = candidates[keys >> FIELD_BITS]
    positions = segment.positions(term)[np.repeat(rows, counts)].astype(np.int64)
    places: Ints = np.repeat(keys[rows].astype(np.int64), counts[rows]) << _POSITION_BITS | positions
    return places
