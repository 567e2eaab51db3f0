"""One keyword search: score the query's terms in all segments, rank the notes, and choose their passages."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from vaultseek.content.languages.stopwords import all_stop_words
from vaultseek.content.query.normal_forms import MARK, is_code, word_form
from vaultseek.store.keyword.analysis import is_unspaced
from vaultseek.store.keyword.answer import Columns, Details, MatchedTerm
from vaultseek.store.keyword.bm25f import TermScores, idf, score_chunks
from vaultseek.store.keyword.proximity import Pair, proximity
from vaultseek.store.keyword.query_terms import (
    QueryAnalyzer,
    QueryTerm,
    parse_query_terms,
)
from vaultseek.store.keyword.segment import NOTE_SHIFT, Bools, Ints, run_indexes, run_starts
from vaultseek.store.keyword.snapshot import Floats, Snapshot
from vaultseek.store.keyword.term_index import TermIndex

PREFIX_TERMS = 64
"""Maximum number of terms that a prefix (``word*``) expands to."""
PREFIX_WEIGHT = 0.8
"""Weight of a prefix (``word*``) relative to a whole word."""
UNFINISHED_SHARE = 0.5
"""Share of the last word's weight that longer words get while the last word is being typed."""
UNFINISHED_CHARS = 2
"""Minimum length in characters at which an unfinished last word also matches longer words."""
FUZZY_WORDS = 8
"""Maximum number of query words that similar words may replace."""
FUZZY_TERMS = 8
"""Maximum number of terms that replace a missing word because they begin with it. A separate limit of the
same size applies to terms one edit away."""
FUZZY_CHARS = 4
"""Minimum length, in characters, of a missing word that longer words may replace."""
EDITED_CHARS = 5
"""Minimum length, in characters, of a missing word that words one edit away may replace. Shorter words are
often one edit away from an unrelated word."""
FUZZY_WEIGHT = 0.5
"""Weight of a replacement term relative to the weight of the word that it replaces."""
FUZZY_COVERAGE = 0.75
"""Share of a word's importance that counts as covered when a similar word replaces it."""
UNSEEN_SHARE = 8
"""Number of terms to examine for each term wanted if notes are hidden from the user. Some of the examined
terms may occur only in hidden notes."""
HALF_CHARS = 3
"""Minimum length, in characters, of each part when a missing word is split into two words."""
PAIR_DISTANCE = 3
"""Maximum distance, in tokens, between two query words that form a pair. Only stop words may be between
them."""


