"""Previews: the part of a passage that shows why it matched, with the matching words marked."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

from vaultseek.base.limits import TITLE_CHARS
from vaultseek.content.markdown.plain import plain_heading, plain_line, without_comments
from vaultseek.content.query.expression import find_all
from vaultseek.core.search.boilerplate import without_boilerplate
from vaultseek.store.keyword.index import KeywordAnswer
from vaultseek.store.keyword.query_terms import parse_query_terms
from vaultseek.store.keyword.spans import SpanFinder

ELLIPSIS = "…"
CACHED_LINES = 800
"""Passages that are kept without their markup."""
SNAP = 24
"""Characters that a cut may move to fall between two words."""
LINES_COMPARED = 8
"""Equally good lines of which the one is named that the preview shows."""
NARROW = 16
"""A line narrower than this is cut without ellipsis."""


@dataclass(frozen=True, slots=True)
class Preview:
    """One line of text and the character ranges in it that match the query, in order and apart.

    ``line`` and ``column`` are the place in the Markdown text, from 0, where most of the words match; the
    text shows it, unless it is hidden.
    """

    text: str
    highlights: tuple[tuple[int, int], ...] = ()
    line: int = 0
    column: int = 0


_Match = tuple[int, int, int]
"""Start and end of a match and the number of the query's word."""
_Place = tuple[int, int]
"""Line and column of a place in Markdown text, from 0."""
_Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TermMatcher:
    """Finds in a text what a search matched: the terms of the index, each with the number of its word.

    Stop words count only if there is nothing else. A character of a script without spaces counts only where
    the query has it alone, and not beside the pairs that contain it.
    """

    span_finder: SpanFinder
    words: Mapping[str, int]

    @classmethod
    def of_answer(cls, answer: KeywordAnswer, span_finder: SpanFinder) -> TermMatcher:
        """Match the terms that the keyword index searched for, with those that stand in for a word."""
        terms = [(term.word, term.terms) for term in answer.terms if term.kind != "character"]
        return cls(span_finder, _numbered(terms, span_finder))

    @classmethod
    def of_query(cls, text: str, span_finder: SpanFinder) -> TermMatcher:
        """Match the terms of the query's text, for a search without the keyword index."""
        query = parse_query_terms(text, span_finder.analyzer)
        terms = [(term.word, (term.term, *term.also)) for term in query if term.kind != "character"]
        return cls(span_finder, _numbered(terms, span_finder))

    def matches(self, line: str, language: str | None = None) -> Iterator[_Match]:
        """Yield every match in a line of a note in ``language``; they may overlap."""
        if self.words:
            for start, end, term in self.span_finder.spans(line, self.words, language):
                yield start, end, self.words[term]


@dataclass(frozen=True, slots=True)
class ExpressionMatcher:
    """Finds the matches of the query's regular expressions, and those of its ``terms`` if there are any."""

    patterns: tuple[str, ...]
    terms: TermMatcher | None = None

    def matches(self, line: str, language: str | None = None) -> Iterator[_Match]:
        """Yield every match in a line of a note in ``language``; they may overlap."""
        for number, pattern in enumerate(self.patterns, start=1):
            yield from ((low, high, -number) for low, high in find_all(pattern, line) if low < high)
        if self.terms is not None:
            yield from self.terms.matches(line, language)

    def place(self, text: str) -> tuple[int, int] | None:
        """Return line and column of the first match in Markdown ``text``; None where words decide, too."""
        first = min(
            ((low, high) for pattern in self.patterns for low, high in find_all(pattern, text)), default=None
        )
        if first is None or self.terms is not None:
            return None
        start = text.rfind("\n", 0, first[0]) + 1
        return text.count("\n", 0, start), first[0] - start


Matcher = TermMatcher | ExpressionMatcher


def preview(
    text: str,
    width: int,
    matcher: Matcher | None = None,
    language: str | None = None,
    headings: Sequence[str] = (),
    shared: Set[str] = frozenset(),
) -> Preview:
    """Return at most ``width`` characters of Markdown ``text`` around the place with most matches.

    ``language`` is that of the note, "" if it is not clear; words are compared as it says.

    Markdown signs, comments, control characters and line breaks are left out, and at the beginning those of
    the ``headings``, which stand above the preview. A cut shows as an ellipsis and falls between words where
    it can. Without a match the beginning is shown. Lines that are ``shared`` with other notes are left out,
    unless the words are nowhere else. Time is linear in the text.
    """
    own = without_boilerplate(text, shared)
    if own != text:
        shown = preview(own, width, matcher, language, headings)
        whole = preview(text, width, matcher, language, headings)
        return shown if shown.text and (shown.highlights or not whole.highlights) else whole
    below = _without_headings(text, headings)
    line = _plain_line(below)
    matches = _without_lone_digits(sorted(matcher.matches(line, language)), line) if matcher else []
    places = _best_places(text, line, matches, matcher, language)
    place, (start, end) = places[0], (0, len(line))
    if len(line) > width and (matches or isinstance(matcher, ExpressionMatcher)):
        place, (start, end) = _cut(text, line, matches, places, max(width, 0))
    elif len(line) > width:
        start, end = _window(line, [], max(width, 0))
    head = ELLIPSIS if start > 0 and width >= NARROW else ""
    tail = ELLIPSIS if end < len(line) and width >= NARROW else ""
    shift = len(head) - start
    marks = ((low + shift, min(high, end) + shift) for low, high, _ in matches if start <= low < end)
    return Preview(head + line[start:end] + tail, tuple(_merged(marks)), *place)


