"""Keyword search in an open vault, independent of where the vault's words are stored."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext

from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.answer import KeywordAnswer
from vaultseek.store.keyword.searcher import Searcher
from vaultseek.store.keyword.segment import Ints
from vaultseek.store.keyword.snapshot import Snapshot
from vaultseek.store.keyword.spans import SpanFinder, span_finder
from vaultseek.store.keyword.term_index import TermIndex


class KeywordLane(ABC):
    """Keyword search, which takes a snapshot of the index for each search."""

    def __init__(self, rules: LanguageRules) -> None:
        self.rules = rules
        """Rules that choose a note's language. They may be replaced by other rules with the same
        ``version``."""

    @property
    @abstractmethod
    def snapshot(self) -> Snapshot:
        """Return a snapshot with the current words of all notes."""

    @abstractmethod
    def stored(self) -> tuple[int, int]:
        """Return the number of notes and the number of passages. Names and properties do not count as
        passages."""

    @abstractmethod
    def given_other_language(self) -> list[int]:
        """Return the ids of notes that must be indexed again because the rules now assign them a different
        language."""

    @abstractmethod
    def terms(self, least: int = 1) -> list[tuple[str, int]]:
        """Return a pair for each term that occurs in at least ``least`` notes: one of the term's words, and
        its number of notes."""

    def __len__(self) -> int:
        """Return the number of notes."""
        return self.snapshot.count

    @property
    def language(self) -> str | None:
        """The main language, used for notes whose own language is unclear."""
        return self.rules.given

    @property
    def span_finder(self) -> SpanFinder:
        """The finder that locates index terms in text."""
        return span_finder(self.rules, self.snapshot.languages)

    def search(
        self,
        text: str,
        k: int,
        allowed: Ints | None = None,
        *,
        unfinished: bool = False,
        ties: int = 0,
        visible: Ints | None = None,
    ) -> KeywordAnswer:
        """Return the ``k`` best notes for the words of ``text``. A note need not contain all the words.

        ``allowed``: int64 ids of the notes to search. They are selected before the cut to ``k``, but BM25
        statistics still cover the whole vault or the ``visible`` notes. ``unfinished``: the last word is
        still being typed, so longer words also match. ``ties``: maximum number of notes beyond ``k`` that are
        returned because they score the same as the ``k``-th note. ``visible``: int64 ids of the notes that
        the user may see; other notes are treated as if they did not exist.
        """
        started = time.perf_counter()
        snapshot = self.snapshot
        with self._searching(snapshot):
            if visible is not None:
                snapshot = snapshot.within(visible)
            searcher = Searcher(
                snapshot,
                span_finder(self.rules, snapshot.languages).analyzer,
                text,
                unfinished=unfinished,
                index=self._index_of(snapshot),
                visible=None if visible is None else snapshot.alive,
            )
            mask = None if allowed is None else snapshot.mask(allowed)
            columns, details, total = searcher.search(k, mask, ties)
        milliseconds = (time.perf_counter() - started) * 1000
        return KeywordAnswer(columns, searcher.terms, total, milliseconds, details)

    def words_of(self, terms: Collection[str], beginning: str) -> frozenset[str]:
        """Return the words, without accents, that are indexed as one of the ``terms`` and begin with
        ``beginning``. Words of deleted notes and of notes that the user may not see may be among them."""
        snapshot = self.snapshot
        with self._searching(snapshot):
            return self._index_of(snapshot).words_of(tuple(terms), beginning)

    def _index_of(self, snapshot: Snapshot) -> TermIndex:
        """Return the term index of a snapshot, for one search."""
        return TermIndex(snapshot)

    def _searching(self, snapshot: Snapshot) -> AbstractContextManager[None]:
        """Return a context manager for a search, which may translate the errors raised in its block."""
        return nullcontext()