class Searcher:
    """One query on one snapshot; ``terms`` are the terms that were looked up, and ``search`` ranks the
    notes."""

    def __init__(
        self,
        snapshot: Snapshot,
        analyzer: QueryAnalyzer,
        text: str,
        *,
        unfinished: bool = False,
        index: TermIndex | None = None,
        visible: Bools | None = None,
    ) -> None:
        """Look up the words of ``text`` in the snapshot.

        ``visible``: bool[size], the notes that the user may see; similar words come only from these notes.
        """
        self._snapshot = snapshot
        self._analyzer = analyzer
        self._visible = None if visible is None else np.flatnonzero(visible)
        self._terms = TermIndex(snapshot) if index is None else index
        stop_words = analyzer.stop_words(text)
        terms = parse_query_terms(text, analyzer, stop_words)
        self._terms.prepare([each for term in terms for each in (term.term, *term.also)])
        # Spellings missing from the vault are dropped, so that most forms of a word share a cache key.
        present = self._terms.present([each for term in terms for each in term.also])
        terms = [term._replace(also=tuple(filter(present.__contains__, term.also))) for term in terms]
        exact = [self._score(term) for term in terms]
        known = {each.term.token for each in exact if each.term.kind != "part" and each.scores.df}
        # A day in several words is looked up only if a note contains it.
        exact = [
            each
            for each in exact
            if each.term.token >= 0 or each.term.kind == "prefix" or each.scores.df or is_code(each.term.term)
        ]
        days = {each.term.word for each in exact if each.term.token < 0}
        weighted = [
            each.with_weight(each.term.day in days if each.term.day else each.term.token in known)
            for each in exact
        ]
        if unfinished:
            weighted = [scored for each in weighted for scored in self._continued(each, terms)]
        missing = {id(each) for each in [each for each in weighted if self._is_missing(each)][:FUZZY_WORDS]}
        self._scored = [self._substitute(each) if id(each) in missing else each for each in weighted]
        self._pairs = self._adjacent_pairs(stop_words)

    @property
    def terms(self) -> tuple[MatchedTerm, ...]:
        """The terms that were looked up, in the order of the query."""
        return tuple(
            MatchedTerm(s.term.word, s.terms, s.term.kind, s.fuzzy, s.weight, s.scores.df, s.scores.idf)
            for s in self._scored
        )

    def search(self, k: int, allowed: Bools | None, ties: int = 0) -> tuple[Columns, Details, int]:
        """Rank the ``k`` best of the allowed notes (bool[size]), and count all allowed notes that match.

        Up to ``ties`` further notes that score the same as the ``k``-th note are also ranked.
        """
        weighted = [(each.scores, each.weight) for each in self._scored]
        top, count = best_notes(weighted, self._snapshot, allowed, k, ties)
        index, top, numbers = self._terms.of_notes(top)
        order = np.argsort(numbers)
        ascending = numbers[order]
        totals, contains, coverage = self._matches(top)
        places = self._places(index, ascending)
        details = self._details(index, numbers, places, contains)
        near = np.empty(len(top))
        near[order] = self._proximity(index, ascending, places)
        columns = Columns(self._snapshot.notes[top], totals, details.best_scores(), near, coverage)
        return columns, details, count

    def _score(self, term: QueryTerm) -> _ScoredTerm:
        terms: tuple[str, ...] = (term.term, *term.also)
        weight = term.weight
        if term.kind == "prefix":
            terms = self._seen(partial(self._terms.with_prefix, term.term), PREFIX_TERMS)
            weight = PREFIX_WEIGHT
        return _ScoredTerm(term, terms, weight, self._terms.scores(terms))

    def _continued(self, scored: _ScoredTerm, terms: Sequence[QueryTerm]) -> list[_ScoredTerm]:
        """Return the list of terms to score for a query term: usually the term alone.

        For the unfinished last word, the list has a second term that stands for all words that begin with the
        last word. These words count as one word, and the exact word counts in addition.
        """
        term = scored.term
        if not _is_last_word(term, terms) or len(term.word) < UNFINISHED_CHARS or is_unspaced(term.word):
            return [scored]
        longer = self._seen(partial(self._terms.with_prefix, term.word), PREFIX_TERMS)
        together = tuple(dict.fromkeys((*scored.terms, *longer)))
        if set(together) == set(scored.terms):
            return [scored]
        either = scored._replace(terms=together, scores=self._terms.scores(together))
        if not scored.scores.df:
            return [either]
        return [
            either._replace(weight=UNFINISHED_SHARE * scored.weight, share=UNFINISHED_SHARE),
            scored._replace(weight=(1 - UNFINISHED_SHARE) * scored.weight, in_addition=True),
        ]

    def _is_missing(self, scored: _ScoredTerm) -> bool:
        term = scored.term
        plain = term.kind in ("word", "part") and len(term.word) >= FUZZY_CHARS and term.word.isalpha()
        if term.word in all_stop_words():  # a stop word; the question may be in another language
            return False
        return (plain or _is_code(term)) and not scored.scores.df and self._snapshot.count > 0

    def _substitute(self, scored: _ScoredTerm) -> _ScoredTerm:
        """Replace a missing word with words that begin with it or are within one edit of it, or else with the
        two words that form it. Replace a missing identifier with identifiers that begin alike."""
        if _is_code(scored.term):
            return self._like_identifier(scored)
        longer = self._seen(partial(self._terms.with_prefix, scored.term.word), FUZZY_TERMS)
        edited: tuple[str, ...] = ()
        if len(scored.term.word) >= EDITED_CHARS:
            edited = self._seen(partial(self._terms.within_one_edit, scored.term.word), FUZZY_TERMS)
        terms = tuple(each for each in dict.fromkeys((*longer, *edited)) if each not in all_stop_words())
        scores = self._terms.scores(terms)
        if not scores.df:
            return self._as_two_words(scored)
        return scored._replace(terms=terms, scores=scores, fuzzy=True, weight=scored.weight * FUZZY_WEIGHT)

    def _as_two_words(self, scored: _ScoredTerm) -> _ScoredTerm:
        """Replace a word such as ``rainbarrel`` with *rain barrel* if notes contain the two words next to
        each other."""
        word, best = scored.term.word, scored
        for at in range(HALF_CHARS, len(word) - HALF_CHARS + 1):
            halves = parse_query_terms(f"{word[:at]} {word[at:]}", self._analyzer)
            if len(halves) != 2:
                continue
            first, second = map(self._score, halves)
            notes = self._where_adjacent(first, second)
            if len(notes) > best.scores.df:
                both = (each.scores.at(notes)[0] / each.scores.idf for each in (first, second))
                rarity = idf(self._snapshot.count, len(notes))
                scores = TermScores(len(notes), rarity, notes, rarity * np.minimum(*both))
                best = scored._replace(terms=(*first.terms, *second.terms), scores=scores)
        return best

    def _where_adjacent(self, first: _ScoredTerm, second: _ScoredTerm) -> Ints:
        """Return the visible notes in which the second term directly follows the first, ascending:
        int32[m]."""
        notes = np.intersect1d(first.scores.notes, second.scores.notes)
        if self._visible is not None:
            notes = np.intersect1d(notes, self._visible)
        if not len(notes):
            return notes.astype(np.int32)
        index, notes, numbers = self._terms.of_notes(notes)
        order = np.argsort(numbers)
        places = [index.places(each.terms, each.scores.df, numbers[order]) for each in (first, second)]
        found = np.intersect1d(places[0] + 1, places[1]) >> NOTE_SHIFT
        adjacent: Ints = np.sort(notes[np.isin(numbers, found)]).astype(np.int32)
        return adjacent

    def _like_identifier(self, scored: _ScoredTerm) -> _ScoredTerm:
        """Replace a missing identifier such as ``E-4199`` or ``CF259`` with the identifiers that share the
        longest prefix with it, such as ``E-4107`` or ``CF259A``. The prefix must include a digit of the last
        number."""
        word = scored.term.word
        form = word_form(word) or MARK + word
        for size in range(len(form), len(form.rstrip("0123456789")), -1):
            beginnings = (form[:size], form[1:size].replace("-", ""))
            found = (
                term
                for each in beginnings
                for term in self._seen(partial(self._terms.with_prefix, each), FUZZY_TERMS)
                # GT2RS is similar to GT2, but GT24 has a different number.
                if size < len(form) or not term[len(each) :][:1].isdecimal()
            )
            terms = tuple(dict.fromkeys(found))
            scores = self._terms.scores(terms)
            if scores.df:
                return scored._replace(
                    terms=terms, scores=scores, fuzzy=True, weight=scored.weight * FUZZY_WEIGHT
                )
        return scored

    def _seen(self, find: Callable[[int], tuple[str, ...]], limit: int) -> tuple[str, ...]:
        """Return the ``limit`` most frequent of the terms that ``find`` returns and that occur in a visible
        note."""
        if self._visible is None:
            return find(limit)
        found = find(UNSEEN_SHARE * limit)
        self._terms.prepare(found)
        scored = [(self._terms.scores((term,)), term) for term in found]
        seen = [(-scores.df, term) for scores, term in scored if self._is_seen(scores)]
        return tuple(term for _, term in sorted(seen)[:limit])

    def _is_seen(self, scores: TermScores) -> bool:
        return self._visible is None or bool(scores.at(self._visible)[1].any())

    def _matches(self, notes: Ints) -> tuple[Floats, Bools, Floats]:
        contains = np.zeros((len(self._scored), len(notes)), np.bool_)
        totals, covered, total = np.zeros(len(notes)), np.zeros(len(notes)), 0.0
        for row, each in zip(contains, self._scored, strict=True):
            importance = each.importance(self._snapshot.count)
            total += importance
            if each.scores.df:
                scores, row[:] = each.scores.at(notes)
                totals += each.weight * scores
                covered += row * (importance * (FUZZY_COVERAGE if each.fuzzy else 1.0))
        return totals, contains, np.minimum(covered / total, 1.0) if total else covered

    def _adjacent_pairs(self, stop_words: frozenset[str]) -> list[Pair]:
        words = [
            (each.term.token, number, each)
            for number, each in enumerate(self._scored)
            if each.term.kind in ("word", "part")
            and each.scores.df
            and not each.in_addition
            and each.term.word not in stop_words
            and not is_unspaced(each.term.word)
        ]
        pairs: list[Pair] = []
        for (token, number, first), (next_token, next_number, second) in pairwise(
            sorted(words, key=lambda word: word[0])
        ):
            joined = first.term.word + second.term.word
            together = {joined, MARK + joined}
            if next_token - token <= PAIR_DISTANCE and set(first.terms) & set(second.terms) <= together:
                both = self._terms.count_both((first.terms, second.terms), first.scores, second.scores)
                if both:
                    pairs.append(Pair(number, next_number, idf(self._snapshot.count, both)))
        return pairs

    def _places(self, index: TermIndex, notes: Ints) -> dict[int, Ints]:
        """Return, for each term by its number in the query, its occurrences in these ascending notes."""
        is_wanted = np.zeros(index.snapshot.size, np.bool_)
        is_wanted[notes] = True
        found = {
            number: index.places(each.terms, each.scores.df, notes)
            for number, each in enumerate(self._scored)
            if each.scores.df
        }
        return {number: places[is_wanted[places >> NOTE_SHIFT]] for number, places in found.items()}

    def _details(self, index: TermIndex, notes: Ints, places: Mapping[int, Ints], contains: Bools) -> Details:
        """Score the passages of notes, given the ``places`` of each term in them."""
        snapshot = index.snapshot
        weights = [self._scored[number].weight * self._scored[number].scores.idf for number in places]
        totals = score_chunks(snapshot, [*places.values()], weights)
        starts = snapshot.first_chunks[notes]
        sizes = snapshot.first_chunks[notes + 1] - starts
        chunks = run_indexes(starts, sizes)
        words = tuple(each.term.word for each in self._scored)
        return Details(words, contains, snapshot.chunk_ids, run_starts(sizes), chunks, totals[chunks])

    def _proximity(self, index: TermIndex, notes: Ints, places: Mapping[int, Ints]) -> Floats:
        ranks = np.zeros(index.snapshot.size, np.int64)
        ranks[notes] = np.arange(len(notes))
        of_pairs = {number for pair in self._pairs for number in (pair.first, pair.second)}
        within, ranked = (1 << NOTE_SHIFT) - 1, dict[int, Ints]()
        for number, found in ((number, places[number]) for number in of_pairs):
            ranked[number] = ranks[found >> NOTE_SHIFT] << NOTE_SHIFT | found & within
        return proximity(index.snapshot, self._pairs, ranked, notes)