def _without_lone_digits(matches: list[_Match], line: str) -> list[_Match]:
    """Leave out numbers that are parts of an identifier where the line has it, each 1 for 2.3.1."""
    parts: set[_Match] = set()
    whole = (0, 0)
    for match in sorted(matches, key=lambda each: (each[0], -each[1])):
        if match[1] > whole[1]:
            whole = match[:2]
        elif match[:2] != whole:
            parts.add(match)
    numbers = {word for low, high, word in parts if line[low:high].isdecimal()}
    return [
        match
        for match in matches
        if match in parts or match[2] not in numbers or not line[match[0] : match[1]].isdecimal()
    ]


def _cut(
    text: str, line: str, matches: list[_Match], places: Sequence[_Place], width: int
) -> tuple[_Place, _Range]:
    """Return which of the equal ``places`` to name, and the range of the plain ``line`` that shows it."""
    dense = _densest(matches, _room(width))
    place, span = _shown_place(places, text, line, dense)
    own = [match for match in matches if span and span[0] <= match[0] < span[1]]
    is_dense = any(dense[0] <= match[0] < dense[1] for match in own)
    begin = [(span[0], span[0] + 1, 0)] if span and not matches else []  # it matches with its markup alone
    start, end = _window(line, own if own and not is_dense else matches or begin, width)
    column = _shown_column(text.split("\n")[place[0]], line, own, start)
    return (place[0], place[1] if column is None else column), (start, end)


def _best_places(
    text: str,
    line: str,
    matches: Sequence[_Match],
    matcher: Matcher | None,
    language: str | None,
) -> list[_Place]:
    place = matcher.place(text) if isinstance(matcher, ExpressionMatcher) else None
    if place is not None:
        return [place]
    if matcher and not matches:  # it may be in what is left out, as a comment
        return _best_lines(text, *_written(text, sorted(matcher.matches(text, language))))
    return _best_lines(text, *_written(line, matches))


def _written(text: str, matches: Iterable[_Match]) -> tuple[dict[str, int], set[str]]:
    """Return how matches are written, each with the number of the query's word, and which are whole words.

    Parts of compounds, and words of scripts without spaces, are not: they match inside others.
    """
    words: dict[str, int] = {}
    inside: set[str] = set()
    for low, high, word in matches:
        written = text[low:high]
        words[written] = word
        if not _is_apart(text, low, high - low):
            inside.add(written)
    return words, words.keys() - inside


def _best_lines(text: str, words: Mapping[str, int], whole: Set[str]) -> list[_Place]:
    """Return the lines with most of the words as they are written, each with the column of the first of them.

    ``words`` are the written forms, each with the number of the query's word, and the ``whole`` ones do not
    count inside others. Without any, this is the first line below the headings. A heading is named only if no
    other line has a word: it answers nothing itself.
    """
    best = (False, 0)
    places: list[_Place] = []
    first = None
    for number, line in enumerate(text.split("\n")):
        there = [
            written
            for written in words
            if written in line and (written not in whole or _has_apart(line, written))
        ]
        if not there and first is not None:
            continue
        is_text = _HEADING.match(line) is None
        if first is None and is_text and line.strip():
            first = number
        if not there:
            continue
        goodness = (is_text, len({words[written] for written in there}))
        if goodness > best:
            best, places = goodness, []
        if goodness == best and len(places) < LINES_COMPARED:
            places.append((number, min(_column(line, written) for written in there)))
    if places:
        return places
    if whole:  # markup may join what is apart without it
        return _best_lines(text, words, frozenset())
    blank = text[: len(text) - len(text.lstrip())]
    return [(first if first is not None else blank.count("\n") if blank != text else 0, 0)]


def _shown_place(
    places: Sequence[_Place], text: str, line: str, dense: _Range
) -> tuple[_Place, _Range | None]:
    """Return the place to name where not all of the plain ``line`` is shown, and its range there.

    Of equal places it is one in the ``dense`` range, with most matches near each other; the range is None if
    all are hidden.
    """
    lines = text.split("\n")
    offsets = list(accumulate((len(each) + 1 for each in lines), initial=0))
    share = len(line) / max(len(text), 1)
    first: tuple[_Place, _Range] | None = None
    for place in sorted(places, key=lambda each: abs(offsets[each[0]] * share - dense[0])):
        span = _range_of(lines[place[0]], line, offsets[place[0]] * share)
        if span and span[0] < dense[1] and dense[0] < span[1]:
            return place, span
        if span and (first is None or place < first[0]):
            first = place, span
    return first or (places[0], None)


