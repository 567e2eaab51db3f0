"""Build previews: the part of a passage that shows why it matched, with the matching words marked."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate

from vaultseek.base.model import Chunk
from vaultseek.base.text import blank_controls
from vaultseek.content.markdown.title import WORDLESS
from vaultseek.content.query.expression import find_all
from vaultseek.store.keyword.index import KeywordAnswer
from vaultseek.store.keyword.query_terms import parse_query_terms
from vaultseek.store.keyword.spans import SpanFinder

ELLIPSIS = "…"
SNAP = 24
"""Maximum number of characters by which a cut is moved so that it falls between two words."""
NARROW = 16
"""Width below which a line is cut without an ellipsis."""


@dataclass(frozen=True, slots=True)
class Preview:
    """One line of text, and the disjoint character ranges in the line that match the query, in order.

    ``offset`` is the position in the passage's text where most words match; ``line`` is the line of that
    position, counted from 0.
    """

    text: str
    highlights: tuple[tuple[int, int], ...] = ()
    line: int = 0
    offset: int = 0


_Match = tuple[int, int, int]
"""Start and end of a match, and the number of the matching query word."""
_Range = tuple[int, int]
_RUN = re.compile(r"\S+(?: \S+)*")
_BARE = re.compile(r"\s*(?:•\s)?(?:(?:#[^\s#]+\s*)+|https?://\S+\s*)")
_FENCE = re.compile(r"[\s>]*(?:`{3,}|~{3,})[^`]*")
_NO_PROSE = re.compile(
    r"<%(?:(?!<%|%>).)*+%>|\{\{[^{}]*+\}\}|^\[\^[^\]\s]+\]:[^\n]*+(?:\n[ \t]++[^\n]+)*+",
    re.DOTALL | re.MULTILINE,
)
"""Pattern for the code of a template, or a footnote with its indented lines."""
_UNSEEN_SIGNS = ("![", "<img", "]:", "<%", "{{")
"""If a passage without code has rows without prose, its source contains one of these signs."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """Finder of a query's matches in text. It searches for regular expressions and for index terms; ``words``
    maps each term to the number of its query word.

    Stop words count only if the query has no other words. In a script without spaces, a single character
    counts only if it is alone in the query, not as part of a pair.
    """

    span_finder: SpanFinder
    words: Mapping[str, int]
    patterns: Sequence[str] = ()

    @classmethod
    def of(cls, query: KeywordAnswer | str, span_finder: SpanFinder, patterns: Sequence[str] = ()) -> Matcher:
        """Return the matcher for a query's terms. A keyword answer provides the terms that were searched in
        the index, including substitutes.
        """
        if isinstance(query, str):
            parsed = parse_query_terms(query, span_finder.analyzer)
            terms = [(each.word, (each.term, *each.also)) for each in parsed if each.kind != "character"]
        else:
            terms = [(each.word, each.terms) for each in query.terms if each.kind != "character"]
        stop_words = span_finder.analyzer.stop_words(" ".join(word for word, _ in terms))
        meaningful = [pair for pair in terms if pair[0] not in stop_words] or terms
        numbered = {term: number for number, (_, group) in enumerate(meaningful) for term in group}
        return cls(span_finder, numbered, patterns)

    def matches(self, text: str, language: str | None = None) -> list[_Match]:
        """Return every match in ``text`` from a note in ``language``; matches may overlap."""
        spans = self.span_finder.spans(text, self.words, language) if self.words else ()
        found = [(low, high, self.words[term]) for low, high, term in spans]
        for number, pattern in enumerate(self.patterns, start=1):
            found += [(low, high, -number) for low, high in find_all(pattern, text) if low < high]
        return found

    def all_in(self, text: str, language: str | None = None) -> bool:
        """Return whether ``text`` contains every word of the query."""
        if self.patterns or not self.words:
            return False
        return {number for _, _, number in self.matches(text, language)} == {*self.words.values()}


def preview(
    passage: Chunk,
    width: int,
    matcher: Matcher | None = None,
    language: str | None = None,
    *,
    names: Collection[str] = (),
    heading_lines: Collection[int] = (),
    shared: Set[str] = frozenset(),
    is_opening: bool = False,
) -> Preview:
    """Return at most ``width`` characters of a passage: the part with the most matches or, if ``is_opening``,
    the beginning.

    Words are compared by the rules of the note's ``language`` ("" if unclear). The preview omits headings at
    the beginning that are among the ``names`` displayed above the preview. It also omits code, lines
    ``shared`` with other notes, and lines that consist only of tags, an address or pictures, unless more
    query words match in them. ``heading_lines`` are the line numbers of headings. An ellipsis marks a cut,
    between words if possible. Without a match the beginning is shown. Time is linear in the text.
    """
    lines, width = passage.text.split("\n"), max(width, 0)
    begins = [*accumulate((len(line) + 1 for line in lines), initial=0)]
    headings = {line - passage.start_line for line in heading_lines}
    found = [] if matcher is None else _found(matcher, passage.text, language)
    rows = _shown_rows(passage, lines, begins, found, names, headings, shared)
    text, starts, offsets, ends = _one_line(lines, begins, rows, headings)
    matches: list[_Match] = []
    by_row: defaultdict[int, list[_Match]] = defaultdict(list)
    origins: dict[int, int] = {}
    for low, high, word in found:
        run, last = bisect_right(offsets, low) - 1, bisect_right(offsets, high - 1) - 1
        if run >= 0 and low < ends[run]:
            start = starts[run] + low - offsets[run]
            matches.append((start, starts[last] + min(high, ends[last]) - offsets[last], word))
            by_row[bisect_right(begins, low) - 1].append(matches[-1])
            origins[start] = low
    room = width - (2 if width >= NARROW else 0)
    low, high = _densest(matches, room)
    if matches and not is_opening:
        row = _best_row(by_row, headings, low, high)
        if not any(low <= match[0] < high for match in by_row[row]):
            low, high = _densest(by_row[row], room)
        offset = begins[row]
    else:
        texts = [row for row in rows if lines[row].strip()]
        first = next((row for row in texts if row not in headings), texts[0] if texts else 0)
        hidden = None if is_opening else _hidden_match(passage, matcher, begins, found)
        offset = begins[first] if hidden is None else hidden
        row = bisect_right(begins, offset) - 1
        low = high = [*starts, len(text)][bisect_left(offsets, begins[row])]
    start, end = (0, len(text)) if len(text) <= width else _window(text, low, high, room)
    run = last = bisect_left(starts, end)  # leave out headings at the end
    while run and bisect_right(begins, offsets[run - 1]) - 1 in headings:
        run -= 1
    if 0 < run < last and starts[run] > max([start, *(match[0] for match in matches if match[0] < end)]):
        end = starts[run - 1] + ends[run - 1] - offsets[run - 1]
    head = ELLIPSIS if start > 0 and width >= NARROW else ""
    tail = ELLIPSIS if end < len(text) and width >= NARROW else ""
    shift = len(head) - start
    marks: list[_Range] = []
    for low, high, _ in matches:
        if start <= low < end:
            joined = marks.pop() if marks and low + shift <= marks[-1][1] else (low + shift, 0)
            marks.append((joined[0], max(joined[1], min(high, end) + shift)))
    offset = next((origins[low] for low, _, _ in by_row[row] if low >= start), offset)
    return Preview(head + text[start:end] + tail, tuple(marks), passage.text.count("\n", 0, offset), offset)


def _found(matcher: Matcher, text: str, language: str | None) -> list[_Match]:
    """Return the matches in ``text``, in order, except numbers inside an identifier, such as the 1 in
    2.3.1.
    """
    matches = sorted(matcher.matches(text, language))
    if not any(text[low:high].isdecimal() for low, high, _ in matches):
        return matches
    parts: set[_Match] = set()
    whole = (0, 0)
    for match in sorted(matches, key=lambda each: (each[0], -each[1])):
        if match[1] > whole[1]:
            whole = match[:2]
        elif match[:2] != whole:
            parts.add(match)
    numbers = {word for low, high, word in parts if text[low:high].isdecimal()}
    return [
        match
        for match in matches
        if match in parts or match[2] not in numbers or not text[match[0] : match[1]].isdecimal()
    ]


def _shown_rows(
    passage: Chunk,
    lines: Sequence[str],
    begins: Sequence[int],
    found: Sequence[_Match],
    names: Collection[str],
    headings: Set[int],
    shared: Set[str],
) -> Sequence[int]:
    """Return the rows to show: only prose, prose and code, or all rows. A choice with text is preferred, then
    the one with the most query words, then the first one.
    """
    words: defaultdict[int, set[int]] = defaultdict(set)
    for low, _, word in found:
        words[bisect_right(begins, low) - 1].add(word)
    unseen, texts = _unseen(passage, len(lines)), [line.strip() for line in lines]
    above: set[int] = set()
    for row, text in enumerate(texts):
        if row in headings and " ".join(text.split()) in names:
            above.add(row)
        elif text and row not in unseen:
            break
    rows = [row for row in range(len(lines)) if row not in above]
    own = [row for row in rows if not (row in unseen or texts[row] in shared or is_bare(texts[row]))]
    code = {
        row
        for start, end in passage.code
        for row in range(bisect_right(begins, start) - 1, bisect_right(begins, end))
    }
    prose = [row for row in own if row not in code] if code else own
    if words.keys() <= {*prose} and any(texts[row] for row in prose):
        return prose
    return max(
        (prose, own, rows),
        key=lambda rows: (
            any(texts[row] for row in rows),
            len({word for row in words.keys() & {*rows} for word in words[row]}),
        ),
    )


def _unseen(passage: Chunk, count: int) -> Set[int]:
    """Return the rows without prose: pictures, which the text only describes, footnotes, the code of
    templates, and the first rows of code blocks, which name a language."""
    lower = (source := passage.source).lower()
    has_signs = any(sign in lower for sign in _UNSEEN_SIGNS)
    if not (has_signs or passage.code):
        return frozenset()
    if has_signs:
        source = _NO_PROSE.sub(lambda code: "\n" * code[0].count("\n"), source)
    written = source.split("\n")
    if len(written) != count:
        return frozenset()
    return {
        row
        for row, line in enumerate(written)
        if not (text := line.lstrip("\t >-*+"))[:1].isalnum()  # true for most lines
        if not text or WORDLESS.fullmatch(text) or _FENCE.fullmatch(line)
    }


def is_bare(line: str) -> bool:
    """True for a line that consists only of tags or an address."""
    return ("#" in line or "//" in line) and _BARE.fullmatch(line) is not None


def _one_line(
    lines: Sequence[str], begins: Sequence[int], rows: Sequence[int], headings: Set[int]
) -> tuple[str, list[int], list[int], list[int]]:
    """Join these rows into one line, with a dash between a heading and its text. Return the line and three
    lists, with an entry for each run of words: its start in the line, its start in the passage, and its end
    in the passage.
    """
    parts: list[str] = []
    starts: list[int] = []
    offsets: list[int] = []
    ends: list[int] = []
    length, last = 0, -1
    for row in rows:
        line = lines[row]
        for start, end in _runs(line):
            if parts:
                parts.append(" — " if last in headings and last != row else " ")
                length += len(parts[-1])
            parts.append(line[start:end])
            starts.append(length)
            offsets.append(begins[row] + start)
            ends.append(begins[row] + end)
            length += end - start
            last = row
    return blank_controls("".join(parts)), starts, offsets, ends


def _runs(line: str) -> Sequence[_Range]:
    """Return the runs of words between which there is more than one space."""
    if line.isprintable() and "  " not in line:  # true for most lines: its only spaces are between words
        end = len(line.rstrip())
        return ((len(line) - len(line.lstrip()), end),) if end else ()
    return [run.span() for run in _RUN.finditer(line)]


def _best_row(by_row: Mapping[int, Sequence[_Match]], headings: Set[int], low: int, high: int) -> int:
    """Return the row with the most query words; a heading only if no other row has any.

    Among equal rows, prefer the first between ``low`` and ``high``, or else the first of all.
    """
    return max(
        by_row,
        key=lambda row: (
            row not in headings,
            len({word for _, _, word in by_row[row]}),
            any(low <= match[0] < high for match in by_row[row]),
            -row,
        ),
    )


def _hidden_match(
    passage: Chunk, matcher: Matcher | None, begins: Sequence[int], found: Sequence[_Match]
) -> int | None:
    """Return the offset in the passage of a match that is not shown, or the start of the first line whose
    source matches; None without a match.
    """
    if found or matcher is None or not matcher.patterns:
        return found[0][0] if found else None
    source = passage.source
    first = min((low for pattern in matcher.patterns for low, _ in find_all(pattern, source)), default=None)
    return None if first is None else begins[min(source.count("\n", 0, first), len(begins) - 2)]


def _densest(matches: Sequence[_Match], width: int) -> _Range:
    """Return the first range with the most distinct words; repeated words do not count."""
    best, densest = 0, (0, 0)
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
        if len(inside) > best:
            best, densest = len(inside), (matches[left][0], end)
    return densest


def _window(text: str, low: int, high: int, room: int) -> _Range:
    """Return a range of ``room`` characters around ``low`` to ``high``, cut between words if possible."""
    start = max(0, min(low - max(0, room - (high - low)) // 3, len(text) - room))
    end = min(start + room, len(text))
    least, most = low, max(min(high, end), start)
    if start and text[start - 1] != " ":
        space = text.find(" ", start, min(least, start + SNAP))
        start = space + 1 if space >= 0 else start
        while space < 0 and start < least and unicodedata.combining(text[start]):
            start += 1
    if end < len(text) and text[end] != " ":
        space = text.rfind(" ", max(most, end - SNAP), end)
        end = space if space >= 0 else end
        while space < 0 and end > most and unicodedata.combining(text[end]):
            end -= 1
    return start, end
