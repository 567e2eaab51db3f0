"""Parse frontmatter with YAML 1.2's core schema, within fixed limits.

Values are those of JSON: strings, numbers, booleans, null, lists, and mappings with string keys. Dates,
times, ``no`` and ``on`` are strings; ``010`` is ten. YAML tags construct no objects. YAML aliases are
expanded up to a limit.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from yaml import YAMLError
from yaml.cyaml import CParser  # type: ignore[attr-defined]
from yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentStartEvent,
    Event,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)

from vaultseek.base.limits import FRONTMATTER_DEPTH, FRONTMATTER_EXPANDED, FRONTMATTER_KEYS


class LoadError(Exception):
    """Raised for invalid YAML, and for a document that exceeds a limit. ``row`` is 0-based."""

    def __init__(self, message: str, row: int | None = None) -> None:
        super().__init__(message)
        self.row = row


@dataclass(frozen=True, slots=True)
class Scalar:
    """A scalar as written: its keys from the root joined by dots, its text, and its start and end (0-based).

    ``style`` is the character that begins the scalar: a quotation mark, ``|`` or ``>``; "" for a plain
    scalar.
    """

    key: str
    text: str
    row: int
    column: int
    end_row: int
    end_column: int
    is_text: bool
    style: str

    def columns(self, lines: Sequence[str]) -> tuple[int, Sequence[int]] | None:
        """Return the row of the text, and the columns of its characters and of its end.

        Returns None for a plain scalar, or for text that spans several rows.
        """
        if self.style in _PIECE and self.row == self.end_row:
            start = lines[self.row].index(self.style, self.column) + 1
            pieces = _PIECE[self.style].findall(lines[self.row][start : self.end_column - 1])
            columns = list(accumulate(map(len, pieces), initial=start))
            return (self.row, columns) if len(pieces) == len(self.text) else None
        if self.style in ("|", ">"):
            text = self.text.strip()
            for row in range(self.row + 1, min(self.end_row, len(lines))):
                if lines[row].strip() == text:
                    start = lines[row].index(text) - self.text.index(text)
                    return row, range(start, start + len(self.text) + 1)
        return None


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed document: its value, and its scalars in order."""

    value: Any
    scalars: tuple[Scalar, ...] = ()


class Bounds(NamedTuple):
    """Limits for one document: maximum nesting depth and maximum number of keys."""

    depth: int = FRONTMATTER_DEPTH
    keys: int = FRONTMATTER_KEYS


_OF_FRONTMATTER = Bounds()


def load(text: str, bounds: Bounds = _OF_FRONTMATTER) -> Document:
    """Parse ``text``. Raises LoadError if it is not valid YAML or exceeds a limit."""
    try:
        return _Builder(_as_yaml_1_1(text), bounds).document()
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = str(getattr(error, "problem", None) or "it is not valid YAML")
        raise LoadError(_MESSAGES.get(problem, problem), getattr(mark, "line", None)) from None
    except (ValueError, OverflowError, RecursionError) as error:
        raise LoadError(f"it is not valid YAML ({type(error).__name__})") from None


def resolve(text: str) -> Any:
    """Return the value of the plain scalar ``text`` under the core schema."""
    if text in _WORDS:
        return _WORDS[text]
    if not text or text[0] not in "+-.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text, 10)
    if _OCTAL.fullmatch(text):
        return _integer(text[2:], 8, text)
    if _HEXADECIMAL.fullmatch(text):
        return _integer(text[2:], 16, text)
    if _FLOAT.fullmatch(text):
        number = float(text)
        return number if abs(number) < float("inf") else text
    return text


_MESSAGES = {
    "mapping values are not allowed in this context": "a value with a colon and a space in it needs quotes"
}
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_OCTAL = re.compile(r"0o[0-7]+")
_HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_INTEGER_DIGITS = 40
_INTEGER_BOUND = 2**63


def _integer(digits: str, base: int, original: str | None = None) -> int | str:
    original = original or digits
    if len(digits) > _INTEGER_DIGITS:
        return original
    number = int(digits, base)
    return number if -_INTEGER_BOUND <= number < _INTEGER_BOUND else original


# The scanner implements YAML 1.1, which breaks lines at some characters at which YAML 1.2 does not. Both
# versions forbid control characters.
_CONTROLS = (
    *range(9),
    0x0B,
    0x0C,
    *range(0x0E, 0x20),
    *range(0x7F, 0x85),
    *range(0x86, 0xA0),
    0xFFFE,
    0xFFFF,
)
_TO_PRIVATE = {0x85: "\ue085", 0x2028: "\ue828", 0x2029: "\ue829"} | dict.fromkeys(_CONTROLS, "\ufffd")
_FROM_PRIVATE = {0xE009: "\t", 0xE085: "\x85", 0xE828: "\u2028", 0xE829: "\u2029"} | {
    code: "\ufffd" for code in (0, *range(0xD800, 0xE000))
}
_TAB_SEPARATES = re.compile(
    r"""(?m)(?<=[\s\[{,])(?:"(?:\\.|[^"\\\n])*+"|'(?:''|[^'\n])*+')"""
    r"|(?<=[:,-])[ ]*\t[ \t]*|[ ]*\t[ \t]*(?=$|#)"
)
"""Pattern for tabs between values. It also matches whole quoted values, so that tabs inside them are kept."""
_TAB_INSIDE = re.compile(r"(?m)(?<=[^\t\n])\t")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
"""Escape for half of a surrogate pair, which the YAML scanner rejects."""
_CORE = "tag:yaml.org,2002:"
_PIECE = {
    "'": re.compile("''|."),
    '"': re.compile(r"\\(?:x.{2}|u.{4}|U.{8}|.)|."),
}
"""Map from a quotation mark to the pattern for one character as written between two such marks."""


