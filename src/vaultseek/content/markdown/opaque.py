"""Opaque blocks: display math and comments, which the block grammar does not know."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vaultseek.content.markdown.structure import Block, BlockKind, Structure, without_quotes


def may_be_opaque(lines: Sequence[str]) -> bool:
    """True if ``lines`` contain a marker of display math or of a comment."""
    return any("$$" in line or "%%" in line for line in lines)


def mask_opaque(structure: Structure, lines: Sequence[str], skeleton: list[str]) -> dict[int, BlockKind]:
    """Turn display math and comments into fences in ``skeleton``; return their first lines and kinds."""
    masked: dict[int, BlockKind] = {}
    done = -1
    for block in structure.blocks:
        if block.kind != "paragraph" or block.end <= done:
            continue
        for row in range(max(block.start, done + 1), block.end + 1):
            if row <= done or not may_be_opaque((lines[row],)):
                continue
            prefix, text = _split_prefix(block, lines[row], row)
            kind = _opens(text, interrupts=row > block.start)
            if kind is None or (row > block.start and _continues(kind, block, row, len(prefix), lines, done)):
                continue
            end, closed = _closing(kind, lines, row, prefix, block.quotes)
            if kind == "comment" and not closed:
                continue
            _fence(skeleton, lines, row, end, prefix, block.quotes, closed=closed)
            masked[row] = kind
            done = end
    return masked


def _split_prefix(block: Block, line: str, row: int) -> tuple[str, str]:
    if row == block.start:
        return line[: block.column], line[block.column :]
    text = without_quotes(line, block.quotes)
    indent = len(line) - len(text)
    return line[:indent], text


def _continues(kind: BlockKind, block: Block, row: int, indent: int, lines: Sequence[str], done: int) -> bool:
    """True if the marker on ``row`` belongs to the paragraph: it is indented like code or closes another."""
    if not block.quotes and indent >= block.column + 4:
        return True
    marker = "$$" if kind == "math" else "%%"
    return sum(line.count(marker) for line in lines[max(block.start, done + 1) : row]) % 2 == 1


def _opens(text: str, *, interrupts: bool) -> BlockKind | None:
    match = _OPENER.match(text)
    if not match:
        return None
    rest = text[match.end() :]
    if match[1] == "$$":
        return "math" if "$" not in rest and not (interrupts and rest.strip()) else None
    return "comment" if "%%" not in rest else None


def _closing(kind: BlockKind, lines: Sequence[str], start: int, prefix: str, quotes: int) -> tuple[int, bool]:
    """Return the last row of the block that starts at ``start``, and true if a marker closes it there."""
    indent = 0 if quotes else len(prefix)
    for row in range(start + 1, len(lines)):
        line = lines[row]
        if quotes and ">" not in line[: len(line) - len(line.lstrip(" \t>"))]:
            return row - 1, False
        if indent and line.strip() and len(line) - len(line.lstrip(" \t")) < min(indent, 2):
            return row - 1, False
        text = without_quotes(line, quotes)
        if _closes(kind, text):
            return row, True
    return len(lines) - 1, False


def _closes(kind: BlockKind, text: str) -> bool:
    if kind == "comment":
        return "%%" in text
    text = text.rstrip()
    return text.endswith("$$") and "$" not in text.rstrip("$")


def _fence(
    skeleton: list[str], lines: Sequence[str], start: int, end: int, prefix: str, quotes: int, *, closed: bool
) -> None:
    plain = "> " * quotes if quotes else re.sub(r"[^ \t]", " ", prefix)
    skeleton[start] = f"{prefix}~~~"
    for row in range(start + 1, end + 1):
        skeleton[row] = f"{plain}x"
    if closed:
        skeleton[end] = f"{plain}~~~"


_OPENER = re.compile(r"[ ]{0,3}(\$\$|%%)")
