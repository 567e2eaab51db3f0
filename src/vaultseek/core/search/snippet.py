"""Previews: the part of a passage that shows why it matched, with the matching words marked."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from weakref import WeakKeyDictionary

from vaultseek.base.model import Chunk
from vaultseek.base.text import blank_controls
from vaultseek.content.query.expression import find_all
from vaultseek.store.keyword.index import KeywordAnswer
from vaultseek.store.keyword.query_terms import parse_query_terms
from vaultseek.store.keyword.spans import SpanFinder
from vaultseek.store.ledger import Ledger

ELLIPSIS = "…"
SNAP = 24
"""Maximum characters by which a cut may move to fall between two words."""
NARROW = 16
"""Width below which a line is cut without an ellipsis."""


@dataclass(frozen=True, slots=True)
class Preview:
    """One line of text and the disjoint character ranges in it that match the query, in order.

    ``offset`` is the place in the passage's text where most words match, ``line`` its line, from 0.
    """

    text: str
    highlights: tuple[tuple[int, int], ...] = ()
    line: int = 0
    offset: int = 0


_Match = tuple[int, int, int]
"""Start and end of a match, and the number of the matching query word."""
_Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TermMatcher:
    """Finds the matches of a search in a text: terms of the index, each with the number of its word.

    Stop words count only if there is nothing else. A single character of an unspaced script counts only if it
    stands alone in the query, not next to the pairs that contain it.
    """

    span_finder: SpanFinder
    words: Mapping[str, int]

    @classmethod
    def of_answer(cls, answer: KeywordAnswer, span_finder: SpanFinder) -> TermMatcher:
        """Match the terms looked up in the keyword index, including substitutes."""
        terms = [(term.word, term.terms) for term in answer.terms if term.kind != "character"]
        return cls(span_finder, _numbered(terms, span_finder))

    @classmethod
    def of_query(cls, text: str, span_finder: SpanFinder) -> TermMatcher:
        """Match the terms of a query's text, for a search without the keyword index."""
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
    """Finds the matches of the query's regular expressions, and of its ``terms``, if any."""

    patterns: tuple[str, ...]
    terms: TermMatcher | None = None

    def matches(self, line: str, language: str | None = None) -> Iterator[_Match]:
        """Yield every match in a line of a note in ``language``; they may overlap."""
        for number, pattern in enumerate(self.patterns, start=1):
            yield from ((low, high, -number) for low, high in find_all(pattern, line) if low < high)
        if self.terms is not None:
            yield from self.terms.matches(line, language)

    def row(self, source: str) -> int | None:
        """Return the line, from 0, of the first match of an expression in the source."""
        first = min((low for pattern in self.patterns for low, _ in find_all(pattern, source)), default=None)
        return None if first is None else source.count("\n", 0, first)


Matcher = TermMatcher | ExpressionMatcher


def preview(
    passage: Chunk,
    width: int,
    matcher: Matcher | None = None,
    language: str | None = None,
    *,
    names: Collection[str] = (),
    heading_lines: Collection[int] = (),
    shared: Set[str] = frozenset(),
) -> Preview:
    """Return at most ``width`` characters of a passage around the place with most matches.

    ``language`` is the note's, or "" if unclear; words are compared by its rules. The preview omits headings
    at the beginning that are among the ``names`` displayed above it, code, lines of nothing but tags or an
    address, and lines ``shared`` with other notes, unless more words match there. ``heading_lines``: line
    numbers of headings. An ellipsis marks a cut, between words if possible. Without a match the beginning is
    shown. Time is linear in the text.
    """
    lines = passage.text.split("\n")
    begins = list(accumulate((len(line) + 1 for line in lines), initial=0))
    found = [] if matcher is None else sorted(matcher.matches(passage.text, language))
    found = _without_lone_digits(found, passage.text)
    words = defaultdict[int, set[int]](set)
    for low, _, word in found:
        words[bisect_right(begins, low) - 1].add(word)
    rows = _best_layer(_layers(passage, lines, names, heading_lines, shared), lines, words)
    shown = _one_line(passage, lines, begins, rows, heading_lines)
    text, matches = shown.text, shown.placed(found)
    dense = _densest(matches, _room(width))
    place = shown.place(matches, dense)
    hidden = None if matches or matcher is None else _hidden_match(passage, matcher, found)
    if hidden is not None:
        place = passage.text.rfind("\n", 0, hidden) + 1
    start, end = 0, len(text)
    if len(text) > width:
        start, end = shown.window(matches, place, dense, max(width, 0))
    head = ELLIPSIS if start > 0 and width >= NARROW else ""
    tail = ELLIPSIS if end < len(text) and width >= NARROW else ""
    shift = len(head) - start
    marks = ((low + shift, min(high, end) + shift) for low, high, _ in matches if start <= low < end)
    first = next((low for low, _, _ in shown.within(matches, place) if low >= start), None)
    offset = (hidden or place) if first is None else shown.offset(first)
    return Preview(
        head + text[start:end] + tail, tuple(_merged(marks)), passage.text.count("\n", 0, offset), offset
    )


