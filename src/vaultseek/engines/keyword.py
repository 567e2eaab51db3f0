"""The keyword lane over an engine: it proposes notes by their words, and their order is computed here.

Stands in for the keyword index wherever that is used.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from vaultseek.content.languages.detect import DEFAULT_LANGUAGE
from vaultseek.engines.port import Backend, ByWords
from vaultseek.engines.vocabulary import VocabularyTables
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.answer import KeywordAnswer
from vaultseek.store.keyword.candidates import CandidateSnapshot, CandidateTerms
from vaultseek.store.keyword.query_terms import QueryAnalyzer
from vaultseek.store.keyword.searcher import Searcher
from vaultseek.store.keyword.segment import Bools
from vaultseek.store.keyword.spans import SpanFinder, span_finder

POOL_SHARE = 1.25
"""Candidates for each ranked note: the order may change when they are scored here."""


class EngineKeyword:
    """The part of a keyword index that searches use, answered by an engine and a vocabulary."""

    def __init__(self, backend: Backend, vocabulary: VocabularyTables) -> None:
        self.rules = LanguageRules.of_vault(DEFAULT_LANGUAGE)
        self._backend = backend
        self._vocabulary = vocabulary

    @property
    def language(self) -> str | None:
        """The main language, that of notes whose own is not clear."""
        return self.rules.given

    @property
    def span_finder(self) -> SpanFinder:
        """Finds the terms of the notes in a text."""
        return span_finder(self.rules, self._vocabulary.languages)

    @property
    def revision(self) -> str | None:
        """The position of the last batch; None before the first."""
        return self._vocabulary.position

    def __len__(self) -> int:
        """Return the number of notes."""
        return self._vocabulary.count

    def stored(self) -> tuple[int, int]:
        """Return how many notes and passages the engine has. Raises Unavailable."""
        statistics = self._backend.statistics(vectors=False)
        return statistics.notes, statistics.passages

    def search(
        self,
        text: str,
        k: int,
        allowed: NoteIds | None = None,
        *,
        unfinished: bool = False,
        ties: int = 0,
        visible: NoteIds | None = None,
    ) -> KeywordAnswer:
        """Return the ``k`` best notes for the words; see ``KeywordIndex.search``.

        Raises Unavailable if the engine does not answer.
        """
        started = time.perf_counter()
        query = _Query(self.span_finder.analyzer, text, unfinished, is_scoped=visible is not None)
        pool = round(POOL_SHARE * k) + 1
        searcher = self._search_candidates(query, pool, allowed)
        if visible is not None:
            whole = searcher
            if allowed is None or len(allowed) < len(visible):
                whole = self._search_candidates(query, pool, visible)
            if absent := whole.absent():
                searcher = self._search_candidates(replace(query, absent=absent), pool, allowed)
        columns, details, total = searcher.search(k, None, ties)
        milliseconds = (time.perf_counter() - started) * 1000
        return KeywordAnswer(columns, searcher.terms, total, milliseconds, details)

    def _search_candidates(self, query: _Query, pool: int, allowed: NoteIds | None) -> Searcher:
        """Return the query over the ``pool`` notes that the engine proposes for its words."""
        terms = query.over(CandidateSnapshot(None, self._vocabulary), None).weights
        hits = self._backend.candidates(ByWords(terms), pool, allowed)
        segment = self._vocabulary.segment(hits.notes.tolist(), terms)
        is_whole = hits.is_whole and allowed is None
        snapshot = CandidateSnapshot(segment, self._vocabulary, is_whole=is_whole)
        return query.over(snapshot, np.ones(snapshot.size, np.bool_) if query.is_scoped else None)

    def terms(self, least: int = 1) -> list[tuple[str, int]]:
        """Return one word for each term that is in ``least`` notes or more, with that number."""
        return self._vocabulary.words(least)

    def notes_to_merge(self, *, purge: bool = False) -> int:
        """Return 0: an engine merges by itself."""
        return 0

    def merge_step(self, *_: object, purge: bool = False) -> bool:
        """Do nothing: an engine merges by itself."""
        return False

    def close(self) -> None:
        """Close the vocabulary."""
        self._vocabulary.close()


@dataclass(frozen=True, slots=True)
class _Query:
    """A query, as it is asked of the engine and then of its candidates.

    ``is_scoped``: whoever asks sees all candidates, but not all notes. ``absent``: words that count as
    unknown.
    """

    queries: QueryAnalyzer
    text: str
    unfinished: bool
    is_scoped: bool
    absent: frozenset[str] = frozenset()

    def over(self, snapshot: CandidateSnapshot, visible: Bools | None) -> Searcher:
        return Searcher(
            snapshot,
            self.queries,
            self.text,
            unfinished=self.unfinished,
            index=CandidateTerms(snapshot),
            visible=visible,
            absent=self.absent,
        )
