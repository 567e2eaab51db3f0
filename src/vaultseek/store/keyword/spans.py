"""Positions of index terms in text: the ranges to highlight."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Sequence
from functools import lru_cache

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
    token_pattern,
)
from vaultseek.store.keyword.query_terms import QueryAnalyzer

CACHED_TOKENS = 20_000
"""Number of tokens per language whose spans are cached."""
CACHED_TEXTS = 2048
"""Number of texts whose tokens are cached: words and, for terms in other alphabets, whole passages."""
SAME_CHARS = 2
"""Number of first letters that no stemmer changes."""
ENGLISH_CHARS, ENDING_CHARS = 1, 3
"""Maximum number of last letters of a stem that its words do not have: in English, and in other languages."""
_COMPOSES = re.compile("[\u1160-\u11ff\uff9e-\uffdc]")
"""Characters that are not combining marks but may compose with the preceding character: Hangul vowels and
final consonants, and the voicing marks of half-width kana."""
_JOINT = re.compile("(?<=.)[^a-z0-9]")
_FOLDED = re.compile("[^\x00-\x7f\xa0\xab\xb7\xbb\u2010-\u2027\u2030-\u205e\u20ac\u2190-\u21ff\u2500-\u27bf]")
"""Characters that may be letters with an accent or ligatures, which are analysed without it."""
Analyzers = tuple[Analyzer, ...]


Span = tuple[int, int, str]
"""A range of characters and its term."""


class SpanFinder:
    """Finder of index terms in notes; ``rules`` choose the language in which a note is analysed.

    For an unknown note, all languages of the query are tried.
    """

    def __init__(self, analyzer: QueryAnalyzer, rules: LanguageRules) -> None:
        self.analyzer = analyzer
        self._rules = rules
        self._known: dict[Analyzers, dict[str, list[Span]]] = {}

    def spans(self, text: str, terms: Collection[str], own: str | None = None) -> list[Span]:
        """Return the spans of the given ``terms`` in ``text``; the spans of a compound and of its parts
        overlap.

        ``own`` is the language of the note that contains the text: "" if it is unclear, None if the note is
        unknown.
        """
        text, analyzers = typed_apostrophes(text), self._analyzers_of(own)
        known = self._known.setdefault(analyzers, {})
        beginnings, has_forms = _features(tuple(terms))
        spans: list[Span] = []
        for start, end in _candidates(text, beginnings):
            origins, tokens = _tokenized(text[start:end])
            for place, token in tokens:
                if token not in known:
                    if len(known) > CACHED_TOKENS:
                        known.clear()
                    found = (span for each in analyzers for span in _spans_in(token, each))
                    known[token] = [*dict.fromkeys(found)]
                for low, high, term in known[token]:
                    if term in terms:
                        spans.append((*_written(place + low, place + high, start, origins), term))
        if has_forms:
            normalized, origins = _normalize(text)
            spans += (
                (*_written(form.start, form.end, 0, origins), term)
                for form in normal_forms(normalized)
                for term in form.others
                if term in terms
            )
        return spans

    def _analyzers_of(self, own: str | None) -> Analyzers:
        analyzers = self.analyzer.analyzers
        if own is None or len(analyzers) == 1:
            return analyzers
        return (analyzer_of(self._rules.language_of(own)),)


@lru_cache(maxsize=64)
def _features(terms: tuple[str, ...]) -> tuple[tuple[str, ...] | None, bool]:
    """Return the `_beginnings` of the terms, and whether some of the terms may be normal forms."""
    return _beginnings(terms), any(term[0] == MARK or term[0].isdecimal() for term in terms)


def _beginnings(terms: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return strings in lower case. Each ASCII word with one of the ``terms`` contains at least one of them.

    Returns None if a term has other letters, because stemmers may change the first letters of such words.
    """
    words = [term for term in terms if term[0] != MARK]  # the others are found by their normal forms
    if not all(map(str.isascii, words)):
        return None
    beginnings = set()
    for term in words:
        word, is_marked, _ = term.partition("~")
        if not word.isalpha():
            word = _JOINT.split(word, maxsplit=1)[0][:SAME_CHARS]
        ending = ENDING_CHARS if is_marked else ENGLISH_CHARS
        beginnings.add(word[: max(SAME_CHARS, len(word) - ending)])
        if word.endswith("ie"):  # the stem of dying is die
            beginnings.add(f"{word[:-2]}y")
    return tuple(each for each in beginnings if not any(other in each for other in beginnings - {each}))


def _candidates(text: str, beginnings: tuple[str, ...] | None) -> list[tuple[int, int]]:
    """Return the ranges of those words, with the signs around them, that may have a term with one of the
    ``beginnings``; the whole text if ``beginnings`` is None.

    Most words have none, and finding the others takes a tenth of the time of cutting the text into tokens.
    """
    lower = text.lower()
    if beginnings is None or len(lower) != len(text):
        return [(0, len(text))]
    places = [] if text.isascii() else [match.start() for match in _FOLDED.finditer(text)]
    for each in beginnings:
        at = lower.find(each)
        while at >= 0:
            places.append(at)
            at = lower.find(each, at + 1)
    ranges: list[tuple[int, int]] = []
    end, spaced = 0, text.replace("\n", " ") + " "
    for at in sorted(places):
        if at >= end:
            start = max(spaced.rfind(" ", end, at) + 1, end)
            end = spaced.find(" ", at)
            ranges.append((start, end))
    return ranges


def _written(low: int, high: int, start: int, origins: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """Return a range of the text for a range of its normalized part that begins at ``start``."""
    if not origins:
        return start + low, start + high
    return start + origins[low][0], start + origins[high - 1][1]


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
def _tokenized(text: str) -> tuple[Sequence[tuple[int, int]], Sequence[tuple[int, str]]]:
    """Return the original positions of the characters of the normalized ``text``, empty if they are
    unchanged, and the tokens with their positions in the normalized text."""
    text, origins = _normalize(text)
    tokens = [(match.start(), match[0]) for match in token_pattern(text).finditer(text)]
    if contains_unspaced(text):
        tokens = [place for start, token in tokens for place in _pairs(text, start, token)]
    return origins, tokens


@lru_cache(maxsize=16)
def span_finder(rules: LanguageRules, languages: frozenset[str | None]) -> SpanFinder:
    """Return the finder for notes in the given languages. The finder keeps its caches for the next search."""
    return SpanFinder(QueryAnalyzer(rules.given, languages), rules)


def _pairs(text: str, start: int, token: str) -> list[tuple[int, str]]:
    if not is_unspaced(token):
        return [(start, token)]
    return [(low, text[low:high]) for low, high in syllable_pairs(text, start, start + len(token))]


def _fold(token: str) -> tuple[str, list[int]]:
    letters = [fold_compound(character) for character in token]
    return "".join(letters), [index for index, folded in enumerate(letters) for _ in folded]


def _normalize(text: str) -> tuple[str, Sequence[tuple[int, int]]]:
    if unicodedata.is_normalized("NFKC", text):
        return text, ()
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
