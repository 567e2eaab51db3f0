"""Unigram tokenizer, which splits texts into pieces like SentencePiece.

Each piece has a probability, and the most probable split of a word wins (Kudo, *Subword Regularization*,
2018). This split is found in one pass from left to right (Viterbi). The ``tokenizers`` library gives the same
result and takes 260 MB for 250,000 pieces; this module takes 12 MB, and a known word costs one look-up.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.text import replace_surrogates

Keys = NDArray[np.uint64]
UNKNOWN_PENALTY = 10.0
"""Difference in score between the rarest piece and a character that occurs in no piece."""
CACHED_WORDS = 50_000
"""Number of words whose tokens are cached."""
CACHED_CHARS = 40
"""Maximum length of a cached word, in characters."""

KEY_FACTOR, KEY_MASK, FIRST_KEY = 0x9E3779B97F4A7C15, (1 << 64) - 1, 1
"""Constants for computing the key of a string: 64 bits of a polynomial in its characters. A key is computed
in one step per character.

Python's own hash would need a separate call for each of 250,000 strings.
"""

_MARK = "\u2581"
_KEPT = "\uff5e"
"""The only character that NFKC changes but SentencePiece's rules keep."""


class Pieces:
    """Strings stored as one UTF-8 string; ``edges`` contains the start of each string, and the end of the
    last one."""

    def __init__(self, text: bytes, edges: array[int]) -> None:
        self._text = text
        self._edges = edges

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, number: int) -> str:
        return self._text[self._edges[number] : self._edges[number + 1]].decode()

    def keys(self) -> tuple[Keys, Keys, NDArray[np.int64]]:
        """Return the key of each string, the key of its first two characters, and its length.

        All keys are extended together, one character at a time, because a loop over 250,000 strings takes
        half a second.
        """
        data = np.frombuffer(self._text, np.uint8)
        characters = np.zeros(len(data) + 1, np.int32)
        np.cumsum((data & 0xC0) != 0x80, out=characters[1:])
        edges = characters[np.frombuffer(self._edges, np.uint32)]
        codes = np.frombuffer(self._text.decode().encode("utf-32-le"), "<u4")
        lengths = np.diff(edges).astype(np.int64)
        keys, starts = (np.full(len(lengths), FIRST_KEY, np.uint64) for _ in range(2))
        for number in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > number)
            keys[rows] = (keys[rows] + codes[edges[rows] + number]) * np.uint64(KEY_FACTOR)
            if number < 2:
                starts[rows] = keys[rows]
        return keys, starts, lengths


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Pieces with their scores (log probabilities); a token is the index of its piece.

    ``begin``, ``end`` and ``unknown`` are tokens. ``replacements`` maps the code of a character to its
    replacement.
    """

    pieces: Pieces
    scores: array[float]
    begin: int
    end: int
    unknown: int
    replacements: dict[int, str]


class KeyTable:
    """A map from the keys of strings to small numbers. It takes a fifth of a dictionary's memory.

    Among a million strings, the probability that two share a 64-bit key is 1 in 40 million.
    """

    def __init__(self, keys: Keys, numbers: NDArray[np.int64]) -> None:
        """Build the map from ``keys`` and their ``numbers``. If a key occurs several times, its last number
        counts.

        All keys are entered together: each in its own slot if that is free, otherwise in the next free slot.
        """
        bits = (2 * len(keys)).bit_length()
        size, self._shift = 1 << bits, 64 - bits
        self._mask = size - 1
        known, values = np.zeros(size, np.uint64), np.zeros(size, np.int32)
        places = (keys >> np.uint64(self._shift)).astype(np.int64)
        while len(keys):
            free = known[places] == 0
            known[places[free]] = keys[free]
            is_in = known[places] == keys
            values[places[is_in]] = numbers[is_in]
            keys, numbers = keys[~is_in], numbers[~is_in]
            places = (places[~is_in] + 1) & self._mask
        self._keys, self._numbers = array("Q", known.tobytes()), array("i", values.tobytes())

    def get(self, key: int, default: int) -> int:
        """Return the number of a key, or ``default`` if it is missing."""
        keys, mask = self._keys, self._mask
        place = key >> self._shift
        while found := keys[place]:
            if found == key:
                return self._numbers[place]
            place = (place + 1) & mask
        return default


class UnigramTokenizer:
    """A tokenizer that splits texts into words at white space. It puts SentencePiece's space character,
    U+2581, before each word."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        keys, starts, lengths = vocabulary.pieces.keys()
        self._tokens = KeyTable(keys, np.arange(len(keys)))
        longest_first = np.argsort(-lengths, kind="stable")
        starts, rows = np.unique(starts[longest_first], return_index=True)
        self._longest_piece = int(lengths.max(initial=1))
        self._longest = KeyTable(starts, lengths[longest_first[rows]])
        """By the key of two characters: the length of the longest piece that begins with them."""
        self._replacements = vocabulary.replacements
        self._unknown_score = min(vocabulary.scores) - UNKNOWN_PENALTY
        self._words: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, most: int) -> list[int]:
        """Return the begin token, the tokens of ``text``, and the end token, at most ``most`` tokens in
        total."""
        tokens = [self._vocabulary.begin]
        for word in self._marked(text):
            tokens += self._split(word[: most * self._longest_piece])
            if len(tokens) >= most:
                break
        return [*tokens[: most - 1], self._vocabulary.end]

    def count(self, text: str) -> int:
        """Return the number of tokens in ``text``, excluding the begin and end tokens."""
        return sum(len(self._split(word)) for word in self._marked(text))

    def unknown_letters(self, text: str) -> int:
        """Return how many of the letters and digits in ``text`` occur in no piece."""
        unknown, pieces = self._vocabulary.unknown, self._vocabulary.pieces
        letters = 0
        for word in self._marked(text):
            tokens = self._split(word)
            if unknown in tokens:
                known = sum(_letters(pieces[token]) for token in tokens if token != unknown)
                letters += _letters(word) - known
        return letters

    def _marked(self, text: str) -> Iterator[str]:
        return (_MARK + word for word in self._normalized(text).split())

    def _normalized(self, text: str) -> str:
        """Apply the vocabulary's rules: NFKC for all characters but one, and replacements of single
        characters."""
        if not text.isascii():
            parts = replace_surrogates(text).split(_KEPT)
            text = _KEPT.join(unicodedata.normalize("NFKC", part) for part in parts)
        return text.translate(self._replacements)

    def _split(self, word: str) -> Sequence[int]:
        tokens = self._words.get(word)
        if tokens is None:
            tokens = tuple(self._best_split(word))
            if len(word) <= CACHED_CHARS:
                if len(self._words) >= CACHED_WORDS:
                    self._words.clear()
                self._words[word] = tokens
        return tokens

    def _best_split(self, word: str) -> list[int]:
        """Return the tokens of the most probable split of a word; a run of unknown characters is one
        token."""
        vocabulary, known, longest = self._vocabulary, self._tokens.get, self._longest.get
        scores, unknown, unknown_score = vocabulary.scores, vocabulary.unknown, self._unknown_score
        length, codes = len(word), [*map(ord, word), 0]
        best = [0.0] + [float("-inf")] * length
        starts = [0] * (length + 1)
        tokens = [unknown] * (length + 1)
        for start in range(length):
            score = best[start]
            if score + unknown_score > best[start + 1]:
                best[start + 1], starts[start + 1] = score + unknown_score, start
                tokens[start + 1] = unknown
            key = (FIRST_KEY + codes[start]) * KEY_FACTOR
            most = longest((key + codes[start + 1]) * KEY_FACTOR & KEY_MASK, 1)
            key = FIRST_KEY
            for end in range(start + 1, min(start + most, length) + 1):
                key = (key + codes[end - 1]) * KEY_FACTOR & KEY_MASK
                token = known(key, -1)
                if token >= 0 and score + scores[token] > best[end]:
                    best[end], starts[end], tokens[end] = score + scores[token], start, token
        split: list[int] = []
        end = length
        while end:
            if tokens[end] != unknown or not split or split[-1] != unknown:
                split.append(tokens[end])
            end = starts[end]
        return split[::-1]


def _letters(text: str) -> int:
    return sum(map(str.isalnum, text))
