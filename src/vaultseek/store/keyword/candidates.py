"""Scores of candidates that another engine proposes: the words of a few notes, weighed as in the whole vault.

The formulas are those of the keyword index. What they need to know of all notes, how many there are, how
long their fields are and which have a word, is asked of a ``Vocabulary``. So the order is that of the
keyword index, as far as the engine proposes its first notes.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.bm25f import TermScores, idf
from vaultseek.store.keyword.inverter import KeywordDocument, Lexicon, invert
from vaultseek.store.keyword.segment import Ints, MemorySegment
from vaultseek.store.keyword.snapshot import Floats, Snapshot
from vaultseek.store.keyword.term_index import TermIndex


class Vocabulary(Protocol):
    """The facts about all notes that the ranking by words needs."""

    count: int
    """The number of notes."""
    averages: Floats
    """Mean length of each field over the notes that have it, float64[8]."""
    chunk_averages: Floats
    """Mean length of prose and of code over the chunks that have any, float64[2]."""
    languages: frozenset[str | None]
    """The languages that the notes are analysed in."""

    def notes_with(self, terms: Sequence[str]) -> Ints:
        """Return the ids of the notes with any of the terms, ascending."""

    def with_prefix(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words that begin with ``prefix``, the ``limit`` most frequent."""

    def within_one_edit(self, word: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words that are one edit from ``word``, the ``limit`` most frequent."""


class CandidateSnapshot(Snapshot):
    """Some notes with the statistics of all."""

    def __init__(self, segment: MemorySegment | None, vocabulary: Vocabulary) -> None:
        super().__init__([] if segment is None else [(segment, np.ones(len(segment), np.bool_))])
        self.vocabulary = vocabulary
        self.count = vocabulary.count
        self.averages = vocabulary.averages
        self.chunk_averages = vocabulary.chunk_averages
        self.languages = vocabulary.languages


class CandidateTerms(TermIndex):
    """The terms of candidates, as rare as they are in the whole vault."""

    def __init__(self, snapshot: CandidateSnapshot) -> None:
        super().__init__(snapshot)
        self._vocabulary = snapshot.vocabulary

    def scores(self, terms: tuple[str, ...]) -> TermScores:
        """Return the scores of the candidates that have any of the terms."""
        local = super().scores(terms)
        df = len(self._vocabulary.notes_with(terms))
        rarity = idf(self._vocabulary.count, df)
        factor = rarity / local.idf if local.idf else 0.0
        return replace(local, df=df, idf=rarity, scores=local.scores * factor)

    def count_both(
        self, terms: tuple[tuple[str, ...], tuple[str, ...]], first: TermScores, second: TermScores
    ) -> int:
        """Return how many notes of the vault have any of both terms."""
        one, other = (self._vocabulary.notes_with(each) for each in terms)
        return len(np.intersect1d(one, other, assume_unique=True))

    def with_prefix(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words of the vault that begin with ``prefix``."""
        return self._vocabulary.with_prefix(prefix, limit)

    def within_one_edit(self, word: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words of the vault that are one edit from ``word``."""
        return self._vocabulary.within_one_edit(word, limit)


def segment_of(
    documents: Sequence[KeywordDocument], rules: LanguageRules, lexicon: Lexicon | None = None
) -> MemorySegment:
    """Analyse some notes."""
    return MemorySegment(*invert(documents, lexicon or Lexicon(), rules))
