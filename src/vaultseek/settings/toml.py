"""Reading TOML files within bounds, the lines of their keys, and writing a value as TOML."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from vaultseek.base import limits
from vaultseek.errors import ConfigError
from vaultseek.settings.describe import Location, quote_value

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read(file: Path, *, required: bool) -> dict[str, Any]:
    """Return the tables of ``file``; none if it does not exist and is not ``required``.

    Raises:
        ConfigError: one line that names the file and, if known, the line.
    """
    text = read_text(file, required=required)
    return {} if text is None else parse(text, file)


def read_text(file: Path, *, required: bool) -> str | None:
    """Return the text of ``file``; None if it does not exist and is not ``required``. Raises ConfigError."""
    try:
        raw = _read_bytes(file)
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{file}: no such file; set --config to a TOML file") from None
        return None
    except OSError as error:
        raise ConfigError(
            f"{file}: cannot be read ({error.strerror or error}); expected a readable file"
        ) from None
    if len(raw) > limits.CONFIG_BYTES:
        raise ConfigError(f"{file}: larger than {limits.CONFIG_BYTES} bytes; expected a configuration")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}: line {line}: not valid UTF-8; save the file as UTF-8") from None


def parse(text: str, file: Path) -> dict[str, Any]:
    """Parse ``text``, the content of ``file``. Raises ConfigError."""
    if (line := _line_too_deep(text)) is not None:
        raise ConfigError(f"{file}: line {line}: nested too deeply; expected a configuration")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # a number of thousands of digits is no syntax error
        raise ConfigError(f"{file}: {_syntax_error(str(error), text)}") from None
    except RecursionError:
        raise ConfigError(f"{file}: nested too deeply; expected a configuration") from None


def format_value(value: Any) -> str:
    """Format ``value`` as TOML on one line; plain mappings as JSON, which environment variables take."""
    if isinstance(value, BaseModel):
        return f"{{ {', '.join(f'{name} = {format_value(inner)}' for name, inner in value)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_value, value))}]"
    # TOML and JSON agree about texts, numbers and truth values, except for one control character.
    text = json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")


def _line_too_deep(text: str) -> int | None:
    """Return the first line with a key of too many parts, or too many open brackets; None without one.

    The parser needs time and memory with the square of a key's length. This reads ``text`` once, and knows
    no more of TOML than where texts and comments end.
    """
    depth = dots = 0
    for match in MARK.finditer(text):
        mark = match[0]
        if mark == ".":
            dots += 1
        elif mark in _BREAKS:
            dots = 0
            depth = max(0, depth + (mark in "[{") - (mark in "]}"))
        if max(depth, dots) > limits.CONFIG_DEPTH:
            return text.count("\n", 0, match.start()) + 1
    return None


_BREAKS = frozenset("=,[]{}\n")


def _read_bytes(file: Path) -> bytes:
    # Non-blocking: opening a pipe without a writer would block for ever.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        mode = os.fstat(descriptor).st_mode
        for is_kind, words in _KINDS:
            if is_kind(mode):
                raise OSError(errno.EINVAL, f"it is {words}, not a file")
        with os.fdopen(descriptor, "rb", closefd=False) as stream:
            return stream.read(limits.CONFIG_BYTES + 1)
    finally:
        os.close(descriptor)


def _syntax_error(message: str, text: str) -> str:
    match = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message, re.DOTALL)
    if match is None:
        number = re.search(r"[0-9_]{4300}", text)
        where = f"line {text.count(chr(10), 0, number.start()) + 1}: " if number else ""
        return f"{where}not valid TOML: {quote_value(message)}"
    line = match[2] or str(text.count("\n", 0, len(text.rstrip())) + 1)
    return f"line {line}: not valid TOML: {match[1]}; correct this line"


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
