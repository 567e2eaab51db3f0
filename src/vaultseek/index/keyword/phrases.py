"""Which notes contain words one after the other, by positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vaultseek.index.keyword.bm25f import Collection, View
from vaultseek.index.keyword.postings import FIELD_BITS, Bools, Ints, Segment

POSITION_BITS = 32


def notes_with_phrase(collection: Collection, words: Sequence[tuple[int, str]]) -> Bools:
    """bool[size]: living notes with every term at its distance, all within one value of one field.

    ``words`` are (distance from the first, term). No words: no notes.
    """
    found = np.zeros(collection.size, np.bool_)
    if words:
        for view in collection.views:
            notes = _matching(view, words)
            found[notes + view.base] = view.alive[notes]
    return found


def _matching(view: View, words: Sequence[tuple[int, str]]) -> Ints:
    """Notes of the segment, from the rarest word on, looking only at notes that still can match."""
    numbered = [(view.segment.term(term), distance) for distance, term in words]
    if any(number < 0 for number, _ in numbered):
        return np.zeros(0, np.int64)
    firsts = view.segment.tables.first_positions
    numbered.sort(key=lambda word: int(firsts[word[0] + 1]) - int(firsts[word[0]]))
    possible = np.ones(len(view.segment), np.bool_)
    found: Ints | None = None
    for number, distance in numbered:
        here = places(view.segment, number, possible) - distance
        found = here if found is None else np.intersect1d(found, here, assume_unique=True)
        possible = np.zeros(len(view.segment), np.bool_)
        possible[found >> (POSITION_BITS + FIELD_BITS)] = True
    return np.flatnonzero(possible)


def places(segment: Segment, term: int, possible: Bools) -> Ints:
    """Every occurrence in the notes in question as one number: note, field and position."""
    keys, counts = segment.rows(term)
    wanted = possible[keys >> FIELD_BITS]
    positions = segment.positions(term)[np.repeat(wanted, counts)].astype(np.int64)
    places: Ints = np.repeat(keys[wanted].astype(np.int64), counts[wanted]) << POSITION_BITS | positions
    return places
