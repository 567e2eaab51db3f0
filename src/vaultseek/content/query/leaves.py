"""The single conditions that a filter is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vaultseek.content.query.filters import (
    And,
    Filter,
    HasProperty,
    Not,
    Or,
    PropertyCompare,
    PropertyEquals,
    PropertyNull,
)

PropertyFilter = HasProperty | PropertyNull | PropertyEquals | PropertyCompare


def leaves(condition: Filter | None) -> Iterator[Filter]:
    """Yield the conditions that a condition on notes is made of, negated ones as they are without it."""
    match condition:
        case And(parts) | Or(parts):
            for part in parts:
                yield from leaves(part)
        case Not(part):
            yield from leaves(part)
        case None:
            return
        case _:
            yield condition


def properties_of(condition: Filter | None) -> tuple[PropertyFilter, ...]:
    """Return the conditions on properties that a matching note satisfies, not those that exclude notes."""
    match condition:
        case And(parts) | Or(parts):
            return tuple(inner for part in parts for inner in properties_of(part))
        case HasProperty() | PropertyNull() | PropertyEquals() | PropertyCompare():
            return (condition,)
        case _:
            return ()


def property_patterns(condition: Filter | None) -> tuple[str, ...]:
    """Return regular expressions of what matches in the lines of a note's properties: names and values."""
    patterns: list[str] = []
    for part in properties_of(condition):
        name = re.escape(part.name)
        if isinstance(part, PropertyEquals):
            patterns.append(rf"(?<=^{name}: .*){re.escape(part.value)}")
        patterns.append(rf"^{name}(?=:|$)")
    return tuple(patterns)
