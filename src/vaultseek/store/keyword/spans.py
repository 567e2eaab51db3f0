"""The places in a text of the terms that the index has for it: the ranges to highlight."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter

from vaultseek.base.text import fold_accents
from vaultseek.base.text import is_unspaced as contains_unspaced
from vaultseek.content.languages.syllables import syllable_pairs
from vaultseek.store.keyword.analysis import (
    Analyzer,
    analyzer_of,
    fold_compound,
    is_unspaced,
    token_pattern,
)
from vaultseek.store.keyword.note_languages import LanguageRules
from vaultseek.store.keyword.query_terms import QueryAnalyzer

CACHED_TOKENS = 20_000
"""Tokens whose spans are cached."""
CACHED_TEXTS = 800
"""Texts whose tokens are cached, some 10 kB each: the same passages are shown again while someone types."""

_COMPOSES = re.compile("[\u1160-\u11ff\uff9e-\uffdc]")
"""Characters that may compose with the one before although they are not combining: Hangul vowels and final
consonants, and the voicing marks of half-width kana."""
_start = attrgetter("start")
Analyzers = tuple[Analyzer, ...]


@dataclass(frozen=True, slots=True)
class TermSpan:
    """A term and the range of characters that it stands for; spans of a compound and its parts overlap."""

    start: int
    end: int
    term: str


class SpanFinder:
    """Finds the terms of a text, by the rules of the language that its note is analysed in.

    ``rules`` say which language that is. Without them, the rules of all languages of the query are tried.
    """

    def __init__(self, analyzer: QueryAnalyzer | Analyzer, rules: LanguageRules | None = None) -> None:
        self.analyzer = analyzer if isinstance(analyzer, QueryAnalyzer) else QueryAnalyzer(analyzer.language)
        self._rules = rules
        self._spans_of_token = lru_cache(maxsize=CACHED_TOKENS)(self._find)

    def spans(
        self, text: str, terms: Collection[str] | None = None, own: str | None = None
    ) -> Iterator[TermSpan]:
        """Yield the terms of ``text``, or those among ``terms``, in the order of the index.

        ``own`` is the language of the text's note, "" if that is not clear, None if the note is not known.
        """
        analyzers = self.analyzer.analyzers
        if own is not None and self._rules is not None and len(analyzers) > 1:
            analyzers = (analyzer_of(self._rules.language_of(own)),)
        if unicodedata.is_normalized("NFKC", text):
            yield from self._spans(text, terms, analyzers)
            return
        normalized, origins = _normalize(text)
        for span in self._spans(normalized, terms, analyzers):
            yield TermSpan(origins[span.start][0], origins[span.end - 1][1], span.term)

    def _spans(self, text: str, terms: Collection[str] | None, analyzers: Analyzers) -> Iterator[TermSpan]:
        if terms is None:
            for start, token in _token_places(text):
                for first, last, term in self._spans_of_token(token, analyzers):
                    yield TermSpan(start + first, start + last, term)
            return
        spans: list[TermSpan] = []
        tokens = _tokens_of(text)
        for token in tokens.candidates(terms):
            for first, last, term in self._spans_of_token(token, analyzers):
                if term in terms:
                    spans += [TermSpan(start + first, start + last, term) for start in tokens.starts(token)]
        yield from sorted(spans, key=_start)

    def _find(self, token: str, analyzers: Analyzers) -> tuple[tuple[int, int, str], ...]:
        """Return the range of each term of a token; that of the whole token if the word is not in it."""
        spans = [span for analyzer in analyzers for span in self._find_in(token, analyzer)]
        return tuple(dict.fromkeys(spans))

    def _find_in(self, token: str, analyzer: Analyzer) -> tuple[tuple[int, int, str], ...]:
        folded, origins = (token.lower(), range(len(token))) if token.isascii() else _fold(token)
        spans: list[tuple[int, int, str]] = []
        offset = first = part_end = 0
        for term in analyzer.token_terms(token).terms:
            if term.offset != offset:
                offset, first, part_end = term.offset, part_end, 0
            start = folded.find(term.word, first)
            if start < 0:
                spans.append((0, len(token), term.text))
                continue
            end = start + len(term.word)
            part_end = min(part_end or end, end)
            spans.append((origins[start], origins[end - 1] + 1, term.text))
        return tuple(spans)


def _token_places(text: str) -> Iterator[tuple[int, str]]:
    """Yield the tokens of a normalized text and where they begin."""
    if text.isascii() or not contains_unspaced(text):
        yield from ((match.start(), match[0]) for match in token_pattern(text).finditer(text))
        return
    for match in token_pattern(text).finditer(text):
        if not is_unspaced(match[0]):
            yield match.start(), match[0]
            continue
        for start, end in syllable_pairs(text, match.start(), match.end()):
            yield start, text[start:end]


class _Tokens:
    """The distinct tokens of a normalized text, ready to be searched for terms.

    A stemmer takes endings away, so a word gives a term with the same two first letters, or with the first
    alone: most words of a passage need no analysis to find those of a query. Some stemmers change *y* to *i*
    (``dying`` is ``die``), and the Finnish one makes one letter of two.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._spaced = text.isascii() or not contains_unspaced(text)
        tokens = token_pattern(text).findall(text) if self._spaced else self._all_starts
        self._words: dict[str, list[str]] = {}
        for token in set(tokens):
            self._words.setdefault(_group(token), []).append(token)
        self._compounds = self._words.pop(_COMPOUND, [])
        self._others = self._words.pop(_OTHER, [])

    def starts(self, token: str) -> Sequence[int]:
        """Return the places where the token begins."""
        starts = self._starts_apart(token) if self._spaced else None
        return self._all_starts[token] if starts is None else starts

    def _starts_apart(self, token: str) -> list[int] | None:
        """Return the places of a token; None if it stands somewhere beside what may belong to it."""
        text, starts = self._text, []
        start = text.find(token)
        while start >= 0:
            end = start + len(token)
            before, after = text[start - 1 : start], text[end : end + 1]
            if before in _APART and after in _APART:
                starts.append(start)
            elif not (before.isalnum() or after.isalnum()):  # those make it a part of a longer word
                return None
            start = text.find(token, end)
        return starts

    @cached_property
    def _all_starts(self) -> Mapping[str, Sequence[int]]:
        starts: dict[str, list[int]] = {}
        for start, token in _token_places(self._text):
            starts.setdefault(token, []).append(start)
        return starts

    def candidates(self, terms: Collection[str]) -> Iterator[str]:
        """Yield the tokens that may give one of ``terms``."""
        yield from self._others
        beginnings = {_beginning(term) for term in terms}
        single = tuple(beginning for beginning in beginnings if len(beginning) == 1)
        if single:
            beginnings |= {beginning for beginning in self._words if beginning[0] in single}
        for beginning in beginnings:
            yield from self._words.get(beginning, ())
        for compound in self._compounds:
            letters = _letters(compound)
            if any(beginning in letters for beginning in beginnings):
                yield compound


