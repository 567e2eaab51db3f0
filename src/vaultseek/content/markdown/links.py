"""Parse links: wikilinks, Markdown links, and links in properties."""

import html
import re
from collections.abc import Sequence
from html.entities import html5
from urllib.parse import unquote

from vaultseek.base.model import Link, LinkKind, Place

Places = tuple[Place | None, Place | None]
"""Positions of a link and of its target, each None if unknown."""
NO_PLACES: Places = (None, None)


def wikilink(
    content: str, kind: LinkKind, line: int, prop: str | None = None, places: Places = NO_PLACES
) -> Link | None:
    """Return the link for ``content``, the text between ``[[`` and ``]]``; None if it has no target."""
    path, _, alias = content.partition("|")
    if alias or content.endswith("|"):
        path = path.removesuffix("\\")
    # In a table, the bar is escaped with a backslash, which belongs neither to the target nor to the alias.
    alias = alias.replace("\\|", "|").strip()
    return _link(kind, path, alias or None, line, prop, places)


def markdown_link(
    destination: str,
    kind: LinkKind,
    alias: str,
    line: int,
    prop: str | None = None,
    places: Places = NO_PLACES,
) -> Link | None:
    """Return the link for a raw Markdown ``destination``; None if the destination is empty or outside the
    vault.
    """
    if _EXTERNAL.match(destination):
        return None
    plain = _ESCAPED.sub(_character, destination)
    return _link(kind, plain, alias or None, line, prop, places, decode=True)


def label_key(label: str) -> str:
    """Normalize the label of a link reference for comparison."""
    return " ".join(label.split()).casefold()


def property_link(value: str, line: int, prop: str, columns: Sequence[int] = ()) -> Link | None:
    """Return the link if a property's whole ``value`` is a link, otherwise None.

    ``columns`` has the column, in the file's line, of each character of the value and of the value's end.
    """
    start, end = len(value) - len(value.lstrip()), len(value.rstrip())

    def place(first: int, last: int) -> Place | None:
        return Place(line, columns[first], columns[last]) if columns else None

    if match := _WHOLE_WIKILINK.fullmatch(value, start, end):
        return wikilink(match[1], "wikilink", line, prop, (place(start, end), place(*match.span(1))))
    if match := _LABEL.match(value, start):
        destination, last = parse_destination(value, match.end() - 1)
        if last == end:
            first = value.find(destination, match.end())
            places = place(start, end), place(first, first + len(destination))
            return markdown_link(destination, "markdown", match[1], line, prop, places)
    return None


def in_quotes(text: str, quote: str) -> str:
    """Return ``text`` as YAML writes it between quotation marks of the kind ``quote``."""
    if quote == "'":
        return text.replace("'", "''")
    return text.replace("\\", "\\\\").replace('"', '\\"') if quote else text


_WHOLE_WIKILINK = re.compile(r"\[\[((?:[^\[\]\n]|\](?!\])|\[(?!\[))*+)\]\]")
_LABEL = re.compile(r"\[([^\[\]\n]*+)\]\(")
_EXTERNAL = re.compile(r"\s*(?:[a-z][a-z0-9+.-]+:|//)", re.IGNORECASE)
_ESCAPED = re.compile(
    r"\\([!-/:-@\[-`{-~])|&(?:#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6})|[a-zA-Z][a-zA-Z0-9]{1,31});"
)


def _character(match: re.Match[str]) -> str:
    """Return the character that a backslash escape or a character reference stands for."""
    return match[1] or decode_reference(match[0])


def decode_reference(reference: str) -> str:
    """Return the characters for a reference such as ``&amp;`` or ``&#38;``; an unknown reference is returned
    unchanged.
    """
    return html.unescape(reference) if reference[1] == "#" else html5.get(reference[1:], reference)


def _link(
    kind: LinkKind,
    path: str,
    alias: str | None,
    line: int,
    prop: str | None,
    places: Places,
    *,
    decode: bool = False,
) -> Link | None:
    target, _, fragment = path.partition("#")
    if decode:
        target, fragment = _decoded(target), _decoded(fragment)
    target, fragment = target.strip(), fragment.strip()
    heading = block = None
    if fragment.startswith("^"):
        block = fragment[1:].strip() or None
    else:
        heading = fragment or None
    if not (target or heading or block):
        return None
    return Link(kind, target, heading, block, alias, line, prop, *places)


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    try:
        return unquote(text, errors="strict").replace("\0", "\ufffd")
    except UnicodeDecodeError:
        return text


# -- destinations of Markdown links

_SIMPLE_DESTINATION = re.compile(r"\(([^\s()<>\\]++)\)")
_ANGLE_DESTINATION = re.compile(r"\(\s*+<((?:[^<>\n\\]|\\.)*+)>")
_SPACE = re.compile(r"\s*+")
_BARE = re.compile(r"[^\s()\\\x00-\x1f\x7f]++|\\[!-~]?+|[()]")
_TITLE = re.compile(
    r"""\s++(?:"(?:[^"\\]|\\.)*+"|'(?:[^'\\]|\\.)*+'|\((?:[^()\\]|\\.)*+\))\s*+\)|\s*+\)""", re.DOTALL
)
_PARENTHESES = 8


def parse_destination(text: str, position: int) -> tuple[str, int]:
    """Return the raw destination that begins at ``position``, after a ``(``, and the end of the link; the end
    is 0 if there is no link.
    """
    if match := _SIMPLE_DESTINATION.match(text, position):
        return match[1], match.end()
    if match := _ANGLE_DESTINATION.match(text, position):
        destination, end = match[1], match.end()
    else:
        destination, end = _bare_destination(text, position + 1)
    close = _TITLE.match(text, end) if end else None
    return (destination, close.end()) if close else ("", 0)


def _bare_destination(text: str, position: int) -> tuple[str, int]:
    space = _SPACE.match(text, position)
    start = position = space.end() if space else position
    if text.startswith("<", start):
        return "", 0
    depth = 0
    while match := _BARE.match(text, position):
        depth += (match[0] == "(") - (match[0] == ")")
        if depth < 0:
            break
        if depth > _PARENTHESES:
            return "", 0
        position = match.end()
    return (text[start:position], position) if depth <= 0 else ("", 0)
