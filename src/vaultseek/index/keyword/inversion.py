"""Notes into a segment: every occurrence of every term is one number in one array, sorted once.

The work per occurrence is a dictionary look-up and no more: a ``Lexicon`` remembers for every surface seen
which terms it gives, and the rest is arithmetic over whole arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.index.keyword.analysis import Analysis
from vaultseek.index.keyword.postings import (
    BODY,
    CODE,
    FIELD_BITS,
    FIELD_SLOTS,
    GAP,
    Block,
    Ints,
    Strings,
    Tables,
    runs,
    starts,
)

LEXICON_SURFACES = 100_000
"""The analysis of this many distinct words is remembered."""


@dataclass(frozen=True, slots=True)
class KeywordChunk:
    """A passage: its prose and its code, each analysed apart."""

    id: str
    prose: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class KeywordDocument:
    """One note. ``note`` is the ledger's row id: the note's identity, kept when its text is replaced."""

    note: int
    path: str
    title: str
    aliases: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    chunks: tuple[KeywordChunk, ...] = ()

    def values(self) -> tuple[Sequence[str], ...]:
        """The texts of every field, in the order of ``FIELDS``."""
        prose = [chunk.prose for chunk in self.chunks]
        code = [chunk.code for chunk in self.chunks]
        path = self.path.removesuffix(".md").split("/")
        return ((self.title,), self.aliases, self.headings, self.tags, path, prose, code)


class Lexicon:
    """Surfaces and what became of them, numbered; it starts afresh when it has grown too large."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self._clear()

    def occurrences(self, text: str) -> Iterator[int]:
        """The numbers of the text's surfaces, in order."""
        return map(self._numbers.__getitem__, self.analysis.surfaces(text))

    def shrink(self) -> None:
        """Forget everything if there is too much of it; only between two segments."""
        if len(self._numbers) > LEXICON_SURFACES:
            self._clear()

    def learn(self, surface: str) -> int:
        """Analyse a surface that was not seen before and give it a number."""
        entry = self.analysis.entry(surface)
        self.advances.append(entry.advance)
        self.firsts.append(len(self.terms))
        self.sizes.append(len(entry.terms))
        for term in entry.terms:
            self.terms.append(self._term(term.text))
            self.offsets.append(term.offset)
        self.words.append(
            tuple((t.word.encode(), self._terms[t.text]) for t in entry.terms if t.role != "character")
        )
        return len(self.words) - 1

    def _term(self, text: str) -> int:
        number = self._terms.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text.encode())
        return number

    def _clear(self) -> None:
        self._numbers = _Numbers(self)
        self._terms: dict[str, int] = {}
        self.texts: list[bytes] = []
        self.words: list[tuple[tuple[bytes, int], ...]] = []
        self.advances, self.firsts, self.sizes = array("I"), array("I"), array("I")
        self.terms, self.offsets = array("I"), array("I")


class _Numbers(dict[str, int]):
    def __init__(self, lexicon: Lexicon) -> None:
        super().__init__()
        self._lexicon = lexicon

    def __missing__(self, surface: str) -> int:
        number = self[surface] = self._lexicon.learn(surface)
        return number


def invert(documents: Sequence[KeywordDocument], lexicon: Lexicon) -> tuple[Tables, Block]:
    """The segment of these notes, numbered in the order given. Memory: some 50 bytes a word."""
    surfaces, texts = _read(documents, lexicon)
    advances = _of(lexicon.advances)[surfaces].astype(np.int64)
    token_starts = starts(advances)
    text_starts = token_starts[starts(texts.sizes)]
    text_lengths = np.diff(text_starts)
    places = token_starts[:-1] - np.repeat(
        text_starts[:-1] - _values_before(texts, text_lengths), texts.sizes
    )
    keys = np.repeat(texts.keys, texts.sizes)
    vocabulary, terms, keys, places = _occurrences(lexicon, surfaces, keys, places)
    block, first_rows, first_positions = _sorted(terms, keys, places, len(vocabulary))
    words, word_terms = _words(lexicon, surfaces, vocabulary)
    chunk_counts = np.array([len(document.chunks) for document in documents], np.int64)
    tables = Tables(
        notes=np.array([document.note for document in documents], np.int64),
        lengths=_sums(texts.keys, text_lengths, len(documents) * FIELD_SLOTS),
        first_chunks=starts(chunk_counts).astype(np.uint32),
        chunk_lengths=_chunk_lengths(texts, text_lengths),
        chunk_ids=Strings.of(chunk.id.encode() for document in documents for chunk in document.chunks),
        vocabulary=Strings.of(vocabulary),
        first_rows=first_rows,
        first_positions=first_positions,
        words=words,
        word_terms=word_terms,
    )
    return tables, block