def _range_of(markdown: str, line: str, near: float) -> _Range | None:
    """Return where a line of Markdown stands in the plain ``line``, nearest to an offset; None if nowhere."""
    plain = _plain_alone(markdown)
    start = line.find(plain) if plain else -1
    if start < 0:
        return None
    while (later := line.find(plain, start + 1)) >= 0 and abs(later - near) < abs(start - near):
        start = later
    return start, start + len(plain)


def _shown_column(markdown: str, line: str, own: Sequence[_Match], start: int) -> int | None:
    """Return the column of the first of a line's ``own`` matches from ``start`` on; None if it is unclear."""
    first = next((match for match in own if match[0] >= start), None)
    if first is None:
        return None
    written = line[first[0] : first[1]]
    before = sum(match[0] < first[0] and line[match[0] : match[1]] == written for match in own)
    everywhere = list(_starts(markdown, written))
    columns = [at for at in everywhere if _is_apart(markdown, at, len(written))] or everywhere
    return columns[min(before, len(columns) - 1)] if columns else None


def _column(line: str, written: str) -> int:
    starts = _starts(line, written)
    return next((start for start in starts if _is_apart(line, start, len(written))), line.find(written))


def _starts(text: str, part: str) -> Iterator[int]:
    """Yield where ``part`` stands in ``text``, apart from each other."""
    start = text.find(part)
    while start >= 0:
        yield start
        start = text.find(part, start + len(part))


def _has_apart(line: str, written: str) -> bool:
    return any(_is_apart(line, start, len(written)) for start in _starts(line, written))


def _is_apart(line: str, start: int, length: int) -> bool:
    end = start + length
    return not line[start - 1 : start].isalnum() and not line[end : end + 1].isalnum()


_plain_alone = lru_cache(maxsize=CACHED_LINES)(plain_line)


@lru_cache(maxsize=CACHED_LINES)
def _plain_line(text: str) -> str:
    return plain_line(without_comments(text))


_HEADING = re.compile(r"\s*#{1,6}(\s|$)")
_MARKUP = frozenset("*_`[<\\~=^")


def _without_headings(text: str, headings: Sequence[str]) -> str:
    rest = text.lstrip()
    while rest.startswith("#"):
        line, _, after = rest.partition("\n")
        heading = line.lstrip("#")
        if heading[:1] not in (" ", "\t", ""):
            break  # a tag
        heading = heading.strip()
        if heading not in headings and (
            _MARKUP.isdisjoint(heading) or plain_heading(heading[:TITLE_CHARS]) not in headings
        ):
            break
        rest = after.lstrip()
    return rest


def _numbered(terms: Sequence[tuple[str, tuple[str, ...]]], span_finder: SpanFinder) -> dict[str, int]:
    stop_words = span_finder.analyzer.stop_words(" ".join(word for word, _ in terms))
    meaningful = [pair for pair in terms if pair[0] not in stop_words] or terms
    return {term: number for number, (_, group) in enumerate(meaningful) for term in group}


def _window(line: str, matches: list[_Match], width: int) -> tuple[int, int]:
    room = _room(width)
    low, high = _densest(matches, room)
    spare = max(0, room - (high - low))
    start = max(0, min(low - spare // 3, len(line) - room))
    end = min(start + room, len(line))
    if low < high:
        return _snapped_start(line, start, low), _snapped_end(line, end, min(high, end))
    return start, _snapped_end(line, end, start)


def _room(width: int) -> int:
    return width - (2 if width >= NARROW else 0)


def _densest(matches: list[_Match], width: int) -> tuple[int, int]:
    """Return the first range with most distinct words, among those with most matches."""
    best, densest = (0, 0), (0, 0)
    inside: defaultdict[int, int] = defaultdict(int)
    left = 0
    for right, (_, end, word) in enumerate(matches):
        inside[word] += 1
        while left < right and end - matches[left][0] > width:
            first_word = matches[left][2]
            inside[first_word] -= 1
            if not inside[first_word]:
                del inside[first_word]
            left += 1
        density = (len(inside), right - left)
        if density > best:
            best, densest = density, (matches[left][0], end)
    return densest


def _snapped_start(line: str, start: int, least: int) -> int:
    if start == 0 or line[start - 1] == " ":
        return start
    space = line.find(" ", start, min(least, start + SNAP))
    if space >= 0:
        return space + 1
    while start < least and unicodedata.combining(line[start]):
        start += 1
    return start


def _snapped_end(line: str, end: int, most: int) -> int:
    if end >= len(line) or line[end] == " ":
        return end
    space = line.rfind(" ", max(most, end - SNAP), end)
    if space >= 0:
        return space
    while end > most and unicodedata.combining(line[end]):
        end -= 1
    return end


def _merged(marks: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last: tuple[int, int] | None = None
    for low, high in marks:
        if last and low <= last[1]:
            last = (last[0], max(high, last[1]))
            continue
        if last:
            yield last
        last = (low, high)
    if last:
        yield last
