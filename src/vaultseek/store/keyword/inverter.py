"""Inversion of documents into one segment. Each occurrence of a term becomes a number in an array that is
sorted once.

The work per occurrence is one dictionary lookup: a ``Lexicon`` caches the terms of each distinct token, and
the rest is arithmetic over whole arrays.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.content.languages.detect import NO_LANGUAGE
from vaultseek.content.markdown.title import file_stem, other_name
from vaultseek.content.query.dates import find_dates
from vaultseek.content.query.normal_forms import MARK
from vaultseek.store.keyword.analysis import Analyzer, LanguageRules, analyzer_of
from vaultseek.store.keyword.segment import (
    BODY,
    CODE,
    FIELD_BITS,
    FIELD_SLOTS,
    GAP,
    Block,
    Ints,
    Tables,
    run_indexes,
    run_starts,
)
from vaultseek.store.keyword.strings import Strings, word_tables

LEXICON_TOKENS = 100_000
"""Number of distinct tokens at which a lexicon is cleared."""
PROPERTIES = "properties"
NAMES = "names"
"""Ids of the two passages with a note's properties: one for its names and tags, one for all other properties.
Passages of the note's text never have these ids."""


@dataclass(frozen=True, slots=True)
class KeywordChunk:
    """A passage with its prose and its code in separate fields."""

    id: str
    prose: str
    code: str = ""


@dataclass(frozen=True, slots=True)
class KeywordDocument:
    """A note to be indexed. ``note`` is its ledger id, which stays the same when the text changes.

    A file name that differs from the title counts as a further alias. The ``name_day``, a day given in the
    path, counts as a further part of the path. ``language`` is the note's own language, or "" for the vault's
    language. ``day_first`` is true if dates in names and properties put the day before the month, and None if
    the order is unknown.
    """

    note: int
    path: str
    title: str
    aliases: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    chunks: tuple[KeywordChunk, ...] = ()
    language: str = NO_LANGUAGE
    name_day: str = ""
    day_first: bool | None = None

    def values(self) -> tuple[Sequence[tuple[str, bool | None]], ...]:
        """Return, for each of ``FIELDS``, pairs of a text and the ``day_first`` that applies to its dates."""
        path = self.path.removesuffix(".md").split("/")
        if self.name_day and not find_dates(file_stem(self.path)):
            path.append(self.name_day)
        name = other_name(self.title, self.path)
        aliases = (*self.aliases, name) if name else self.aliases
        fields = ((self.title,), aliases, self.headings, self.tags, path)
        order = {PROPERTIES: self.day_first, NAMES: self.day_first}
        return (
            *([(text, self.day_first) for text in texts] for texts in fields),
            [(chunk.prose, order.get(chunk.id)) for chunk in self.chunks],
            [(chunk.code, None) for chunk in self.chunks],
        )


class Lexicon:
    """A cache of the analysis: numbers for tokens and terms, and the terms of each token.

    A token has a different number in each language. The terms of token ``i`` are the term numbers
    ``terms[firsts[i]:][:sizes[i]]``, at the positions in ``offsets``. ``texts`` contains the text of each
    term, by number; ``words`` contains, for each token, pairs of a word and the number of its term.
    """

    def __init__(self) -> None:
        self._clear()

    def of_language(self, language: str | None) -> TokenNumbers:
        """Return the token numbers for one language."""
        numbers = self._numbers.get(language)
        if numbers is None:
            numbers = self._numbers[language] = TokenNumbers(self, analyzer_of(language))
        return numbers

    def shrink(self) -> None:
        """Clear the lexicon if it is too large. Call this only between two segments."""
        if len(self.words) > LEXICON_TOKENS:
            self._clear()

    def add(self, token: str, analyzer: Analyzer) -> int:
        """Analyse a new token and return its number."""
        analyzed = analyzer.token_terms(token)
        terms = analyzed.terms
        self.advances.append(analyzed.advance)
        self.firsts.append(len(self.terms))
        self.sizes.append(len(terms))
        words: dict[str, int] = {}
        for text, offset, role, word in terms:
            number = self._term_number(text)
            self.terms.append(number)
            self.offsets.append(offset)
            if role != "character" and (role != "form" or text[0] == MARK):
                words.setdefault(word, number)
        self.words.append(tuple([(word.encode(), number) for word, number in words.items()]))
        return len(self.words) - 1

    def _term_number(self, text: str) -> int:
        number = self._terms.setdefault(text, len(self.texts))
        if number == len(self.texts):
            self.texts.append(text.encode())
        return number

    def _clear(self) -> None:
        self._numbers: dict[str | None, TokenNumbers] = {}
        self._terms: dict[str, int] = {}
        self.texts: list[bytes] = []
        self.words: list[tuple[tuple[bytes, int], ...]] = []
        self.advances, self.firsts, self.sizes = array("I"), array("I"), array("I")
        self.terms, self.offsets = array("I"), array("I")


class TokenNumbers(dict[str, int]):
    """Token numbers for one language; looking up an unknown token adds it to the lexicon."""

    def __init__(self, lexicon: Lexicon, analyzer: Analyzer) -> None:
        super().__init__()
        self._lexicon = lexicon
        self._analyzer = analyzer

    def __missing__(self, token: str) -> int:
        number = self[token] = self._lexicon.add(token, self._analyzer)
        return number

    def of_text(self, text: str, day_first: bool | None) -> Iterator[int]:
        """Yield the numbers of a text's tokens, in order."""
        return map(self.__getitem__, self._analyzer.tokenize_with_forms(text, day_first))


