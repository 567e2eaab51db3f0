"""Scores of candidates that another engine proposes: the words of a few notes, weighed as in the whole vault.

The formulas are those of the keyword index. What they need to know of all notes, how many there are, how
long their fields are and how many have a word, is asked of a ``Vocabulary``. So the order is that of the
keyword index, as far as the engine proposes its first notes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.bm25f import TermScores, idf
from vaultseek.store.keyword.inverter import KeywordDocument, Lexicon, invert
from vaultseek.store.keyword.segment import MemorySegment
from vaultseek.store.keyword.snapshot import Floats, Snapshot
from vaultseek.store.keyword.term_index import TermIndex


class Vocabulary(Protocol):
    """The facts about all notes that the ranking by words needs."""

    @property
    def count(self) -> int:
        """The number of notes."""

    @property
    def averages(self) -> Floats:
        """Mean length of each field over the notes that have it, float64[8]."""

    @property
    def chunk_averages(self) -> Floats:
        """Mean length of prose and of code over the chunks that have any, float64[2]."""

    @property
    def languages(self) -> frozenset[str | None]:
        """The languages that the notes are analysed in."""

    def frequencies(self, terms: Sequence[str]) -> Mapping[str, int]:
        """Return the number of notes with each of the terms that are in any."""

    def together(self, groups: Sequence[Sequence[str]]) -> int | None:
        """Return the number of notes with a term of each group; None if that takes too long to count."""

    def with_prefix(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words that begin with ``prefix``, the ``limit`` most frequent."""

    def within_one_edit(self, word: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words that are one edit from ``word``, the ``limit`` most frequent."""


class CandidateSnapshot(Snapshot):
    """Some notes with the statistics of all; ``is_whole`` if no other note has any of the terms asked for."""

    def __init__(
        self, segment: MemorySegment | None, vocabulary: Vocabulary, *, is_whole: bool = False
    ) -> None:
        super().__init__([] if segment is None else [(segment, np.ones(len(segment), np.bool_))])
        self.vocabulary = vocabulary
        self.is_whole = is_whole
        self.count = vocabulary.count
        self.averages = vocabulary.averages
        self.chunk_averages = vocabulary.chunk_averages
        self.languages = vocabulary.languages


class CandidateTerms(TermIndex):
    """The terms of candidates, as rare as they are in the whole vault."""

    def __init__(self, snapshot: CandidateSnapshot) -> None:
        super().__init__(snapshot)
        self._candidates = snapshot
        self._vocabulary = snapshot.vocabulary

    def scores(self, terms: tuple[str, ...]) -> TermScores:
        """Return the scores of the candidates that have any of the terms."""
        local = super().scores(terms)
        df = self._frequency(terms, local)
        rarity = idf(self._vocabulary.count, df)
        factor = rarity / local.idf if local.idf else 0.0
        return replace(local, df=df, idf=rarity, scores=local.scores * factor)

    def count_both(
        self, terms: tuple[tuple[str, ...], tuple[str, ...]], first: TermScores, second: TermScores
    ) -> int:
        """Return how many notes of the vault have any of both terms, as far as that can be counted."""
        exact = None if self._candidates.is_whole else self._vocabulary.together(terms)
        return super().count_both(terms, first, second) if exact is None else exact

    def with_prefix(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words of the vault that begin with ``prefix``."""
        return self._vocabulary.with_prefix(prefix, limit)

    def within_one_edit(self, word: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words of the vault that are one edit from ``word``."""
        return self._vocabulary.within_one_edit(word, limit)

    def _frequency(self, terms: tuple[str, ...], local: TermScores) -> int:
        """Return the number of notes with any of the terms.

        Of several it is exact if the candidates are all there are; else those among the candidates tell how
        many notes have more than one of them.
        """
        known = self._vocabulary.frequencies(terms)
        total, most = sum(known.values()), max(known.values(), default=0)
        if len(known) < 2 or total == most:
            return most
        if self._candidates.is_whole:
            return local.df
        if (exact := self._vocabulary.together([terms])) is not None:
            return exact
        apart = sum(super(CandidateTerms, self).scores((term,)).df for term in known)
        return min(total, max(most, round(total * local.df / apart))) if apart else total


def segment_of(
    documents: Sequence[KeywordDocument], rules: LanguageRules, lexicon: Lexicon | None = None
) -> MemorySegment:
    """Analyse some notes."""
    return MemorySegment(*invert(documents, lexicon or Lexicon(), rules))
