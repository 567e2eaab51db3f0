"""Functions of the formula language that belong to no value: ``date()``, ``link()``, ``now()`` and others."""

from __future__ import annotations

import html
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from vaultseek.base.text import quote
from vaultseek.core.tables.dates import date_in, of_timestamp, read_duration, timestamp
from vaultseek.core.tables.files import File
from vaultseek.core.tables.operators import as_number, number
from vaultseek.core.tables.scope import Scope
from vaultseek.core.tables.values import (
    Date,
    Duration,
    FormulaError,
    Link,
    Rendered,
    Value,
    is_number,
    text_of,
)

MOST_ARGUMENTS = 1_000


class Function(NamedTuple):
    """A function with the least and the most arguments that it takes."""

    least: int
    most: int
    run: Callable[[Scope, Sequence[Value]], Value]


def _date(scope: Scope, values: Sequence[Value]) -> Value:
    value = values[0]
    if value is None or isinstance(value, Date) or value == "":
        return value or None
    if is_number(value):
        return of_timestamp(value / 1e3)
    date = date_in(text_of(value))
    if date is None:
        raise FormulaError(f"{quote(text_of(value), 40)} is no date; write it as 2026-01-31")
    return date


def _duration(scope: Scope, values: Sequence[Value]) -> Value:
    value = values[0]
    if value is None or isinstance(value, Duration):
        return value
    duration = Duration(0, value) if is_number(value) else read_duration(text_of(value))
    if duration is None:
        raise FormulaError(f"{quote(text_of(value), 40)} is no duration; write it as 2 weeks or 3d")
    return duration


def _file(scope: Scope, values: Sequence[Value]) -> Value:
    value = values[0]
    if isinstance(value, Link):
        return scope.file.find(value.path) if value.path else None
    if value is None or isinstance(value, File):
        return value
    return (scope.around.this or scope.file).find(_bare(text_of(value)))


def _link(scope: Scope, values: Sequence[Value]) -> Value:
    value, *display = values
    shown = text_of(display[0]) if display else None
    if value is None:
        return None
    home = scope.around.this or scope.file
    if isinstance(value, Link):
        return Link(value.target, shown or value.display, value.source, lambda target, source: value.path)
    if isinstance(value, File):
        return as_link(value, shown)
    target, bar, alias = _bare(text_of(value)).partition("|")
    return home.link(target, shown or (alias if bar else None))


def as_link(file: File, display: str | None = None) -> Link:
    """Return a link to a file."""
    path = file.path
    target = path.removesuffix(".md")
    return Link(target, display or target.rpartition("/")[2], path, lambda target, source: path)


def _bare(text: str) -> str:
    return text.strip().removeprefix("[[").removesuffix("]]")


def _list(scope: Scope, values: Sequence[Value]) -> Value:
    value = values[0]
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def _number(scope: Scope, values: Sequence[Value]) -> Value:
    value = values[0]
    if value is None:
        return None
    result = timestamp(value) if isinstance(value, Date) else as_number(value)
    if result is None:
        raise FormulaError(f"{quote(text_of(value), 40)} is no number")
    return number(result)


def _extreme(choose: Callable[..., Value]) -> Callable[[Scope, Sequence[Value]], Value]:
    """Return a function for the least or the greatest of numbers, or of dates, those of lists included."""

    def run(scope: Scope, values: Sequence[Value]) -> Value:
        flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
        dates = [each for each in flat if isinstance(each, Date)]
        if dates and len(dates) == sum(each is not None for each in flat):
            return choose(dates, key=lambda date: date.moment)
        return choose((own for each in flat if (own := as_number(each)) is not None), default=None)

    return run


def _today(scope: Scope, values: Sequence[Value]) -> Value:
    return Date(scope.around.now.replace(hour=0, minute=0, second=0, microsecond=0), timed=False)


def _rendered(kind: str) -> Callable[[Scope, Sequence[Value]], Value]:
    def run(scope: Scope, values: Sequence[Value]) -> Value:
        return None if values[0] is None else Rendered(kind, text_of(values[0]))

    return run


FUNCTIONS = {
    "date": Function(1, 1, _date),
    "duration": Function(1, 1, _duration),
    "escapeHTML": Function(1, 1, lambda scope, values: html.escape(text_of(values[0]))),
    "file": Function(1, 1, _file),
    "html": Function(1, 1, _rendered("html")),
    "icon": Function(1, 1, _rendered("icon")),
    "image": Function(1, 1, _rendered("image")),
    "link": Function(1, 2, _link),
    "list": Function(1, 1, _list),
    "max": Function(1, MOST_ARGUMENTS, _extreme(max)),
    "min": Function(1, MOST_ARGUMENTS, _extreme(min)),
    "now": Function(0, 0, lambda scope, values: Date(scope.around.now)),
    "number": Function(1, 1, _number),
    "random": Function(0, 0, lambda scope, values: random.random()),
    "today": Function(0, 0, _today),
}
"""The functions by name; ``if`` is not among them, since it evaluates only one of its branches."""
DRAWN = frozenset({"html", "icon", "image"})
"""Functions whose value is a drawing in Obsidian, and its text here."""
