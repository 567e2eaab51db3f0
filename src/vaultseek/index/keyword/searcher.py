"""One keyword search: score the query's terms in all segments, rank the notes, choose their passages."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from vaultseek.index.keyword.analysis import Analyzer, is_unspaced
from vaultseek.index.keyword.answer import ChunkHit, Columns, Details, MatchedTerm
from vaultseek.index.keyword.bm25f import (
    Parameters,
    TermScores,
    idf,
    score_chunks,
    score_terms,
    top_notes,
)
from vaultseek.index.keyword.fuzzy import terms_with_prefix, terms_within_one_edit
from vaultseek.index.keyword.proximity import Pair, proximity
from vaultseek.index.keyword.query_terms import QueryTerm, parse_query_terms
from vaultseek.index.keyword.segment import Bools, Ints, Strings
from vaultseek.index.keyword.snapshot import Floats, Snapshot

PREFIX_TERMS = 64
"""Terms that a prefix (``word*``) expands to at most."""
PREFIX_WEIGHT = 0.8
"""Weight of a prefix."""
FUZZY_WORDS = 8
"""Words of a query that similar words may stand in for."""
FUZZY_TERMS = 8
"""Terms with the same prefix, and terms within one edit, that stand in for a word at most."""
FUZZY_CHARS = 4
"""Shortest word that similar words may stand in for."""
FUZZY_WEIGHT = 0.5
"""Weight of the terms that stand in for a word, relative to that of the word."""
FUZZY_COVERAGE = 0.75
"""Share of a word's importance that counts as covered where a similar word stands in for it."""
PAIR_DISTANCE = 3
"""Tokens of the query up to which two words are a pair, if there are only stop words in between."""
PASSAGES = 3
"""Passages per note in the result."""


