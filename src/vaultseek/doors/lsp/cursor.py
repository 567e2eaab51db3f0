"""Finding the link, tag or heading at a position in a note, or the name being typed there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple
from urllib.parse import unquote

from vaultseek.base.model import BlockId, CompletionKind, Heading, Link, Note, PlacedTag
from vaultseek.content.markdown.frontmatter import placed_tags
from vaultseek.doors.lsp.documents import Text

TABLE_ROWS = 1000
"""Maximum number of rows above a line that are searched for the header of its table."""


def link_at(note: Note, line: int, column: int) -> Link | None:
    """Return the link at a position (the innermost one if links are nested), or None."""
    links = [
        (place.end - place.start, link)
        for link in note.links
        if (place := link.place) and place.line == line and place.start <= column <= place.end
    ]
    return min(links, key=lambda pair: pair[0], default=(0, None))[1]


def tag_at(note: Note, line: int, column: int) -> PlacedTag | None:
    """Return the tag at a position (the tag includes its ``#``), or None."""
    tags = (*placed_tags(note), *note.placed_tags)
    at = (tag for tag in tags if tag.place.line == line and tag.place.start - 1 <= column <= tag.place.end)
    return next(at, None)


def heading_at(note: Note, line: int) -> Heading | None:
    """Return the heading on a line, or None."""
    return next((heading for heading in note.headings if heading.line == line), None)


def block_at(note: Note, line: int) -> BlockId | None:
    """Return the block whose id is on a line, or None."""
    return next((block for block in note.blocks if block.line == line), None)


@dataclass(frozen=True, slots=True)
class Typing:
    """A name being typed: its kind, the text typed so far, and the columns that a completion replaces.

    ``note`` is the note that contains the heading or block; "" stands for the open note, None for all notes.
    ``closing`` is inserted after the completion. ``rest`` is the text after the name in a link that is
    already closed: a fragment or alias. ``quote`` is the quotation mark before a value, or around a link, in
    frontmatter. ``in_table`` is True in a table row, where a bar ends the cell; ``as_markdown`` is True if a
    wikilink becomes a Markdown link.
    """

    kind: CompletionKind | Literal["label", "callout"]
    typed: str
    start: int
    end: int
    note: str | None = None
    property: str | None = None
    form: Literal["wikilink", "markdown", "word"] = "word"
    embeds: bool = False
    closing: str = ""
    rest: str = ""
    quote: str = ""
    in_table: bool = False
    as_markdown: bool = False


def typing_at(text: Text, line: int, column: int) -> Typing | None:
    """Return the name being typed at a position, or None if nothing can be completed."""
    whole = text.line(line)
    before, after = whole[:column], whole[column:]
    if any(block.line < line <= block.end_line for block in text.note.code_blocks):
        return None
    if before.count("`") % 2:
        return None
    value = _value_at(text, line, before)
    link = _wikilink(before, after) or _label(before, after) or _markdown_target(before, after)
    if link is not None:
        table = link.form == "wikilink" and in_table(text.lines, line)
        return replace(link, in_table=table, quote=value.quote if value else "")
    return _frontmatter(text, line, value, before, after) or _tag(before)


_RULE = re.compile(r"[>\s]*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*\Z")


def in_table(lines: Sequence[str], line: int) -> bool:
    """Return True if ``line`` (1-based) is a table row."""
    if "|" in "".join(lines[line : line + 1]) and _RULE.match(lines[line]):
        return True  # this line is the header
    for number in range(line - 1, max(0, line - TABLE_ROWS), -1):
        above = lines[number - 1]
        if "|" not in above:
            return False
        if _RULE.match(above):
            return True
    return False


_WIKI = re.compile(r"(!?)\[\[([^\[\]|]*)\Z")
_WIKI_END = re.compile(r"([^\[\]|#\\]*)([^\[\]]*)\]\]")
_TARGET = re.compile(r"(!?)\[[^\[\]]*\]\((<(?=[^<>]*\Z)|(?=[^\s()<>]*\Z))([^<>]*)\Z")
_TARGET_END = re.compile(r"([^\s()<>#]*)([^\s()<>]*)(?:\)|\s+[\"'(])")
_ANGLES_END = re.compile(r"([^<>#]*)([^<>]*)>(?:\)|\s+[\"'(])")
_CALLOUT = re.compile(r"\s*(?:>\s*)+\[!([\w-]*)\Z")
_FOOTNOTE = re.compile(r"(?<!\[)\[(\^[^\s\[\]]*)\Z")
_REFERENCE = re.compile(r"[^\[\]]\]\[([^\[\]^]*)\Z")
_TAG = re.compile(r"(?:^|(?<=[\s(]))#([\w/\u0080-\U0010ffff-]*)\Z")


def _wikilink(before: str, after: str) -> Typing | None:
    match = _WIKI.search(before)
    if match is None:
        return None
    inner, start = match[2], match.start(2)
    closed = _WIKI_END.match(after)
    link = Typing("note", inner, start, len(before), form="wikilink", embeds=bool(match[1]), closing="]]")
    if closed:
        link = replace(link, end=link.end + len(closed[1]), closing="", rest=closed[2])
    if inner.startswith(("##", "^^")):
        return replace(link, kind="heading" if inner[0] == "#" else "block", typed=inner[2:])
    for sign in ("#^", "^"):
        note, found, typed = inner.partition(sign)
        if found:
            return replace(link, kind="block", typed=typed, note=note.split("#")[0])
    note, found, typed = inner.partition("#")
    return replace(link, kind="heading", typed=typed, note=note) if found else link


def _markdown_target(before: str, after: str) -> Typing | None:
    match = _TARGET.search(before)
    if match is None:
        return None
    angle, written = match[2], match[3]
    closed = (_ANGLES_END if angle else _TARGET_END).match(after)
    target, sign, typed = written.partition("#")
    if "://" in target:
        return None
    link = Typing(
        "note",
        unquote(target),
        match.start(3),
        len(before),
        form="markdown",
        embeds=bool(match[1]),
        closing=">)" if angle else ")",
    )
    if closed:
        link = replace(link, end=link.end + len(closed[1]), closing="", rest=closed[2])
    return replace(link, kind="heading", typed=unquote(typed), note=target) if sign else link


def _label(before: str, after: str) -> Typing | None:
    closing, end = "" if after.startswith("]") else "]", len(before)
    if match := _CALLOUT.match(before):
        return Typing("callout", match[1], match.start(1), end, "", closing=closing)
    match = _FOOTNOTE.search(before) or _REFERENCE.search(before)
    return Typing("label", match[1], match.start(1), end, "", closing=closing) if match else None


def _tag(before: str) -> Typing | None:
    match = _TAG.search(before)
    return Typing("tag", match[1], match.start(1), len(before)) if match else None


class _Value(NamedTuple):
    """A property value, or an item of a list, as written up to the cursor."""

    key: str
    written: str

    @property
    def quote(self) -> str:
        """The quotation mark at the beginning of the value, or ""."""
        return self.written[:1] if self.written[:1] in "\"'" else ""


_FENCE = re.compile(r"---[ \t]*\Z")
_NAME = re.compile(r"[\w\u0080-\U0010ffff][\w \u0080-\U0010ffff-]*\Z|\Z")
_VALUE = re.compile(r"([^\s:#-][^:]*):[ \t]+(.*)\Z")
_ITEM = re.compile(r"\s*-[ \t]+(.*)\Z")
_OWNER = re.compile(r"([^\s:#-][^:]*):\s*\Z")
_LIST = re.compile(r"""\[(?:\s*+(?:"(?:[^"\\]|\\.)*+"|'(?:[^']|'')*+'|(?!["'])[^,]*+)\s*+,)*+\s*+(.*)\Z""")
"""A bracketed list up to its last item, which is captured; commas in quotes do not separate items."""
_QUOTED_END = {
    '"': re.compile(r'((?:[^"\\]|\\.)*+)"\s*(?:[,\]#]|\Z)'),
    "'": re.compile(r"((?:[^']|'')*+)'\s*(?:[,\]#]|\Z)"),
}


def _value_at(text: Text, line: int, before: str) -> _Value | None:
    """Return the property value at the end of ``before``, or None outside the frontmatter."""
    if not _in_frontmatter(text, line):
        return None
    if value := _VALUE.match(before):
        inside = _LIST.match(value[2])
        return _Value(value[1], inside[1] if inside else value[2])
    if item := _ITEM.match(before):
        for number in range(line - 1, 1, -1):
            if owner := _OWNER.match(text.line(number)):
                return _Value(owner[1], item[1])
            if not text.line(number).lstrip().startswith("-"):
                return None
    return None


def _in_frontmatter(text: Text, line: int) -> bool:
    """Return True if the line is between a first line of three hyphens and the next such line."""
    if line < 2 or not _FENCE.match(text.line(1)):
        return False
    return not any(_FENCE.match(text.line(number)) for number in range(2, line))


def _frontmatter(text: Text, line: int, value: _Value | None, before: str, after: str) -> Typing | None:
    if value is not None:
        return _value(value, before, after)
    if _NAME.match(before) and _in_frontmatter(text, line):
        closing = "" if after.lstrip().startswith(":") else ": "
        return Typing("property", before, 0, len(before), closing=closing)
    return None


def _value(value: _Value, before: str, after: str) -> Typing:
    quote, end = value.quote, len(before)
    typed = value.written[len(quote) :]
    closed = _QUOTED_END[quote].match(after) if quote else None
    key = value.key.strip().strip("\"'")
    is_tag = key.casefold() in ("tag", "tags")
    typed = typed.removeprefix("#") if is_tag else typed
    return Typing(
        "tag" if is_tag else "value",
        typed,
        end - len(typed),
        end + len(closed[1]) if closed else end,
        property=None if is_tag else key,
        quote=quote,
        closing="" if closed else quote,
    )