@dataclass(frozen=True, slots=True)
class _Shown:
    """Lines of a passage joined to one line, with the place of each run of words in that line and in the
    passage."""

    text: str
    starts: Sequence[int]
    offsets: Sequence[int]
    lengths: Sequence[int]
    lines: Sequence[int]
    """Offset in the passage of the line of each run."""
    are_headings: Sequence[bool]

    def run(self, position: int) -> int:
        return bisect_right(self.starts, position, 1) - 1 if self.starts else 0

    def offset(self, position: int) -> int:
        """Return the offset in the passage of a character of the joined line."""
        run = self.run(position)
        return self.offsets[run] + position - self.starts[run]

    def placed(self, matches: Iterable[_Match]) -> list[_Match]:
        """Return the passage's matches that begin in the joined line, with their places in it."""
        placed: list[_Match] = []
        for low, high, word in matches:
            run = bisect_right(self.offsets, low) - 1
            if run >= 0 and low < self.offsets[run] + self.lengths[run]:
                last = bisect_right(self.offsets, high - 1) - 1
                end = min(high - self.offsets[last], self.lengths[last])
                start = self.starts[run] + low - self.offsets[run]
                placed.append((start, self.starts[last] + end, word))
        return placed

    def place(self, matches: Sequence[_Match], dense: _Range) -> int:
        """Return the offset in the passage of the line with most of the words; a heading only if no other
        line has any. Of equal lines it is the first in the ``dense`` range, or else the first."""
        words: defaultdict[int, set[int]] = defaultdict(set)
        is_dense: dict[int, bool] = {}
        for low, _, word in matches:
            line = self.lines[self.run(low)]
            words[line].add(word)
            is_dense[line] = is_dense.get(line, False) or dense[0] <= low < dense[1]
        if not words:
            texts = (line for line, heading in zip(self.lines, self.are_headings, strict=True) if not heading)
            return next(texts, self.lines[0] if self.lines else 0)
        headings = {line for line, heading in zip(self.lines, self.are_headings, strict=True) if heading}
        return max(words, key=lambda line: (line not in headings, len(words[line]), is_dense[line], -line))

    def within(self, matches: Iterable[_Match], line: int) -> list[_Match]:
        """Return the matches in the line at this offset of the passage."""
        return [match for match in matches if self.lines[self.run(match[0])] == line]

    def window(self, matches: list[_Match], line: int, dense: _Range, width: int) -> _Range:
        """Return the range to show: the one with most words, or the matches of the named line."""
        room = _room(width)
        low, high = dense
        own = self.within(matches, line)
        if own and not any(dense[0] <= match[0] < dense[1] for match in own):
            low, high = _densest(own, room)
        elif not matches and line in self.lines:  # it matches in its source only
            low = high = self.starts[self.lines.index(line)]
        spare = max(0, room - (high - low))
        start = max(0, min(low - spare // 3, len(self.text) - room))
        if not matches:
            start = _snapped_start(self.text, start, low) if start else 0
        end = min(start + room, len(self.text))
        if low < high:
            return _snapped_start(self.text, start, low), _snapped_end(self.text, end, min(high, end))
        return start, _snapped_end(self.text, end, start)


def _layers(
    passage: Chunk,
    lines: Sequence[str],
    names: Collection[str],
    heading_lines: Collection[int],
    shared: Set[str],
) -> Iterator[Sequence[int]]:
    """Yield the rows that may be shown: the prose of the passage, then also its code, then everything."""
    below = 0
    while below < len(lines) and (
        not lines[below].strip()
        or (passage.start_line + below in heading_lines and " ".join(lines[below].split()) in names)
    ):
        below += 1
    code = {
        row
        for start, end in passage.code
        for row in range(passage.text.count("\n", 0, start), passage.text.count("\n", 0, end) + 1)
    }
    rows = range(below, len(lines))
    own = [row for row in rows if not (is_boilerplate(lines[row], shared) or _is_bare(lines[row]))]
    yield [row for row in own if row not in code] if code else own
    yield own
    yield rows


def _best_layer(
    layers: Iterable[Sequence[int]], lines: Sequence[str], words: Mapping[int, Set[int]]
) -> Sequence[int]:
    """Return the rows to show: the first layer with text, or a later one in which more words match.

    ``words``: the words that match in each row.
    """
    everything = len(set().union(*words.values()))
    best: Sequence[int] = ()
    most, has_text = -1, False
    for rows in layers:
        many = len(set().union(*(words[row] for row in words.keys() & rows))) if words else 0
        if many > most or not has_text:
            best, most, has_text = rows, many, any(lines[row].strip() for row in rows)
        if has_text and most == everything:
            break
    return best


def _one_line(
    passage: Chunk,
    lines: Sequence[str],
    begins: Sequence[int],
    rows: Iterable[int],
    heading_lines: Collection[int],
) -> _Shown:
    """Join these rows to one line, with a dash between a heading and its text."""
    parts: list[str] = []
    starts: list[int] = []
    offsets: list[int] = []
    line_starts: list[int] = []
    lengths: list[int] = []
    are_headings: list[bool] = []
    length = 0
    for row in rows:
        is_heading = passage.start_line + row in heading_lines
        for run in _RUN.finditer(lines[row]):
            if parts:
                joint = " — " if are_headings[-1] and line_starts[-1] != begins[row] else " "
                parts.append(joint)
                length += len(joint)
            parts.append(run[0])
            starts.append(length)
            offsets.append(begins[row] + run.start())
            lengths.append(len(run[0]))
            line_starts.append(begins[row])
            are_headings.append(is_heading)
            length += len(run[0])
    return _Shown(blank_controls("".join(parts)), starts, offsets, lengths, line_starts, are_headings)


_RUN = re.compile(r"\S+(?: \S+)*")
_BARE = re.compile(r"\s*(?:•\s)?(?:(?:#[^\s#]+\s*)+|https?://\S+\s*)")


def _is_bare(line: str) -> bool:
    """True for a line of nothing but tags, or an address."""
    return ("#" in line or "//" in line) and _BARE.fullmatch(line) is not None


def _hidden_match(passage: Chunk, matcher: Matcher, matches: Sequence[_Match]) -> int | None:
    """Return the offset in the passage of a match that is not shown; if only the source matches, the start of
    its line."""
    if matches:
        return matches[0][0]
    if isinstance(matcher, ExpressionMatcher) and (row := matcher.row(passage.source)) is not None:
        lines = passage.text.split("\n")
        return sum(len(line) + 1 for line in lines[:row])
    return None


def _without_lone_digits(matches: list[_Match], line: str) -> list[_Match]:
    """Remove numbers that are parts of an identifier in the line, such as each 1 of 2.3.1."""
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


def _numbered(terms: Sequence[tuple[str, tuple[str, ...]]], span_finder: SpanFinder) -> dict[str, int]:
    stop_words = span_finder.analyzer.stop_words(" ".join(word for word, _ in terms))
    meaningful = [pair for pair in terms if pair[0] not in stop_words] or terms
    return {term: number for number, (_, group) in enumerate(meaningful) for term in group}


def _room(width: int) -> int:
    return width - (2 if width >= NARROW else 0)


def _densest(matches: list[_Match], width: int) -> tuple[int, int]:
    """Return the first range with most distinct words, among ranges with most matches."""
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


# -- boilerplate: lines that many notes of a vault share, such as a footer

NOTES_COMPARED, CHUNKS_COMPARED = 32, 2
"""Number of notes to compare, and of chunks at the beginning and the end of each."""
LEAST_NOTES, LEAST_SHARE = 8, 0.25
"""Minimum number and share of the compared notes that have a line of boilerplate."""
_known: WeakKeyDictionary[Ledger, tuple[int, frozenset[str]]] = WeakKeyDictionary()


def boilerplate(ledger: Ledger) -> frozenset[str]:
    """Return the lines shared by many notes, judged by a sample of the ledger's current notes."""
    revision, lines = _known.get(ledger, (-1, frozenset()))
    if revision != ledger.revision:
        revision, lines = ledger.revision, shared_lines(ledger.notes.spread(NOTES_COMPARED), ledger)
        _known[ledger] = revision, lines
    return lines


def is_boilerplate(line: str, shared: Set[str]) -> bool:
    """True if a line is among the ``shared`` ones."""
    return bool(shared) and line.strip() in shared


def shared_lines(notes: Sequence[int], ledger: Ledger) -> frozenset[str]:
    """Return the lines shared by many of these notes, without white space around them."""
    least = max(LEAST_NOTES, LEAST_SHARE * len(notes))
    if len(notes) < least:
        return frozenset()
    counts: Counter[str] = Counter()
    for note in notes:
        texts = ledger.chunks.ends(note, CHUNKS_COMPARED)
        counts.update({line.strip() for text in texts for line in text.split("\n")})
    return frozenset(line for line, count in counts.items() if count >= least and any(map(str.isalpha, line)))
