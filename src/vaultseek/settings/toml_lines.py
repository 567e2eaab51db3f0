"""The line of each key in a TOML file, which the parser does not tell."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from vaultseek.settings.describe import Location

MARK = re.compile(
    r"""
    \"""(?:[^\\]|\\.)*?(?:\"""|\Z) | '''.*?(?:'''|\Z)     # A text of several lines,
    | "(?:[^"\\\n]|\\[^\n])*"? | '[^'\n]*'? | \#[^\n]*       # of one, a comment,
    | [.=,\[\]{}\n]                                        # and what shapes keys and tables.
    """,
    re.DOTALL | re.VERBOSE,
)
"""Marks that shape a file: brackets, dots, commas and line ends, but none of those in a text or a comment."""


def lines_of(text: str, locations: Iterable[Location]) -> dict[Location, int]:
    """Return the line, from 1, where each location begins, or the table that it belongs in.

    Locations that ``text``, which is valid, does not have are left out. Reads it once.
    """
    places = _places(text)
    lines = {}
    for location in {*locations}:
        ends = range(len(location), 0, -1)
        known = next((location[:end] for end in ends if location[:end] in places), None)
        if known is not None:
            lines[location] = places[known]
    return lines


def _places(text: str) -> dict[Location, int]:
    """Return the line of each table, key and value."""
    places: dict[Location, int] = {}
    tables: dict[Location, int] = {}  # how many each array of tables has so far
    table: Location = ()
    for line, statement in _statements(text):
        try:
            content = tomllib.loads(statement)
        except (ValueError, RecursionError):
            break
        if statement.lstrip().startswith("["):
            table = _table(content, tables)
            added: Iterable[Location] = (table[:end] for end in range(1, len(table) + 1))
        else:
            added = _keys(content, table)
        for location in added:
            places.setdefault(location, line)
    return places


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield each header and each key with its value, with the number of its first line."""
    depth = start = 0
    line = 1
    for match in MARK.finditer(text):
        mark = match[0]
        depth = max(0, depth + (mark in ("[", "{")) - (mark in ("]", "}")))
        if mark == "\n" and not depth:
            yield from _statement(text[start : match.end()], line)
            line += text.count("\n", start, match.end())
            start = match.end()
    yield from _statement(text[start:], line)


def _statement(part: str, line: int) -> Iterator[tuple[int, str]]:
    statement = part.strip()
    if statement and not statement.startswith("#"):
        yield line, statement


def _table(header: Any, tables: dict[Location, int]) -> Location:
    """Return the location of the table that ``header``, parsed alone, begins."""
    location: Location = ()
    while header:
        is_item = isinstance(header, list)
        if is_item:
            tables[location] = tables.get(location, 0) + 1
        if location in tables:
            location = (*location, tables[location] - 1)
        if is_item:
            break
        ((part, header),) = header.items()
        location = (*location, part)
    return location


def _keys(value: Any, location: Location) -> Iterator[Location]:
    """Yield the locations of all that ``value`` has, which is at ``location``."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for part, inner in items:
        yield (*location, part)
        yield from _keys(inner, (*location, part))
