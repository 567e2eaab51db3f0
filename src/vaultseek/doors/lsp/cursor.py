"""The link, tag or heading at a position of a note, or the name that is being typed there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import unquote

from vaultseek.base.model import BlockId, CompletionKind, Heading, Link, Note, PlacedTag
from vaultseek.content.markdown.frontmatter import placed_tags
from vaultseek.doors.lsp.documents import Text

TABLE_ROWS = 1000
"""Rows above a line in which the head of its table is looked for."""


def link_at(note: Note, line: int, column: int) -> Link | None:
    """Return the link at a position; of nested ones the innermost."""
    links = [
        (place.end - place.start, link)
        for link in note.links
        if (place := link.place) and place.line == line and place.start <= column <= place.end
    ]
    return min(links, key=lambda pair: pair[0], default=(0, None))[1]


def tag_at(note: Note, line: int, column: int) -> PlacedTag | None:
    """Return the tag at a position, its ``#`` included."""
    tags = (*placed_tags(note), *note.placed_tags)
    at = (tag for tag in tags if tag.place.line == line and tag.place.start - 1 <= column <= tag.place.end)
    return next(at, None)


def heading_at(note: Note, line: int) -> Heading | None:
    """Return the heading in a line."""
    return next((heading for heading in note.headings if heading.line == line), None)


def block_at(note: Note, line: int) -> BlockId | None:
    """Return the block whose id stands in a line."""
    return next((block for block in note.blocks if block.line == line), None)


@dataclass(frozen=True, slots=True)
class Typing:
    """A name that is being typed: its kind, the text so far, and the columns that a completion replaces.

    ``note`` is the note of a heading or block, "" for the open one and None for every note. ``closing``
    follows what is inserted. ``quote`` is the quotation mark before a value in frontmatter. ``in_table`` is
    true in a row of a table, where a bar ends the cell; ``as_markdown`` where a wikilink becomes a Markdown
    link.
    """

    kind: CompletionKind | Literal["label", "callout"]
    typed: str
    start: int
    note: str | None = None
    property: str | None = None
    form: Literal["wikilink", "markdown", "embed", "word"] = "word"
    closing: str = ""
    quote: str = ""
    in_table: bool = False
    as_markdown: bool = False


def typing_at(text: Text, line: int, column: int) -> Typing | None:
    """Return what is being typed at a position; None where nothing can be completed."""
    whole = text.line(line)
    before, after = whole[:column], whole[column:]
    if any(block.line < line <= block.end_line for block in text.note.code_blocks):
        return None
    if before.count("`") % 2:
        return None
    wikilink = _wikilink(before, after)
    if wikilink is not None:
        return replace(wikilink, in_table=in_table(text.lines, line))
    return (
        _label(before, after)
        or _markdown_target(before, after)
        or _frontmatter(text, line, before, after)
        or _tag(before)
    )


_RULE = re.compile(r"[>\s]*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*\Z")


def in_table(lines: Sequence[str], line: int) -> bool:
    """True if a line, 1-based, is a row of a table."""
    if "|" in "".join(lines[line : line + 1]) and _RULE.match(lines[line]):
        return True  # the head
    for number in range(line - 1, max(0, line - TABLE_ROWS), -1):
        above = lines[number - 1]
        if "|" not in above:
            return False
        if _RULE.match(above):
            return True
    return False


_WIKI = re.compile(r"(!?)\[\[([^\[\]|]*)\Z")
_TARGET = re.compile(r"(!?)\[[^\[\]]*\]\((<[^<>]*|[^\s()<>]*)\Z")
_CALLOUT = re.compile(r"\s*(?:>\s*)+\[!([\w-]*)\Z")
_FOOTNOTE = re.compile(r"(?<!\[)\[(\^[^\s\[\]]*)\Z")
_REFERENCE = re.compile(r"[^\[\]]\]\[([^\[\]^]*)\Z")
_TAG = re.compile(r"(?:^|(?<=[\s(]))#([\w/\u0080-\U0010ffff-]*)\Z")


