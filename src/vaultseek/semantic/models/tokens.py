"""Token counters, which split texts like a model's tokenizer."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vaultseek.base.limits import TOKEN_WORD_CHARS
from vaultseek.base.text import replace_surrogates
from vaultseek.semantic.models.packed import PACKED, PackedCounter

TOKEN_CACHE_WORDS = 100_000
"""Maximum number of words in a counter's cache."""
TOKEN_CACHE_WORD_CHARS = 100
"""Maximum length of a cached word, in characters. Longer words rarely recur, and would take much memory."""

ASCII_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
IDEOGRAPHS = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002b81f\U0002b920-\U0002ceaf"
    "\U0002f800-\U0002fa1f"
)
"""Characters that BERT's normalizer surrounds with spaces, so that each character is a one-token word."""
SPACES = " \\t\\n\\r\u00a0\u2000-\u200a\u202f\u3000"
PUNCTUATION = "\u2010-\u2027\u3001-\u3003\u3008-\u3011"


class TokenCounter:
    """A callable that returns the number of tokens in a text, not counting ``[CLS]`` and ``[SEP]``.

    BERT's WordPiece tokenizer splits each word separately, so counts are cached per word and only new words
    are tokenized. Other tokenizers get the whole text. ``additive`` is true for WordPiece: the count for two
    texts joined by white space is the sum of their counts.
    """

    def __init__(self, tokenizer: Any, description: Mapping[str, Any] | None = None) -> None:
        """Wrap a ``tokenizers.Tokenizer``.

        ``description`` is the tokenizer's parsed ``tokenizer.json``; without it, counts are not additive.
        """
        self.file: Path | None = None
        """The ``tokenizer.json`` from which the tokenizer was loaded."""
        self._tokenizer = tokenizer
        self._special: re.Pattern[str] | None = None
        self._words: _WordCounts | None = None
        self._unknown = _unknown_token(description or {})
        if description is not None and _counts_add_up(description):
            self._special = _special_tokens(description)
            self._words = _WordCounts(self._count, tokenizer.model.tokenize, description)

    @classmethod
    def from_tokenizer_file(cls, path: Path) -> TokenCounter:
        """Load a ``tokenizer.json``, and turn off truncation and padding.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is not a tokenizer.
        """
        from tokenizers import Tokenizer

        text = path.read_text(encoding="utf-8")
        try:
            tokenizer = Tokenizer.from_str(text)
        except Exception as error:  # the Rust side raises plain Exception
            raise ValueError(f"{path} is not a readable tokenizer: {error}") from error
        tokenizer.no_truncation()
        tokenizer.no_padding()
        counter = cls(tokenizer, json.loads(text))
        counter.file = path
        return counter

    @property
    def additive(self) -> bool:
        """True if the count for two texts joined by white space is the sum of their counts."""
        return self._words is not None

    def __call__(self, text: str) -> int:
        if self._words is None:
            return self._count(text)
        count = self._words.__getitem__
        if self._special is None or "[" not in text:
            return sum(map(count, WORD.findall(text)))
        parts = self._special.split(text)
        return len(parts) - 1 + sum(sum(map(count, WORD.findall(part))) for part in parts)

    def unknown_letters(self, text: str) -> int:
        """Return the number of letters and digits in the parts of ``text`` that become unknown tokens."""
        if self._unknown is None or text.isascii():
            return 0
        encoding = self._encode(text)
        return sum(
            sum(map(str.isalnum, text[start:end]))
            for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
            if token == self._unknown
        )

    def _count(self, text: str) -> int:
        return len(self._encode(text).ids)

    def _encode(self, text: str) -> Any:
        try:
            return self._tokenizer.encode(text, add_special_tokens=False)
        except (UnicodeEncodeError, TypeError):  # a lone surrogate, which cannot come from a file
            return self._tokenizer.encode(replace_surrogates(text), add_special_tokens=False)


