"""Split a note into parts, and blocks that are too long for the model into pieces, at the best borders."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from operator import attrgetter
from typing import NamedTuple, TypeVar

from vaultseek.base.limits import KIB
from vaultseek.base.model import CodeBlock, Edit, Heading, Note, Part, Span, TokenCount, apply_edits
from vaultseek.base.text import is_unspaced

SHORT_PARTS = 8
"""Divisor for a chunk's token limit. Lines and sentences with fewer characters than the quotient are joined
before their tokens are counted."""
CUT_GUESSES = 24
DATA_CHARS = 2000
"""Minimum length, in characters, of a line that may be data, such as minified JSON, rather than sentences."""
DATA_SPACES, DATA_SIGNS = 0.08, 0.12
"""Share of spaces below which a long line is data, and share of code characters above which it is data."""
DATA_PIECE = 64 * KIB
"""Maximum length of a piece of data, in characters.

A piece may be longer than the model's window. Its vector then represents only its beginning, but data is
searched by words anyway.
"""


# A match ends a part. Parts that are still too long are split at the next level of borders.
# A sentence ends before white space or, in Chinese and Japanese, anywhere. The look-behind keeps the time
# linear for a long run of dots. A pattern that begins with a set of characters is found much faster.
SENTENCE = re.compile(
    r"[.!?…。！？](?:(?<=[.!?…])(?<![.!?…][.!?…])[.!?…]*+[\"')\]”’»*_]*+(?=\s)|(?<=[。！？])[。！？]*+[」』”’）]*+)"
)
WHOLE = re.compile(r"(?!)")
LINE = re.compile(r"\n")
PHRASE = re.compile(r"\S++(?:[^\S\n]++\S++){0,15}")
WORD = re.compile(r"\S++")
PROSE = (SENTENCE, LINE, PHRASE, WORD)
LINES = (LINE, SENTENCE, PHRASE, WORD)

_BEFORE_CONSONANT = "\u0e40\u0e41\u0e42\u0e43\u0e44\u0ec0\u0ec1\u0ec2\u0ec3\u0ec4"
_AFTER_CONSONANT = "\u0e30\u0e32\u0e33\u0e45\u0eb0\u0eb2\u0eb3\u0ebd"
"""Thai and Lao vowels that belong to the consonant before them; those in ``_BEFORE_CONSONANT`` belong to the
consonant after them."""
PAUSES = frozenset("，、；：,;:/&?=)]}>|-")


class Piece(NamedTuple):
    """A range of the text, and its number of tokens."""

    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Room:
    """Size limits of a chunk. ``chars`` limits text with few tokens, such as spaces and very long words."""

    tokens: int
    chars: int

    def holds(self, start: int, end: int, tokens: int) -> bool:
        """True if the text from ``start`` to ``end``, with this many tokens, is within the limits."""
        return tokens <= self.tokens and end - start <= self.chars


def split(
    text: str, start: int, end: int, count: TokenCount, room: Room, levels: Sequence[re.Pattern[str]]
) -> Iterator[Piece]:
    """Yield the pieces of ``text[start:end]``, in order, each within ``room``; only white space is left out.

    Each piece ends at the first possible border, so the pieces must be packed afterwards.
    """
    for part_start, part_end in _parts(text, start, end, levels[0], room.tokens // SHORT_PARTS):
        if is_data(text, part_start, part_end):
            for low in range(part_start, part_end, DATA_PIECE):
                yield Piece(low, min(low + DATA_PIECE, part_end), room.tokens)
            continue
        short = part_end - part_start <= room.chars
        tokens = count(text[part_start:part_end]) if short else room.tokens + 1
        if tokens <= room.tokens:
            yield Piece(part_start, part_end, tokens)
        elif len(levels) > 1:
            yield from split(text, part_start, part_end, count, room, levels[1:])
        else:
            yield from _cut(text, part_start, part_end, count, room)


def is_data(text: str, start: int, end: int) -> bool:
    """True if the range is one long line that does not consist of sentences."""
    if end - start <= DATA_CHARS or text.find("\n", start, end) >= 0:
        return False
    sample = text[start : start + DATA_PIECE]
    if is_unspaced(sample):
        return False
    spaces, signs = sum(map(sample.count, " \t")), sum(map(sample.count, '{}[]<>":,;=\\/'))
    return spaces < DATA_SPACES * len(sample) or signs > DATA_SIGNS * len(sample)


def pack(pieces: Iterable[Piece], room: Room) -> list[list[Piece]]:
    """Group the pieces into chunks that are as full as possible.

    If the last chunk would be nearly empty, the last two chunks are balanced.
    """
    groups: list[list[Piece]] = []
    group: list[Piece] = []
    tokens = 0
    for piece in pieces:
        tokens += piece.tokens
        if group and (tokens > room.tokens or piece.end - group[0].start > room.chars):
            groups.append(group)
            group, tokens = [], piece.tokens
        group.append(piece)
    if group:
        groups.append(group)
    if len(groups) > 1 and tokens * 4 < room.tokens:
        groups[-2:] = _balanced(groups[-2], groups[-1], room)
    return groups


def _parts(
    text: str, start: int, end: int, border: re.Pattern[str], min_chars: int
) -> Iterator[tuple[int, int]]:
    """Yield the ranges between borders, without surrounding white space.

    Adjacent ranges of fewer than ``min_chars`` characters are joined, because counting the tokens of many
    short lines one by one is slow. A range that is long enough to be data is kept separate, because with a
    code fence before it, it would not be recognized as a single line.
    """
    after = start
    for match in border.finditer(text, start, end):
        before, after = after, match.end()
        if after - start < min_chars:
            continue
        if start < before < after - DATA_CHARS:
            yield from _nonempty(text, start, before)
            start = before
        yield from _nonempty(text, start, after)
        start = after
    if start < after < end - DATA_CHARS:
        yield from _nonempty(text, start, after)
        start = after
    yield from _nonempty(text, start, end)


def _nonempty(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    first, last = _stripped(text, start, end)
    if first < last:
        yield first, last


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    stripped = text[start:end].rstrip()
    first = 0
    # A line's indentation belongs to the line; other white space before it does not.
    if stripped and stripped[0].isspace():
        lead = len(stripped) - len(stripped.lstrip())
        newline = stripped.rfind("\n", 0, lead) + 1
        at_line_start = start == 0 or text[start - 1] == "\n"
        first = newline if newline or at_line_start else lead
    return start + first, start + len(stripped)


def _cut(text: str, start: int, end: int, count: TokenCount, room: Room) -> Iterator[Piece]:
    guess = room.tokens
    while start < end:
        piece = _longest(text, start, end, guess, count, room)
        yield piece
        guess = piece.end - start
        start = piece.end


def _longest(text: str, start: int, end: int, guess: int, count: TokenCount, room: Room) -> Piece:
    """Return a piece close to the longest one that fits, estimated from the number of tokens per character so
    far.
    """
    low, high = 1, min(end - start, room.chars)
    length = max(low, min(guess, high))
    best = Piece(start, start + 1, 1)
    for _ in range(CUT_GUESSES):
        stop = _border(text, start, start + length, end)
        tokens = count(text[start:stop])
        if tokens <= room.tokens:
            best = max(best, Piece(start, stop, tokens))
            low = length
            if length == high or tokens * 3 >= room.tokens * 2:
                break
        else:
            high = length - 1
        if low >= high:
            break
        length = min(high, max(low + 1, length * room.tokens // max(1, tokens) * 15 // 16))
    return best


def _border(text: str, start: int, stop: int, end: int) -> int:
    """Return a border at or shortly before ``stop``: after punctuation if possible, otherwise not inside a
    Latin word.
    """
    if stop >= end:
        return end
    lowest = start + (stop - start) * 3 // 4
    for border in range(stop, lowest, -1):
        if text[border - 1] in PAUSES:
            return border
    border = stop
    while border > lowest and _joined(text[border - 1], text[border]):
        border -= 1
    return border if border > lowest else stop


def _joined(before: str, after: str) -> bool:
    if before.isascii() and after.isascii():
        return before.isalnum() and after.isalnum()
    if after in "\u200d\ufe0f" or before == "\u200d" or unicodedata.category(after)[0] == "M":
        return True
    return before in _BEFORE_CONSONANT or after in _AFTER_CONSONANT


def _balanced(left: list[Piece], right: list[Piece], room: Room) -> list[list[Piece]]:
    pieces = left + right
    half = sum(piece.tokens for piece in pieces) / 2
    border = 0
    while border < len(left) - 1 and half > 0:
        half -= pieces[border].tokens
        border += 1
    even = [pieces[:border], pieces[border:]]
    tokens = [sum(piece.tokens for piece in group) for group in even]
    fits = border and all(
        room.holds(group[0].start, group[-1].end, size) for group, size in zip(even, tokens, strict=True)
    )
    return even if fits else [left, right]


T = TypeVar("T")


class NotePart(NamedTuple):
    """The lines of a note that are chunked together, beginning at ``body_line``, and the headings ``above``
    them.
    """

    path: str
    lines: Sequence[str]
    body_line: int
    spans: Sequence[Span]
    headings: Sequence[Heading]
    code_blocks: Sequence[CodeBlock]
    edits: Mapping[int, Sequence[Edit]]
    above: Sequence[Heading] = ()


def parts_of(note: Note) -> Iterator[tuple[Part, NotePart]]:
    """Yield the parts of a note: for each part, its place in the file, and its lines for chunking."""
    places = note.places
    if places[0].line > note.body_line:
        places = (Part("", note.body_line), *places)
    ends = [*(place.line for place in places[1:]), len(note.lines) + 1]
    spans, headings, codes = deque(note.spans), deque(note.headings), deque(note.code_blocks)
    above: list[Heading] = []
    for place, end in zip(places, ends, strict=True):
        above = [heading for heading in above if heading.level <= place.depth]
        own = _up_to(end, headings, lambda heading: heading.line)
        yield (
            place,
            NotePart(
                note.path,
                note.lines[place.line - 1 : end - 1],
                place.line,
                _up_to(end, spans, lambda span: span.start_line),
                own,
                _up_to(end, codes, lambda code: code.line),
                note.edits,
                tuple(above),
            ),
        )
        for heading in own:
            above = [*(each for each in above if each.level < heading.level), heading]


def _up_to(line: int, items: deque[T], line_of: Callable[[T], int]) -> list[T]:
    taken: list[T] = []
    while items and line_of(items[0]) < line:
        taken.append(items.popleft())
    return taken


class _Shown(NamedTuple):
    """Displayed text that differs from the source: its range in the body's text, and the source that it
    replaces.
    """

    start: int
    end: int
    source: str


def _shown(start: int, line: str, edits: Sequence[Edit]) -> Iterator[_Shown]:
    """Yield the displayed text for each edit. ``line`` begins at offset ``start`` in the body's text."""
    column = 0
    for first, last, text in edits:
        start += first - column
        yield _Shown(start, start + len(text), line[first:last])
        start, column = start + len(text), last


