"""Unigram tokenizer, which splits texts into pieces like SentencePiece.

Each piece has a probability, and the most probable split of a word wins (Kudo, *Subword Regularization*,
2018); it is found from left to right (Viterbi). The ``tokenizers`` library gives the same result and takes
260 MB for 250,000 pieces; this module takes 12 MB, and a known word costs one look-up.
"""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vaultseek.base.text import replace_surrogates

UNKNOWN_PENALTY = 10.0
"""Score difference between the rarest piece and a character that is in no piece."""
CACHED_WORDS = 50_000
"""Number of words whose tokens are cached."""
CACHED_CHARS = 40
"""Maximum length of a cached word."""

_MARK = "\u2581"
_KEPT = "\uff5e"
"""The only character changed by NFKC and kept by SentencePiece's rules."""


class Pieces:
    """Strings in one UTF-8 text; ``edges`` holds the start of each, and the end of the last one."""

    def __init__(self, text: bytes, edges: array[int]) -> None:
        self._text = text
        self._edges = edges

    def __len__(self) -> int:
        return len(self._edges) - 1

    def __getitem__(self, number: int) -> str:
        return self._text[self._edges[number] : self._edges[number + 1]].decode()

    def __iter__(self) -> Iterator[str]:
        return map(self.__getitem__, range(len(self)))


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


class StringTable:
    """A map from strings to small numbers, in a fifth of a dictionary's memory.

    It stores only a 64-bit key of each string, which two of a million strings share once in 40 million cases:
    the hash with the length, because Python hashes the bytes in memory, which are the same for "te" and for
    one character of two bytes.
    """

    def __init__(self, count: int) -> None:
        """``count`` is the maximum number of strings."""
        size = 1 << (2 * count).bit_length()
        self._mask = size - 1
        self._hashes = array("q", bytes(8 * size))
        self._numbers = array("i", bytes(4 * size))

    def get(self, string: str, default: int) -> int:
        """Return the number of the string, or ``default`` if it is missing."""
        key, hashes, mask = hash(string) ^ len(string), self._hashes, self._mask
        place = key & mask
        while found := hashes[place]:
            if found == key:
                return self._numbers[place]
            place = (place + 1) & mask
        return default

    def set(self, string: str, number: int) -> None:
        """Assign a number to a non-empty string."""
        key, hashes = hash(string) ^ len(string), self._hashes
        place = key & self._mask
        while hashes[place] not in (0, key):
            place = (place + 1) & self._mask
        hashes[place], self._numbers[place] = key, number


class UnigramTokenizer:
    """A tokenizer for texts. Words are split at white space, and each gets a mark in front."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._tokens = StringTable(len(vocabulary.pieces))
        longest: dict[str, int] = {}
        for token, piece in enumerate(vocabulary.pieces):
            if piece:
                self._tokens.set(piece, token)
                start = piece[:2]
                if len(piece) > longest.get(start, 1):
                    longest[start] = len(piece)
        self._longest_piece = max(longest.values(), default=1)
        self._longest = StringTable(len(longest))
        """The length of the longest piece that begins with one or two characters."""
        for start, length in longest.items():
            self._longest.set(start, length)
        self._replacements = vocabulary.replacements
        self._unknown_score = min(vocabulary.scores) - UNKNOWN_PENALTY
        self._words: dict[str, tuple[int, ...]] = {}

    def encode(self, text: str, most: int) -> list[int]:
        """Return the tokens of ``text`` between begin and end, up to ``most`` in total."""
        tokens = [self._vocabulary.begin]
        for word in self._marked(text):
            tokens += self._split(word[: most * self._longest_piece])
            if len(tokens) >= most:
                break
        return [*tokens[: most - 1], self._vocabulary.end]

    def count(self, text: str) -> int:
        """Return the number of tokens of ``text``, excluding the begin and end tokens."""
        return sum(len(self._split(word)) for word in self._marked(text))

    def unknown_letters(self, text: str) -> int:
        """Return the number of letters and digits that are in no piece."""
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
        """Apply the vocabulary's rules: NFKC, where it composes characters, and rules for single ones."""
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
        """Return the tokens of the most probable split; a run of unknown characters is one token."""
        vocabulary, known, longest = self._vocabulary, self._tokens.get, self._longest.get
        scores, unknown, unknown_score = vocabulary.scores, vocabulary.unknown, self._unknown_score
        length = len(word)
        best = [0.0] + [float("-inf")] * length
        starts = [0] * (length + 1)
        tokens = [unknown] * (length + 1)
        for start in range(length):
            score = best[start]
            if score + unknown_score > best[start + 1]:
                best[start + 1], starts[start + 1] = score + unknown_score, start
                tokens[start + 1] = unknown
            for end in range(start + 1, min(start + longest(word[start : start + 2], 1), length) + 1):
                token = known(word[start:end], -1)
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
