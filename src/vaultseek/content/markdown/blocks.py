"""Parse the blocks in a note's body, using tree-sitter's Markdown block grammar.

Nothing here is recursive, so deep nesting is harmless.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Literal

from vaultseek.base.limits import NOTE_LINES
from vaultseek.base.model import Span, SpanKind
from vaultseek.content.markdown.skeleton import FOOTNOTE, HTML_BLOCK, skeleton_of
from vaultseek.content.markdown.structure import Block, BlockKind, Structure, whole_spans, without_quotes

if TYPE_CHECKING:
    import tree_sitter


def read_blocks(lines: Sequence[str]) -> Structure:
    """Parse the ``lines`` of a note's body; every line that is not blank is part of a span.

    All lines after the first NOTE_LINES form one span of kind ``other``.
    """
    structure = _read(lines[:NOTE_LINES])
    structure.spans = whole_spans(structure.spans, lines[:NOTE_LINES])
    rows = [row for row in range(NOTE_LINES, len(lines)) if lines[row].strip()]
    if rows:
        structure.spans.append(Span("other", rows[0] + 1, rows[-1] + 1))
    return structure


def _read(lines: Sequence[str]) -> Structure:
    skeleton = skeleton_of(lines)
    structure = _repaired(_walk(skeleton, lines, {}), skeleton, lines, {})
    if may_be_opaque(lines):
        masked = mask_opaque(structure, lines, skeleton)
        if masked:
            structure = _repaired(_walk(skeleton, lines, masked), skeleton, lines, masked)
    return structure


# -- errors of the grammar

_REPAIRS = 3


def _repaired(
    structure: Structure, skeleton: list[str], lines: Sequence[str], masked: Mapping[int, BlockKind]
) -> Structure:
    """Parse the body again, with filler words in place of the lines that the grammar misread."""
    for _ in range(_REPAIRS):
        if not structure.misread:
            break
        for row in structure.misread:
            skeleton[row] = _as_text(skeleton[row])
        structure = _walk(skeleton, lines, masked)
    return structure


def _as_text(line: str) -> str:
    """Return the line in a form that continues the preceding paragraph and keeps the quote markers."""
    quotes = _QUOTES.match(line)
    assert quotes
    rest = line[quotes.end() :]
    # Content indented further than a quote marker is text, whatever it begins with.
    return quotes[0] + rest.removesuffix(rest.lstrip(" \t>")).replace(">", "x") + "x"


_QUOTES = re.compile(r"(?:[ ]{0,3}>[ ]?)*")

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
_NUMBER = re.compile(r"[ \t]*(\d{1,9})[.)]")
_TRIMMED = {"fence", "indented", "html"}


@cache
def _parser() -> tree_sitter.Parser:
    import tree_sitter
    import tree_sitter_markdown

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_markdown.language()))


def _walk(skeleton: Sequence[str], lines: Sequence[str], masked: Mapping[int, BlockKind]) -> Structure:
    # The empty line in front keeps the grammar from parsing frontmatter.
    source = "\n" + "\n".join(skeleton) + "\n"
    tree = _parser().parse(source.encode("ascii", "replace"))
    walker = _Walker(lines, masked)
    walker.run(tree)
    return walker.structure


class _Walker:
    """A single pass over the syntax tree: containers are entered, leaves become blocks."""

    def __init__(self, lines: Sequence[str], masked: Mapping[int, BlockKind]) -> None:
        self.lines = lines
        self.masked = masked
        self.structure = Structure()
        self.stack: list[str] = []
        """Kinds of the containers around the cursor, outermost first."""
        self.quotes = 0
        self.nesting = 0
        """Number of quotes, lists and list items around the cursor."""
        self.opens: Literal["item", "quote", ""] = ""
        self.depth_of_last = 0
        """Number of containers around the previous block."""
        self.footnotes = False
        """True if the list around the cursor represents footnotes; such a list has no span."""

    def run(self, tree: tree_sitter.Tree) -> None:
        waiting: list[Iterator[tree_sitter.Node]] = [iter((tree.root_node,))]
        while waiting:
            node = next(waiting[-1], None)
            if node is None:
                waiting.pop()
                if waiting:
                    self.leave()
            elif self.visit(node) and (children := node.children):
                self.enter(node.type)
                waiting.append(iter(children))

    def visit(self, node: tree_sitter.Node) -> bool:
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
        footnote = name != "block_quote" and FOOTNOTE.match(self.lines[start]) is not None
        if name == "list" and not footnote and not self.opens and self.follows_paragraph(start):
            self.check_numbers(node, start)
        if self.nesting == 0:
            self.footnotes = footnote
            if not footnote:
                self.span("list" if name == "list" else "quote", start, end)
        elif self.nesting == 1 and name == "list_item" and self.stack[-1] == "list":
            if self.footnotes and not footnote:
                self.span("list", start, end)
            self.span("paragraph" if footnote else "list_item", start, end)

    def follows_paragraph(self, row: int) -> bool:
        last = self.structure.blocks[-1] if self.structure.blocks else None
        return (
            last is not None
            and (last.kind, last.end, last.quotes) == ("paragraph", row - 1, self.quotes)
            and self.depth_of_last == self.nesting
        )

    def check_numbers(self, node: tree_sitter.Node, row: int) -> None:
        """Mark list items as misread if they continue a paragraph, because only an item with the number 1 can
        interrupt a paragraph.
        """
        for item in node.children:
            number = _NUMBER.match(self.lines[row], item.start_point[1])
            if item.start_point[0] - 1 != row or not number or int(number[1]) == 1:
                break
            self.structure.misread.append(row)
            if [part.type for part in item.children[1:]] != ["paragraph"]:
                break
            row = item.children[1].end_point[0] - 1

    def check_code(self, block: Block) -> None:
        """Mark indented code as misread if it continues a paragraph, because indented code cannot interrupt a
        paragraph.
        """
        for row in range(block.start, block.end + 1):
            if not without_quotes(self.lines[row], block.quotes):
                break
            self.structure.misread.append(row)

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
        block = self.block(kind, node)
        self.opens = ""
        if block.kind == "paragraph" and block.top and self.absorb(block):
            return
        if block.kind == "indented" and not block.opens and self.follows_paragraph(block.start):
            self.check_code(block)
        parts = self.parts(block) if block.kind == "paragraph" and not block.top else (block,)
        self.structure.blocks.extend(parts)
        self.depth_of_last = self.nesting
        if block.top:
            self.span(_SPANS[block.kind], block.start, block.end)

    def block(self, kind: BlockKind, node: tree_sitter.Node) -> Block:
        row, column = node.start_point
        start, end = max(0, row - 1), min(node.end_point[0] - 2, len(self.lines) - 1)
        if kind == "fence":
            kind = self.masked.get(start, kind)
        if kind in _TRIMMED:
            end = self.trimmed(start, end)
        opens = self.opens
        if opens == "item" and (footnote := FOOTNOTE.match(self.lines[start])):
            column, opens = footnote.end(), ""
        return Block(kind, start, max(start, end), column, self.quotes, not self.nesting, opens)

    def absorb(self, block: Block) -> bool:
        """Append lines of ``block`` to the previous block if that block's container left it open. Obsidian
        does the same. Return True if no line of ``block`` remains.
        """
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

    def parts(self, block: Block) -> Iterator[Block]:
        """Split a paragraph before HTML that the grammar does not recognize inside containers.

        Yields the text before the HTML, if any, then the HTML.
        """
        rows = range(block.start, block.start + 1 if block.quotes else block.end + 1)
        for row in rows:
            line = self.lines[row][block.column if row == block.start else 0 :]
            text = line.lstrip(" \t")
            indent = len(line) - len(text) - (block.column if row > block.start else 0)
            if text.startswith("<") and indent < 4 and HTML_BLOCK.match(text):
                if row > block.start:
                    yield replace(block, end=row - 1)
                yield replace(block, kind="html", start=row, opens="")
                return
        yield block

    def trimmed(self, start: int, end: int) -> int:
        while end > start and not without_quotes(self.lines[end], self.quotes):
            end -= 1
        return end

    def span(self, kind: SpanKind, start: int, end: int) -> None:
        end = self.trimmed(start, min(end, len(self.lines) - 1))
        if start >= 0:
            self.structure.spans.append(Span(kind, start + 1, max(start, end) + 1))


def may_be_opaque(lines: Sequence[str]) -> bool:
    """True if ``lines`` contain a marker for display math or for a comment."""
    return any("$$" in line or "%%" in line for line in lines)


def mask_opaque(structure: Structure, lines: Sequence[str], skeleton: list[str]) -> dict[int, BlockKind]:
    """Turn display math and comments into fences in ``skeleton``; return a dict from the first line of each
    to its kind.
    """
    masked: dict[int, BlockKind] = {}
    done = -1
    markers = {kind: _before(marker, lines) for kind, marker in _MARKERS.items()}
    for block in structure.blocks:
        if block.kind != "paragraph" or block.end <= done:
            continue
        for row in range(max(block.start, done + 1), block.end + 1):
            if row <= done or not may_be_opaque((lines[row],)):
                continue
            prefix, text = _split_prefix(block, lines[row], row)
            kind = _opens(text, interrupts=row > block.start)
            if kind is None:
                continue
            is_code = not block.quotes and len(prefix) >= block.column + 4
            is_closing = (markers[kind][row] - markers[kind][max(block.start, done + 1)]) % 2 == 1
            if row > block.start and (is_code or is_closing):
                continue  # the marker belongs to the paragraph
            end, closed = _closing(kind, lines, row, prefix, block.quotes)
            if kind == "comment" and not closed:
                continue
            _fence(skeleton, row, end, prefix, block.quotes, closed=closed)
            masked[row] = kind
            done = end
    return masked


def _split_prefix(block: Block, line: str, row: int) -> tuple[str, str]:
    if row == block.start:
        return line[: block.column], line[block.column :]
    text = without_quotes(line, block.quotes)
    indent = len(line) - len(text)
    return line[:indent], text


_MARKERS: dict[BlockKind, str] = {"math": "$$", "comment": "%%"}


def _before(marker: str, lines: Sequence[str]) -> list[int]:
    """Return, for each line, how often a marker occurs in the lines before it."""
    return list(accumulate((line.count(marker) for line in lines), initial=0))


def _opens(text: str, *, interrupts: bool) -> BlockKind | None:
    match = _OPENER.match(text)
    if not match:
        return None
    rest = text[match.end() :]
    if match[1] == "$$":
        return "math" if "$" not in rest and not (interrupts and rest.strip()) else None
    return "comment" if "%%" not in rest else None


def _closing(kind: BlockKind, lines: Sequence[str], start: int, prefix: str, quotes: int) -> tuple[int, bool]:
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


def _fence(skeleton: list[str], start: int, end: int, prefix: str, quotes: int, *, closed: bool) -> None:
    plain = "> " * quotes if quotes else re.sub(r"[^ \t]", " ", prefix)
    skeleton[start] = f"{prefix}~~~"
    for row in range(start + 1, end + 1):
        skeleton[row] = f"{plain}x"
    if closed:
        skeleton[end] = f"{plain}~~~"


_OPENER = re.compile(r"[ ]{0,3}(\$\$|%%)")
