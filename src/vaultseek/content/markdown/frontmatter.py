"""Parse frontmatter: position, properties, tags, aliases, title, links, and the dates of a note."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vaultseek.base.limits import FRONTMATTER_BYTES, KIB
from vaultseek.base.model import JSON, Link, Note, Place, PlacedTag, Problem
from vaultseek.base.text import without_hidden
from vaultseek.content.markdown.links import property_link

if TYPE_CHECKING:
    from vaultseek.content.markdown.yamlcore import Document, Scalar


REJECTED = frozenset(("bad_frontmatter", "frontmatter_too_large"))
"""Codes of problems that prevent frontmatter from being read at all."""


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """Frontmatter of a note: its properties as JSON values, and the first line of the body (``body_line``,
    1-based).
    """

    properties: JSON = field(default_factory=dict)
    body_line: int = 1
    title: str | None = None
    tags: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    problems: tuple[Problem, ...] = ()


def read_frontmatter(lines: Sequence[str]) -> Frontmatter:
    """Parse the frontmatter of a note; errors in it are returned as problems."""
    if not lines or not _FENCE.fullmatch(lines[0]):
        return Frontmatter()
    close = next((row for row in range(1, len(lines)) if _FENCE.fullmatch(lines[row])), None)
    if close is None:
        return Frontmatter(problems=_unclosed(lines))
    body_line = close + 2
    block = lines[1:close]
    if not any(block):
        return Frontmatter(body_line=body_line)
    if sum(map(len, block)) + len(block) > FRONTMATTER_BYTES:
        return _rejected(
            "frontmatter_too_large",
            f"the frontmatter is larger than {FRONTMATTER_BYTES // KIB} KiB and was not read; shorten it",
            1,
            body_line,
        )
    from vaultseek.content.markdown.yamlcore import LoadError, load  # importing YAML is slow

    try:
        document = load("\n".join(block) + "\n")
    except LoadError as error:
        line = 2 + error.row if error.row is not None else 1
        message = f"the frontmatter was not read: {error}"
        return _rejected("bad_frontmatter", message, min(line, close + 1), body_line)
    if document.value is None:
        return Frontmatter(body_line=body_line)
    if not isinstance(document.value, dict):
        return _rejected(
            "bad_frontmatter",
            "the frontmatter has no properties; write properties as name: value",
            1,
            body_line,
        )
    return _frontmatter_of(document, body_line, lines)


_FENCE = re.compile(r"---[ \t]*")
_PROPERTY = re.compile(r"[^\W\d][\w -]{0,60}:(?: |$)")


def _unclosed(lines: Sequence[str]) -> tuple[Problem, ...]:
    if len(lines) > 1 and _PROPERTY.match(lines[1]):
        return (
            Problem(
                "bad_frontmatter", "the frontmatter is not closed; end it with a line of three hyphens", 1
            ),
        )
    return ()


def _rejected(code: str, message: str, line: int, body_line: int) -> Frontmatter:
    return Frontmatter(body_line=body_line, problems=(Problem(code, message, line),))


def _frontmatter_of(document: Document, body_line: int, lines: Sequence[str]) -> Frontmatter:
    properties: JSON = _without_hidden(document.value)
    return Frontmatter(
        properties,
        body_line,
        _title(document),
        tuple(frontmatter_tags(properties)),
        tuple(_aliases(properties)),
        tuple(_links(document.scalars, lines[1 : body_line - 2])),
    )


def _without_hidden(value: Any) -> Any:
    """Return a property's value with all invisible characters removed."""
    match value:
        case str():
            return without_hidden(value)
        case list():
            return [_without_hidden(each) for each in value]
        case dict():
            return {without_hidden(key): _without_hidden(each) for key, each in value.items()}
        case _:
            return value


def _title(document: Document) -> str | None:
    for key, value in document.value.items():
        if key.casefold() == "title" and value is not None and not isinstance(value, dict | list):
            # Use the source text, so that a title that looks like a number or a date keeps its form.
            texts = (scalar.text for scalar in document.scalars if scalar.key == key)
            return " ".join(without_hidden(next(texts, str(value))).split()) or None
    return None


def placed_tags(note: Note) -> Iterator[PlacedTag]:
    """Yield the tags in a note's frontmatter with their positions, except tags with escaped characters."""
    if not note.frontmatter or note.body_line < 3:
        return
    from vaultseek.content.markdown.yamlcore import load

    block = note.lines[1 : note.body_line - 2]
    scalars = load("\n".join(block) + "\n").scalars
    ends = [(scalar.row, scalar.column) for scalar in scalars[1:]] + [(len(block), 0)]
    for scalar, (last, stop) in zip(scalars, ends, strict=True):
        if scalar.key.casefold() not in TAG_PROPERTIES or not scalar.is_text:
            continue
        row, column = scalar.row, scalar.column
        for word in _words(scalar.text, listed=isinstance(note.frontmatter.get(scalar.key), list)):
            for at in range(row, max(row + 1, last)):
                start = block[at].find(word, column if at == row else 0, stop if at == last else None)
                if start >= 0:
                    row, column = at, start + len(word)
                    yield PlacedTag(word, Place(row + 2, start, column))
                    break


def frontmatter_tags(properties: JSON) -> Iterable[str]:
    """Yield the tags in a note's properties; repeated tags are yielded each time."""
    for value in _values(properties, *TAG_PROPERTIES):
        listed = isinstance(value, list)
        for text in value if listed else (value,):
            if isinstance(text, str):
                yield from _words(text, listed=listed)


def _words(text: str, *, listed: bool) -> Iterable[str]:
    """Yield the tags in a property's text or in a list item. The text of a list item is not split at
    spaces.
    """
    if listed and _SPACE.search(text.strip()):
        return
    for word in _SEPARATORS.split(text):
        tag = word.lstrip("#")
        if tag and not (tag.isascii() and tag.isdigit()):
            yield tag


def _aliases(properties: JSON) -> Iterable[str]:
    for value in _values(properties, "aliases", "alias"):
        names = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else ()
        yield from (name.strip() for name in names if isinstance(name, str) and name.strip())


def _values(properties: JSON, *names: str) -> Iterable[Any]:
    return (value for key, value in properties.items() if key.casefold() in names)


def _links(scalars: Iterable[Scalar], lines: Sequence[str]) -> Iterable[Link]:
    for scalar in scalars:
        if scalar.is_text and scalar.text.lstrip().startswith("["):
            row, columns = scalar.columns(lines) or (scalar.row, ())
            link = property_link(scalar.text, row + 2, scalar.key, columns)
            if link is not None:
                yield link


_SEPARATORS = re.compile(r"[\s,]+")
_SPACE = re.compile(r"\s")


TAG_PROPERTIES = ("tags", "tag")
