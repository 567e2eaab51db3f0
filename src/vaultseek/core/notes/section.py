"""Read the lines below a heading, as displayed to an agent, and find the blocks in these lines."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from vaultseek.base.model import Chunk, Edit, Span, apply_edits
from vaultseek.content.markdown.blocks import read_blocks
from vaultseek.content.markdown.rendering import BULLET
from vaultseek.content.markdown.split import SENTENCE
from vaultseek.store.ledger import Ledger

WHOLE = frozenset(("code", "html", "list", "math", "quote", "table"))
"""Kinds of blocks that must not be cut, because a part could mislead: for example, a table row without the
table's header."""
COLONS = (":", "\N{FULLWIDTH COLON}")
NEAR = 2
"""Number of passages to search first, on each side of a passage, for the borders of its section.

If a border is not found, the search is repeated with four times as many passages."""
_CALLOUT = re.compile(r"(?:[ ]{0,3}>[ ]?)+\[!([\w-]+)\]")
_ITEM = re.compile(r"(?:[ ]{0,3}>[ ]?)*([ \t]*([-*+]|\d{1,9}[.)])(?:[ \t]+\[[^\n]\])?[ \t]+)(?=\S)")
"""Characters before the text of a list item: indentation, marker and, for a task, its state."""

_STRIKE = re.compile(r"(?<!~)~~(?!~)|</?(?:del|s|strike)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Block:
    """Lines of a note that must not be separated, such as a table and the line that introduces it.

    ``first_line`` is the first line after the introduction. ``opening`` is text without which a part of the
    block is unclear: a table's header, a callout's title, or the sentence that introduces a list.
    ``opening_line`` is the line of the opening.
    """

    start_line: int
    first_line: int
    end_line: int
    opening: str
    opening_line: int

    @property
    def head_line(self) -> int:
        """Last line of the block's introduction or header; the line before the block if it has neither."""
        return max(self.opening_line, self.first_line - 1) if self.opening else self.start_line - 1

    @property
    def lines(self) -> range:
        """Line numbers of the whole block."""
        return range(self.start_line, self.end_line + 1)


class Section:
    """Consecutive passages of a note that have the same headings."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._first = chunks[0].start_line
        self._lines, self._source = ([""] * (chunks[-1].end_line - self._first + 1) for _ in range(2))
        for chunk in chunks:
            written = chunk.source.split("\n")
            for row, (line, own) in enumerate(
                zip(marked_lines(chunk), written, strict=True), chunk.start_line - self._first
            ):
                self._lines[row] += line
                self._source[row] += own
        self._borders = {
            later.start_line for each, later in pairwise(chunks) if each.end_line == later.start_line
        }
        self._is_divided = len(chunks) > 1

    @cached_property
    def blocks(self) -> list[Block]:
        """The section's blocks that must not be cut."""
        return [*self._read(self._source)]

    def text(self, start_line: int, end_line: int) -> str:
        """Return the displayed text of lines ``start_line`` to ``end_line``."""
        return "\n".join(self._lines[start_line - self._first : end_line - self._first + 1])

    def are_adjacent(self, line: int, later: int) -> bool:
        """True if there is no text between the two lines."""
        return not self.text(line + 1, later - 1).strip()

    def divided_blocks(self, chunk: Chunk) -> list[Block]:
        """Return the blocks of which a passage contains only a part."""
        start, end = chunk.start_line, chunk.end_line
        if not self._is_divided:
            return []
        return [
            block
            for block in self.blocks
            if block.start_line <= end
            and start <= block.end_line
            and (block.start_line < start or end < block.end_line or self._splits(block, chunk))
        ]

    def _splits(self, block: Block, chunk: Chunk) -> bool:
        """True if the passage begins or ends in the middle of a line of the block."""
        lines = self._borders & {chunk.start_line, chunk.end_line}
        return any(block.start_line <= line <= block.end_line for line in lines)

    def _read(self, source: Sequence[str]) -> Iterator[Block]:
        before: Span | None = None
        for span in read_blocks(source).spans:
            if span.kind == "list_item":
                continue
            if span.kind in WHOLE:
                yield self._block(span, before, source)
            before = span

    def _block(self, span: Span, before: Span | None, source: Sequence[str]) -> Block:
        """Return the block at ``span``. ``before`` is the preceding span; if it is a paragraph, it may
        introduce the block."""
        start = first = opening_line = span.start_line
        opening = ""
        if span.kind == "table" or (span.kind == "quote" and _CALLOUT.match(source[first - 1])):
            opening = self._lines[first - 1]
        if before is not None and before.kind == "paragraph" and span.start_line - before.end_line <= 2:
            line = self._lines[before.end_line - 1].rstrip()
            if line.endswith(COLONS) or span.start_line - before.end_line == 1:
                start = before.end_line
            if span.kind == "list" and line.endswith(COLONS):
                opening, opening_line = _last_sentence(line), before.end_line
        shift = self._first - 1
        return Block(start + shift, first + shift, span.end_line + shift, opening, opening_line + shift)


def _last_sentence(line: str) -> str:
    ends = [match.end() for match in SENTENCE.finditer(line)]
    return line[max((end for end in ends if end < len(line)), default=0) :].strip()


def section_of(outline: Sequence[int], position: int, ledger: Ledger) -> dict[int, Section]:
    """Find the section around ``position``. Return a dict from the number of each passage in it to the
    section.

    ``position`` is an index in ``outline``, the numbers of all passages in the note.
    """
    reach = NEAR
    while True:
        low, high = max(0, position - reach), min(len(outline), position + reach + 1)
        chunks = ledger.chunks.by_number(outline[low:high])
        own = chunks[outline[position]]
        start, end = position, position + 1
        while start > low and _is_below(chunks.get(outline[start - 1]), own):
            start -= 1
        while end < high and _is_below(chunks.get(outline[end]), own):
            end += 1
        if (start > low or low == 0) and (end < high or high == len(outline)):
            section = Section([chunks[number] for number in outline[start:end]])
            return dict.fromkeys(outline[start:end], section)
        reach *= 4


def _is_below(chunk: Chunk | None, own: Chunk) -> bool:
    return chunk is not None and is_one_section(chunk, own)


def is_one_section(first: Chunk, second: Chunk) -> bool:
    """True if two passages of a note have the same headings and are in the same part of the file."""
    return (first.heading_path, first.place) == (second.heading_path, second.place)


def marked_lines(chunk: Chunk) -> list[str]:
    """Return the lines of a passage as displayed to an agent.

    List items keep their indentation and marker; tasks also keep their state, and callout titles their kind.
    Text that is struck out stays between ``~~``, since it is no longer valid.
    """
    if not chunk.edits:
        return chunk.text.split("\n")
    lines = apply_edits(chunk.text, _strikes(chunk)).split("\n")
    return [_marked(line, written) for line, written in zip(lines, chunk.source.split("\n"), strict=True)]


def _strikes(chunk: Chunk) -> Iterator[Edit]:
    """Yield the edits that restore the ``~~`` around text that is struck out."""
    for start, end, written in chunk.edits:
        if strike := _STRIKE.search(written):
            shown = chunk.text[start:end]
            yield Edit(start, end, f"{shown}~~" if strike.start() else f"~~{shown}")


def _marked(line: str, written: str) -> str:
    if (callout := _CALLOUT.match(written)) and line and line.casefold() != callout[1].casefold():
        return f"[!{callout[1]}] {line}"
    item = _ITEM.match(written)
    if item is None:
        return line
    marker = BULLET if item[2] in "-*+" else item[2]
    return item[1] + line.removeprefix(marker).lstrip() if line.startswith(marker) else line
