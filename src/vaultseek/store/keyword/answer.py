"""Answer to a keyword search: columns with values for all matching notes, and details of individual notes.

Ranking examines hundreds of notes, and an answer shows ten. Values needed for every note are arrays; the
words and passages of a note are built on request. An answer is self-contained: it reads no files and does not
change when the index does.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from vaultseek.store.keyword.query_terms import TermKind
from vaultseek.store.keyword.segment import Bools, Ints
from vaultseek.store.keyword.snapshot import ChunkIds, Floats

PASSAGES = 3
"""Maximum number of passages per note in an answer."""


def places_of(wanted: Ints, notes: Ints, order: Ints | None = None) -> Ints:
    """Return the index in ``notes`` of each ``wanted`` note; -1 if the note is missing. ``order`` sorts the
    notes, if it is known."""
    if not len(notes):
        return np.full(len(wanted), -1)
    order = notes.argsort() if order is None else order
    found = order[np.minimum(notes.searchsorted(wanted, sorter=order), len(notes) - 1)]
    return np.where(notes[found] == wanted, found, -1)


def those_within(ids: Collection[int], allowed: Ints | None) -> set[int]:
    """Return the ``ids`` that are in the sorted array ``allowed``; all ids if ``allowed`` is None."""
    if allowed is None or not ids:
        return set(ids)
    candidates = np.fromiter(ids, np.int64, len(ids))
    places = np.searchsorted(allowed, candidates)
    inside = places < len(allowed)
    inside[inside] = allowed[places[inside]] == candidates[inside]
    return set(candidates[inside].tolist())


class MatchedTerm(NamedTuple):
    """A term of the query and its matches: ``word`` as in the query, ``terms`` as in the index.

    ``fuzzy`` means that the word is missing from the vault, and ``terms`` are similar terms that replace it.
    ``df`` is the number of notes with any of the terms, which may be 0.
    """

    word: str
    terms: tuple[str, ...]
    kind: TermKind
    fuzzy: bool
    weight: float
    df: int
    idf: float


class ChunkHit(NamedTuple):
    """A matching passage and its score for the query."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Columns:
    """The notes of an answer, best first, with parallel arrays of the values that ranking needs.

    notes: int64[n], ids in the ledger. scores: float64[n], BM25F of the whole note. passage_scores:
    float64[n], BM25F of the note's best passage, 0 if only title, tags or path match. proximity: float64[n],
    the score for query words near each other. coverage: float64[n], the share of the query's words that the
    note contains, weighted by idf, from 0 to 1.
    """

    notes: Ints
    scores: Floats
    passage_scores: Floats
    proximity: Floats
    coverage: Floats


@dataclass(frozen=True, slots=True)
class Details:
    """Table of the query words that each note contains, bool[words, notes], and all passages of the notes.

    Note ``i`` has the passages from ``firsts[i]`` up to, but excluding, ``firsts[i + 1]``. firsts: int64[n +
    1]. chunks: int64[c], numbered across all segments. scores: float64[c].
    """

    words: tuple[str, ...]
    contains: Bools
    ids: ChunkIds
    firsts: Ints
    chunks: Ints
    scores: Floats

    def matched(self, row: int) -> tuple[str, ...]:
        """Return the query's words that the note with index ``row`` contains."""
        has = self.contains[:, row].tolist()
        return tuple(dict.fromkeys([word for word, found in zip(self.words, has, strict=True) if found]))

    def best_scores(self) -> Floats:
        """Return the best passage score of each note, float64[n]; 0 for a note without passages."""
        best = np.zeros(len(self.firsts) - 1)
        present = self.firsts[1:] > self.firsts[:-1]
        if len(self.scores):
            best[present] = np.maximum.reduceat(self.scores, self.firsts[:-1][present])
        return best

    def passages(self, row: int) -> tuple[ChunkHit, ...]:
        """Return the matching passages of the note with index ``row``, best first."""
        first, last = self.firsts[row : row + 2].tolist()
        scored = zip(self.scores[first:last].tolist(), self.chunks[first:last].tolist(), strict=True)
        best = sorted((each for each in scored if each[0] > 0), key=lambda each: -each[0])[:PASSAGES]
        return tuple(ChunkHit(self.ids[chunk], score) for score, chunk in best)


@dataclass(frozen=True, eq=False)
class KeywordAnswer:
    """Answer to a keyword search: the ``columns`` of the best notes, the looked-up ``terms``, and ``total``,
    the number of allowed notes that match."""

    columns: Columns
    terms: tuple[MatchedTerm, ...]
    total: int
    milliseconds: float
    details: Details = field(repr=False)

    def __len__(self) -> int:
        """Return the number of notes in the columns."""
        return len(self.columns.notes)

    @cached_property
    def rows(self) -> dict[int, int]:
        """Row numbers in ``columns``, by note id."""
        return {note: row for row, note in enumerate(self.columns.notes.tolist())}

    @cached_property
    def _order(self) -> Ints:
        return self.columns.notes.argsort()

    def places(self, notes: Ints) -> Ints:
        """Return the row in the columns of each of ``notes``; -1 for a note outside the columns."""
        return places_of(notes, self.columns.notes, self._order)

    def containing(self, notes: Ints) -> dict[str, Bools]:
        """Return, for each query word, a mask of the ``notes`` that contain it. Notes outside the columns
        count as not containing it."""
        places = self.places(notes)
        known, having = places >= 0, dict[str, Bools]()
        for word, contains in zip(self.details.words, self.details.contains, strict=True):
            has = known & contains[places] if len(self) else known
            having[word] = having[word] | has if word in having else has
        return having

    def matched(self, note: int) -> tuple[str, ...]:
        """Return the query's words that a note contains; empty for a note outside the columns."""
        row = self.rows.get(note)
        return () if row is None else self.details.matched(row)

    def passages(self, notes: Iterable[int]) -> dict[int, tuple[ChunkHit, ...]]:
        """Return, by note id, the best passages of those ``notes`` that are in the columns, best first."""
        rows = self.rows
        return {note: self.details.passages(rows[note]) for note in notes if note in rows}