def invert(
    documents: Sequence[KeywordDocument], lexicon: Lexicon, rules: LanguageRules
) -> tuple[Tables, Block]:
    """Return a segment of ``documents``, numbered in order. This needs about 50 bytes of memory per token.

    ``rules`` choose the analysis language of each document.
    """
    tokens, texts = _tokenize(documents, lexicon, rules)
    advances = _array(lexicon.advances)[tokens].astype(np.int64)
    token_starts = run_starts(advances)
    text_starts = token_starts[run_starts(texts.sizes)]
    text_lengths = np.diff(text_starts)
    words = np.where(_array(lexicon.sizes)[tokens] > 0, advances, 0)  # borders between blocks are not words
    word_counts = np.diff(run_starts(words)[run_starts(texts.sizes)])
    positions = token_starts[:-1] - np.repeat(
        text_starts[:-1] - _text_positions(texts, text_lengths), texts.sizes
    )
    keys = np.repeat(texts.keys, texts.sizes)
    vocabulary, terms, keys, positions = _occurrences(lexicon, tokens, keys, positions)
    block, first_rows, first_positions = _rows(terms, keys, positions, len(vocabulary))
    written, word_terms = _words(lexicon, tokens, vocabulary)
    chunk_counts = np.array([len(document.chunks) for document in documents], np.int64)
    tables = Tables(
        notes=np.array([document.note for document in documents], np.int64),
        languages=np.array([rules.mark(document.language) for document in documents], np.uint8),
        lengths=np.bincount(texts.keys, weights=word_counts, minlength=len(documents) * FIELD_SLOTS).astype(
            np.uint32
        ),
        first_chunks=run_starts(chunk_counts).astype(np.uint32),
        chunk_lengths=_chunk_lengths(texts, text_lengths),
        chunk_ids=Strings.of(chunk.id.encode() for document in documents for chunk in document.chunks),
        vocabulary=Strings.of(vocabulary),
        first_rows=first_rows,
        first_positions=first_positions,
        words=written,
        word_terms=word_terms,
    )
    return tables, block


@dataclass(frozen=True, slots=True)
class _Texts:
    """All texts of all fields in order, with the key (note and field) and the number of tokens of each
    text."""

    keys: Ints
    sizes: Ints


def _tokenize(
    documents: Sequence[KeywordDocument], lexicon: Lexicon, rules: LanguageRules
) -> tuple[Ints, _Texts]:
    tokens, keys, sizes = array("I"), array("I"), array("I")
    for number, document in enumerate(documents):
        numbers = lexicon.of_language(rules.language_of(document.language)).of_text
        for field, texts in enumerate(document.values()):
            for text, day_first in texts:
                before = len(tokens)
                tokens.extend(numbers(text, day_first))
                keys.append(number << FIELD_BITS | field)
                sizes.append(len(tokens) - before)
    return _array(tokens), _Texts(_array(keys), _array(sizes))


def _text_positions(texts: _Texts, lengths: Ints) -> Ints:
    ends = run_starts(lengths + GAP)
    first_of_field = np.flatnonzero(np.diff(texts.keys.astype(np.int64), prepend=-1))
    counts = np.diff(first_of_field, append=len(texts.keys))
    return ends[:-1] - np.repeat(ends[first_of_field], counts)


def _occurrences(
    lexicon: Lexicon, tokens: Ints, keys: Ints, positions: Ints
) -> tuple[list[bytes], Ints, Ints, Ints]:
    sizes = _array(lexicon.sizes)[tokens].astype(np.int64)
    indexes = run_indexes(_array(lexicon.firsts)[tokens].astype(np.int64), sizes)
    numbers = _array(lexicon.terms)[indexes]
    used = np.unique(numbers)
    order = sorted(used.tolist(), key=lexicon.texts.__getitem__)
    ranks = np.zeros(len(lexicon.texts), np.uint32)
    ranks[order] = np.arange(len(order), dtype=np.uint32)
    vocabulary = [lexicon.texts[number] for number in order]
    return (
        vocabulary,
        ranks[numbers],
        np.repeat(keys, sizes),
        np.repeat(positions, sizes) + _array(lexicon.offsets)[indexes],
    )


def _rows(terms: Ints, keys: Ints, positions: Ints, vocabulary: int) -> tuple[Block, Ints, Ints]:
    """Group occurrences into rows.

    Occurrences arrive sorted by key and position, so a stable sort by term is enough. Returns the rows, and
    the first row and the first position of each term.
    """
    order = np.argsort(terms, kind="stable")
    terms, keys, positions = terms[order], keys[order], positions[order]
    begins = np.empty(len(terms), bool)
    begins[:1] = True
    begins[1:] = (terms[1:] != terms[:-1]) | (keys[1:] != keys[:-1])
    rows = np.flatnonzero(begins)
    counts = np.diff(rows, append=len(terms))
    block = Block(keys[rows], counts, positions)
    every = np.arange(vocabulary + 1, dtype=np.uint32)
    first_rows = np.searchsorted(terms[rows], every).astype(np.uint32)
    return block, first_rows, np.searchsorted(terms, every).astype(np.uint32)


def _words(lexicon: Lexicon, tokens: Ints, vocabulary: list[bytes]) -> tuple[Strings, Ints]:
    ranks = {text: rank for rank, text in enumerate(vocabulary)}
    pairs = {
        (word, ranks[lexicon.texts[term]])
        for token in np.unique(tokens).tolist()
        for word, term in lexicon.words[token]
    }
    return word_tables(pairs)


def _chunk_lengths(texts: _Texts, lengths: Ints) -> Ints:
    field = texts.keys & (FIELD_SLOTS - 1)
    return np.stack([lengths[field == BODY], lengths[field == CODE]], axis=1).astype(np.uint32).ravel()


def _array(numbers: array[int]) -> Ints:
    return np.frombuffer(numbers, np.uint32) if len(numbers) else np.zeros(0, np.uint32)
