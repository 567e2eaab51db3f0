"""Reading TOML files within bounds, the lines of their keys, and changing one key and nothing else."""

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

from vaultseek.base import limits, paths
from vaultseek.errors import ConfigError
from vaultseek.settings import toml
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
    if (key := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, key.start()) + 1
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


_PART = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_LONG_KEY = re.compile(
    rf"(?:^|[\[{{,])[ \t]*(?:{_PART}[ \t]*\.[ \t]*){{{limits.CONFIG_DEPTH}}}", re.MULTILINE
)
"""A key of many parts, for which the parser needs time and memory with the square of their number."""


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
    for line, content, is_header in _statements(text):
        if is_header:
            table = _table(content, tables)
            added: Iterable[Location] = (table[:end] for end in range(1, len(table) + 1))
        else:
            added = _keys(content, table)
        for location in added:
            places.setdefault(location, line)
    return places


def _statements(text: str) -> Iterator[tuple[int, dict[str, Any], bool]]:
    """Yield the first line of each header and each key, what it says by itself, and true for a header."""
    first, statement = 1, ""
    for number, line in enumerate(text.split("\n"), 1):
        statement += f"{line}\n"
        try:
            content = tomllib.loads(statement)
        except (ValueError, RecursionError):
            continue  # it goes on in the next line
        if content:
            yield first, content, statement.lstrip().startswith("[")
        first, statement = number + 1, ""


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


def create(file: Path, text: str) -> None:
    """Write a new file that only the user can read.

    Raises ConfigError if the path exists already or cannot be written.
    """
    try:
        data = text.encode()
    except UnicodeEncodeError:
        raise ConfigError(f"{file}: the folder's name is not valid UTF-8; rename it") from None
    try:
        file.parent.mkdir(mode=paths.DIRECTORY_MODE, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, paths.FILE_MODE)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
    except FileExistsError:
        raise ConfigError(f"{file} already exists; nothing was written") from None
    except OSError as error:
        raise _cannot_write(file, error) from None


def set_key(file: Path, section: str, key: str, value: str | bool) -> None:
    """Set ``key`` in ``[section]`` of ``file``, which is created if it does not exist. A link stays a link.

    Raises ConfigError, and leaves the file unchanged, if it cannot be read or written or is not TOML.
    """
    text = toml.read_text(file, required=False)
    if text is None:
        create(file, _with_key("", section, key, value, file))
    else:
        _replace(Path(os.path.realpath(file)), _with_key(text, section, key, value, file))


def _with_key(text: str, section: str, key: str, value: str | bool, file: Path) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    expected: dict[str, Any] = toml.parse(text, file)
    by_hand = ConfigError(
        f"{file}: cannot be changed here; write {key} = {toml.format_value(value)} under [{section}]"
    )
    table = expected.setdefault(section, {})
    if not isinstance(table, dict):
        raise by_hand
    table[key] = value
    try:
        document = tomlkit.parse(text)
        if section not in document:
            document[section] = tomlkit.table()
        document[section][key] = value
        changed = document.as_string()
    except TOMLKitError:
        raise by_hand from None
    if toml.parse(changed, file) != expected:
        raise by_hand
    return changed


def _replace(file: Path, text: str) -> None:
    try:
        paths.write_atomically(file, text, file.stat().st_mode & 0o777)
    except OSError as error:
        raise _cannot_write(file, error) from None


def _cannot_write(file: Path, error: OSError) -> ConfigError:
    reason = error.strerror or error
    return ConfigError(f"{file}: cannot be written ({reason}); look at the permissions of its folder")
