"""Single terms of a snapshot: their scores in notes and passages, and their places.

All of it is computed when a search asks for it and kept in the snapshot's cache, so that the next search with
the word only adds up. Of a common word the places are read again for the notes that a search asks about:
there are few of these, and many places.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vaultseek.store.keyword.bm25f import (
    COMMON_SHARE,
    DEFAULT_PARAMETERS,
    ChunkScores,
    Parameters,
    TermNumbers,
    TermScores,
    score_chunks,
    score_terms,
)
from vaultseek.store.keyword.common_term import CommonNotes, CommonTerm, row_starts
from vaultseek.store.keyword.fuzzy import terms_with_prefix, terms_within_one_edit
from vaultseek.store.keyword.segment import NOTE_SHIFT, Ints
from vaultseek.store.keyword.snapshot import ByteCache, SegmentView, Snapshot, joined
from vaultseek.store.keyword.strings import first_bytes

COMMON_ROWS = 16_384
"""Rows from which a term is common, if it also is in many of all notes."""
RARE_NOTES = 4096
"""Notes with a term up to which its places and the scores of its passages are kept for the next search."""
ALTERNATIVES = 16
"""Alternatives, each of which raises that number, up to here: each has to be looked up by itself."""


class TermIndex:
    """The terms of one snapshot for one search. Alternatives count as one term."""

    def __init__(self, snapshot: Snapshot, parameters: Parameters) -> None:
        self._snapshot = snapshot
        self._parameters = parameters
        # Other parameters than the usual ones are a matter of experiments, and not worth any memory.
        usual = parameters is DEFAULT_PARAMETERS
        self._read: dict[tuple[str, ...], Ints] = {}
        self._numbers: dict[tuple[str, ...], TermNumbers] = {}
        self._scores_cache = snapshot.cache if usual else ByteCache(0)

    def scores(self, terms: tuple[str, ...]) -> TermScores | CommonTerm:
        """Return the scores of the notes that have any of the terms."""
        scores: TermScores | CommonNotes = self._scores_cache.get(
            ("term", terms), lambda: self._make_scores(terms)
        )
        if isinstance(scores, TermScores):
            return scores
        numbers = self._term_numbers(terms)
        return CommonTerm(self._snapshot, numbers, scores, self._parameters, lambda: self._whole(terms))

    def _make_scores(self, terms: tuple[str, ...]) -> TermScores | CommonNotes:
        snapshot, numbers = self._snapshot, self._term_numbers(terms)
        rows = sum(view.segment.row_count(number) for view, of_view in numbers for number in of_view)
        if rows > COMMON_ROWS and rows * COMMON_SHARE > snapshot.size:
            return CommonNotes.load(snapshot, numbers)
        return score_terms(snapshot, numbers, self._parameters)

    def _whole(self, terms: tuple[str, ...]) -> TermScores:
        snapshot, numbers = self._snapshot, self._term_numbers(terms)
        return self._scores_cache.get(
            ("whole", terms), lambda: score_terms(snapshot, numbers, self._parameters)
        )

    def _term_numbers(self, terms: tuple[str, ...]) -> TermNumbers:
        numbers = self._numbers.get(terms)
        if numbers is None:
            texts = [term.encode() for term in terms]
            heads = first_bytes(texts)
            numbers = self._numbers[terms] = [
                (view, view.segment.terms(texts, heads)) for view in self._snapshot.views
            ]
        return numbers

    def with_prefix(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words that begin with ``prefix``, the ``limit`` most frequent."""
        return terms_with_prefix(self._snapshot, prefix, limit)

    def within_one_edit(self, word: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words that are one edit from ``word``, the ``limit`` most frequent."""
        return terms_within_one_edit(self._snapshot, word, limit)

    def chunk_scores(self, terms: tuple[str, ...], df: int, notes: Ints) -> ChunkScores:
        """Return the scores of passages: of those of ``notes`` (ascending), and perhaps of others."""
        snapshot, parameters = self._snapshot, self._parameters
        if _is_common(terms, df):
            return score_chunks(snapshot, self.places(terms, df, notes), parameters)
        return self._scores_cache.get(
            ("chunks", terms), lambda: score_chunks(snapshot, self.places(terms, df, notes), parameters)
        )

    def places(self, terms: tuple[str, ...], df: int, notes: Ints) -> Ints:
        """Return where any of the terms is, ascending: in ``notes`` (ascending), and perhaps in others."""
        if _is_common(terms, df):
            places = self._read.get(terms)
            if places is None:
                places = self._read[terms] = self._places_in(terms, notes)
            return places
        return self._snapshot.cache.get(("places", terms), lambda: self._all_places(terms))

    def _all_places(self, terms: tuple[str, ...]) -> Ints:
        numbers = self._term_numbers(terms)
        return _joined((view, [view.segment.places(term) for term in of_view]) for view, of_view in numbers)

    def _places_in(self, terms: tuple[str, ...], notes: Ints) -> Ints:
        numbers = {view.base: of_view for view, of_view in self._term_numbers(terms)}
        return _joined(
            (view, [self._of_segment(view, term, inside) for term in numbers[view.base]])
            for view, inside in self._snapshot.split_notes(notes)
        )

    def _of_segment(self, view: SegmentView, term: int, notes: Ints) -> Ints:
        return view.segment.places_in(term, row_starts(self._snapshot, view, term), notes)


def _is_common(terms: tuple[str, ...], df: int) -> bool:
    """True if reading the places in some notes is less work than reading all of them, term by term."""
    return df > RARE_NOTES * min(len(terms), ALTERNATIVES)


def _joined(parts: Iterable[tuple[SegmentView, list[Ints]]]) -> Ints:
    """Join the places of some terms in some segments, with notes numbered over all segments."""
    joined_parts = [
        (np.sort(np.concatenate(places)) if len(places) > 1 else places[0]) + (view.base << NOTE_SHIFT)
        for view, places in parts
        if places
    ]
    return joined(joined_parts, np.int64)
