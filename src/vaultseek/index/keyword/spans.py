"""Where the terms of a text stand in it: the character ranges that a search marks."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import lru_cache

from vaultseek.index.keyword.analysis import (
    CASE_CHANGE,
    ELIDED,
    SEPARATORS,
    Analysis,
    compound_term,
    puts_no_spaces,
    surface_pattern,
)
from vaultseek.limits import COMPOUND_PARTS, SURFACE_CHARS, TERM_CHARS

CACHED_SURFACES = 4096

_APOSTROPHE = re.compile("['’]")


@dataclass(frozen=True, slots=True)
class TermSpan:
    """A term and the characters that it stands for; spans overlap where a compound has parts."""

    start: int
    end: int
    term: str


class SpanFinder:
    """Finds the terms of texts by the rules of one analysis."""

    def __init__(self, analysis: Analysis) -> None:
        self.analysis = analysis
        self._of_surface = lru_cache(maxsize=CACHED_SURFACES)(self._find)

    def spans(self, text: str, terms: Container[str] | None = None) -> Iterator[TermSpan]:
        """Yield every term of ``text``, or those among ``terms``, a compound before its parts."""
        if unicodedata.is_normalized("NFKC", text):
            yield from self._normalized(text, terms)
            return
        normalized, starts, ends = _normalize(text)
        for span in self._normalized(normalized, terms):
            yield TermSpan(starts[span.start], ends[span.end - 1], span.term)

    def _normalized(self, text: str, terms: Container[str] | None) -> Iterator[TermSpan]:
        for start, surface in _surfaces(text):
            for first, last, term in self._of_surface(surface):
                if terms is None or term in terms:
                    yield TermSpan(start + first, start + last, term)

    def _find(self, surface: str) -> tuple[tuple[int, int, str], ...]:
        if puts_no_spaces(surface):
            return tuple((0, len(term.text), term.text) for term in self.analysis.entry(surface).terms)
        return tuple((span.start, span.end, span.term) for span in self._of_token(surface))

    def _of_token(self, token: str) -> Iterator[TermSpan]:
        if token[0] == "#":
            yield TermSpan(0, len(token), token[:TERM_CHARS])
        if token[-1] == "#":
            yield from self._whole(token, 0, len(token))
        else:
            start, end = _stripped(token, 0, min(len(token), SURFACE_CHARS), "_#")
            yield from self._compound(token, start, end, level=0)

    def _compound(self, token: str, start: int, end: int, level: int) -> Iterator[TermSpan]:
        for deeper in range(level, len(SEPARATORS)):
            parts = _split(SEPARATORS[deeper], token, start, end)
            if len(parts) > 1:
                if end - start <= TERM_CHARS:
                    yield TermSpan(start, end, compound_term(token[start:end]))
                for part in parts:
                    yield from self._compound(token, *part, deeper + 1)
                return
        yield from self._leaf(token, *_stripped(token, start, end, "-‐_./:"))

    def _leaf(self, token: str, start: int, end: int) -> Iterator[TermSpan]:
        parts = _split(_APOSTROPHE, token, start, end)
        if len(parts) > 1 and token[slice(*parts[-1])].lower() in ELIDED:
            parts.pop()
        if len(parts) == 1:
            yield from self._whole(token, *parts[0])
            parts = _split(CASE_CHANGE, token, *parts[0])
        if 1 < len(parts) <= COMPOUND_PARTS:
            for part in parts:
                yield from self._whole(token, *part)

    def _whole(self, token: str, start: int, end: int) -> Iterator[TermSpan]:
        for term in self.analysis.entry(token[start:end]).terms:
            if term.role != "part":
                yield TermSpan(start, end, term.text)


def _surfaces(text: str) -> Iterator[tuple[int, str]]:
    """Yield the surfaces of normalized text and where they begin, pairs without spaces overlapping."""
    pattern = surface_pattern(text)
    if text.isascii():
        yield from ((match.start(), match[0]) for match in pattern.finditer(text))
        return
    position = 0
    while match := pattern.search(text, position):
        yield match.start(), match[0]
        position = match.start() + 1 if puts_no_spaces(match[0]) else match.end()


def _split(separator: re.Pattern[str], token: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges between separators, without empty ones, as many as a compound has parts."""
    cuts = [(match.start(), match.end()) for match in separator.finditer(token, start, end)]
    firsts = [start, *(last for _, last in cuts)]
    lasts = [*(first for first, _ in cuts), end]
    return [(first, last) for first, last in zip(firsts, lasts, strict=True) if first < last][:COMPOUND_PARTS]


def _stripped(token: str, start: int, end: int, characters: str) -> tuple[int, int]:
    while start < end and token[start] in characters:
        start += 1
    while end > start and token[end - 1] in characters:
        end -= 1
    return start, end


def _normalize(text: str) -> tuple[str, list[int], list[int]]:
    """Return ``text`` in NFKC, and for each character of it where in ``text`` its origin begins and ends."""
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    start = 0
    while start < len(text):
        end = start + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        piece = unicodedata.normalize("NFKC", text[start:end])
        pieces.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
        start = end
    return "".join(pieces), starts, ends