@dataclass(frozen=True, slots=True)
class Body:
    """Displayed text of a note's body in one string, with the offset and the edits of each line."""

    text: str
    starts: Sequence[int]
    first_line: int
    lines: Sequence[str]
    """Lines as written in the note."""
    edits: Mapping[int, Sequence[Edit]]
    shown: Sequence[_Shown]
    """Displayed texts of all edits, in order."""

    @classmethod
    def of(cls, part: NotePart) -> Body:
        first, edits = part.body_line, part.edits
        edited = [number for number in range(first, first + len(part.lines)) if number in edits]
        lines = list(part.lines)
        for number in edited:
            lines[number - first] = apply_edits(lines[number - first], edits[number])
        starts = [*accumulate((len(line) + 1 for line in lines), initial=0)]
        shown: list[_Shown] = []
        for number in edited:
            shown += _shown(starts[number - first], part.lines[number - first], edits[number])
        return cls("\n".join(lines), starts, first, part.lines, edits, shown)

    def with_hidden(self, ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return the ranges, extended by the hidden lines between them, such as comments.

        Each range takes the hidden lines after it; the first range also takes those before it. Blank lines
        are in no range.
        """
        written = [row for row, line in enumerate(self.lines) if line.strip()]
        if not ranges:
            return [(self.starts[written[0]], self.starts[written[-1] + 1] - 1)] if written else []
        whole: list[tuple[int, int]] = []
        for (start, end), after in zip_longest(ranges, (start for start, _ in ranges[1:])):
            if not whole:
                start = min(start, self.starts[written[0]])
            stop = len(self.lines) if after is None else self._row(after)
            row, last = self._row(end), written[bisect_left(written, stop) - 1]
            last = max(row, last)
            stop = self.starts[last + 1] - 1
            shows_more = after is not None and self._row(after) == row
            is_hidden = self.first_line + last in self.edits and not self.text[end:stop].strip()
            whole.append((start, stop if is_hidden and not shows_more else end))
        return whole

    def to_source(self, start: int, end: int, after: int) -> Iterator[Edit]:
        """Yield the edits that restore the source of a range. ``after`` is the start of the next range."""
        first = bisect_left(self.shown, start, key=attrgetter("end"))
        for at in range(first, len(self.shown)):
            low, high, source = self.shown[at]
            if low > end:
                break
            if (low < end or end < after) and (high > start or low == high):
                if low < start:
                    low, source = start, ""
                yield Edit(low - start, min(high, end) - start, source)

    def _row(self, offset: int) -> int:
        return bisect_right(self.starts, offset, 0, len(self.lines)) - 1

    def start(self, line: int) -> int:
        """Return the offset in the text at which ``line`` begins; for a line after the end, the length of the
        text.
        """
        index = line - self.first_line
        return self.starts[index] if 0 <= index < len(self.starts) else self.starts[-1 if index > 0 else 0]

    def line(self, offset: int) -> int:
        """Return the number of the line in the file that contains the character at ``offset``."""
        return self.first_line + bisect_right(self.starts, offset) - 1


class Block(NamedTuple):
    """A block in the body's text: its range without surrounding blank lines, and the index of its span, or
    -1.
    """

    start: int
    end: int
    span: int


def blocks_of(part: NotePart, body: Body) -> list[Block]:
    """Return the blocks of the body, in order; text outside all spans also forms a block."""
    blocks: list[Block | None] = []
    line = part.body_line
    for index, span in enumerate(part.spans):
        first, last = span.start_line, span.end_line
        if span.kind == "list_item" or last < line:
            continue
        if first > line:
            blocks.append(_block(body, line, first, -1))
            line = first
        blocks.append(_block(body, line, last + 1, index))
        line = last + 1
    blocks.append(_block(body, line, part.body_line + len(body.starts), -1))
    return [block for block in blocks if block is not None]


def _block(body: Body, first: int, after: int, span: int) -> Block | None:
    start, end = body.start(first), body.start(after) - 1
    text = body.text[start:end]
    if text[:1].isspace() or text[-1:].isspace():
        text = text.rstrip()
        end = start + len(text)
        lead = len(text) - len(text.lstrip())
        start += text.rfind("\n", 0, lead) + 1
    return Block(start, end, span) if text else None