class _ScoredTerm(NamedTuple):
    """A query term with its matching index terms, their scores and their weight.

    ``share`` is the term's share of the word's weight. ``in_addition`` marks the term for the word's exact
    form, which gets the rest of the weight.
    """

    term: QueryTerm
    terms: tuple[str, ...]
    weight: float
    scores: TermScores
    fuzzy: bool = False
    share: float = 1.0
    in_addition: bool = False

    def with_weight(self, known: bool) -> _ScoredTerm:
        weight = self.weight if known or self.term.kind == "prefix" else self.term.weight_unknown
        return self if weight == self.weight else self._replace(weight=weight)

    def importance(self, count: int) -> float:
        """Return the score of a full match; a word that occurs in no note is as important as the rarest
        word."""
        if self.in_addition:
            return 0.0
        weight = self.weight / (FUZZY_WEIGHT if self.fuzzy else self.share)
        return weight * (self.scores.idf if self.scores.df else idf(count, 0))


def _is_code(term: QueryTerm) -> bool:
    """Return true for an identifier with letters that ends in a number, so that other identifiers may share
    its beginning."""
    return (
        term.kind in ("word", "whole") and term.word[-1].isdecimal() and _LETTER.search(term.word) is not None
    )


_LETTER = re.compile(r"[^\W\d_]")


