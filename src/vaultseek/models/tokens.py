"""Counting the tokens that a model will see. The only door to ``tokenizers``."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

from vaultseek.limits import TOKEN_WORD_CHARS
from vaultseek.text import replace_surrogates

TOKEN_CACHE_WORDS = 100_000
TOKEN_CACHE_WORD_CHARS = 100
"""Longer words are counted each time; they are rare and would fill the table."""

ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\U0002f800-\U0002fa1f"
)
"""What BERT's normalizer sets apart with spaces, so that each character is a word of one token."""
SPACES = " \\t\\n\\r\u00a0\u2000-\u200a\u202f\u3000"
PUNCTUATION = "\u2010-\u2027\u3001-\u3003\u3008-\u3011"


class Encoder(Protocol):
    """What is needed of a tokenizer; ``tokenizers.Tokenizer`` has it."""

    def encode(self, sequence: str, *, add_special_tokens: bool) -> Any:
        """Return an object whose ``ids`` are the tokens of ``sequence``."""


class TokenCounter:
    """Callable: text to its number of model tokens, ``[CLS]`` and ``[SEP]`` not counted.

    A WordPiece tokenizer of BERT's make treats every word by itself, so its counts add up over words: a
    word's count is looked up in a table and the tokenizer is asked only about new words. Any other tokenizer
    is asked about the whole text. ``additive`` says which: if true, the count of two texts joined by white
    space is the sum of their counts.
    """

    def __init__(self, encoder: Encoder, description: Mapping[str, Any] | None = None) -> None:
        """``description`` is the parsed ``tokenizer.json``; without it nothing is assumed."""
        self._encoder = encoder
        self._special: re.Pattern[str] | None = None
        self._words: _Words | None = None
        if description is not None and _counts_add_up(description):
            self._special = _special_tokens(description)
            self._words = _Words(self._ask, description)

    @classmethod
    def from_tokenizer_file(cls, path: Path) -> TokenCounter:
        """Load a ``tokenizer.json``; its truncation and padding are switched off.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no tokenizer.
        """
        from tokenizers import Tokenizer

        text = path.read_text(encoding="utf-8")
        try:
            tokenizer = Tokenizer.from_str(text)
        except Exception as error:  # the Rust side raises plain Exception
            raise ValueError(f"{path} is no tokenizer that can be read: {error}") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return cls(tokenizer, json.loads(text))

    @property
    def additive(self) -> bool:
        """Whether counts add up over white space."""
        return self._words is not None

    def __call__(self, text: str) -> int:
        if self._words is None:
            return self._ask(text)
        look_up = self._words.__getitem__
        if self._special is None or "[" not in text:
            return sum(map(look_up, WORD.findall(text)))
        parts = self._special.split(text)
        return len(parts) - 1 + sum(sum(map(look_up, WORD.findall(part))) for part in parts)

    def _ask(self, text: str) -> int:
        try:
            return len(self._encoder.encode(text, add_special_tokens=False).ids)
        except (UnicodeEncodeError, TypeError):  # a lone surrogate, which cannot come from a file
            legible = replace_surrogates(text)
            return len(self._encoder.encode(legible, add_special_tokens=False).ids)


# Controls, combining marks and rare punctuation stay inside a "word", which the tokenizer then takes apart
# itself: BERT drops most controls, and so joins what stands on their two sides.
WORD = re.compile(
    f"[^{SPACES}{re.escape(ASCII_PUNCTUATION)}{PUNCTUATION}{IDEOGRAPHS}]+"
    f"|[{re.escape(ASCII_PUNCTUATION)}{PUNCTUATION}{IDEOGRAPHS}]"
)


class _Words(dict[str, int]):
    """A bounded table of word to tokens that fills itself."""

    def __init__(self, ask: Callable[[str], int], description: Mapping[str, Any]) -> None:
        super().__init__()
        self._ask = ask
        model, normalizer = description["model"], description["normalizer"]
        self._longest = int(model.get("max_input_chars_per_word") or 100)
        prefix = str(model.get("continuing_subword_prefix") or "")
        vocabulary = model.get("vocab") or ()
        self._first = _Pieces(vocabulary)
        self._inner = _Pieces(piece.removeprefix(prefix) for piece in vocabulary if piece.startswith(prefix))
        self._lowers = normalizer.get("lowercase") is True
        accents = normalizer.get("strip_accents")
        strips = normalizer.get("lowercase") is True if accents is None else accents
        self._dropped = _CONTROLS | {"Mn"} if strips else _CONTROLS

    def __missing__(self, word: str) -> int:
        if word.isascii() and word.isalnum():
            tokens = self._plain(word)
        elif len(word) > TOKEN_WORD_CHARS:
            return self._long(word)
        else:
            tokens = self._ask(word)
        if len(word) <= TOKEN_CACHE_WORD_CHARS:
            if len(self) >= TOKEN_CACHE_WORDS:
                self.clear()
            self[word] = tokens
        return tokens

    def _plain(self, word: str) -> int:
        """Take a word of ASCII letters and digits apart as WordPiece does, the longest piece first.

        Done here because a call of the tokenizer costs more than most words do.
        """
        if len(word) > self._longest:
            return 1  # whatever is in it, it is one unknown token
        text = word.lower() if self._lowers else word
        pieces, start, tokens = self._first, 0, 0
        while start < len(text):
            end = start + pieces.reach.get(text[start : start + 2], 1)
            while text[start:end] not in pieces.all:
                end -= 1
                if end == start:
                    return 1
            # `end` may be beyond the text, where the slice is its last piece.
            start, tokens, pieces = end, tokens + 1, self._inner
        return tokens

    def _long(self, word: str) -> int:
        """Do the tokenizer's first steps here; it would take a hundred bytes of memory for a character."""
        total = 0
        kept: list[str] = []
        for character in word:
            category = unicodedata.category(character)
            if category[0] == "P":
                total += 1 + self._part(kept)
                kept = []
            elif category not in self._dropped:
                kept.append(character)
        return total + self._part(kept)

    def _part(self, kept: list[str]) -> int:
        return 1 if len(kept) > self._longest else self._ask("".join(kept))


class _Pieces:
    """Vocabulary pieces, and the length of the longest that begins with the same two characters."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self.all = frozenset(pieces)
        self.reach: dict[str, int] = {}
        for piece in self.all:
            self.reach[piece[:2]] = max(len(piece), self.reach.get(piece[:2], 0))


_CONTROLS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})


def _counts_add_up(description: Mapping[str, Any]) -> bool:
    normalizer = description.get("normalizer") or {}
    return (
        (description.get("model") or {}).get("type") == "WordPiece"
        and (description.get("pre_tokenizer") or {}).get("type") == "BertPreTokenizer"
        and normalizer.get("type") == "BertNormalizer"
        and normalizer.get("clean_text") is True
        and normalizer.get("handle_chinese_chars") is True
        and all(_is_plain(token) for token in description.get("added_tokens") or ())
    )


def _is_plain(token: Mapping[str, Any]) -> bool:
    """Whether an added token is found as written, wherever it stands."""
    flags = ("normalized", "single_word", "lstrip", "rstrip")
    return token["content"].startswith("[") and not any(token.get(flag) for flag in flags)


def _special_tokens(description: Mapping[str, Any]) -> re.Pattern[str] | None:
    contents = [token["content"] for token in description.get("added_tokens") or ()]
    longest_first = sorted(contents, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if contents else None