def _as_yaml_1_1(text: str) -> str:
    text = text.translate(_TO_PRIVATE) if not (text.isascii() and text.isprintable()) else text
    text = _SURROGATE.sub(r"\\ufffd", text)
    if "\t" not in text:
        return text
    if text.lstrip().startswith("{"):
        return text.replace("\t", " ")
    spaced = _TAB_SEPARATES.sub(lambda match: match[0] if match[0][0] in "\"'" else " " * len(match[0]), text)
    return _TAB_INSIDE.sub("\ue009", spaced)


@dataclass(frozen=True, slots=True)
class _Anchor:
    value: Any
    weight: int
    depth: int


class _Builder:
    def __init__(self, text: str, bounds: Bounds) -> None:
        self.bounds = bounds
        self.events = CParser(text)
        self.anchors: dict[str, _Anchor] = {}
        self.scalars: list[Scalar] = []
        self.weight = 0
        self.keys = 0
        self.deepest = 0

    def document(self) -> Document:
        value = None
        self.next()  # the event for the start of the stream
        if isinstance(self.next(), DocumentStartEvent):
            value = self.node(self.next(), "", 1)
            self.next()  # the event for the end of the document
            if not isinstance(self.next(), StreamEndEvent):
                raise LoadError("more than one document")
        return Document(value, tuple(self.scalars))

    def next(self) -> Event:
        event = self.events.get_event()
        assert event is not None  # no event is requested after the last one
        return event

    def node(self, event: Event, key: str, depth: int) -> Any:
        """Parse the value that starts with ``event``. A limit on ``depth`` bounds the recursion."""
        if depth > self.bounds.depth:
            raise LoadError("nested too deeply", _row(event))
        self.deepest = max(self.deepest, depth)
        if isinstance(event, AliasEvent):
            return self.alias(event, depth)
        assert isinstance(event, NodeEvent)
        before, deepest, self.deepest = self.weight, self.deepest, depth
        value = self.plain_node(event, key, depth)
        if event.anchor:
            self.anchors[event.anchor] = _Anchor(value, self.weight - before, self.deepest - depth)
        self.deepest = max(self.deepest, deepest)
        return value

    def plain_node(self, event: NodeEvent, key: str, depth: int) -> Any:
        self.weigh(1, event)
        if isinstance(event, ScalarEvent):
            return self.scalar(event, key)
        if isinstance(event, SequenceStartEvent):
            self.check_tag(event.tag, "seq", event)
            return self.sequence(key, depth)
        assert isinstance(event, MappingStartEvent)
        self.check_tag(event.tag, "map", event)
        return self.mapping(key, depth)

    def alias(self, event: AliasEvent, depth: int) -> Any:
        anchor = self.anchors.get(event.anchor or "")
        if anchor is None:
            raise LoadError("an alias refers to a missing anchor", _row(event))
        if depth + anchor.depth > self.bounds.depth:
            raise LoadError("nested too deeply", _row(event))
        self.weigh(anchor.weight, event)
        self.deepest = max(self.deepest, depth + anchor.depth)
        return anchor.value

    def sequence(self, key: str, depth: int) -> list[Any]:
        items: list[Any] = []
        while not isinstance(event := self.next(), CollectionEndEvent):
            items.append(self.node(event, key, depth + 1))
        return items

    def mapping(self, key: str, depth: int) -> dict[str, Any]:
        items: dict[str, Any] = {}
        while not isinstance(event := self.next(), CollectionEndEvent):
            name = self.key(event)
            if name in items:
                raise LoadError("a key occurs twice", _row(event))
            items[name] = self.node(self.next(), f"{key}.{name}" if key else name, depth + 1)
        return items

    def key(self, event: Event) -> str:
        self.keys += 1
        if self.keys > self.bounds.keys:
            raise LoadError("too many keys", _row(event))
        if not isinstance(event, ScalarEvent):
            # YAML reads {{date}} as a mapping whose key is a mapping.
            raise LoadError("quotes are missing around a value that begins with { or [", _row(event))
        self.check_tag(event.tag, "str", event)
        self.weigh(len(event.value), event)
        text = _clean(event.value)
        if event.anchor:
            self.anchors[event.anchor] = _Anchor(text, len(text) + 1, 0)
        return text

    def scalar(self, event: ScalarEvent, key: str) -> Any:
        self.weigh(len(event.value), event)
        text = _clean(event.value)
        value = self.typed(event, text)
        start, end = event.start_mark, event.end_mark
        assert start is not None  # every event from the parser has both marks
        assert end is not None
        places = start.line, start.column, end.line, end.column
        self.scalars.append(Scalar(key, text, *places, isinstance(value, str), event.style or ""))
        return value

    def typed(self, event: ScalarEvent, text: str) -> Any:
        if event.tag is None:
            return resolve(text) if event.implicit[0] else text
        self.check_tag(event.tag, "str|null|bool|int|float", event)
        return text if event.tag in ("!", f"{_CORE}str") else resolve(text)

    def check_tag(self, tag: str | None, names: str, event: Event) -> None:
        if tag not in (None, "!", *(f"{_CORE}{name}" for name in names.split("|"))):
            raise LoadError("an unsupported tag", _row(event))

    def weigh(self, weight: int, event: Event) -> None:
        self.weight += weight
        if self.weight > FRONTMATTER_EXPANDED:
            raise LoadError("too large once its aliases are expanded", _row(event))


def _row(event: Event) -> int:
    return event.start_mark.line if event.start_mark else 0


def _clean(text: str) -> str:
    return text.translate(_FROM_PRIVATE) if not text.isascii() or "\0" in text else text
