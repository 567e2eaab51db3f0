"""Functions and fields of values: ``text.lower()``, ``list.contains(x)``, ``date.year`` and others."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cmp_to_key
from typing import NamedTuple

from vaultseek.base.text import quote
from vaultseek.core.tables import patterns
from vaultseek.core.tables.dates import format_date, relative
from vaultseek.core.tables.files import File
from vaultseek.core.tables.functions import MOST_ARGUMENTS, as_link
from vaultseek.core.tables.operators import as_number, equal, order
from vaultseek.core.tables.scope import Scope
from vaultseek.core.tables.summaries import STATISTICS
from vaultseek.core.tables.values import (
    MILLISECONDS,
    Date,
    Duration,
    FormulaError,
    Link,
    Pattern,
    Tag,
    Value,
    check_size,
    collected,
    fixed,
    is_empty,
    is_number,
    is_truthy,
    kind_of,
    text_of,
)

MOST_DIGITS = 100


class Method(NamedTuple):
    """A function of a value, with the least and the most arguments that it takes beside the value."""

    least: int
    most: int
    run: Callable[..., Value]
    """Called with the scope, the value and the arguments."""


def field(value: Value, name: str) -> Value:
    """Return ``value.name``; of null, null. Raises FormulaError for a value that has no such field."""
    if value is None:
        return None
    if isinstance(value, Mapping):
        return value.get(name)
    if isinstance(value, File):
        if name in FILE_FIELDS:
            return FILE_FIELDS[name](value)
    elif isinstance(value, Date) and name in _DATE_FIELDS:
        return _DATE_FIELDS[name](value)
    elif isinstance(value, list | str) and name == "length":
        return len(value)
    elif (isinstance(value, Duration) or is_number(value)) and name in MILLISECONDS:
        total = value.total if isinstance(value, Duration) else value
        return total / MILLISECONDS[name]
    raise FormulaError(f"a {kind_of(value)} has no {quote(name, 40)}")


def item(value: Value, key: Value) -> Value:
    """Return ``value[key]``; null where there is nothing."""
    if isinstance(value, Mapping):
        return value.get(text_of(key))
    if isinstance(value, list | str) and is_number(key):
        place = int(key) if math.isfinite(key) else -1
        return value[place] if 0 <= place < len(value) else None
    return None if value is None or is_number(key) else field(value, text_of(key))


def method(value: Value, name: str) -> Method | None:
    """Return the function ``name`` of a value, None if its kind has none of this name."""
    for kind in (kind_of(value), *_ALSO.get(kind_of(value), ()), "any"):
        if name in METHODS.get(kind, {}):
            return METHODS[kind][name]
    return None


FILE_FIELDS: Mapping[str, Callable[[File], Value]] = {
    "name": lambda file: file.name,
    "basename": lambda file: file.name.stem,
    "path": lambda file: file.path,
    "folder": lambda file: file.folder,
    "ext": lambda file: file.ext,
    "size": lambda file: file.size,
    "mtime": lambda file: file.modified,
    "ctime": lambda file: file.created,
    "tags": lambda file: file.tags,
    "links": lambda file: file.links,
    "backlinks": lambda file: file.backlinks,
    "embeds": lambda file: file.embeds,
    "properties": lambda file: file.properties,
    "file": lambda file: file,
    "title": lambda file: file.title,
}
"""Fields of a file; ``title`` is ours."""
_DATE_FIELDS: Mapping[str, Callable[[Date], int]] = {
    "year": lambda date: date.moment.year,
    "month": lambda date: date.moment.month,
    "day": lambda date: date.moment.day,
    "hour": lambda date: date.moment.hour,
    "minute": lambda date: date.moment.minute,
    "second": lambda date: date.moment.second,
    "millisecond": lambda date: date.moment.microsecond // 1000,
}
_ALSO = {"link": ("string",), "html": ("string",), "image": ("string",), "icon": ("string",)}
"""Kinds whose text has the functions of texts."""


# -- any value


def _is_type(scope: Scope, value: Value, kind: Value) -> bool:
    return kind_of(value) == text_of(kind).lower()


# -- texts


def _contains(scope: Scope, value: Value, part: Value) -> bool:
    return _part(value, part) in _whole(value)


def _starts_with(scope: Scope, value: Value, part: Value) -> bool:
    return text_of(value).startswith(_part(value, part))


def _part(value: Value, part: Value) -> str:
    """Return the text that is looked for; in a tag, the hash may be written or not."""
    return text_of(part).removeprefix("#") if isinstance(value, Tag) else text_of(part)


def _whole(value: Value) -> str:
    """Return the text that is looked into: of a link its target, too."""
    return f"{value.target}|{value.text}" if isinstance(value, Link) else text_of(value)


def _contains_all(scope: Scope, value: Value, *parts: Value) -> bool:
    return all(_part(value, part) in _whole(value) for part in _flat(parts))


def _contains_any(scope: Scope, value: Value, *parts: Value) -> bool:
    return any(_part(value, part) in _whole(value) for part in _flat(parts))


def _flat(values: Sequence[Value]) -> list[Value]:
    """Return arguments, those of a list one by one."""
    return [each for value in values for each in (value if isinstance(value, list) else [value])]


def _replace(scope: Scope, value: Value, pattern: Value, replacement: Value) -> str:
    text, new = text_of(value), text_of(replacement)
    if isinstance(pattern, Pattern):
        return patterns.replace(pattern, text, new)
    old = text_of(pattern)
    if not old:
        return text
    check_size(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def _repeat(scope: Scope, value: Value, count: Value) -> str:
    text, times = text_of(value), max(0, _integer(count))
    check_size(len(text) * times)
    return text * times


def _slice(scope: Scope, value: Value, start: Value, end: Value = None) -> Value:
    whole = value if isinstance(value, list) else text_of(value)
    return whole[_integer(start) : None if end is None else _integer(end)]


def _split(scope: Scope, value: Value, separator: Value, most: Value = None) -> list[Value]:
    text = text_of(value)
    if isinstance(separator, Pattern):
        parts = patterns.split(separator, text)
    else:
        parts = text.split(text_of(separator)) if text_of(separator) else list(text)
    return collected(parts if most is None else parts[: max(0, _integer(most))])


def _title(scope: Scope, value: Value) -> str:
    words = text_of(value).split(" ")
    return " ".join(word[:1].upper() + word[1:] for word in words)


def _reversed(scope: Scope, value: Value) -> Value:
    return value[::-1] if isinstance(value, list) else text_of(value)[::-1]


# -- numbers


def _integer(value: Value) -> int:
    number = as_number(value)
    if number is None or math.isnan(number):
        return 0
    return int(max(-1e9, min(1e9, number)))


def _number(value: Value) -> float:
    return as_number(value) or 0.0


def _whole_number(rounding: Callable[[float], int]) -> Callable[[Scope, Value], float]:
    def run(scope: Scope, value: Value) -> float:
        number = _number(value)
        return rounding(number) if math.isfinite(number) else number

    return run


def _round(scope: Scope, value: Value, digits: Value = 0) -> float:
    number, places = _number(value), max(-MOST_DIGITS, min(MOST_DIGITS, _integer(digits)))
    scaled = number * 10.0**places
    if not math.isfinite(scaled) or abs(scaled) >= 2**53:
        return number
    half = math.floor(scaled + 0.5)
    return half if places == 0 else half / 10.0**places


def _to_fixed(scope: Scope, value: Value, digits: Value = 0) -> str:
    return fixed(_number(value), max(0, min(MOST_DIGITS, _integer(digits))))


# -- dates


def _day(scope: Scope, value: Date) -> Date:
    return Date(value.moment.replace(hour=0, minute=0, second=0, microsecond=0), timed=False)


def _format(scope: Scope, value: Date, form: Value) -> str:
    try:
        return format_date(value.moment, text_of(form))
    except (ValueError, OverflowError):
        raise FormulaError("the date is beyond the calendar") from None


# -- lists


def _has(scope: Scope, value: list[Value], wanted: Value) -> bool:
    scope.around.budget.spend(len(value))
    return any(equal(each, wanted) for each in value)


def _has_all(scope: Scope, value: list[Value], *wanted: Value) -> bool:
    return all(_has(scope, value, each) for each in _flat(wanted))


def _has_any(scope: Scope, value: list[Value], *wanted: Value) -> bool:
    return any(_has(scope, value, each) for each in _flat(wanted))


def _flattened(scope: Scope, value: list[Value]) -> Value:
    flat: list[Value] = []
    waiting = list(reversed(value))
    while waiting:
        each = waiting.pop()
        scope.around.budget.spend()
        if isinstance(each, list):
            waiting += reversed(each)
        else:
            flat.append(each)
        check_size(len(flat) + len(waiting))
    return flat


def _join(scope: Scope, value: list[Value], separator: Value = ",") -> str:
    between, parts = text_of(separator), list(map(text_of, value))
    check_size(len(between) * len(parts) + sum(map(len, parts)))
    return between.join(parts)


def _sort(scope: Scope, value: list[Value]) -> list[Value]:
    def counted(left: Value, right: Value) -> int:
        scope.around.budget.spend()
        return order(left, right)

    return sorted(value, key=cmp_to_key(counted))


def _unique(scope: Scope, value: list[Value]) -> list[Value]:
    unique: list[Value] = []
    for each in value:
        scope.around.budget.spend(1 + len(unique) // 8)
        if not any(equal(each, other) for other in unique):
            unique.append(each)
    return unique


# -- links and files


def _as_file(scope: Scope, value: Link) -> Value:
    return scope.file.find(value.path) if value.path else None


def _links_to(scope: Scope, value: Link, other: Value) -> bool:
    file = _as_file(scope, value)
    return file is not None and file.has_link(other)


def _has_tag(scope: Scope, value: File, *names: Value) -> bool:
    return any(value.has_tag(text_of(name)) for name in _flat(names))


def _has_property(scope: Scope, value: File, name: Value) -> bool:
    return text_of(name).removeprefix("note.") in value.properties


METHODS: Mapping[str, Mapping[str, Method]] = {
    "any": {
        "isTruthy": Method(0, 0, lambda scope, value: is_truthy(value)),
        "isType": Method(1, 1, _is_type),
        "toString": Method(0, 0, lambda scope, value: text_of(value)),
        "isEmpty": Method(0, 0, lambda scope, value: is_empty(value)),
    },
    "string": {
        "contains": Method(1, 1, _contains),
        "containsAll": Method(1, MOST_ARGUMENTS, _contains_all),
        "containsAny": Method(1, MOST_ARGUMENTS, _contains_any),
        "startsWith": Method(1, 1, _starts_with),
        "endsWith": Method(1, 1, lambda scope, value, part: text_of(value).endswith(text_of(part))),
        "lower": Method(0, 0, lambda scope, value: text_of(value).lower()),
        "upper": Method(0, 0, lambda scope, value: text_of(value).upper()),
        "replace": Method(2, 2, _replace),
        "repeat": Method(1, 1, _repeat),
        "reverse": Method(0, 0, _reversed),
        "slice": Method(1, 2, _slice),
        "split": Method(1, 2, _split),
        "title": Method(0, 0, _title),
        "trim": Method(0, 0, lambda scope, value: text_of(value).strip()),
    },
    "number": {
        "abs": Method(0, 0, lambda scope, value: abs(value)),
        "ceil": Method(0, 0, _whole_number(math.ceil)),
        "floor": Method(0, 0, _whole_number(math.floor)),
        "round": Method(0, 1, _round),
        "toFixed": Method(0, 1, _to_fixed),
    },
    "date": {
        "date": Method(0, 0, _day),
        "format": Method(1, 1, _format),
        "time": Method(0, 0, lambda scope, value: format_date(value.moment, "HH:mm:ss")),
        "relative": Method(0, 0, lambda scope, value: relative(value, scope.around.now)),
    },
    "list": {
        "contains": Method(1, 1, _has),
        "containsAll": Method(1, MOST_ARGUMENTS, _has_all),
        "containsAny": Method(1, MOST_ARGUMENTS, _has_any),
        "flat": Method(0, 0, _flattened),
        "join": Method(0, 1, _join),
        "reverse": Method(0, 0, _reversed),
        "slice": Method(1, 2, _slice),
        "sort": Method(0, 0, _sort),
        "unique": Method(0, 0, _unique),
        **{name: Method(0, 0, lambda scope, value, run=run: run(value)) for name, run in STATISTICS.items()},
    },
    "object": {
        "keys": Method(0, 0, lambda scope, value: list(value)),
        "values": Method(0, 0, lambda scope, value: list(value.values())),
    },
    "link": {
        "asFile": Method(0, 0, _as_file),
        "linksTo": Method(1, 1, _links_to),
    },
    "file": {
        "asLink": Method(0, 1, lambda scope, value, shown=None: as_link(value, shown and text_of(shown))),
        "hasLink": Method(1, 1, lambda scope, value, other: value.has_link(other)),
        "hasProperty": Method(1, 1, _has_property),
        "hasTag": Method(0, MOST_ARGUMENTS, _has_tag),
        "inFolder": Method(1, 1, lambda scope, value, folder: value.is_in(text_of(folder))),
    },
    "regexp": {
        "matches": Method(1, 1, lambda scope, value, text: patterns.matches(value, text_of(text))),
    },
}
"""The functions of each kind of value; those of lists that take an expression are in ``expression.py``."""
EVERY_METHOD = frozenset(name for methods in METHODS.values() for name in methods)
