"""The keyword lane over an engine: it proposes notes by their words, and their order is computed here.

Stands in for the keyword index wherever that is used.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from vaultseek.engines.postgres.backend import PostgresBackend
from vaultseek.engines.postgres.words import SearchedWords
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
    """The part of a keyword index that searches use, answered by an engine."""

    def __init__(self, backend: PostgresBackend, rules: LanguageRules) -> None:
        self.rules = rules
        self._backend = backend

    @property
    def language(self) -> str | None:
        """The main language, that of notes whose own is not clear."""
        return self.rules.given

    @property
    def span_finder(self) -> SpanFinder:
        """Finds the terms of the notes in a text."""
        return span_finder(self.rules, self._backend.words.facts().languages)

    def __len__(self) -> int:
        """Return the number of notes."""
        return self._backend.words.facts().count

    def stored(self) -> tuple[int, int]:
        """Return how many notes and passages the engine has. Raises Unavailable."""
        statistics = self._backend.statistics(vectors=False)
        return statistics.notes, statistics.passages

    def given_other_language(self) -> list[int]:
        """Return the ids of notes to apply again, because the rules now give them another language."""
        return self._backend.words.given_other_language(self.rules)

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
        facts = self._backend.words.facts()
        words = SearchedWords(self._backend.server, facts)
        analyzer = span_finder(self.rules, facts.languages).analyzer
        query = _Query(analyzer, words, text, unfinished, is_scoped=visible is not None)
        pool = round(POOL_SHARE * k) + 1
        searcher = query.among_best(pool, allowed)
        if visible is not None:
            whole = searcher
            if allowed is None or len(allowed) < len(visible):
                whole = query.among_best(pool, visible)
            if absent := whole.absent():
                searcher = replace(query, absent=absent).among_best(pool, allowed)
        columns, details, total = searcher.search(k, None, ties)
        milliseconds = (time.perf_counter() - started) * 1000
        return KeywordAnswer(columns, searcher.terms, total, milliseconds, details)

    def terms(self, least: int = 1) -> list[tuple[str, int]]:
        """Return one word for each term that is in ``least`` notes or more, with that number."""
        return self._backend.words.listed(least)


@dataclass(frozen=True, slots=True)
class _Query:
    """A query, as it is asked of the engine and then of its candidates.

    ``is_scoped``: whoever asks sees all candidates, but not all notes. ``absent``: words that count as
    unknown.
    """

    analyzer: QueryAnalyzer
    words: SearchedWords
    text: str
    unfinished: bool
    is_scoped: bool
    absent: frozenset[str] = frozenset()

    def among_best(self, pool: int, allowed: NoteIds | None) -> Searcher:
        """Return the query over the ``pool`` best notes of those ``allowed``."""
        weights = self._over(CandidateSnapshot(None, self.words), None).weights
        notes = self.words.best(weights, pool, allowed)
        snapshot = CandidateSnapshot(self.words.segment(notes, weights), self.words)
        return self._over(snapshot, np.ones(snapshot.size, np.bool_) if self.is_scoped else None)

    def _over(self, snapshot: CandidateSnapshot, visible: Bools | None) -> Searcher:
        return Searcher(
            snapshot,
            self.analyzer,
            self.text,
            unfinished=self.unfinished,
            index=CandidateTerms(snapshot),
            visible=visible,
            absent=self.absent,
        )
