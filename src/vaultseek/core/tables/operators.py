"""Operators in formulas, and the equality and order of values."""

import math
import re
from collections.abc import Callable, Mapping
from functools import cmp_to_key
from typing import Any

from vaultseek.base.text import fold
from vaultseek.core.tables.dates import date_in, difference, read_duration, scaled, shifted
from vaultseek.core.tables.files import File
from vaultseek.core.tables.values import (
    EXACT_INTEGERS,
    Date,
    Duration,
    FileName,
    FormulaError,
    Link,
    Tag,
    Value,
    is_number,
    kind_of,
    text_of,
)


def add(left: Value, right: Value) -> Value:
    """Return ``left + right``: numbers and durations are added, dates are shifted, strings are joined."""
    if isinstance(left, Date) or isinstance(right, Date):
        date, other = (left, right) if isinstance(left, Date) else (right, left)
        duration = _duration(other)
        if duration is not None:
            return shifted(date, duration)
    if isinstance(left, Duration) and (other := _duration(right)):
        return Duration(left.months + other.months, left.milliseconds + other.milliseconds)
    if is_number(left) and is_number(right):
        return number(left + right)
    if isinstance(left, str) or isinstance(right, str):
        return text_of(left) + text_of(right)
    if left is None or right is None:
        return None
    raise _unfit("+", left, right)


def subtract(left: Value, right: Value) -> Value:
    """Return ``left - right``; for two dates, the number of milliseconds between them."""
    right = _date_for(left, right)
    left = _date_for(right, left)
    if isinstance(left, Date) and isinstance(right, Date):
        return number(difference(left, right))
    if isinstance(left, Date) and (duration := _duration(right)) is not None:
        return shifted(left, duration, -1)
    if isinstance(left, Duration) and (other := _duration(right)):
        return Duration(left.months - other.months, left.milliseconds - other.milliseconds)
    return arithmetic("-", left, right)


def multiply(left: Value, right: Value) -> Value:
    """Return ``left * right``; ``left`` may be a duration."""
    if isinstance(left, Duration) and is_number(right) and math.isfinite(right):
        return scaled(left, right)
    return arithmetic("*", left, right)


def divide(left: Value, right: Value) -> Value:
    """Return ``left / right``."""
    if isinstance(left, Duration) and is_number(right) and right and math.isfinite(right):
        return scaled(left, 1 / right)
    return arithmetic("/", left, right)


def negative(value: Value) -> Value:
    """Return ``-value``."""
    if isinstance(value, Duration):
        return scaled(value, -1)
    return arithmetic("-", 0, value)


def _quotient(left: float, right: float) -> float:
    if right:
        return left / right
    return math.nan if not left or math.isnan(left) else math.copysign(math.inf, left)


_NUMERIC: Mapping[str, Callable[[float, float], float]] = {
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": _quotient,
    "%": lambda left, right: math.fmod(left, right) if right and math.isfinite(left) else math.nan,
}


def arithmetic(sign: str, left: Value, right: Value) -> Value:
    """Return the result of an arithmetic operator; a remainder has the sign of ``left``."""
    if left is None or right is None:
        return None
    first, second = as_number(left), as_number(right)
    if first is None or second is None:
        raise _unfit(sign, left, right)
    return number(_NUMERIC[sign](first, second))


def number(value: float) -> float:
    """Return a number rounded as in JavaScript, where large integers lose their last digits."""
    try:
        return float(value) if abs(value) > EXACT_INTEGERS else value
    except OverflowError:
        return math.copysign(math.inf, value)


def as_number(value: Value) -> float | None:
    """Return a number, or the number that a string represents; None for other values. Booleans count as 1 and
    0.
    """
    if isinstance(value, bool):
        return int(value)
    if is_number(value):
        return number(value)
    if isinstance(value, Duration):
        return value.total
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value) else None
    return None


_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?\s*", re.ASCII)


def _duration(value: Value) -> Duration | None:
    if isinstance(value, Duration):
        return value
    if isinstance(value, str):
        return read_duration(value)
    return Duration(0, value) if is_number(value) and math.isfinite(value) else None


def _date_for(other: Value, value: Value) -> Value:
    """Return ``value``, converted to a date if it is a string and the other operand is a date."""
    if isinstance(other, Date) and isinstance(value, str):
        return date_in(value) or value
    return value