class WordCounter:
    """A callable that counts words and punctuation marks, which are the tokens of the test model."""

    additive = True

    def __call__(self, text: str) -> int:
        return len(_WORD_OR_MARK.findall(text))


count_words = WordCounter()

_WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")

# Control characters, combining marks and rare punctuation stay inside a "word", which the tokenizer splits:
# BERT drops most control characters and so joins the text on both sides.
WORD = re.compile(
    f"[^{SPACES}{re.escape(ASCII_PUNCTUATION)}{PUNCTUATION}{IDEOGRAPHS}]+"
    f"|[{re.escape(ASCII_PUNCTUATION)}{PUNCTUATION}{IDEOGRAPHS}]"
)


class _WordCounts(dict[str, int]):
    """A bounded cache of the number of tokens in each word, filled on first use."""

    def __init__(
        self, count: Callable[[str], int], pieces: Callable[[str], list[Any]], description: Mapping[str, Any]
    ) -> None:
        super().__init__()
        self._count = count
        self._pieces = pieces
        normalizer = description["normalizer"]
        self._lowers = normalizer.get("lowercase") is True
        self._max_chars = int(description["model"].get("max_input_chars_per_word") or 100)
        accents = normalizer.get("strip_accents")
        strips = normalizer.get("lowercase") is True if accents is None else accents
        self._dropped = _CONTROLS | {"Mn"} if strips else _CONTROLS

    def __missing__(self, word: str) -> int:
        if len(word) > TOKEN_WORD_CHARS:
            return self._count_long(word)
        if word.isascii() and word.isalnum():  # nothing to normalize except case, and nothing to split
            tokens = len(self._pieces(word.lower() if self._lowers else word))
        else:
            tokens = self._count(word)
        if len(word) <= TOKEN_CACHE_WORD_CHARS:
            if len(self) >= TOKEN_CACHE_WORDS:
                self.clear()
            self[word] = tokens
        return tokens

    def _count_long(self, word: str) -> int:
        """Count the tokens in a long word. The tokenizer's first steps are done here, because the tokenizer
        would need a hundred bytes of memory per character."""
        total = 0
        characters: list[str] = []
        for character in word:
            category = unicodedata.category(character)
            if category[0] == "P":
                total += 1 + self._part(characters)
                characters = []
            elif category not in self._dropped:
                characters.append(character)
        return total + self._part(characters)

    def _part(self, characters: list[str]) -> int:
        return 1 if len(characters) > self._max_chars else self._count("".join(characters))


_CONTROLS = frozenset({"Cc", "Cf", "Cn", "Co", "Cs"})


def _unknown_token(description: Mapping[str, Any]) -> int | None:
    """Return the token for unknown pieces, if the tokenizer has one."""
    model = description.get("model") or {}
    vocabulary = model.get("vocab")
    return vocabulary.get(model.get("unk_token")) if isinstance(vocabulary, dict) else None


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
    """Return true if an added token is matched exactly as written, anywhere in text."""
    flags = ("normalized", "single_word", "lstrip", "rstrip")
    return token["content"].startswith("[") and not any(token.get(flag) for flag in flags)


def _special_tokens(description: Mapping[str, Any]) -> re.Pattern[str] | None:
    contents = [token["content"] for token in description.get("added_tokens") or ()]
    longest_first = sorted(contents, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if contents else None


def describe_counter(count: Callable[[str], int]) -> str | None:
    """Return the description from which ``load_counter`` builds the same counter in another process; None if
    that is impossible."""
    if count is count_words:
        return ""
    if isinstance(count, PackedCounter):
        return count.model.name
    return str(count.file) if isinstance(count, TokenCounter) and count.file else None


def load_counter(description: str) -> Callable[[str], int]:
    """Return the counter for a description from `describe_counter`. Raises OSError or ValueError."""
    if description in PACKED:
        return PackedCounter(PACKED[description])
    return TokenCounter.from_tokenizer_file(Path(description)) if description else count_words
