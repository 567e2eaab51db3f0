"""The blocks of a note's body, read with the Markdown block grammar of tree-sitter.

The grammar is shown a skeleton of the body: what decides its structure stays, ordinary words become filler,
which makes it several times faster. Display math and comment blocks, which the grammar does not know, are
shown to it as fenced code. Nothing here recurses, whatever the nesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise
from typing import Literal

import tree_sitter
import tree_sitter_markdown

from vaultseek.limits import NOTE_LINES
from vaultseek.model import Span, SpanKind

BlockKind = Literal[
    "heading", "paragraph", "fence", "indented", "table", "html", "math", "comment", "definition", "break"
]


@dataclass(slots=True)
class Block:
    """A leaf of the structure: kind, first and last line (0-based, in the body), and where it stands.

    ``column`` is where its text starts in the first line, ``quotes`` how many block quotes it is in, ``top``
    whether it stands at the top level of the note, ``opens`` what it is the first block of.
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
    """The blocks in document order, and the spans of the top level (1-based lines of the body)."""

    blocks: list[Block] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)


def read_blocks(lines: Sequence[str]) -> Structure:
    """The structure of the body ``lines``; every line that is not blank is in a span.

    Of the lines after the first NOTE_LINES nothing but that is known.
    """
    structure = _read(lines if len(lines) <= NOTE_LINES else lines[:NOTE_LINES])
    structure.spans = _whole(structure.spans, lines)
    return structure


def without_quotes(line: str, quotes: int) -> str:
    """``line`` without its indentation and its first ``quotes`` quote markers."""
    if not quotes:
        return line.lstrip(" \t")
    stripped = line.lstrip(" \t>")
    prefix = len(line) - len(stripped)
    if line.count(">", 0, prefix) <= quotes:
        return stripped
    at = -1
    for _ in range(quotes):
        at = line.find(">", at + 1)
    return line[at + 1 :].lstrip(" \t")


def _read(lines: Sequence[str]) -> Structure:
    skeleton = _skeleton(lines)
    structure = _repaired(_walk(skeleton, lines, {}), skeleton, lines, {})
    if any("$$" in line or "%%" in line for line in lines):
        masked = _mask_opaque(structure, lines, skeleton)
        if masked:
            structure = _repaired(_walk(skeleton, lines, masked), skeleton, lines, masked)
    return structure


# -- the skeleton

_MARKERS = r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)]|\#{1,6})[ \t]+|>[ \t]?)*+"
_WORDS = re.compile(rf"(?m)^({_MARKERS}(?:\[[ xX]\][ \t]+)?)([A-Za-z,][^|<>\n]*)$")
_FOOTNOTE = re.compile(r"(?m)^((?:[ \t]{0,3}>)*[ \t]{0,3})\[\^[^\s\[\]]+\]:[ \t]*")
_FOREIGN = re.compile(r"[^\t\n -~]")
# Elements this deep in a list confuse the grammar if they follow a paragraph; it never reads them as blocks.
_DEEP_HTML = re.compile(
    r"((?<=\S)[ \t]*\n(?:[ ]{4}|[ ]{0,3}\t)[ \t]*)<(?!/(?:script|style|pre|textarea))(?=[/a-zA-Z])"
)
_LONG_LINE = 2000
_FOOTNOTE_ITEM = "01. "


def _skeleton(lines: Sequence[str]) -> list[str]:
    text = _FOREIGN.sub(",", "\n".join(lines))
    if "<" in text:
        text = _DEEP_HTML.sub(r"\1x", text)
    if "[^" in text:
        text = _FOOTNOTE.sub(_as_item, text)
    skeleton = _WORDS.sub(_filler, text).split("\n")
    if len(text) > _LONG_LINE:
        skeleton = [line if len(line) <= _LONG_LINE else _shortened(line) for line in skeleton]
    return skeleton


def _filler(match: re.Match[str]) -> str:
    prefix, words = match.groups()
    return f"{prefix}{'x' * min(len(words), 8)}"


def _shortened(line: str) -> str:
    # The rest of a long line matters only to tables and to the ends of HTML blocks.
    needed = "|" in line or ">" in line[_LONG_LINE:]
    return line[: 10 * _LONG_LINE] if needed else line[:_LONG_LINE]


def _as_item(match: re.Match[str]) -> str:
    # A footnote's definition holds blocks as a list item does: what follows is indented by four columns.
    return f"{match[1]}{_FOOTNOTE_ITEM}x "


# -- where the grammar is mistaken

_REPAIRS = 3


def _repaired(
    structure: Structure, skeleton: list[str], lines: Sequence[str], masked: dict[int, BlockKind]
) -> Structure:
    """The structure again, with words for lines that were taken for code in the middle of a paragraph."""
    for _ in range(_REPAIRS):
        rows = list(_misread(structure.blocks, lines))
        if not rows:
            break
        for row in rows:
            words = skeleton[row].lstrip(" \t>")
            skeleton[row] = skeleton[row].removesuffix(words) + "x"
        structure = _walk(skeleton, lines, masked)
    return structure