def _unfit(sign: str, left: Value, right: Value) -> FormulaError:
    return FormulaError(f"{sign} cannot combine {kind_of(left)} and {kind_of(right)}")


# -- equality and order


def equal(left: Value, right: Value) -> bool:
    """True if two values are equal: links and files by their targets, dates by their times."""
    if left is None or right is None:
        return left is right
    if isinstance(left, Link | File) or isinstance(right, Link | File):
        return _same_place(left, right)
    if isinstance(left, Date) or isinstance(right, Date):
        first, second = _date_for(right, left), _date_for(left, right)
        both = isinstance(first, Date) and isinstance(second, Date)
        return both and first.moment == second.moment
    if isinstance(left, str) and isinstance(right, str):
        return _same_text(left, right)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(equal, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if is_number(left) or is_number(right):
        first, second = as_number(left), as_number(right)
        return first is not None and first == second
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(equal(left[name], right[name]) for name in left)
    return bool(left == right)


def _same_text(left: str, right: str) -> bool:
    if isinstance(left, Tag) or isinstance(right, Tag):
        return fold(left).lstrip("#") == fold(right).lstrip("#")
    for name, other in ((left, right), (right, left)):
        if isinstance(name, FileName) and name.stem == other:
            return True
    return str(left) == str(right)


def _same_place(left: Value, right: Value) -> bool:
    if isinstance(right, str) or isinstance(left, str):
        place, text = (left, right) if isinstance(right, str) else (right, left)
        return str(text) in _names_of(place)
    first, second = _path(left), _path(right)
    if first is None and second is None and isinstance(left, Link) and isinstance(right, Link):
        return fold(left.target) == fold(right.target)
    return first is not None and first == second


def _names_of(place: Link | File) -> set[str]:
    if isinstance(place, Link):
        return {place.target, place.text, place.markdown}
    return {place.path, place.path.removesuffix(".md"), place.name, place.name.stem, place.markdown}


def _path(value: Value) -> str | None:
    return value.path if isinstance(value, Link | File) else None


def compare(left: Value, right: Value) -> int | None:
    """Return -1, 0 or 1 if ``left`` is less than, equal to or greater than ``right``; None if the values
    cannot be compared.
    """
    if left is None or right is None:
        return None
    if isinstance(left, Date) or isinstance(right, Date):
        first, second = _date_for(right, left), _date_for(left, right)
        if not (isinstance(first, Date) and isinstance(second, Date)):
            return None
        return _sign(first.moment, second.moment)
    if isinstance(left, str) and isinstance(right, str):
        return _sign(text_key(left), text_key(right))
    first_number, second_number = _length(left), _length(right)
    if first_number is not None and second_number is not None:
        return None if math.isnan(first_number + second_number) else _sign(first_number, second_number)
    if isinstance(left, str | Link | File) and isinstance(right, str | Link | File):
        return _sign(text_key(text_of(left)), text_key(text_of(right)))
    return None


def _length(value: Value) -> float | None:
    """Return a number, or the number that a string represents; for a duration such as ``"2 weeks"``, its
    length in milliseconds.
    """
    number = as_number(value)
    duration = read_duration(value) if number is None and isinstance(value, str) else None
    return number if duration is None else duration.total


def text_key(text: str) -> tuple[Any, ...]:
    """Return a sort key for ``text``: case-insensitive, with numbers sorted by value."""
    parts = _DIGITS.split(fold(text))
    # The text itself orders strings that differ only in case.
    return [int(part[:300]) if place % 2 else part for place, part in enumerate(parts)], text


_DIGITS = re.compile("([0-9]+)")


def _sign(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def order(left: Value, right: Value) -> int:
    """Return -1, 0 or 1 for any two values; values that cannot be compared are sorted by kind, then by
    text.
    """
    compared = compare(left, right)
    if compared is not None:
        return compared
    if {kind_of(left), kind_of(right)} == {"date", "string"}:  # 2026-04 compared with 2026-04-01
        return _sign(text_of(left), text_of(right))
    kinds = _sign(_RANKS.get(kind_of(left), len(_RANKS)), _RANKS.get(kind_of(right), len(_RANKS)))
    return kinds or _sign(text_key(text_of(left)), text_key(text_of(right)))


_RANKS = {kind: rank for rank, kind in enumerate(("boolean", "number", "duration", "date", "string", "link"))}

sort_key = cmp_to_key(order)
"""Sort key function for values of any kind."""
