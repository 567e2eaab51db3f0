"""Parse the text of a note; never raises."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from vaultseek.base.limits import (
    MIB,
    NOTE_HEADINGS,
    NOTE_LINES,
    NOTE_LINKS,
    NOTE_PARSE_BYTES,
    NOTE_PROBLEMS,
    NOTE_TAGS,
)
from vaultseek.base.model import BlockId, Callout, CodeBlock, Edit, Heading, Note, Place, Problem, Span, Task
from vaultseek.content.markdown.blocks import read_blocks
from vaultseek.content.markdown.frontmatter import Frontmatter, read_frontmatter
from vaultseek.content.markdown.inline import Definition, Inlines, Source, scan, worth_scanning
from vaultseek.content.markdown.links import label_key
from vaultseek.content.markdown.rendering import render_blocks, render_text
from vaultseek.content.markdown.structure import Block, without_quotes
from vaultseek.content.markdown.title import note_name, shows_no_words, title_of

T = TypeVar("T")


def parse(text: str, path: str, problems: Sequence[Problem] = ()) -> Note:
    """Parse ``text``, the content of the note at ``path``. ``problems`` are the problems found in decoding
    the text.
    """
    if len(text) * 4 > NOTE_PARSE_BYTES and len(text.encode(errors="replace")) > NOTE_PARSE_BYTES:
        problem = Problem(
            "too_large", f"larger than {NOTE_PARSE_BYTES // MIB} MiB, so only its name is searched; split it"
        )
        return Note(path, note_name(path), problems=(*problems, problem)[:NOTE_PROBLEMS])
    lines = lines_of(text)
    front = read_frontmatter(lines)
    body = _Body(lines, front)
    body.read()
    return _note(path, lines, front, body, problems)


def lines_of(text: str) -> tuple[str, ...]:
    """Return the lines of ``text``, without a byte order mark, and with U+FFFD for invalid characters."""
    text = _UNREADABLE.sub("\ufffd", text.removeprefix("\ufeff"))
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return tuple(lines)


_UNREADABLE = re.compile(r"[\0\ud800-\udfff]")


def _note(
    path: str, lines: tuple[str, ...], front: Frontmatter, body: _Body, problems: Sequence[Problem]
) -> Note:
    all_problems: list[Problem] = [*problems, *front.problems]
    links = bounded((*front.links, *body.inlines.links), NOTE_LINKS, "links", all_problems)
    written = (*front.tags, *(tag for tag, _ in body.inlines.tags))
    tags = bounded(_distinct(written), NOTE_TAGS, "tags", all_problems)
    headings = bounded(body.headings, NOTE_HEADINGS, "headings", all_problems)
    if len(body.lines) > NOTE_LINES:
        line = body.offset + NOTE_LINES
        all_problems.append(
            Problem("too_long", f"headings, links and tags are read only up to here, and {_AS_TEXT}", line)
        )
    if not body.inlines.marks:
        all_problems.append(
            Problem("too_many_marks", f"the note has too many brackets and similar characters, so {_AS_TEXT}")
        )
    is_section = sum(heading.level == 1 for heading in body.headings) > 1
    title, source = title_of(_title(front.title), None if is_section else body.opening, path)
    return Note(
        path=path,
        title=title,
        title_source=source,
        lines=lines,
        body_line=front.body_line,
        frontmatter=front.properties,
        tags=tags,
        aliases=front.aliases,
        links=links,
        headings=headings,
        code_blocks=tuple(body.code_blocks),
        blocks=tuple(body.ids),
        tasks=tuple(body.tasks),
        callouts=tuple(body.callouts),
        spans=tuple(body.spans),
        problems=tuple(all_problems[:NOTE_PROBLEMS]),
        placed_tags=tuple(body.inlines.tags),
        edits=body.edits,
    )


_AS_TEXT = "the rest is searched as plain text; split the note"


def bounded(items: Sequence[T], bound: int, kind: str, problems: list[Problem]) -> tuple[T, ...]:
    """Return the first ``bound`` items of a note, and add a problem if there are more."""
    if len(items) > bound:
        message = f"more than {bound:,} {kind}, so only the first {bound:,} are kept; split the note"
        problems.append(Problem(f"too_many_{kind}", message))
    return tuple(items[:bound])


def _distinct(tags: Iterable[str]) -> tuple[str, ...]:
    first: dict[str, str] = {}
    for tag in tags:
        first.setdefault(tag.casefold(), tag)
    return tuple(first.values())


# -- the body

_ATX = re.compile(r"[ \t]*(#{1,6})(?:[ \t]+(.*))?$", re.DOTALL)
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_FENCE = re.compile(r"(`{3,}|~{3,})[ \t]*([^\s`~]\S*)?")
_BLOCK_ID = re.compile(r"\^([A-Za-z0-9-]+)[ \t]*\Z")
_TASK = re.compile(r"\[([^\n])\][ \t]+(?=\S)")
_CALLOUT = re.compile(r"\[!([^\]\n|]+)(?:\|[^\]\n]*)?\][+-]?[ \t]*([^\n]*)")
_DEFINITION = re.compile(
    r"[ \t]*\[((?:[^\[\]\\]|\\.){1,999})\]:\s*(?:<((?:[^<>\n\\]|\\.)*)>|(\S+))", re.DOTALL
)
_CELL = re.compile(r"(?:[^|\\]|\\.|\\$)+", re.DOTALL)
_BLANK_LINE = re.compile(r"\n[ \t]*(?=\n)")


class _Text(NamedTuple):
    """The text of a block.

    ``line`` is the text's first line in the file (1-based), ``after`` the number of characters that follow
    the text on its last line.
    """

    text: str
    line: int
    after: int = 0


class _Body:
    """Content of a note after the frontmatter."""

    def __init__(self, lines: Sequence[str], front: Frontmatter) -> None:
        self.all_lines = lines
        self.lines = lines[front.body_line - 1 :]
        self.offset = front.body_line
        self.inlines = Inlines()
        self.spans: list[Span] = []
        self.headings: list[Heading] = []
        self.code_blocks: list[CodeBlock] = []
        self.ids: list[BlockId] = []
        self.tasks: list[Task] = []
        self.callouts: list[Callout] = []
        self.definitions: dict[str, Definition] = {}
        self.texts: list[_Text] = []
        self.last: Block | None = None
        self.edits: dict[int, list[Edit]] = {}
        self.opening: Heading | None = None
        """Heading with which the note begins, if any."""

    def read(self) -> None:
        structure = read_blocks(self.lines)
        shift = self.offset - 1
        self.spans = structure.spans
        if shift:
            self.spans = [Span(kind, start + shift, end + shift) for kind, start, end in structure.spans]
        for block in structure.blocks:
            reader = _READERS.get(block.kind)
            if reader is not None:
                reader(self, block)
            self.last = block
        self.opening = self.heading_at(next(filter(self.is_seen, structure.blocks), None))
        # References may be defined after they are used, so links are parsed once all blocks are known.
        for text, line, after in self.texts:
            scan(text, line, Source(self.all_lines, after), self.definitions, self.inlines)
        self.edits = render_blocks(self.lines, self.offset, structure.blocks, frozenset(self.definitions))

    def is_seen(self, block: Block) -> bool:
        text = self.text_of(block, block.end) if block.top else self.lines[block.start]
        return not shows_no_words(block.kind, text)

    def heading_at(self, block: Block | None) -> Heading | None:
        first = next(iter(self.headings), None)
        return first if first and block and first.line == block.start + self.offset else None

    def add_text(self, text: str, line: int, after: int = 0) -> None:
        if worth_scanning(text):
            self.texts.append(_Text(text, line, after))

    def text_of(self, block: Block, end: int) -> str:
        first = self.lines[block.start][block.column :].lstrip(" \t")
        if block.start == end:
            return first
        rest = self.lines[block.start + 1 : end + 1]
        return "\n".join([first, *(without_quotes(line, block.quotes) for line in rest)])

    def heading(self, block: Block) -> None:
        line = block.start + self.offset
        atx = _ATX.match(self.lines[block.start][block.column :])
        if atx and block.start == block.end:
            level, text = len(atx[1]), _CLOSING_HASHES.sub("", atx[2] or "").strip(" \t")
            whole = self.lines[block.start]
            after = len(whole) - whole.find(text, block.column + atx.end(1)) - len(text)
        else:
            underline = without_quotes(self.lines[block.end], block.quotes)
            level = 1 if underline.startswith("=") else 2
            text = self.text_of(block, block.end - 1)
            after = len(text) - len(text.rstrip(" \t"))
            text = text.strip(" \t")
        if block.top:
            self.headings.append(Heading(level, text, line, _if_other(render_text(text), text)))
        self.add_text(text, line, after)
        self.block_id(text, line + text.count("\n"))

    def paragraph(self, block: Block) -> None:
        line = block.start + self.offset
        text = self.text_of(block, block.end)
        if block.opens == "item" and text.startswith("[") and (task := _TASK.match(text)):
            text = text[task.end() :]
            written = text.split("\n", 1)[0].rstrip()
            self.tasks.append(Task(task[1], written, line, _if_other(render_text(written), written)))
        elif block.opens == "quote" and text.startswith("[!") and (callout := _CALLOUT.match(text)):
            self.callouts.append(Callout(callout[1].strip().lower(), callout[2].strip(), line))
        self.add_text(text, line)
        self.block_id(text, block.end + self.offset)

    def block_id(self, text: str, line: int) -> None:
        caret = text.rfind("^")
        if caret < 0 or (caret and not text[caret - 1].isspace()):
            return
        if match := _BLOCK_ID.match(text, caret):
            self.ids.append(BlockId(match[1], line))

    def comment(self, block: Block) -> None:
        text = self.text_of(block, block.end)
        line, start = block.start + self.offset, 0
        for blank in _BLANK_LINE.finditer(text):
            self.add_text(text[start : blank.start()], line + text.count("\n", 0, start))
            start = blank.end()
        self.add_text(text[start:], line + text.count("\n", 0, start))

    def code(self, block: Block) -> None:
        line = block.start + self.offset
        text = self.lines[block.start][block.column :].lstrip(" \t")
        fence = _FENCE.match(text) if block.kind == "fence" else None
        self.code_blocks.append(CodeBlock(fence[2] if fence else None, line, block.end + self.offset))

    def table(self, block: Block) -> None:
        leading = self.lines[block.start].startswith("|", block.column)
        last = self.last
        regular = last is None or (last.kind, last.end) != ("paragraph", block.start - 1)
        for row in range(block.start, block.end + 1):
            line = self.lines[row]
            text = line[block.column :] if row == block.start else without_quotes(line, block.quotes)
            indented = not block.quotes and line[block.column : block.column + 1] in (" ", "\t")
            regular = regular and not indented and text.startswith("|") == leading
            if row == block.end:
                self.block_id(text if text.startswith("^") else "", row + self.offset)
            if worth_scanning(text):
                self.cells(text, row + self.offset, regular=regular)

    def cells(self, text: str, line: int, *, regular: bool) -> None:
        """Add the text of a row's cells. If rows differ in shape, no tag can start right after a ``|``."""
        for match in _CELL.finditer(text):
            bar = "" if regular or not match.start() else "|"
            cell = match[0].rstrip(" \t")
            self.add_text(bar + cell, line, len(text) - match.start() - len(cell))

    def definition(self, block: Block) -> None:
        text = self.text_of(block, block.end)
        if match := _DEFINITION.match(text):
            group = 2 if match[2] is not None else 3
            definition = Definition(match[group], self.place(block, text, *match.span(group)))
            self.definitions.setdefault(label_key(match[1]), definition)

    def place(self, block: Block, text: str, start: int, end: int) -> Place:
        row = block.start + text.count("\n", 0, start)
        stop = text.find("\n", start)
        rest = (len(text) if stop < 0 else stop) - start
        first = len(self.lines[row]) - rest
        return Place(row + self.offset, first, first + end - start)


def _title(written: str | None) -> str | None:
    """Return the property ``title`` in displayed form."""
    return written and (" ".join(render_text(written).split()) or written)


def _if_other(rendered: str, written: str) -> str | None:
    return None if rendered == written else rendered


_READERS = {
    "heading": _Body.heading,
    "paragraph": _Body.paragraph,
    "comment": _Body.comment,
    "fence": _Body.code,
    "indented": _Body.code,
    "table": _Body.table,
    "definition": _Body.definition,
}
