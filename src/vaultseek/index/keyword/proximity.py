"""Which notes have the query's words near each other: one more BM25 term for every pair of them.

Two words that follow each other in the query mean more where they stand together (sequential dependence,
Metzler and Croft, SIGIR 2005, 3.2: unordered windows). A pair counts as often as its second word stands at
most ``WINDOW`` positions before or behind the first, within one field::

    score = sum over pairs of  idf(pair) * near / (near + k1 * (1 - b + b * length / average))

``idf(pair)`` is that of the notes with both words, near each other or not: an upper bound of the notes with
the pair, known without reading a position.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.index.keyword.bm25f import Collection, Floats, Scheme, View
from vaultseek.index.keyword.postings import BODY, FIELD_BITS, FIELD_SLOTS, Bools, Ints, Segment

WINDOW = 8
"""Positions within which two words are near each other."""
_POSITION_BITS = 32


@dataclass(frozen=True, slots=True)
class Pair:
    """Two words that follow each other in a query, each by the terms that it was looked for with."""

    first: Sequence[str]
    second: Sequence[str]
    idf: float


def proximity(collection: Collection, pairs: Sequence[Pair], scheme: Scheme, notes: Ints) -> Floats:
    """float64[len(notes)]: what the pairs give to each of the notes, numbered over all segments."""
    scores = np.zeros(len(notes))
    for view in collection.views:
        inside = np.flatnonzero((notes >= view.base) & (notes < view.base + len(view.segment)))
        if len(inside) and pairs:
            scores[inside] = _of_segment(view, pairs, scheme, notes[inside] - view.base, collection.averages)
    return scores


def _of_segment(view: View, pairs: Sequence[Pair], scheme: Scheme, notes: Ints, averages: Floats) -> Floats:
    possible = np.zeros(len(view.segment), np.bool_)
    possible[notes] = True
    lengths = view.segment.tables.lengths[notes.astype(np.int64) * FIELD_SLOTS + BODY]
    b = scheme.b[BODY]
    norms = scheme.k1 * (1 - b + b * lengths / averages[BODY])
    known: dict[str, Ints] = {}
    scores = np.zeros(len(notes))
    for pair in pairs:
        first, second = (_places(view, terms, possible, known) for terms in (pair.first, pair.second))
        near = np.bincount(_near(first, second), minlength=len(view.segment))[notes]
        scores += pair.idf * near / (near + norms)
    return scores


def _near(first: Ints, second: Ints) -> Ints:
    """The note of every place in ``first`` that has one of ``second`` around it in the same field."""
    at = np.searchsorted(second, first - WINDOW)
    there = at < len(second)
    at, first = at[there], first[there]
    found: Ints = first[np.abs(second[at] - first) <= WINDOW] >> (_POSITION_BITS + FIELD_BITS)
    return found


def _places(view: View, terms: Sequence[str], possible: Bools, known: dict[str, Ints]) -> Ints:
    """Return the places of the terms in the possible notes, ascending; ``known`` caches each term's."""
    for term in terms:
        if term not in known:
            number = view.segment.term(term)
            known[term] = (
                _places_of_term(view.segment, number, possible) if number >= 0 else np.zeros(0, np.int64)
            )
    places = [known[term] for term in terms]
    if len(places) == 1:
        return places[0]
    joined: Ints = np.sort(np.concatenate([*places, np.zeros(0, np.int64)]))
    return joined


def _places_of_term(segment: Segment, term: int, possible: Bools) -> Ints:
    """Return each occurrence in the possible notes as one number made of note, field and position."""
    keys, counts = segment.rows(term)
    rows = possible[keys >> FIELD_BITS]
    positions = segment.positions(term)[np.repeat(rows, counts)].astype(np.int64)
    places: Ints = np.repeat(keys[rows].astype(np.int64), counts[rows]) << _POSITION_BITS | positions
    return places