def _misread(blocks: Sequence[Block], lines: Sequence[str]) -> Iterator[int]:
    for before, block in pairwise(blocks):
        if block.kind != "indented" or before.kind != "paragraph" or before.quotes != block.quotes:
            continue
        if before.end == block.start - 1:
            for row in range(block.start, block.end + 1):
                if not without_quotes(lines[row], block.quotes):
                    break
                yield row


# -- display math and comments

_OPENER = re.compile(r"[ ]{0,3}(\$\$|%%)")
_LOOKS_OPAQUE = re.compile(r"\$\$|%%")


def _mask_opaque(structure: Structure, lines: Sequence[str], skeleton: list[str]) -> dict[int, BlockKind]:
    """Turn display math and comment blocks into fences in ``skeleton``; their first lines and kinds."""
    masked: dict[int, BlockKind] = {}
    done = -1
    for block in structure.blocks:
        if block.kind != "paragraph" or block.end <= done:
            continue
        for row in range(max(block.start, done + 1), block.end + 1):
            if row <= done or not _LOOKS_OPAQUE.search(lines[row]):
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
    """Whether the marker on ``row`` is part of the paragraph: indented as code, or closing an inline one."""
    if not block.quotes and indent >= block.column + 4:
        return True
    marker = "$$" if kind == "math" else "%%"
    return sum(lines[at].count(marker) for at in range(max(block.start, done + 1), row)) % 2 == 1


def _opens(text: str, *, interrupts: bool) -> BlockKind | None:
    match = _OPENER.match(text)
    if not match:
        return None
    rest = text[match.end() :]
    if match[1] == "$$":
        return "math" if "$" not in rest and not (interrupts and rest.strip()) else None
    return "comment" if "%%" not in rest else None


def _closing(kind: BlockKind, lines: Sequence[str], row: int, prefix: str, quotes: int) -> tuple[int, bool]:
    """The last row of the block that ``row`` opens, and whether a marker closes it there."""
    indent = 0 if quotes else len(prefix)
    for at in range(row + 1, len(lines)):
        line = lines[at]
        if quotes and ">" not in line[: len(line) - len(line.lstrip(" \t>"))]:
            return at - 1, False
        if indent and line.strip() and len(line) - len(line.lstrip(" \t")) < min(indent, 2):
            return at - 1, False
        text = without_quotes(line, quotes)
        if _closes(kind, text):
            return at, True
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
    skeleton[start] = f"{_FOREIGN.sub(',', prefix)}~~~"
    for row in range(start + 1, end + 1):
        skeleton[row] = f"{plain}x"
    if closed:
        skeleton[end] = f"{plain}~~~"


# -- the walk

_LEAVES: dict[str, BlockKind] = {
    "paragraph": "paragraph",
    "atx_heading": "heading",
    "setext_heading": "heading",
    "fenced_code_block": "fence",
    "indented_code_block": "indented",
    "pipe_table": "table",
    "html_block": "html",
    "link_reference_definition": "definition",
    "thematic_break": "break",
}
_SPANS: dict[BlockKind, SpanKind] = {
    "heading": "heading",
    "paragraph": "paragraph",
    "fence": "code",
    "indented": "code",
    "table": "table",
    "html": "html",
    "math": "math",
    "comment": "paragraph",
    "definition": "other",
    "break": "break",
}
_NESTING = {"block_quote", "list", "list_item"}
_CONTAINERS = {"document", "section", *_NESTING}
_TRIMMED = {"fence", "indented", "html"}


@cache
def _parser() -> tree_sitter.Parser:
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_markdown.language()))


def _walk(skeleton: Sequence[str], lines: Sequence[str], masked: dict[int, BlockKind]) -> Structure:
    # The empty line in front keeps the grammar from reading frontmatter of its own.
    source = "\n" + "\n".join(skeleton) + "\n"
    tree = _parser().parse(source.encode("ascii", "replace"))
    walker = _Walker(lines, masked)
    walker.run(tree)
    return walker.structure


