"""Sizes of values: none that a formula makes holds more than ``FORMULA_VALUE_CHARS``.

Whatever may be much larger than the values that it is made of is measured before it is made.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from vaultseek.base.limits import FORMULA_VALUE_CHARS
from vaultseek.core.tables.values import FormulaError, Link, Rendered, Value


def check_size(size: int) -> None:
    """Raise FormulaError if a value of this size is too large."""
    if size > FORMULA_VALUE_CHARS:
        raise FormulaError(f"a value holds more than {FORMULA_VALUE_CHARS:,} characters")


def sized(value: Value) -> Value:
    """Return what a function or an operator has made. Raises FormulaError for too long a text."""
    if isinstance(value, str):
        check_size(len(value))
    return value


def collected(values: Iterable[Value]) -> list[Value]:
    """Return values as a list. Raises FormulaError as soon as they are too large together."""
    found: list[Value] = []
    size = 0
    for value in values:
        found.append(value)
        size += 1 + size_of(value)
        check_size(size)
    return found


def size_of(value: Value) -> int:
    """Return how many characters and elements a value holds."""
    size, waiting = 0, [value]
    while waiting:
        each: Any = waiting.pop()
        if isinstance(each, Mapping):
            waiting += each.values()
            size += len(each) + sum(map(len, each))
        elif isinstance(each, list):
            waiting += each
            size += len(each)
        elif isinstance(each, str):
            size += len(each)
        else:
            size += len(each.text) if isinstance(each, Link | Rendered) else 1
    return size