@dataclass(frozen=True, slots=True)
class _Texts:
    """Every value of every field, in order: its key (note and field) and its number of surfaces."""

    keys: Ints
    sizes: Ints


def _read(documents: Sequence[KeywordDocument], lexicon: Lexicon) -> tuple[Ints, _Texts]:
    surfaces, keys, sizes = array("I"), array("I"), array("I")
    for number, document in enumerate(documents):
        for field, values in enumerate(document.values()):
            for value in values:
                before = len(surfaces)
                surfaces.extend(lexicon.occurrences(value))
                keys.append(number << FIELD_BITS | field)
                sizes.append(len(surfaces) - before)
    return _of(surfaces), _Texts(_of(keys), _of(sizes))


def _values_before(texts: _Texts, lengths: Ints) -> Ints:
    """Where each value begins within its field of its note: after the values before it and their gaps."""
    ends = starts(lengths + GAP)
    first_of_field = np.flatnonzero(np.diff(texts.keys.astype(np.int64), prepend=-1))
    counts = np.diff(first_of_field, append=len(texts.keys))
    return ends[:-1] - np.repeat(ends[first_of_field], counts)


def _occurrences(
    lexicon: Lexicon, surfaces: Ints, keys: Ints, places: Ints
) -> tuple[list[bytes], Ints, Ints, Ints]:
    """One line per term of each surface: the sorted vocabulary, then term, key and position."""
    sizes = _of(lexicon.sizes)[surfaces].astype(np.int64)
    at = runs(_of(lexicon.firsts)[surfaces].astype(np.int64), sizes)
    numbers = _of(lexicon.terms)[at]
    used = np.unique(numbers)
    order = sorted(used.tolist(), key=lexicon.texts.__getitem__)
    ranks = np.zeros(len(lexicon.texts), np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    vocabulary = [lexicon.texts[number] for number in order]
    return (
        vocabulary,
        ranks[numbers],
        np.repeat(keys, sizes),
        np.repeat(places, sizes) + _of(lexicon.offsets)[at],
    )


def _sorted(terms: Ints, keys: Ints, places: Ints, vocabulary: int) -> tuple[Block, Ints, Ints]:
    """Rows out of occurrences, which come in the order of key and place, so that a stable sort is enough."""
    order = np.argsort(terms, kind="stable")
    terms, keys, places = terms[order], keys[order], places[order]
    new = np.empty(len(terms), bool)
    new[:1] = True
    new[1:] = (terms[1:] != terms[:-1]) | (keys[1:] != keys[:-1])
    rows = np.flatnonzero(new)
    counts = np.diff(rows, append=len(terms))
    block = Block(keys[rows], counts, places)
    every = np.arange(vocabulary + 1, dtype=np.uint32)
    first_rows = np.searchsorted(terms[rows], every).astype(np.uint32)
    return block, first_rows, np.searchsorted(terms, every).astype(np.uint32)


def _words(lexicon: Lexicon, surfaces: Ints, vocabulary: list[bytes]) -> tuple[Strings, Ints]:
    ranks = {text: rank for rank, text in enumerate(vocabulary)}
    found: dict[bytes, int] = {}
    for surface in np.unique(surfaces).tolist():
        for word, term in lexicon.words[surface]:
            found.setdefault(word, ranks[lexicon.texts[term]])
    ordered = sorted(found)
    return Strings.of(ordered), np.array([found[word] for word in ordered], np.uint32)


def _sums(keys: Ints, values: Ints, size: int) -> Ints:
    return np.bincount(keys, weights=values, minlength=size).astype(np.uint32)


def _chunk_lengths(texts: _Texts, lengths: Ints) -> Ints:
    field = texts.keys & (FIELD_SLOTS - 1)
    return np.stack([lengths[field == BODY], lengths[field == CODE]], axis=1).astype(np.uint32).ravel()


def _of(numbers: array[int]) -> Ints:
    return np.frombuffer(numbers, np.uint32) if len(numbers) else np.zeros(0, np.uint32)
