"""The places in a text of the terms that the index has for it: the ranges to highlight."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from vaultseek.base.text import is_unspaced as contains_unspaced
from vaultseek.content.languages.syllables import syllable_pairs
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
"""Tokens whose spans are cached."""
CACHED_TEXTS = 800
"""Texts whose terms are cached: the same passages are shown again while someone types."""

_COMPOSES = re.compile("[\u1160-\u11ff\uff9e-\uffdc]")
"""Characters that may compose with the one before although they are not combining: Hangul vowels and final
consonants, and the voicing marks of half-width kana."""
Analyzers = tuple[Analyzer, ...]


Ranges = Mapping[str, Sequence[tuple[int, int]]]
"""The ranges of characters that each term of a text stands for; those of a compound and its parts overlap."""


class SpanFinder:
    """Finds the terms of a text, by the rules of the language that its note is analysed in.

    ``rules`` say which language that is. Of an unknown note, those of all languages of the query are tried.
    """

    def __init__(self, analyzer: QueryAnalyzer, rules: LanguageRules) -> None:
        self.analyzer = analyzer
        self._rules = rules
        self._spans_of_token = lru_cache(maxsize=CACHED_TOKENS)(self._find)
        self._ranges_of_text = lru_cache(maxsize=CACHED_TEXTS)(self._find_all)

    def ranges(self, text: str, own: str | None = None) -> Ranges:
        """Return where each term of ``text`` stands, in order.

        ``own`` is the language of the text's note, "" if that is not clear, None if the note is not known.
        """
        analyzers = self.analyzer.analyzers
        if own is not None and len(analyzers) > 1:
            analyzers = (analyzer_of(self._rules.language_of(own)),)
        return self._ranges_of_text(text, analyzers)

    def _find_all(self, text: str, analyzers: Analyzers) -> Ranges:
        normalized, origins = (text, None) if unicodedata.is_normalized("NFKC", text) else _normalize(text)
        ranges: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for start, token in _token_places(normalized):
            for first, last, term in self._spans_of_token(token, analyzers):
                ranges[term].append((start + first, start + last))
        if origins is None:
            return dict(ranges)
        return {
            term: [(origins[start][0], origins[end - 1][1]) for start, end in places]
            for term, places in ranges.items()
        }

    def _find(self, token: str, analyzers: Analyzers) -> tuple[tuple[int, int, str], ...]:
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


@lru_cache(maxsize=16)
def span_finder(rules: LanguageRules, languages: frozenset[str | None]) -> SpanFinder:
    """Return the finder for notes in these languages; it is kept, with its caches, for the next search."""
    return SpanFinder(QueryAnalyzer(rules.given, languages), rules)


def _token_places(text: str) -> Iterator[tuple[int, str]]:
    has_unspaced = not text.isascii() and contains_unspaced(text)
    for match in token_pattern(text).finditer(text):
        if has_unspaced and is_unspaced(match[0]):
            for start, end in syllable_pairs(text, match.start(), match.end()):
                yield start, text[start:end]
        else:
            yield match.start(), match[0]


def _fold(token: str) -> tuple[str, list[int]]:
    letters = [fold_compound(character) for character in token]
    return "".join(letters), [index for index, folded in enumerate(letters) for _ in folded]


def _normalize(text: str) -> tuple[str, list[tuple[int, int]]]:
    parts: list[str] = []
    origins: list[tuple[int, int]] = []
    start = 0
    for end in range(1, len(text) + 1):
        if end < len(text) and (unicodedata.category(text[end])[0] == "M" or _COMPOSES.match(text[end])):
            continue  # normalizing can join the character with the one before it
        normalized = unicodedata.normalize("NFKC", text[start:end])
        parts.append(normalized)
        origins += [(start, end)] * len(normalized)
        start = end
    return "".join(parts), origins
