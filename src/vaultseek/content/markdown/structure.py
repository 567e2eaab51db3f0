"""Types for the structure of a note's body: blocks, and the top-level spans."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from vaultseek.base.model import Span

BlockKind = Literal[
    "heading", "paragraph", "fence", "indented", "table", "html", "math", "comment", "definition", "break"
]


@dataclass(slots=True)
class Block:
    """A leaf of the structure: its kind, its first and last line (0-based in the body), and its containers.

    ``column`` is the column at which the text starts in the first line, ``quotes`` the number of block quotes
    around the block. ``top`` is true at the top level of the note. ``opens`` is the container that begins
    with this block.
    """

    kind: BlockKind
    start: int
    end: int
    column: int = 0
    quotes: int = 0
    top: bool = True
    opens: Literal["item", "quote", ""] = ""


@dataclass(slots=True)
class Structure:
    """Blocks in document order, and top-level spans (1-based lines of the body)."""

    blocks: list[Block] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    misread: list[int] = field(default_factory=list)
    """Lines that continue a paragraph although the grammar parsed them differently."""


def without_quotes(line: str, quotes: int) -> str:
    """Remove the indentation and the first ``quotes`` quote markers from ``line``."""
    if not quotes:
        return line.lstrip(" \t")
    stripped = line.lstrip(" \t>")
    prefix = len(line) - len(stripped)
    if line.count(">", 0, prefix) <= quotes:
        return stripped
    marker = -1
    for _ in range(quotes):
        marker = line.find(">", marker + 1)
    return line[marker + 1 :].lstrip(" \t")


def whole_spans(spans: Sequence[Span], lines: Sequence[str]) -> list[Span]:
    """Trim ``spans`` so that they do not overlap, and fill gaps with spans of the kind ``other``."""
    whole: list[Span] = []
    line = 1
    for span in spans:
        if span.kind == "list_item":
            whole.append(span)
            continue
        start = max(span.start_line, line)
        if start > span.end_line:
            continue
        _cover(whole, lines, line, start - 1)
        whole.append(span if start == span.start_line else Span(span.kind, start, span.end_line))
        line = span.end_line + 1
    _cover(whole, lines, line, len(lines))
    return whole


def _cover(whole: list[Span], lines: Sequence[str], start: int, end: int) -> None:
    while start <= end:
        if not lines[start - 1].strip():
            start += 1
            continue
        stop = start
        while stop < end and lines[stop].strip():
            stop += 1
        whole.append(Span("other", start, stop))
        start = stop + 1
