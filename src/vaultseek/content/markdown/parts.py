"""The parts of a note that are cut into chunks each by itself, their text and their blocks."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, TypeVar

from vaultseek.base.model import CodeBlock, Heading, Note, Part, Span

T = TypeVar("T")


class NotePart(NamedTuple):
    """The lines of a note that are cut together, from ``body_line`` on, and the headings ``above`` them."""

    path: str
    lines: Sequence[str]
    body_line: int
    spans: Sequence[Span]
    headings: Sequence[Heading]
    code_blocks: Sequence[CodeBlock]
    above: Sequence[Heading] = ()


def parts_of(note: Note) -> Iterator[tuple[Part, NotePart]]:
    """Yield the places of a note, each with its lines."""
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
                tuple(above),
            ),
        )
        for heading in own:
            above = [*(each for each in above if each.level < heading.level), heading]


def _up_to(line: int, items: deque[T], line_of: Callable[[T], int]) -> list[T]:
    """Take the items off the queue that begin before ``line``."""
    taken: list[T] = []
    while items and line_of(items[0]) < line:
        taken.append(items.popleft())
    return taken


@dataclass(frozen=True, slots=True)
class Body:
    """The body as one string, and the offsets of its lines."""

    text: str
    starts: Sequence[int]
    first_line: int

    @classmethod
    def of(cls, part: NotePart) -> Body:
        starts = list(accumulate((len(line) + 1 for line in part.lines), initial=0))
        return cls("\n".join(part.lines), starts, part.body_line)

    def start(self, line: int) -> int:
        """Return the offset of ``line``; the end of the text for lines beyond it."""
        index = line - self.first_line
        return self.starts[index] if 0 <= index < len(self.starts) else self.starts[-1 if index > 0 else 0]

    def line(self, offset: int) -> int:
        """Return the line in the file of the character at ``offset``."""
        return self.first_line + bisect_right(self.starts, offset) - 1


class Block(NamedTuple):
    """A block of the body: its range without surrounding blank lines, and the index of its span, or -1."""

    start: int
    end: int
    span: int


def blocks_of(part: NotePart, body: Body) -> list[Block]:
    """Return the blocks of the body in order; text outside of all spans is a block as well."""
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