class _Walker:
    """One pass over the tree: containers are entered, leaves become blocks."""

    def __init__(self, lines: Sequence[str], masked: dict[int, BlockKind]) -> None:
        self.lines = lines
        self.masked = masked
        self.structure = Structure()
        self.stack: list[str] = []
        """The kinds of the containers around the cursor."""
        self.quotes = 0
        self.nesting = 0
        """Quotes, lists and items around the cursor."""
        self.opens: Literal["item", "quote", ""] = ""

    def run(self, tree: tree_sitter.Tree) -> None:
        cursor = tree.walk()
        while True:
            node = cursor.node
            if node is not None and self.visit(node) and cursor.goto_first_child():
                self.enter(node.type)
                continue
            while not cursor.goto_next_sibling():
                if not cursor.goto_parent():
                    return
                self.leave()

    def visit(self, node: tree_sitter.Node) -> bool:
        """Take ``node`` in; true when its children are wanted."""
        name = node.type
        kind = _LEAVES.get(name)
        if kind is not None:
            self.leaf(kind, node)
            return False
        if name in _NESTING:
            self.container(name, node)
        return name in _CONTAINERS or node.has_error

    def container(self, name: str, node: tree_sitter.Node) -> None:
        start, end = node.start_point[0] - 1, node.end_point[0] - 2
        footnote = name != "block_quote" and _FOOTNOTE.match(self.lines[start]) is not None
        if self.nesting == 0 and not footnote:
            self.span("list" if name == "list" else "quote", start, end)
        elif self.nesting == 1 and name == "list_item" and self.stack[-1] == "list":
            self.span("paragraph" if footnote else "list_item", start, end)

    def enter(self, name: str) -> None:
        self.stack.append(name)
        if name == "block_quote":
            self.quotes += 1
            self.opens = "quote"
        elif name == "list_item":
            self.opens = "item"
        if name in _NESTING:
            self.nesting += 1

    def leave(self) -> None:
        name = self.stack.pop()
        if name == "block_quote":
            self.quotes -= 1
        if name in _NESTING:
            self.nesting -= 1
        self.opens = ""

    def leaf(self, kind: BlockKind, node: tree_sitter.Node) -> None:
        row, column = node.start_point
        start, end = row - 1, min(node.end_point[0] - 2, len(self.lines) - 1)
        if start < 0:
            return
        if kind == "fence":
            kind = self.masked.get(start, kind)
        if kind in _TRIMMED:
            end = self.trimmed(start, end)
        end = max(start, end)
        top = not self.nesting
        opens = self.opens
        if opens == "item" and (footnote := _FOOTNOTE.match(self.lines[start])):
            column, opens = footnote.end(), ""
        block = Block(kind, start, end, column, self.quotes, top, opens)
        self.opens = ""
        if top and kind == "paragraph" and self.swallowed(block):
            return
        if self.quotes and kind == "paragraph":
            block = self.cut(block)
        self.structure.blocks.append(block)
        if top:
            self.span(_SPANS[kind], block.start, end)

    def swallowed(self, block: Block) -> bool:
        """Whether a paragraph continues what a container left open on the line before: Obsidian goes on."""
        last = self.structure.blocks[-1] if self.structure.blocks else None
        if last is None or last.top or last.end != block.start - 1 or not self.is_open(last):
            return False
        end = self.comment_end(last, block) if last.kind == "html" else block.end
        last.end = end
        self.span("other", block.start, end)
        block.start, block.column = end + 1, 0
        return block.start > block.end

    def comment_end(self, last: Block, block: Block) -> int:
        if not self.lines[last.start][last.column :].lstrip(" \t").startswith("<!--"):
            return block.end
        rows = range(block.start, block.end + 1)
        return next((row for row in rows if "-->" in self.lines[row]), block.end)

    def is_open(self, block: Block) -> bool:
        text = self.lines[block.start][block.column :].lstrip(" \t")
        last = without_quotes(self.lines[block.end], block.quotes).rstrip()
        if block.kind == "fence":
            marks = text[: len(text) - len(text.lstrip(text[0]))]
            return block.start == block.end or not (last.startswith(marks) and not last.strip(text[0]))
        if block.kind == "math":
            return block.start == block.end or not last.endswith("$$")
        return block.kind == "html" and not (text.startswith("<!--") and "-->" in last)

    def cut(self, block: Block) -> Block:
        """End a quote's paragraph where a line without its marker is indented as code."""
        for row in range(block.start + 1, block.end + 1):
            line = self.lines[row]
            if line.startswith(("    ", "\t")) and not line.lstrip(" \t").startswith(">"):
                self.structure.blocks.append(replace(block, end=row - 1))
                return replace(block, kind="indented", start=row, column=0, quotes=0, opens="")
        return block

    def trimmed(self, start: int, end: int) -> int:
        while end > start and not without_quotes(self.lines[end], self.quotes):
            end -= 1
        return end

    def span(self, kind: SpanKind, start: int, end: int) -> None:
        end = self.trimmed(start, min(end, len(self.lines) - 1))
        if start >= 0:
            self.structure.spans.append(Span(kind, start + 1, max(start, end) + 1))


# -- spans that cover the body


def _whole(spans: Sequence[Span], lines: Sequence[str]) -> list[Span]:
    """``spans`` clipped so that they do not overlap, with ``other`` where a line would be left out."""
    whole: list[Span] = []
    at = 1
    for span in spans:
        if span.kind == "list_item":
            whole.append(span)
            continue
        start = max(span.start_line, at)
        if start > span.end_line:
            continue
        _cover(whole, lines, at, start - 1)
        whole.append(span if start == span.start_line else Span(span.kind, start, span.end_line))
        at = span.end_line + 1
    _cover(whole, lines, at, len(lines))
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
