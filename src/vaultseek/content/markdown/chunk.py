"""Split notes into chunks that fit the embedding model, along their headings.

A section that fits is one chunk, together with its subsections if all of them fit; a longer section is split
at block borders, then within blocks. Small sibling sections are joined. An edit must not move borders
elsewhere in the note, so the content of sibling sections does not decide where a run of them is split.
Instead, each heading has a rank, a digest of its text. A run that is too large for one chunk is split before
the heading with the highest rank, and the same rule is applied to both parts. An edit can then only split the
chunk that contains it, or merge that chunk with its neighbours up to the size of one chunk. A heading without
text below it belongs to the first chunk of its first subsection.

The size of a chunk depends only on its heading path and its text, because a fixed share of the window is
reserved for the title and the aliases.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from vaultseek.base.limits import KIB, TOKEN_CHARS
from vaultseek.base.model import Chunk, Note, Span, TokenCount
from vaultseek.content.languages.syllables import count_syllables, has_syllables
from vaultseek.content.markdown.embedding_text import headings_room, names_room
from vaultseek.content.markdown.frontmatter import REJECTED
from vaultseek.content.markdown.split import (
    LINES,
    PROSE,
    WHOLE,
    Block,
    Body,
    NotePart,
    Piece,
    Room,
    blocks_of,
    is_data,
    pack,
    parts_of,
    split,
)

JOIN_SHARE = 0.6
"""Maximum share of the model's window that joined sibling sections may take."""
UNCOUNTED_CHARS = 64 * KIB
"""Maximum length, in characters, of a block whose tokens are counted as a whole; a longer block is split
first."""
CHUNK_ID_BYTES = 10

CHUNKER_VERSION = 17
"""Version of the code that reads notes. Raise it whenever the same note gives different chunks, title, links,
currency or properties; vaults are then read again."""

Path = tuple[str, ...]


def chunk(note: Note, count: TokenCount, window: int = 254) -> tuple[Chunk, ...]:
    """Split a note into chunks, in order.

    ``count`` is a function that returns the number of the model's tokens in a text. ``window`` is the number
    of tokens that the model reads. Every character of the body except white space is in the source of exactly
    one chunk. A chunk with several sibling sections has the heading path of their parent. A chunk never
    combines text from two separate places. Frontmatter that cannot be parsed counts as text before the body,
    so that its words are found.
    """
    seen: Counter[tuple[Path, str]] = Counter()
    if not note.places:
        rejected = note.body_line > 1 and any(problem.code in REJECTED for problem in note.problems)
        first = 2 if rejected else note.body_line
        lines = note.lines[first - 1 :]
        whole = NotePart(note.path, lines, first, note.spans, note.headings, note.code_blocks, note.edits)
        return tuple(_chunked(whole, count, window, seen))
    return tuple(
        replace(each, place=place.name or None)
        for place, part in parts_of(note)
        for each in _chunked(part, count, window, seen)
    )


def _chunked(
    part: NotePart, count: TokenCount, window: int, seen: Counter[tuple[Path, str]]
) -> Iterator[Chunk]:
    body = Body.of(part)
    blocks = blocks_of(part, body)
    if has_syllables(body.text):
        count = _SyllableCount(count)
    sizes = _Sizes(part.spans, body, blocks, count, window)
    sections = _sections(part, blocks)
    ranges = list(_ranges(_Plan(sections, len(blocks), sizes), sizes)) if blocks else []
    paths = list(_paths(ranges, blocks, sections)) or [()]
    yield from _chunks(part, body, body.with_hidden(ranges), paths, seen)


