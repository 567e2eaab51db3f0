"""Global functions in the formula language: ``date()``, ``link()``, ``now()`` and others."""

import html
import random
from collections.abc import Callable, Mapping
from functools import cache
from inspect import Parameter, signature

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
    flattened,
    is_number,
    text_of,
)

MOST_ARGUMENTS = 1_000


Function = Callable[..., Value]
"""Function or method of the formula language.

The first parameter of a method is the value on which it is called. A parameter ``scope``, if there is one,
comes before all others.
"""


@cache
def arguments_of(function: Function, given: int) -> tuple[int, int]:
    """Return the minimum and maximum number of arguments that a function takes.

    The scope and the first ``given`` arguments are not counted.
    """
    parameters = [each for each in signature(function).parameters.values() if each.name != "scope"][given:]
    if parameters and parameters[-1].kind is Parameter.VAR_POSITIONAL:
        return len(parameters) - 1, MOST_ARGUMENTS
    return sum(each.default is Parameter.empty for each in parameters), len(parameters)


@cache
def with_scope(function: Function) -> Function:
    """Return a version of ``function`` that takes a scope as its first argument.

    A function that has no such argument is wrapped in one that ignores the scope.
    """
    if "scope" in signature(function).parameters:
        return function
    return lambda scope, *arguments: function(*arguments)


def _date(value: Value) -> Value:
    if value is None or isinstance(value, Date) or value == "":
        return value or None
    if is_number(value):
        return of_timestamp(value / 1e3)
    date = date_in(text_of(value))
    if date is None:
        raise FormulaError(f"{quote(text_of(value), 40)} is not a date; write it as 2026-01-31")
    return date


def _duration(value: Value) -> Value:
    if value is None or isinstance(value, Duration):
        return value
    duration = Duration(0, value) if is_number(value) else read_duration(text_of(value))
    if duration is None:
        raise FormulaError(f"{quote(text_of(value), 40)} is not a duration; write it as 2 weeks or 3d")
    return duration


def _file(scope: Scope, value: Value) -> Value:
    if isinstance(value, Link):
        return scope.file.find(value.path) if value.path else None
    if value is None or isinstance(value, File):
        return value
    return (scope.around.this or scope.file).find(_bare(text_of(value)))


def _link(scope: Scope, value: Value, display: Value = None) -> Value:
    shown = text_of(display) or None
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


def _number(value: Value) -> Value:
    if value is None:
        return None
    result = timestamp(value) if isinstance(value, Date) else as_number(value)
    if result is None:
        raise FormulaError(f"{quote(text_of(value), 40)} is not a number")
    return number(result)


def _extreme(choose: Callable[..., Value]) -> Function:
    """Return a function that computes the minimum or maximum of numbers or dates, including those in
    lists.
    """

    def run(first: Value, *others: Value) -> Value:
        flat = flattened(first, *others)
        dates = [each for each in flat if isinstance(each, Date)]
        if dates and len(dates) == sum(each is not None for each in flat):
            return choose(dates, key=lambda date: date.moment)
        return choose((own for each in flat if (own := as_number(each)) is not None), default=None)

    return run


def _rendered(kind: str) -> Function:
    return lambda value: None if value is None else Rendered(kind, text_of(value))


FUNCTIONS: Mapping[str, Function] = {
    "date": _date,
    "duration": _duration,
    "escapeHTML": lambda value: html.escape(text_of(value)),
    "file": _file,
    "html": _rendered("html"),
    "icon": _rendered("icon"),
    "image": _rendered("image"),
    "link": _link,
    "list": lambda value: [] if value is None else flattened(value),
    "max": _extreme(max),
    "min": _extreme(min),
    "now": lambda scope: Date(scope.around.now),
    "number": _number,
    "random": lambda: random.random(),
    "today": lambda scope: Date(scope.around.now).day,
}
"""Map from name to global function, without ``if``, which evaluates only one of its branches."""
DRAWN = frozenset({"html", "icon", "image"})
"""Functions whose result Obsidian displays as graphics, and vaultseek as text."""
