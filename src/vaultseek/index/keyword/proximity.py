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
from vaultseek.index.keyword.phrases import POSITION_BITS, places
from vaultseek.index.keyword.postings import BODY, FIELD_BITS, FIELD_SLOTS, Bools, Ints

WINDOW = 8


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
    found: Ints = first[np.abs(second[at] - first) <= WINDOW] >> (POSITION_BITS + FIELD_BITS)
    return found


def _places(view: View, terms: Sequence[str], possible: Bools, known: dict[str, Ints]) -> Ints:
    """Where any of the terms stands in the notes in question, ascending: note, field and position in one."""
    for term in terms:
        if term not in known:
            number = view.segment.term(term)
            known[term] = places(view.segment, number, possible) if number >= 0 else np.zeros(0, np.int64)
    found = [known[term] for term in terms]
    joined: Ints = found[0] if len(found) == 1 else np.sort(np.concatenate([*found, np.zeros(0, np.int64)]))
    return joined
