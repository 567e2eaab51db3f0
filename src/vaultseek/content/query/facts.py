"""Facts about a note, and passages of its text, on which filters are tested."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal, Protocol

from vaultseek.base.currency import Stated
from vaultseek.base.model import Task
from vaultseek.base.text import is_unspaced
from vaultseek.base.when import When

Scope = Literal["content", "source", "section", "line", "block"]
"""Unit of a note's text to which a test applies: a section, line or block, or the whole text.

``source`` is the whole text as written, ``content`` the whole text as displayed.
"""


class Passage(Protocol):
    """The text of a chunk."""

    @property
    def start_line(self) -> int: ...

    @property
    def text(self) -> str:
        """The text as displayed."""

    @property
    def source(self) -> str:
        """The text as written."""

    @property
    def code(self) -> Sequence[tuple[int, int]]:
        """The character ranges of ``text`` that lie in code blocks."""


class NoteFacts(Protocol):
    """Facts about one note, against which conditions are tested."""

    @property
    def path(self) -> str:
        """Path in the vault, with ``/`` between folders, including the extension."""

    @property
    def title(self) -> str: ...

    @property
    def aliases(self) -> Collection[str]: ...

    @property
    def tags(self) -> Collection[str]:
        """Tags of the note, without ``#``."""

    @property
    def properties(self) -> Mapping[str, Any]:
        """Properties in the frontmatter: text, number, bool, None or a list of these."""

    @property
    def created(self) -> When | None:
        """Day or time of creation; None if unknown."""

    @property
    def modified(self) -> float | None:
        """Time of modification as a Unix time in seconds; None if unknown."""

    @property
    def name_day(self) -> str:
        """ISO day in the note's path; "" if there is none."""

    @property
    def day_first(self) -> bool | None:
        """True if the day comes before the month in the dates of names and properties; None if unknown."""

    @property
    def links(self) -> Collection[str]:
        """Paths of the linked notes; for unresolved links, the target as written."""

    @property
    def backlinks(self) -> Collection[str]:
        """Paths of the notes that link to this one."""

    @property
    def headings(self) -> Collection[str]:
        """Headings, both as written and as displayed."""

    @property
    def tasks(self) -> Sequence[Task]: ...

    @property
    def stated(self) -> Stated:
        """The note's own statements about whether it is current."""

    @property
    def has_successor(self) -> bool:
        """True if the note names a successor, or if another note states that it replaces this one."""

    def passages(self, scope: Scope) -> Iterable[str]:
        """Yield the note's text in units of ``scope``: as a whole, by section, by line, or by paragraph, list
        item and quote.

        Lines that are displayed differently from their source are yielded in both forms.
        """


def pieces(chunks: Sequence[Passage], headings: Collection[int], scope: Scope) -> Iterable[str]:
    """Return the passages of a note for a scope, given its chunks in order and the line numbers of its
    headings.
    """
    if not chunks:
        return []
    first = chunks[0].start_line
    if scope == "source":
        return ["\n".join(_lines(chunks, [chunk.source for chunk in chunks]))]
    lines = _lines(chunks, [chunk.text for chunk in chunks])
    if scope == "content":
        return ["\n".join(lines)]
    if scope == "section":
        borders: Iterable[int] = {line - first for line in headings}
    else:
        written = _lines(chunks, [chunk.source for chunk in chunks])
        if scope == "line":
            return [*lines, *(line for line, shown in zip(written, lines, strict=True) if line != shown)]
        borders = _block_borders(written, {line - first for line in headings}, _code_lines(chunks))
    starts = sorted({0, *(border for border in borders if 0 < border < len(lines))})
    parts = ("\n".join(lines[low:high]) for low, high in pairwise([*starts, len(lines)]))
    return [part for part in parts if part.strip()]


def _code_lines(chunks: Sequence[Passage]) -> set[int]:
    """Return the line indices inside code blocks, counted from the first line of the ``chunks``."""
    return {
        chunk.start_line - chunks[0].start_line + row
        for chunk in chunks
        for start, end in chunk.code
        for row in range(chunk.text.count("\n", 0, start), chunk.text.count("\n", 0, end) + 1)
    }


def _lines(chunks: Sequence[Passage], texts: Sequence[str]) -> list[str]:
    """Return the lines of a note whose chunks have these ``texts``.

    A chunk may end within a line; white space at that point is in neither of the two chunks.
    """
    first = chunks[0].start_line
    lines: list[str] = []
    for chunk, text in zip(chunks, texts, strict=True):
        own = text.split("\n")
        place = max(chunk.start_line - first, len(lines) - 1, 0)
        if place < len(lines):
            before, after = lines[place], own.pop(0)
            borders = before[-2:], after[:2]
            is_glued = all(map(is_unspaced, borders)) and not _HANGUL.search("".join(borders))
            lines[place] = f"{before}{after}" if is_glued else f"{before} {after}"
        else:
            lines += [""] * (place - len(lines))
        lines += own
    return lines


def _block_borders(lines: Sequence[str], headings: Collection[int], code: Collection[int]) -> Iterator[int]:
    """Yield the line indices at which a paragraph, list item, quote, code block or heading begins."""
    in_code = in_quote = False
    after_heading = -1
    for place, line in enumerate(lines):
        was_code, was_quote = in_code, in_quote
        in_code = place in code or (was_code and not line.strip() and place + 1 in code)
        begins = place == after_heading or place in headings or LIST_ITEM.match(line)
        # Later lines of a quoted paragraph need no quote marker.
        goes_on = was_quote and not begins and line.strip()
        in_quote = not in_code and bool(line.lstrip().startswith(">") or goes_on)
        if in_code or was_code:
            is_border = in_code != was_code
        elif in_quote:
            is_border = not was_quote
        else:
            is_border = bool(begins or was_quote or not line.strip() or not lines[place - 1].strip())
        if is_border:
            yield place
        if place in headings:
            following = "".join(lines[place + 1 : place + 2])
            is_underlined = not line.lstrip().startswith("#") and _UNDERLINE.fullmatch(following)
            after_heading = place + (2 if is_underlined else 1)


LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
"""Pattern for the beginning of a list item."""
_HANGUL = re.compile("[\uac00-\ud7ff]")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)\s*")