def _wikilink(before: str, after: str) -> Typing | None:
    match = _WIKI.search(before)
    if match is None:
        return None
    inner, start = match[2], match.start(2)
    closing = "" if after.startswith("]]") else "]]"
    form: Literal["embed", "wikilink"] = "embed" if match[1] else "wikilink"
    if inner.startswith(("##", "^^")):
        kind: CompletionKind = "heading" if inner[0] == "#" else "block"
        return Typing(kind, inner[2:], start, None, form=form, closing=closing)
    for sign in ("#^", "^"):
        note, found, typed = inner.partition(sign)
        if found:
            return Typing("block", typed, start, note.split("#")[0], form=form, closing=closing)
    note, found, typed = inner.partition("#")
    if found:
        typed = typed.rpartition("#")[2]
        return Typing("heading", typed, start, note, form=form, closing=closing)
    return Typing("note", inner, start, form=form, closing=closing)


def _markdown_target(before: str, after: str) -> Typing | None:
    match = _TARGET.search(before)
    if match is None:
        return None
    written, start = match[2], match.start(2)
    closing = "" if after.lstrip(">").startswith(")") or after.startswith(" ") else ")"
    target, sign, typed = written.removeprefix("<").partition("#")
    if "://" in target:
        return None
    if sign:
        return Typing("heading", typed, start, target, form="markdown", closing=closing)
    return Typing("note", unquote(target), start, form="markdown", closing=closing, quote=match[1])


def _label(before: str, after: str) -> Typing | None:
    closing = "" if after.startswith("]") else "]"
    if match := _CALLOUT.match(before):
        return Typing("callout", match[1], match.start(1), "", closing=closing)
    match = _FOOTNOTE.search(before) or _REFERENCE.search(before)
    return Typing("label", match[1], match.start(1), "", closing=closing) if match else None


def _tag(before: str) -> Typing | None:
    match = _TAG.search(before)
    return Typing("tag", match[1], match.start(1)) if match else None


_FENCE = re.compile(r"---[ \t]*\Z")
_NAME = re.compile(r"[\w\u0080-\U0010ffff][\w \u0080-\U0010ffff-]*\Z|\Z")
_VALUE = re.compile(r"([^\s:#-][^:]*):[ \t]+(.*)\Z")
_ITEM = re.compile(r"\s*-[ \t]+(.*)\Z")
_OWNER = re.compile(r"([^\s:#-][^:]*):\s*\Z")
_LIST = re.compile(r"[\[,]\s*([^\[,]*)\Z")


def _frontmatter(text: Text, line: int, before: str, after: str) -> Typing | None:
    if line < 2 or not _FENCE.match(text.line(1)):
        return None
    if any(_FENCE.match(text.line(number)) for number in range(2, line)):
        return None
    if _NAME.match(before) and before.strip() != "-":
        return Typing("property", before, 0, closing="" if after.lstrip().startswith(":") else ": ")
    if value := _VALUE.match(before):
        inside = _LIST.search(value[2]) if value[2].startswith("[") else None
        return _value(value[1], inside[1] if inside else value[2], len(before))
    if item := _ITEM.match(before):
        for number in range(line - 1, 1, -1):
            if owner := _OWNER.match(text.line(number)):
                return _value(owner[1], item[1], len(before))
            if not text.line(number).lstrip().startswith("-"):
                return None
    return None


def _value(key: str, typed: str, end: int) -> Typing:
    quote = typed[:1] if typed[:1] in "\"'" else ""
    typed = typed[len(quote) :]
    key = key.strip().strip("\"'")
    if key.casefold() in ("tag", "tags"):
        return Typing("tag", typed.removeprefix("#"), end - len(typed.removeprefix("#")), quote=quote)
    return Typing("value", typed, end - len(typed), property=key, quote=quote)