class _SyllableCount:
    """Token counter for text that may be in Thai, Lao, Burmese or Khmer. It returns the model's count or, if
    greater, half the number of syllables in these scripts.

    For a model that does not support a script, a run of text in that script is a single unknown token, so a
    whole note would be one passage. A model that supports the script has about one token per two syllables.
    """

    def __init__(self, count: TokenCount) -> None:
        self._count = count
        # The sum of the counts of parts may be too large, but never too small.
        self.additive = bool(getattr(count, "additive", False))

    def __call__(self, text: str) -> int:
        return max(self._count(text), (count_syllables(text) + 1) // 2)


class _Section(NamedTuple):
    """A heading and the text below it.

    ``first`` is the index of its first block; ``ancestors`` are the indices of the sections around it, from
    the note down to the section itself.
    """

    first: int
    path: Path
    ancestors: tuple[int, ...]
    children: list[int]


def _sections(part: NotePart, blocks: Sequence[Block]) -> list[_Section]:
    spans = part.spans
    by_line = {spans[block.span].start_line: index for index, block in enumerate(blocks) if block.span >= 0}
    sections = [_Section(0, tuple(heading.shown for heading in part.above), (0,), [])]
    levels = [(0, 0)]
    for heading in part.headings:
        first = by_line.get(heading.line)
        if first is None:
            continue
        while len(levels) > 1 and levels[-1][0] >= heading.level:
            levels.pop()
        parent = sections[levels[-1][1]]
        index = len(sections)
        parent.children.append(index)
        levels.append((heading.level, index))
        above = (each.shown for each in part.above if each.level < heading.level)
        path = parent.path if levels[-2][1] else tuple(above)
        sections.append(_Section(first, (*path, heading.shown), (*parent.ancestors, index), []))
    return sections


class _Group(NamedTuple):
    """A run of blocks for one chunk, or for several chunks if the run is too long.

    ``path`` is the heading path of the section that contains the whole run. A ``bare`` group is a heading
    without text below it; it joins the next chunk if there is room.
    """

    first: int
    after: int
    path: Path
    bare: bool = False


class _Plan:
    """Plan that decides which sections become separate chunks and which are joined."""

    def __init__(self, sections: Sequence[_Section], blocks: int, sizes: _Sizes) -> None:
        self._sections = sections
        self._blocks = blocks
        self._sizes = sizes

    def groups(self) -> Iterator[_Group]:
        return self._section(0, self._blocks)

    def _section(self, index: int, after: int) -> Iterator[_Group]:
        section = self._sections[index]
        if not section.children or (index and self._sizes.joins(section.first, after)):
            yield _Group(section.first, after, section.path)
            return
        own = self._sections[section.children[0]].first - section.first
        bare = own == 1 and index > 0
        if bare:
            yield _Group(section.first, section.first + 1, section.path, bare=True)
        items = [index, *section.children] if own and not bare else section.children
        starts = [*(self._sections[item].first for item in items), after]
        for low, high in self._runs(items, starts):
            if high - low > 1 or items[low] == index:
                yield _Group(starts[low], starts[high], section.path)
            else:
                yield from self._section(items[low], starts[high])

    def _runs(self, items: Sequence[int], starts: Sequence[int]) -> Iterator[tuple[int, int]]:
        ranks = self._ranks(items)
        waiting = [(0, len(items))]
        while waiting:
            low, high = waiting.pop()
            if high - low == 1 or self._sizes.joins(starts[low], starts[high]):
                yield low, high
            else:  # ranks are practically random, so the parts get smaller quickly
                border = max(range(low + 1, high), key=ranks.__getitem__)
                waiting += [(border, high), (low, border)]

    def _ranks(self, items: Sequence[int]) -> list[bytes]:
        seen: Counter[str] = Counter()
        ranks: list[bytes] = []
        for item in items:
            path = self._sections[item].path
            heading = path[-1] if path else ""
            ranks.append(_digest(heading, str(seen[heading])))
            seen[heading] += 1
        return ranks


class _Sizes:
    """Token counts of all blocks. They decide which ranges fit into a chunk; ranges that do not fit are
    split.
    """

    def __init__(
        self, spans: Sequence[Span], body: Body, blocks: Sequence[Block], count: TokenCount, window: int
    ) -> None:
        text = body.text
        self._spans = spans
        self._body = body
        self._text = text
        self._blocks = blocks
        self._count = count
        self._window = window
        self._additive = bool(getattr(count, "additive", False))
        self._tokens = [
            count(text[start:end]) if end - start <= UNCOUNTED_CHARS else window + 1
            for start, end, _ in blocks
        ]
        self._before = list(accumulate(self._tokens, initial=0))

    def joins(self, first: int, after: int) -> bool:
        limit = Room(int(self._window * JOIN_SHARE), self._window * TOKEN_CHARS)
        start, end = self._blocks[first].start, self._blocks[after - 1].end
        return limit.holds(start, end, self._before[after] - self._before[first])

    def fits(self, start: int, end: int, path: Path) -> bool:
        room = self._room(path)
        short = end - start <= room.chars
        return short and room.holds(start, end, self._count(self._text[start:end]))

    def ranges(self, group: _Group) -> Iterator[tuple[int, int]]:
        blocks = self._blocks[group.first : group.after]
        room = self._room(group.path)
        start, end = blocks[0].start, blocks[-1].end
        if room.holds(start, end, self._before[group.after] - self._before[group.first]):
            yield from self._checked(start, end, room)
            return
        pieces = (piece for index in range(group.first, group.after) for piece in self._pieces(index, room))
        for packed in pack(pieces, room):
            yield from self._checked(packed[0].start, packed[-1].end, room)

    def _room(self, path: Path) -> Room:
        limit = headings_room(self._window)
        line = " > ".join(path)
        headings = limit if len(line) > limit * TOKEN_CHARS else min(limit, self._count(line))
        tokens = max(1, self._window - names_room(self._window) - headings)
        return Room(tokens, self._window * TOKEN_CHARS)

    def _pieces(self, index: int, room: Room) -> Iterator[Piece]:
        block = self._blocks[index]
        if room.holds(block.start, block.end, self._tokens[index]):
            yield Piece(block.start, block.end, self._tokens[index])
            return
        kind = self._spans[block.span].kind if block.span >= 0 else "other"
        if kind == "list":
            for start, end in self._list_items(block):
                yield from split(self._text, start, end, self._count, room, (WHOLE, *LINES))
        else:
            levels = PROSE if kind == "paragraph" else LINES
            yield from split(self._text, block.start, block.end, self._count, room, levels)

    def _list_items(self, block: Block) -> Iterator[tuple[int, int]]:
        start = block.start
        for index in range(block.span + 1, len(self._spans)):
            if self._spans[index].kind != "list_item":
                break
            border = self._body.start(self._spans[index].start_line)
            if start < border < block.end:
                yield start, border
                start = border
        yield start, block.end

    def _checked(self, start: int, end: int, room: Room) -> Iterator[tuple[int, int]]:
        """Yield the range, or smaller ranges if the range has too many tokens for a chunk.

        The token count of a range may exceed the sum of its blocks' counts.
        """
        fits = self._additive or self._count(self._text[start:end]) <= room.tokens
        if fits or is_data(self._text, start, end):
            yield start, end
            return
        less = Room(max(1, room.tokens * 3 // 4), room.chars)
        for packed in pack(split(self._text, start, end, self._count, less, LINES), less):
            yield from self._checked(packed[0].start, packed[-1].end, less)


def _ranges(plan: _Plan, sizes: _Sizes) -> Iterator[tuple[int, int]]:
    bare: tuple[int, int, Path] | None = None
    for group in plan.groups():
        for start, end in sizes.ranges(group):
            path = group.path
            if bare is not None:
                if sizes.fits(bare[0], end, bare[2]):
                    start, path = bare[0], bare[2]
                else:
                    yield bare[0], bare[1]
            bare = (start, end, path) if group.bare else None
            if bare is None:
                yield start, end


def _paths(
    ranges: Sequence[tuple[int, int]], blocks: Sequence[Block], sections: Sequence[_Section]
) -> Iterator[Path]:
    starts = [0, *(blocks[section.first].start for section in sections[1:])]
    for start, end in ranges:
        first = sections[max(0, bisect_right(starts, start) - 1)].ancestors
        last = sections[max(0, bisect_right(starts, end - 1) - 1)].ancestors
        common = next((depth for depth, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
        yield sections[min(first, last, key=len)[-1] if common is None else first[common - 1]].path


def _chunks(
    part: NotePart,
    body: Body,
    ranges: Sequence[tuple[int, int]],
    paths: Sequence[Path],
    seen: Counter[tuple[Path, str]],
) -> Iterator[Chunk]:
    codes = [(body.start(code.line), body.start(code.end_line + 1) - 1) for code in part.code_blocks]
    index = 0
    afters = [*(start for start, _ in ranges[1:]), len(body.text) + 1]
    for (start, end), after, path in zip(ranges, afters, paths, strict=False):
        text = body.text[start:end]
        while index < len(codes) and codes[index][1] <= start:
            index += 1
        ordinal = seen[path, text]
        seen[path, text] += 1
        yield Chunk(
            id=chunk_id(part.path, path, text, ordinal),
            heading_path=path,
            start_line=body.line(start),
            end_line=body.line(end),
            text=text,
            code=tuple(_within(codes, index, start, end)),
            edits=tuple(body.to_source(start, end, after)),
        )


def chunk_id(path: str, heading_path: Path, text: str, ordinal: int) -> str:
    """Return the id of a chunk; ``ordinal`` distinguishes equal chunks in the same note."""
    return _digest(path, str(len(heading_path)), *heading_path, text, str(ordinal)).hex()


def _within(codes: Sequence[tuple[int, int]], index: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of code in the chunk from ``start`` to ``end``, relative to ``start``.

    ``index`` is the first of the ``codes`` to check.
    """
    while index < len(codes) and codes[index][0] < end:
        first, last = max(codes[index][0], start), min(codes[index][1], end)
        if first < last:
            yield first - start, last - start
        index += 1


def _digest(*parts: str) -> bytes:
    whole = "\0".join(parts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(whole, digest_size=CHUNK_ID_BYTES).digest()