_tokens_of = lru_cache(maxsize=CACHED_TEXTS)(_Tokens)


_COMPOUND, _OTHER = "-", ""
_HARD_SIGNS = frozenset("ъЪ")
_APART = frozenset(["", *' ,;!?()[]{}|<>="\n\t'])
"""Characters, or none, beside which a word is a token by itself."""


@lru_cache(maxsize=CACHED_TOKENS)
def _group(token: str) -> str:
    """Return the beginning of a word, or what else the token is."""
    plain = _letters(token)
    if plain[:1] == plain[1:2] or not _keeps_beginning(token):
        return _OTHER
    return plain[:2] if token.isalpha() and token[1:].islower() else _COMPOUND


def _keeps_beginning(token: str) -> bool:
    """True if no stemmer changes the beginning of the word: it is Latin, or else Greek or Cyrillic.

    In other scripts beginnings are taken away as well. The Russian stemmer writes Latin letters as Cyrillic
    ones if there are some beyond Latin-1, and a hard sign at the end as a soft one.
    """
    if max(token) < "\u0100":
        return True
    return min(token) >= "\u0370" and max(token) < "\u0530" and not _HARD_SIGNS & set(token[:2])


def _letters(token: str) -> str:
    lower = token.lower() if token.isascii() else fold_accents(token.lower())
    return lower.replace("y", "i")


@lru_cache(maxsize=CACHED_TOKENS)
def _beginning(term: str) -> str:
    return _letters(term)[:2].rstrip("~")


def _fold(token: str) -> tuple[str, list[int]]:
    """Return the token as its words are folded, and for each character the index of its origin."""
    letters = [fold_compound(character) for character in token]
    return "".join(letters), [index for index, folded in enumerate(letters) for _ in folded]


def _normalize(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Return the text in NFKC, and for each character of it the range that it comes from."""
    parts: list[str] = []
    origins: list[tuple[int, int]] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and _may_compose(text[end]):
            continue
        normalized = unicodedata.normalize("NFKC", text[start:end])
        parts.append(normalized)
        origins += [(start, end)] * len(normalized)
        start = end
    return "".join(parts), origins


def _may_compose(character: str) -> bool:
    """True if normalizing can join the character with the one before it."""
    return unicodedata.category(character)[0] == "M" or _COMPOSES.match(character) is not None
