"""Positions of index terms in text: the ranges to highlight."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from vaultseek.base.text import is_unspaced as contains_unspaced
from vaultseek.base.text import typed_apostrophes
from vaultseek.content.languages.syllables import syllable_pairs
from vaultseek.content.query.normal_forms import MARK, normal_forms
from vaultseek.store.keyword.analysis import (
    Analyzer,
    LanguageRules,
    analyzer_of,
    fold_compound,
    is_unspaced,
    is_word,
    token_pattern,
)
from vaultseek.store.keyword.query_terms import QueryAnalyzer

CACHED_TOKENS = 20_000
"""Number of tokens per language whose spans are cached."""

SAME_CHARS, SHORT_CHARS = 2, 5
"""Number of first letters that no stemmer changes, and maximum length of words whose second letter may
change, such as *dying*."""
CACHED_TEXTS = 2048
"""Number of texts, mostly passages, whose tokens are cached."""
_COMPOSES = re.compile("[\u1160-\u11ff\uff9e-\uffdc]")
"""Characters that are not combining marks but may compose with the preceding character: Hangul vowels and
final consonants, and the voicing marks of half-width kana."""
Analyzers = tuple[Analyzer, ...]


Span = tuple[int, int, str]
"""A range of characters and its term."""


class _DistinctTokens(NamedTuple):
    """The distinct tokens in a text: ``all`` of them, and ``by_initial``.

    The initial is the first letter, in lower case, of an ASCII word; it is "" for other tokens.
    """

    all: frozenset[str]
    by_initial: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, tokens: Iterable[str]) -> _DistinctTokens:
        distinct, by_initial = frozenset(tokens), defaultdict(list)
        for token in distinct:
            by_initial[token[0].lower() if token.isascii() and is_word(token) else ""].append(token)
        return cls(distinct, by_initial)


class _Tokens:
    """Known tokens with the spans of their terms, and the known tokens that contain each term.

    Most tokens in a text contain no query term. Looking up the tokens for each term is therefore much faster
    than checking the terms of each token.
    """

    def __init__(self, analyzers: Analyzers) -> None:
        self._analyzers = analyzers
        self._spans: dict[str, tuple[Span, ...]] = {}
        self._with_term: defaultdict[str, set[str]] = defaultdict(set)

    def __len__(self) -> int:
        return len(self._spans)

    def with_terms(self, terms: Collection[str], tokens: _DistinctTokens) -> dict[str, list[Span]]:
        """Return those ``tokens`` that contain one of the ``terms``, with the spans of these terms."""
        beginnings = tuple({term.partition("~")[0][:SAME_CHARS] for term in terms})
        for initial in {"", *(term[0] for term in terms)}:
            for token in tokens.by_initial.get(initial, ()):
                # Finding the stem of a token takes a hundred times as long as this comparison.
                if token not in self._spans and (
                    not initial or len(token) <= SHORT_CHARS or token.lower().startswith(beginnings)
                ):
                    self._add(token)
        matching = {
            token for term in terms if term in self._with_term for token in self._with_term[term] & tokens.all
        }
        return {token: [span for span in self._spans[token] if span[2] in terms] for token in matching}

    def _add(self, token: str) -> None:
        spans = dict.fromkeys(span for analyzer in self._analyzers for span in _spans_in(token, analyzer))
        for _, _, term in spans:
            self._with_term[term].add(token)
        self._spans[token] = tuple(spans)


class SpanFinder:
    """Finder of index terms in notes; ``rules`` choose the language in which a note is analysed.

    For an unknown note, all languages of the query are tried.
    """

    def __init__(self, analyzer: QueryAnalyzer, rules: LanguageRules) -> None:
        self.analyzer = analyzer
        self._rules = rules
        self._tokens: dict[Analyzers, _Tokens] = {}

    def spans(self, text: str, terms: Collection[str], own: str | None = None) -> list[Span]:
        """Return the spans of the given ``terms`` in ``text``; the spans of a compound and of its parts
        overlap.

        ``own`` is the language of the note that contains the text: "" if it is unclear, None if the note is
        unknown.
        """
        normalized, origins, places, tokens = _tokenized(text)
        matching = self._tokens_of(own).with_terms(terms, tokens)
        spans = [
            (start + first, start + last, term)
            for start, token in (places if matching else ())
            if token in matching
            for first, last, term in matching[token]
        ]
        if any(term[0] == MARK or term[0].isdecimal() for term in terms):
            spans += (
                (form.start, form.end, term)
                for form in normal_forms(normalized)
                for term in form.others
                if term in terms
            )
        if not origins:
            return spans
        return [(origins[start][0], origins[end - 1][1], term) for start, end, term in spans]

    def _tokens_of(self, own: str | None) -> _Tokens:
        analyzers = self.analyzer.analyzers
        if own is not None and len(analyzers) > 1:
            analyzers = (analyzer_of(self._rules.language_of(own)),)
        tokens = self._tokens.get(analyzers)
        if tokens is None or len(tokens) > CACHED_TOKENS:
            tokens = self._tokens[analyzers] = _Tokens(analyzers)
        return tokens


def _spans_in(token: str, analyzer: Analyzer) -> list[Span]:
    folded, origins = (token.lower(), range(len(token))) if token.isascii() else _fold(token)
    spans: list[Span] = []
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
    return spans


@lru_cache(maxsize=CACHED_TEXTS)
def _tokenized(
    text: str,
) -> tuple[str, Sequence[tuple[int, int]], Sequence[tuple[int, str]], _DistinctTokens]:
    """Return four values: ``text`` as analysed, the original positions of its characters (empty if they are
    unchanged), its tokens with their positions, and its distinct tokens.

    The result is cached, because the same passages are shown again while a query is typed, and often for the
    next query.
    """
    origins: Sequence[tuple[int, int]] = ()
    text = typed_apostrophes(text)
    if not unicodedata.is_normalized("NFKC", text):
        text, origins = _normalize(text)
    places = _token_places(text)
    return text, origins, places, _DistinctTokens.of(token for _, token in places)


@lru_cache(maxsize=16)
def span_finder(rules: LanguageRules, languages: frozenset[str | None]) -> SpanFinder:
    """Return the finder for notes in the given languages. The finder keeps its caches for the next search."""
    return SpanFinder(QueryAnalyzer(rules.given, languages), rules)


def _token_places(text: str) -> list[tuple[int, str]]:
    places = [(match.start(), match[0]) for match in token_pattern(text).finditer(text)]
    if text.isascii() or not contains_unspaced(text):
        return places
    return [place for start, token in places for place in _pairs(text, start, token)]


def _pairs(text: str, start: int, token: str) -> list[tuple[int, str]]:
    if not is_unspaced(token):
        return [(start, token)]
    return [(low, text[low:high]) for low, high in syllable_pairs(text, start, start + len(token))]


def _fold(token: str) -> tuple[str, list[int]]:
    letters = [fold_compound(character) for character in token]
    return "".join(letters), [index for index, folded in enumerate(letters) for _ in folded]


def _normalize(text: str) -> tuple[str, list[tuple[int, int]]]:
    parts: list[str] = []
    origins: list[tuple[int, int]] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and (unicodedata.category(text[end])[0] == "M" or _COMPOSES.match(text[end])):
            continue  # normalizing can merge the character with the one before it
        normalized = unicodedata.normalize("NFKC", text[start:end])
        parts.append(normalized)
        origins += [(start, end)] * len(normalized)
        start = end
    return "".join(parts), origins
