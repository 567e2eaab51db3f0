"""Proximity score: one more BM25 term for each pair of query words that occur near each other.

A note is a better match if two adjacent query words occur near each other in it (sequential dependence model,
Metzler and Croft, SIGIR 2005, 3.2: unordered windows). ``near`` counts the places where the second word is at
most ``WINDOW`` positions before or after the first, within one field::

    score = sum over pairs of  idf(pair) * near / (near + k1 * (1 - b + b * length / average))

``idf(pair)`` is based on the number of notes with both words, whether near each other or not. That number is
known without reading positions, and at most that many notes contain the pair.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.store.keyword import bm25f
from vaultseek.store.keyword.segment import BODY, FIELD_SLOTS, NOTE_SHIFT, Ints
from vaultseek.store.keyword.snapshot import Floats, Snapshot, joined

WINDOW = 8
"""Maximum distance in positions at which two words count as near each other."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two adjacent words of a query, as term numbers, with the pair's idf."""

    first: int
    second: int
    idf: float


def proximity(
    snapshot: Snapshot,
    pairs: Sequence[Pair],
    places: Mapping[int, Ints],
    notes: Ints,
) -> Floats:
    """Return the proximity score of each note, float64[len(notes)].

    ``notes`` are ascending note numbers across all segments. ``places`` maps each term to the ascending
    places (see ``segment``) at which it occurs in these notes. These places contain a note's index in
    ``notes`` instead of its number.
    """
    scores = np.zeros(len(notes))
    if not pairs or not len(notes):
        return scores
    near = _count_near(pairs, places, len(notes))
    b = bm25f.FIELD_B["body"]
    norms = bm25f.K1 * (1 - b + b * _body_lengths(snapshot, notes) / snapshot.averages[BODY])
    for pair, counts in zip(pairs, near, strict=True):
        scores += pair.idf * counts / (counts + norms)
    return scores


def _count_near(pairs: Sequence[Pair], places: Mapping[int, Ints], size: int) -> Ints:
    """Return, for each pair and note, the number of occurrences of the first word that are near the second
    word: int64[P, n]."""
    note_bits = size.bit_length()
    first, second = (
        np.concatenate([places[term] | at << NOTE_SHIFT + note_bits for at, term in enumerate(terms)])
        for terms in ([pair.first for pair in pairs], [pair.second for pair in pairs])
    )
    if not len(second):
        return np.zeros((len(pairs), size), np.int64)
    indexes = np.minimum(second.searchsorted(first - WINDOW), len(second) - 1)
    near = first[np.abs(second[indexes] - first) <= WINDOW] >> NOTE_SHIFT
    rows = (near >> note_bits) * size + (near & (1 << note_bits) - 1)
    return np.bincount(rows, minlength=len(pairs) * size).reshape(len(pairs), size)


def _body_lengths(snapshot: Snapshot, notes: Ints) -> Ints:
    return joined(
        [
            view.segment.tables.lengths[inside * FIELD_SLOTS + BODY]
            for view, inside in snapshot.split_notes(notes)
        ],
        np.uint32,
    )