def _is_last_word(term: QueryTerm, terms: Sequence[QueryTerm]) -> bool:
    """Return true for the last token of the query, and for the last part of that token."""
    if term.token < 0 or term.token != max(each.token for each in terms):
        return False
    last = [each for each in terms if each.token == term.token]
    return term.kind == "whole" or term is next(
        (each for each in reversed(last) if each.kind in ("word", "part")), None
    )


def best_notes(
    weighted: Sequence[tuple[TermScores, float]],
    snapshot: Snapshot,
    allowed: Bools | None,
    k: int,
    ties: int = 0,
) -> tuple[Ints, int]:
    """Return the ``k`` best notes, best first, and the total number of matching notes.

    Ties are sorted by ledger id. Up to ``ties`` further notes that score the same as the ``k``-th note are
    included. ``allowed``: bool[size], the notes to consider; None for all. A note matches if its score is
    above 0.
    """
    totals = np.zeros(snapshot.size)
    for term, weight in weighted:
        totals[term.notes] += weight * term.scores
    matches = totals > 0 if allowed is None else (totals > 0) & allowed
    notes = np.flatnonzero(matches)
    scores, count = totals[notes], len(notes)
    if 0 < k < count:
        near = scores >= np.partition(scores, count - k)[count - k]
        notes, scores = notes[near], scores[near]
    most = k + ties if k > 0 else 0
    return notes[np.lexsort((snapshot.notes[notes], -scores))[:most]], count
