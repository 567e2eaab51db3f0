"""Methods and fields of values in formulas: ``text.lower()``, ``list.contains(x)``, ``date.year`` and
others.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cmp_to_key
from operator import attrgetter

from vaultseek.base.text import quote
from vaultseek.core.tables import patterns
from vaultseek.core.tables.dates import format_date, relative
from vaultseek.core.tables.files import File
from vaultseek.core.tables.functions import Function, as_link, with_scope
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
    flattened,
    is_empty,
    is_number,
    is_truthy,
    kind_of,
    text_of,
)

MOST_DIGITS = 100


def field(value: Value, name: str) -> Value:
    """Return the field ``name`` of a value; null if the value is null.

    Raises FormulaError if the value has no such field.
    """
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
    """Return ``value[key]``; null if there is no such element."""
    if isinstance(value, Mapping):
        return value.get(text_of(key))
    if isinstance(value, list | str) and is_number(key):
        place = int(key) if math.isfinite(key) else -1
        return value[place] if 0 <= place < len(value) else None
    return None if value is None or is_number(key) else field(value, text_of(key))


def method(value: Value, name: str) -> Function | None:
    """Return the method ``name`` for a value; None if values of this kind have no such method."""
    for kind in (kind_of(value), *_ALSO.get(kind_of(value), ()), "any"):
        if name in METHODS.get(kind, {}):
            return METHODS[kind][name]
    return None


_OF_FILES = ("path", "folder", "ext", "size", "tags", "links", "backlinks", "embeds", "properties", "title")
FILE_FIELDS: Mapping[str, Callable[[File], Value]] = {
    "name": attrgetter("name"),
    "basename": attrgetter("name.stem"),
    "mtime": attrgetter("modified"),
    "ctime": attrgetter("created"),
    **{name: attrgetter(name) for name in _OF_FILES},
    "file": lambda file: file,
}
"""Functions that return the fields of a file; ``title`` exists only in vaultseek."""
_DATE_FIELDS: Mapping[str, Callable[[Date], int]] = {
    **{part: attrgetter(f"moment.{part}") for part in ("year", "month", "day", "hour", "minute", "second")},
    "millisecond": lambda date: date.moment.microsecond // 1000,
}
_ALSO = {"link": ("string",), "html": ("string",), "image": ("string",), "icon": ("string",)}
"""For some kinds of values, the kinds whose methods they also have: a link, for example, has the methods of a
string."""


# -- text


def _contains(value: Value, part: Value) -> bool:
    # For a link, also search its target.
    whole = f"{value.target}|{value.text}" if isinstance(value, Link) else text_of(value)
    return _part(value, part) in whole


def _part(value: Value, part: Value) -> str:
    """Return ``part`` as text to search for in ``value``. The hash of a tag is optional."""
    return text_of(part).removeprefix("#") if isinstance(value, Tag) else text_of(part)


def _for_each(quantifier: Callable[[Iterable[bool]], bool], test: Callable[..., bool]) -> Function:
    """Extend a test of one argument to several arguments: all or any of them must pass."""

    def run(scope: Scope, value: Value, first: Value, *others: Value) -> bool:
        return quantifier(with_scope(test)(scope, value, each) for each in flattened(first, *others))

    return run


def _replace(value: Value, pattern: Value, replacement: Value) -> str:
    text, new = text_of(value), text_of(replacement)
    if isinstance(pattern, Pattern):
        return patterns.replace(pattern, text, new)
    old = text_of(pattern)
    if not old:
        return text
    check_size(len(text) + text.count(old) * (len(new) - len(old)))
    return text.replace(old, new)


def _repeat(value: Value, count: Value) -> str:
    text, times = text_of(value), max(0, _integer(count))
    check_size(len(text) * times)
    return text * times


def _slice(value: Value, start: Value, end: Value = None) -> Value:
    whole = value if isinstance(value, list) else text_of(value)
    return whole[_integer(start) : None if end is None else _integer(end)]


def _split(value: Value, separator: Value, most: Value = None) -> list[Value]:
    text = text_of(value)
    if isinstance(separator, Pattern):
        parts = patterns.split(separator, text)
    else:
        parts = text.split(text_of(separator)) if text_of(separator) else list(text)
    return collected(parts if most is None else parts[: max(0, _integer(most))])


def _reversed(value: Value) -> Value:
    return value[::-1] if isinstance(value, list) else text_of(value)[::-1]


# -- numbers


def _integer(value: Value) -> int:
    number = as_number(value)
    if number is None or math.isnan(number):
        return 0
    return int(max(-1e9, min(1e9, number)))


def _number(value: Value) -> float:
    return as_number(value) or 0.0


def _whole_number(rounding: Callable[[float], int]) -> Callable[[Value], float]:
    def run(value: Value) -> float:
        number = _number(value)
        return rounding(number) if math.isfinite(number) else number

    return run


def _round(value: Value, digits: Value = 0) -> float:
    number, places = _number(value), max(-MOST_DIGITS, min(MOST_DIGITS, _integer(digits)))
    scaled = number * 10.0**places
    if not math.isfinite(scaled) or abs(scaled) >= 2**53:
        return number
    half = math.floor(scaled + 0.5)
    return half if places == 0 else half / 10.0**places


# -- dates


def _format(scope: Scope, value: Date, form: Value) -> str:
    written = text_of(form)
    scope.around.budget.spend(len(written))
    try:
        return format_date(value.moment, written)
    except (ValueError, OverflowError):
        raise FormulaError("the date is out of range") from None


# -- lists


def _has(scope: Scope, value: list[Value], wanted: Value) -> bool:
    scope.around.budget.spend(len(value))
    return any(equal(each, wanted) for each in value)


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


def _join(value: list[Value], separator: Value = ",") -> str:
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


def _has_tag(value: File, *names: Value) -> bool:
    return any(value.has_tag(text_of(name)) for name in flattened(*names))


METHODS: Mapping[str, Mapping[str, Function]] = {
    "any": {
        "isTruthy": is_truthy,
        "isType": lambda value, kind: kind_of(value) == text_of(kind).lower(),
        "toString": text_of,
        "isEmpty": is_empty,
    },
    "string": {
        "contains": _contains,
        "containsAll": _for_each(all, _contains),
        "containsAny": _for_each(any, _contains),
        "startsWith": lambda value, part: text_of(value).startswith(_part(value, part)),
        "endsWith": lambda value, part: text_of(value).endswith(text_of(part)),
        "lower": lambda value: text_of(value).lower(),
        "upper": lambda value: text_of(value).upper(),
        "replace": _replace,
        "repeat": _repeat,
        "reverse": _reversed,
        "slice": _slice,
        "split": _split,
        "title": lambda value: " ".join(word[:1].upper() + word[1:] for word in text_of(value).split(" ")),
        "trim": lambda value: text_of(value).strip(),
    },
    "number": {
        "abs": abs,
        "ceil": _whole_number(math.ceil),
        "floor": _whole_number(math.floor),
        "round": _round,
        "toFixed": lambda value, digits=0: fixed(_number(value), max(0, min(MOST_DIGITS, _integer(digits)))),
    },
    "date": {
        "date": lambda value: value.day,
        "format": _format,
        "time": lambda value: format_date(value.moment, "HH:mm:ss"),
        "relative": lambda scope, value: relative(value, scope.around.now),
    },
    "list": {
        "contains": _has,
        "containsAll": _for_each(all, _has),
        "containsAny": _for_each(any, _has),
        "flat": _flattened,
        "join": _join,
        "reverse": _reversed,
        "slice": _slice,
        "sort": _sort,
        "unique": _unique,
        **STATISTICS,
    },
    "object": {
        "keys": lambda value: list(value),
        "values": lambda value: list(value.values()),
    },
    "link": {
        "asFile": _as_file,
        "linksTo": lambda scope, value, other: (
            (file := _as_file(scope, value)) is not None and file.has_link(other)
        ),
    },
    "file": {
        "asLink": lambda value, shown=None: as_link(value, shown and text_of(shown)),
        "hasLink": lambda value, other: value.has_link(other),
        "hasProperty": lambda value, name: text_of(name).removeprefix("note.") in value.properties,
        "hasTag": _has_tag,
        "inFolder": lambda value, folder: value.is_in(text_of(folder)),
    },
    "regexp": {
        "matches": lambda value, text: patterns.matches(value, text_of(text)),
    },
}
"""For each kind of value, a map from name to method. List methods that take an expression are in
``expression.py``."""
EVERY_METHOD = frozenset(name for methods in METHODS.values() for name in methods)
