"""Filters as expressions of Milvus, which decide before a lane makes its cut.

An expression is exact, or it lets through all notes that match and some more: then what it lets through is
compared with the note itself. So the result is the same as that of the ledger, whatever the engine can say.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from vaultseek.base.text import fold
from vaultseek.content.query.compare import comparable, number_of
from vaultseek.content.query.filters import (
    And,
    Dated,
    Extension,
    FileContains,
    Filter,
    HasProperty,
    InFolder,
    Not,
    OfKind,
    Or,
    PathContains,
    PropertyCompare,
    PropertyEquals,
    PropertyNull,
    Tag,
    unix_time,
)
from vaultseek.engines.milvus.facts import NO_DATE, NULL, TEXT_BYTES, VALUE, date_number, property_key

NOTHING = "note < 0"
_DAY_CHARS = 10
_UNQUOTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""Signs that have no way of writing in every engine's expressions."""


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, "" for every note, and whether just the notes that match satisfy it.

    One that is not ``negatable`` says nothing about notes without the field, in some engines.
    """

    text: str
    is_exact: bool
    negatable: bool = True

    @property
    def with_cut(self) -> str:
        """The expression that notes satisfy, too, whose fields do not hold all there is."""
        return f"({self.text}) or cut == true" if self.text else ""


EVERYTHING = Expression("", True)
UNKNOWN = Expression("", False)
"""A condition that an engine can say nothing about."""


def expression_of(condition: Filter | None) -> Expression:
    """Return the expression of a condition."""
    match condition:
        case None:
            return EVERYTHING
        case And(parts):
            return _joined([expression_of(part) for part in parts], " and ")
        case Or(parts):
            return _any([expression_of(part) for part in parts])
        case Not(part):
            return _negated(expression_of(part))
        case Tag() | InFolder() | Extension() | OfKind() | PathContains() | FileContains() | Dated():
            return _of_file(condition)
        case HasProperty() | PropertyNull() | PropertyEquals() | PropertyCompare():
            return _of_property(condition)
        case _:
            return UNKNOWN


def quoted(text: str) -> str:
    """Return a text as a string of an expression."""
    return json.dumps(text, ensure_ascii=False)


def _joined(parts: list[Expression], word: str) -> Expression:
    texts = [f"({part.text})" for part in parts if part.text]
    exact, negatable = all(part.is_exact for part in parts), all(part.negatable for part in parts)
    return Expression(word.join(texts), exact, negatable)


def _any(parts: list[Expression]) -> Expression:
    if any(not part.text for part in parts):
        return Expression("", any(part == EVERYTHING for part in parts))
    return _joined(parts, " or ")


def _negated(part: Expression) -> Expression:
    if not (part.is_exact and part.negatable):
        return UNKNOWN
    return Expression(f"not ({part.text})" if part.text else NOTHING, True)


def _of_file(condition: Filter) -> Expression:
    match condition:
        case Tag(name):
            tag = fold(name).removeprefix("#").strip("/")
            return Expression(NOTHING, True) if not tag or tag.isdigit() else _contains("tags", tag)
        case InFolder(folder):
            name = fold(folder).strip("/")
            return _contains("folders", name) if name else EVERYTHING
        case OfKind(kind):
            return Expression(f"kind == {quoted(kind)}", True)
        case Extension(text):
            begin = fold(text).lstrip(".")
            plain = begin.isalnum() and begin.isascii()
            return Expression(f'extension like ".{begin}%"', True) if plain else UNKNOWN
        case PathContains(text):
            return _like(fold(text), is_exact=True)
        case FileContains(text):
            return _like(fold(text), is_exact=False)
        case Dated():
            return _dated(condition)
        case _:
            return UNKNOWN


def _like(text: str, *, is_exact: bool) -> Expression:
    """Return the expression of paths with a text; only letters and a few signs mean themselves."""
    plain = text and all(letter.isalnum() or letter in " -./" for letter in text) and text.isascii()
    return Expression(f'path like "%{text}%"', is_exact) if plain else UNKNOWN


def _dated(condition: Dated) -> Expression:
    column = "created" if condition.field == "created" else "modified"
    bounds = [f"{column} > {NO_DATE!r}"]
    if condition.start is not None:
        bounds.append(f"{column} >= {unix_time(condition.start)!r}")
    if condition.end is not None:
        bounds.append(f"{column} < {unix_time(condition.end)!r}")
    return Expression(" and ".join(bounds), True)


def _of_property(condition: Filter) -> Expression:
    match condition:
        case HasProperty(name):
            return _contains("properties", fold(name))
        case PropertyNull(name):
            return _contains("properties", fold(name) + NULL)
        case PropertyEquals(name, value):
            text = comparable(value)
            return UNKNOWN if text is None else _contains("properties", f"{fold(name)}{VALUE}{text}")
        case PropertyCompare():
            return _compared(condition)
        case _:
            return UNKNOWN


def _compared(condition: PropertyCompare) -> Expression:
    """Return the expression of a comparison: any element fits if the greatest or the least does."""
    end = "max" if condition.comparison in (">", ">=") else "min"
    key = property_key(condition.name)
    parts = []
    number, bound = number_of(condition.value), fold(condition.value)
    if number is not None:
        parts.append(f'bounds["{key}"]["n_{end}"] {condition.comparison} {number!r}')
    date = date_number(bound)
    if date is not None:
        # Hours of one day are one number here: they are compared by the note itself.
        is_exact = len(bound) <= _DAY_CHARS
        comparison = condition.comparison if is_exact else f"{condition.comparison[0]}="
        parts.append(f'bounds["{key}"]["d_{end}"] {comparison} {date!r}')
        return Expression(" or ".join(parts), is_exact, negatable=False)
    return Expression(parts[0], True, negatable=False) if parts else Expression(NOTHING, True)


def _contains(column: str, text: str) -> Expression:
    if len(text.encode()) > TEXT_BYTES or _UNQUOTABLE.search(text):
        return UNKNOWN
    return Expression(f"array_contains({column}, {quoted(text)})", True)
