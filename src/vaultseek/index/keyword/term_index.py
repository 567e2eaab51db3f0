"""Single terms of a snapshot: their scores in notes and passages, and their places.

All of it is computed when a search asks for it and kept in the snapshot's cache, so that the next search with
the word only adds up. Of a common word the places are read again for the notes that a search asks about:
there are few of these, and many places.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from vaultseek.index.keyword.bm25f import (
    DEFAULT_PARAMETERS,
    ChunkScores,
    Parameters,
    TermScores,
    score_chunks,
    score_terms,
)
from vaultseek.index.keyword.segment import NOTE_SHIFT, Ints
from vaultseek.index.keyword.snapshot import ByteCache, SegmentView, Snapshot, joined

RARE_NOTES = 4096
"""Notes with a term up to which its places and the scores of its passages are kept for the next search."""


class TermIndex:
    """The terms of one snapshot, scored with the same parameters. Alternatives count as one term."""

    def __init__(self, snapshot: Snapshot, parameters: Parameters) -> None:
        self._snapshot = snapshot
        self._parameters = parameters
        # Other parameters than the usual ones are a matter of experiments, and not worth any memory.
        usual = parameters is DEFAULT_PARAMETERS
        self._scores_cache = snapshot.cache if usual else ByteCache(0)

    def scores(self, terms: tuple[str, ...]) -> TermScores:
        """Return the scores of all notes that have any of the terms."""
        return self._scores_cache.get(
            ("notes", terms), lambda: score_terms(self._snapshot, terms, self._parameters)
        )

    def chunk_scores(self, terms: tuple[str, ...], df: int, notes: Ints) -> ChunkScores:
        """Return the scores of passages: of those of ``notes`` (ascending), and perhaps of others."""
        snapshot, parameters = self._snapshot, self._parameters
        if df > RARE_NOTES:
            return score_chunks(snapshot, _places(snapshot, terms, notes), parameters)
        return self._scores_cache.get(
            ("chunks", terms), lambda: score_chunks(snapshot, self.places(terms, df, notes), parameters)
        )

    def places(self, terms: tuple[str, ...], df: int, notes: Ints) -> Ints:
        """Return where any of the terms is, ascending: in ``notes`` (ascending), and perhaps in others."""
        snapshot = self._snapshot
        if df > RARE_NOTES:
            return _places(snapshot, terms, notes)
        return snapshot.cache.get(("places", terms), lambda: _places(snapshot, terms, None))


def _places(snapshot: Snapshot, terms: Sequence[str], notes: Ints | None) -> Ints:
    """Return the places of the terms in all segments, with notes numbered over all of them."""
    parts: Iterable[tuple[SegmentView, Ints | None]] = (
        snapshot.split_notes(notes) if notes is not None else ((view, None) for view in snapshot.views)
    )
    return joined([_of_segment(view, terms, inside) for view, inside in parts], np.int64)


def _of_segment(view: SegmentView, terms: Sequence[str], notes: Ints | None) -> Ints:
    segment = view.segment
    numbers = [number for number in map(segment.term, terms) if number >= 0]
    places = joined([segment.places(number, notes) for number in numbers], np.int64)
    if len(numbers) > 1:
        places = np.sort(places)
    return places + (view.base << NOTE_SHIFT)