class Searcher:
    """One query against one snapshot: ``terms`` says what was looked up, ``search`` ranks the notes."""

    def __init__(self, snapshot: Snapshot, analyzer: Analyzer, parameters: Parameters, text: str) -> None:
        self._snapshot = snapshot
        self._parameters = parameters
        exact = [self._score(term) for term in parse_query_terms(text, analyzer)]
        known = {each.term.token for each in exact if each.term.kind != "part" and each.scores.df}
        weighted = [each.with_weight(each.term.token in known) for each in exact]
        missing = [each.term for each in weighted if self._is_missing(each)][:FUZZY_WORDS]
        self._scored = [self._substitute(each) if each.term in missing else each for each in weighted]
        self._pairs = self._adjacent_pairs(analyzer.stop_words)

    @property
    def terms(self) -> tuple[MatchedTerm, ...]:
        """The terms that were looked up, in the order of the query."""
        return tuple(
            MatchedTerm(s.term.word, s.terms, s.term.kind, s.fuzzy, s.weight, s.scores.df, s.scores.idf)
            for s in self._scored
        )

    def search(self, k: int, allowed: Bools) -> tuple[Columns, Details, int]:
        """Rank the ``k`` best of the allowed notes (bool[size]), and count how many of these match at all."""
        totals = np.zeros(self._snapshot.size)
        for each in self._scored:
            totals[each.scores.notes] += each.weight * each.scores.scores
        candidates = allowed & (totals > 0)
        top = top_notes(totals, self._snapshot.notes, candidates, k)
        contains, coverage = self._matches(top)
        details = _Details(tuple(each.term.word for each in self._scored), contains, self._passages(top))
        near = proximity(self._snapshot, self._pairs, self._parameters, top)
        columns = Columns(
            self._snapshot.notes[top], totals[top], details.best_passage_scores(), near, coverage
        )
        return columns, details, int(np.count_nonzero(candidates))

    def _score(self, term: QueryTerm) -> _ScoredTerm:
        terms: tuple[str, ...] = (term.term,)
        weight = term.weight
        if term.kind == "prefix":
            terms = terms_with_prefix(self._snapshot, term.term, PREFIX_TERMS)
            weight = PREFIX_WEIGHT
        return _ScoredTerm(term, terms, weight, score_terms(self._snapshot, terms, self._parameters))

    def _is_missing(self, scored: _ScoredTerm) -> bool:
        """True for a plain word that no note has; numbers and identifiers are never fuzzy."""
        term = scored.term
        plain = term.kind in ("word", "part") and len(term.word) >= FUZZY_CHARS and term.word.isalpha()
        return plain and not scored.scores.df and self._snapshot.count > 0

    def _substitute(self, scored: _ScoredTerm) -> _ScoredTerm:
        """Replace a missing word by those that begin with it or are within one edit, if there are any."""
        longer = terms_with_prefix(self._snapshot, scored.term.word, FUZZY_TERMS)
        edited = terms_within_one_edit(self._snapshot, scored.term.word, FUZZY_TERMS)
        terms = tuple(dict.fromkeys((*longer, *edited)))
        scores = score_terms(self._snapshot, terms, self._parameters)
        if not scores.df:
            return scored
        return replace(scored, terms=terms, scores=scores, fuzzy=True, weight=scored.weight * FUZZY_WEIGHT)

    def _matches(self, notes: Ints) -> tuple[Bools, Floats]:
        """Return which terms each note has, bool[terms, notes], and the coverage of each note."""
        contains = np.zeros((len(self._scored), len(notes)), np.bool_)
        covered, total = np.zeros(len(notes)), 0.0
        for row, each in zip(contains, self._scored, strict=True):
            row[:] = np.isin(notes, each.scores.notes)
            importance = each.importance(self._snapshot.count)
            covered += row * importance * (FUZZY_COVERAGE if each.fuzzy else 1.0)
            total += importance
        return contains, np.minimum(covered / total, 1.0) if total else covered

    def _adjacent_pairs(self, stop_words: frozenset[str]) -> list[Pair]:
        """Return the pairs of adjacent words, without stop words and terms that are pairs of characters."""
        words = [
            each
            for each in self._scored
            if each.term.kind in ("word", "part")
            and each.scores.df
            and each.term.word not in stop_words
            and not is_unspaced(each.term.word)
        ]
        pairs: list[Pair] = []
        for first, second in pairwise(sorted(words, key=lambda each: each.term.token)):
            both = len(np.intersect1d(first.scores.notes, second.scores.notes, assume_unique=True))
            distance = second.term.token - first.term.token
            if both and distance <= PAIR_DISTANCE and not set(first.terms) & set(second.terms):
                pairs.append(Pair(first.terms, second.terms, idf(self._snapshot.count, both)))
        return pairs

    def _passages(self, notes: Ints) -> list[tuple[Strings, Ints, Floats]]:
        weighted = [(each.terms, each.weight * each.scores.idf) for each in self._scored if each.scores.df]
        return score_chunks(self._snapshot, weighted, self._parameters, notes)


@dataclass(frozen=True, slots=True)
class _ScoredTerm:
    """A query term, the index terms that it matches, their scores and their weight."""

    term: QueryTerm
    terms: tuple[str, ...]
    weight: float
    scores: TermScores
    fuzzy: bool = False

    def with_weight(self, known: bool) -> _ScoredTerm:
        """Return it with the weight for a token that the vault has (``known``) or does not have."""
        return self if known or self.term.kind == "prefix" else replace(self, weight=self.term.weight_unknown)

    def importance(self, count: int) -> float:
        """Return the score of a full match; a word in no note is as important as the rarest."""
        weight = self.weight / FUZZY_WEIGHT if self.fuzzy else self.weight
        return weight * (self.scores.idf if self.scores.df else idf(count, 0))


@dataclass(frozen=True, slots=True)
class _Details:
    """The words of the query, bool[words, notes] whether a note has them, and each note's scored passages."""

    words: tuple[str, ...]
    contains: Bools
    chunks: list[tuple[Strings, Ints, Floats]]

    def matched(self, row: int) -> tuple[str, ...]:
        words = (self.words[term] for term in np.flatnonzero(self.contains[:, row]).tolist())
        return tuple(dict.fromkeys(words))

    def passages(self, row: int) -> tuple[ChunkHit, ...]:
        ids, numbers, scores = self.chunks[row]
        order = np.argsort(-scores, kind="stable")[:PASSAGES]
        return tuple(
            ChunkHit(ids[int(numbers[chunk])].decode(), float(scores[chunk]))
            for chunk in order
            if scores[chunk] > 0
        )

    def best_passage_scores(self) -> Floats:
        return np.array([scores.max(initial=0.0) for _, _, scores in self.chunks], np.float64)
