"""Notes by their words, as an open vault asks for them, whatever keeps the words."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager, nullcontext

from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.answer import KeywordAnswer
from vaultseek.store.keyword.searcher import Searcher
from vaultseek.store.keyword.segment import Ints
from vaultseek.store.keyword.snapshot import Snapshot
from vaultseek.store.keyword.spans import SpanFinder, span_finder
from vaultseek.store.keyword.term_index import TermIndex


class KeywordLane(ABC):
    """Notes by their words, in a snapshot that each search takes."""

    def __init__(self, rules: LanguageRules) -> None:
        self.rules = rules
        """The choice of a note's language; may change as long as its ``version`` stays the same."""

    @property
    @abstractmethod
    def snapshot(self) -> Snapshot:
        """The words of all notes now."""

    @abstractmethod
    def stored(self) -> tuple[int, int]:
        """Return the numbers of notes and of passages; names and properties do not count as passages."""

    @abstractmethod
    def given_other_language(self) -> list[int]:
        """Return the ids of notes to apply again, because the rules now give them another language."""

    @abstractmethod
    def terms(self, least: int = 1) -> list[tuple[str, int]]:
        """Return one word for each term that is in ``least`` notes or more, with that number."""

    def __len__(self) -> int:
        """Return the number of notes."""
        return self.snapshot.count

    @property
    def language(self) -> str | None:
        """The main language: that of notes which do not show one clearly."""
        return self.rules.given

    @property
    def span_finder(self) -> SpanFinder:
        """Finds the terms of the notes in a text."""
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
        """Return the ``k`` best notes for the words of the text, none of which is required.

        ``allowed``: int64 ids of the notes to search in; the others are left out before the cut, while N and
        df stay those of the vault, or of what is ``visible``. ``unfinished``: the last word is still being
        typed, and longer words match as well.
        ``ties``: most notes beyond ``k`` that are returned because they are as good as the ``k``-th.
        ``visible``: int64 ids of the notes that the user may see; the others count nowhere, as if they did
        not exist.
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

    def _index_of(self, snapshot: Snapshot) -> TermIndex:
        """Return the terms of a snapshot, for one search."""
        return TermIndex(snapshot)

    def _searching(self, snapshot: Snapshot) -> AbstractContextManager[None]:
        """Return the context of a search, which may say more of its errors."""
        return nullcontext()
