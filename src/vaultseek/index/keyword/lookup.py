"""One keyword search: the text's words against all segments, the notes ranked, their passages chosen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from vaultseek.index.keyword.analysis import Analysis, puts_no_spaces
from vaultseek.index.keyword.bm25f import (
    Collection,
    Floats,
    Scheme,
    TermScores,
    best,
    idf,
    score_chunks,
    score_terms,
)
from vaultseek.index.keyword.fuzzy import with_one_typo, with_prefix
from vaultseek.index.keyword.postings import Bools, Ints, Strings
from vaultseek.index.keyword.proximity import Pair, proximity
from vaultseek.index.keyword.query_terms import Kind, Wanted, wanted_terms

PREFIX_TERMS = 64
NEAR_TERMS = 8
"""A word that the vault does not contain is stood in for by so many at most, of each kind."""
NEAR_WORDS = 8
"""For so many words of a query words near them are looked for."""
PASSAGES = 3

PREFIX_WEIGHT = 0.8
NEAR_WEIGHT = 0.5
"""A word that the vault does not contain, by words that begin with it or are one typo away."""
NEAR_COVERED = 0.75
"""The share of a word that counts as found where words near to it stand in for it."""
NEAR_CHARS = 4
PAIR_SURFACES = 3
"""Words further apart in the query are no pair, even with nothing but stop words in between."""


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """A part of the query as it was looked for: ``word`` as asked, ``terms`` as found in the index.

    ``near`` says that the vault does not contain the word and that these terms stand in for it. ``df`` is the
    number of notes with any of the terms, 0 for a word found nowhere.
    """

    word: str
    terms: tuple[str, ...]
    kind: Kind
    near: bool
    weight: float
    df: int
    idf: float


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A passage of a note and its score for the query."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class KeywordHit:
    """A note found.

    ``matched``: the query's words that it contains. ``coverage``: their share of all the query's words, by
    idf, between 0 and 1. ``chunks``: its best passages, best first; none if only title, tags or path matched.
    ``proximity``: what it has of the query's words near each other, on the scale of the score but not in it.
    """

    note: int
    score: float
    matched: tuple[str, ...]
    coverage: float
    chunks: tuple[ChunkHit, ...]
    proximity: float = 0.0


class Lookup:
    """The text of a query, looked up: ``terms`` says what was looked for, ``hits`` who has it."""

    def __init__(self, collection: Collection, analysis: Analysis, scheme: Scheme, text: str) -> None:
        self._collection = collection
        self._scheme = scheme
        wanted = wanted_terms(text, analysis)
        exact = [self._exact(item) for item in wanted]
        known = {asked.item.surface for asked in exact if asked.item.kind != "part" and asked.scores.df}
        weighed = [asked.weighed(asked.item.surface in known) for asked in exact]
        missing = [asked.item for asked in weighed if self._is_missing(asked)][:NEAR_WORDS]
        self._asked = [self._stand_in(asked) if asked.item in missing else asked for asked in weighed]
        self._pairs = self._neighbours(analysis.stop_words)

    @property
    def terms(self) -> tuple[QueryTerm, ...]:
        """What was looked for, in the order of the query."""
        return tuple(
            QueryTerm(a.item.word, a.terms, a.item.kind, a.near, a.weight, a.scores.df, a.scores.idf)
            for a in self._asked
        )

    def hits(self, k: int, allowed: Bools) -> tuple[tuple[KeywordHit, ...], int]:
        """The ``k`` best of the notes allowed (bool[size]), and how many of these matched at all."""
        totals = np.zeros(self._collection.size)
        for asked in self._asked:
            totals[asked.scores.notes] += asked.weight * asked.scores.scores
        candidates = allowed & (totals > 0)
        chosen = best(totals, self._collection.notes, candidates, k)
        matched, coverage = self._matched(chosen)
        notes = self._collection.notes[chosen].tolist()
        scores = totals[chosen].tolist()
        near = proximity(self._collection, self._pairs, self._scheme, chosen).tolist()
        lines = zip(notes, scores, matched, coverage, self._passages(chosen), near, strict=True)
        return tuple(KeywordHit(*line) for line in lines), int(np.count_nonzero(candidates))

    def _exact(self, item: Wanted) -> _Asked:
        terms: tuple[str, ...] = (item.term,)
        weight = item.weight
        if item.kind == "prefix":
            terms = with_prefix(self._collection, item.term, PREFIX_TERMS)
            weight = PREFIX_WEIGHT
        return _Asked(item, terms, weight, score_terms(self._collection, terms, self._scheme))

    def _is_missing(self, asked: _Asked) -> bool:
        """True for a plain word that no note contains; numbers and identifiers are right or wrong."""
        item = asked.item
        plain = item.kind in ("word", "part") and len(item.word) >= NEAR_CHARS and item.word.isalpha()
        return plain and not asked.scores.df and self._collection.count > 0

    def _stand_in(self, asked: _Asked) -> _Asked:
        """The word by those that begin with it or are one typo away, if there are any."""
        begin = with_prefix(self._collection, asked.item.word, NEAR_TERMS)
        typos = with_one_typo(self._collection, asked.item.word, NEAR_TERMS)
        terms = tuple(dict.fromkeys((*begin, *typos)))
        scores = score_terms(self._collection, terms, self._scheme)
        if not scores.df:
            return asked
        return replace(asked, terms=terms, scores=scores, near=True, weight=asked.weight * NEAR_WEIGHT)

    def _matched(self, notes: Ints) -> tuple[list[tuple[str, ...]], list[float]]:
        words: list[list[str]] = [[] for _ in range(len(notes))]
        found, total = np.zeros(len(notes)), 0.0
        for asked in self._asked:
            contains = np.isin(notes, asked.scores.notes)
            importance = asked.importance(self._collection.count)
            found += contains * importance * (NEAR_COVERED if asked.near else 1.0)
            total += importance
            for at in np.flatnonzero(contains).tolist():
                words[at].append(asked.item.word)
        coverage = np.minimum(found / total, 1.0) if total else found
        return [tuple(dict.fromkeys(line)) for line in words], coverage.tolist()

    def _neighbours(self, stop_words: frozenset[str]) -> list[Pair]:
        """The query's words two by two, without those that say little and those that are pairs themselves."""
        words = [
            asked
            for asked in self._asked
            if asked.item.kind in ("word", "part")
            and asked.scores.df
            and asked.item.word not in stop_words
            and not puts_no_spaces(asked.item.word)
        ]
        pairs: list[Pair] = []
        for one, other in pairwise(sorted(words, key=lambda asked: asked.item.surface)):
            both = len(np.intersect1d(one.scores.notes, other.scores.notes, assume_unique=True))
            apart = other.item.surface - one.item.surface
            if both and apart <= PAIR_SURFACES and not set(one.terms) & set(other.terms):
                pairs.append(Pair(one.terms, other.terms, idf(self._collection.count, both)))
        return pairs

    def _passages(self, notes: Ints) -> list[tuple[ChunkHit, ...]]:
        weighted = [
            (asked.terms, asked.weight * asked.scores.idf) for asked in self._asked if asked.scores.df
        ]
        chunks = score_chunks(self._collection, weighted, self._scheme, notes)
        return [_best_passages(*of_note) for of_note in chunks]


@dataclass(frozen=True, slots=True)
class _Asked:
    item: Wanted
    terms: tuple[str, ...]
    weight: float
    scores: TermScores
    near: bool = False

    def weighed(self, known: bool) -> _Asked:
        return self if known or self.item.kind == "prefix" else replace(self, weight=self.item.weight_unknown)

    def importance(self, count: int) -> float:
        """What finding it in full would add: for a word that is nowhere, as much as for the rarest."""
        weight = self.weight / NEAR_WEIGHT if self.near else self.weight
        return weight * (self.scores.idf if self.scores.df else idf(count, 0))


def _best_passages(ids: Strings, numbers: Ints, scores: Floats) -> tuple[ChunkHit, ...]:
    order = np.argsort(-scores, kind="stable")[:PASSAGES]
    return tuple(
        ChunkHit(ids[int(numbers[at])].decode(), float(scores[at])) for at in order if scores[at] > 0
    )
