"""Reading a TOML file: bounded, and whatever is wrong with it is said in one line."""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from vaultseek import limits
from vaultseek.errors import ConfigError
from vaultseek.settings.describe import Location, shown

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


def read(file: Path, *, required: bool) -> dict[str, Any]:
    """The tables of ``file``; nothing if it does not exist and is not ``required``.

    Raises:
        ConfigError: one line that names the file and, where it can be told, the line.
    """
    text = read_text(file, required=required)
    return {} if text is None else parse(text, file)


def read_text(file: Path, *, required: bool) -> str | None:
    """The text of ``file``; None if it does not exist and is not ``required``. Raises ConfigError."""
    try:
        raw = _read_bytes(file)
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{file}: no such file; --config takes the path of a TOML file") from None
        return None
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror or error})") from None
    if len(raw) > limits.CONFIG_BYTES:
        raise ConfigError(f"{file}: larger than {limits.CONFIG_BYTES} bytes; expected a configuration")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}: line {line}: expected UTF-8 text, found other bytes") from None


def parse(text: str, file: Path) -> dict[str, Any]:
    """The tables in ``text``, which stands in ``file``. Raises ConfigError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {_syntax_error(str(error), text)}") from None
    except RecursionError:
        raise ConfigError(f"{file}: nested too deeply; expected a configuration") from None


def lines_of(text: str, locations: Iterable[Location]) -> dict[Location, int]:
    """The line, from 1, on which each location begins, or the table that it should stand in.

    What is nowhere in ``text`` is left out. Found by reading the text up to each of its lines, which is exact
    whatever the syntax; of a text too long for that nothing is found.
    """
    lines = text.splitlines(keepends=True)
    wanted = set(locations)
    found: dict[Location, tuple[int, int]] = {}
    if len(lines) > limits.CONFIG_LINES:
        return {}
    begun = 0
    for end in range(1, len(lines) + 1):
        try:
            data = tomllib.loads("".join(lines[:end]))
        except (tomllib.TOMLDecodeError, RecursionError):
            continue  # in the middle of a value
        for location in wanted:
            depth = _depth(data, location)
            if depth > found.get(location, (0, 0))[0]:
                found[location] = (depth, _first_statement(lines, begun, end))
        begun = end
    return {location: line for location, (_, line) in found.items()}


def _read_bytes(file: Path) -> bytes:
    # Not blocking: a pipe that nobody writes to would keep us waiting for ever.
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


def _depth(data: Any, location: Sequence[int | str]) -> int:
    """How many parts of ``location`` there are in ``data``."""
    for depth, part in enumerate(location):
        try:
            data = data[part]
        except (KeyError, IndexError, TypeError):
            return depth
    return len(location)


def _first_statement(lines: Sequence[str], begun: int, end: int) -> int:
    """The number of the first line after ``begun`` lines that is neither empty nor a comment."""
    for number in range(begun, end):
        if lines[number].strip() and not lines[number].lstrip().startswith("#"):
            return number + 1
    return end


def _syntax_error(message: str, text: str) -> str:
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message, re.DOTALL)
    if found is None:
        return f"not valid TOML: {shown(message)}"
    line = found[2] or str(text.count("\n", 0, len(text.rstrip())) + 1)
    return f"line {line}: not valid TOML: {found[1]}"
