"""TOML files: reading with limits, finding the lines of keys, and changing a single key."""

import errno
import json
import os
import re
import stat
import tomllib
from collections.abc import Iterable
from contextlib import suppress
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from vaultseek.base import limits, paths
from vaultseek.errors import ConfigError
from vaultseek.settings.describe import Location, quote_value


def read(file: Path, *, required: bool) -> dict[str, Any]:
    """Return the tables of ``file``; an empty dict if the file does not exist and is not ``required``.

    Raises:
        ConfigError: one line that names the file and, if known, the line.
    """
    text = read_text(file, required=required)
    return {} if text is None else parse(text, file)


def read_text(file: Path, *, required: bool) -> str | None:
    """Return the text of ``file``; None if the file does not exist and is not ``required``. Raises
    ConfigError."""
    try:
        # Non-blocking, because opening a pipe without a writer would block forever.
        with os.fdopen(os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            raw = stream.read(limits.CONFIG_BYTES + 1)
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{file}: no such file; use the path of a TOML file") from None
        return None
    except OSError as error:
        raise ConfigError(
            f"{file}: cannot be read ({error.strerror or error}); expected a readable file"
        ) from None
    if len(raw) > limits.CONFIG_BYTES:
        raise ConfigError(
            f"{file}: larger than {limits.CONFIG_BYTES} bytes, too large for a configuration; shorten it"
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}: line {line}: not valid UTF-8; save the file as UTF-8") from None


def parse(text: str, file: Path) -> dict[str, Any]:
    """Parse ``text``, the content of ``file``, and return its tables. Raises ConfigError."""
    if (key := _LONG_KEY.search(text)) is not None:
        line = text.count("\n", 0, key.start()) + 1
        raise ConfigError(f"{file}: line {line}: nested too deeply; make it simpler")
    try:
        return tomllib.loads(text)
    except ValueError as error:  # a number with thousands of digits is not a syntax error
        raise ConfigError(f"{file}: {_syntax_error(str(error), text)}") from None
    except RecursionError:
        raise ConfigError(f"{file}: nested too deeply; make it simpler") from None


def format_value(value: Any) -> str:
    """Format ``value`` as TOML on one line; plain mappings become JSON, as in environment variables."""
    if isinstance(value, BaseModel):
        return f"{{ {', '.join(f'{name} = {format_value(inner)}' for name, inner in value)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(format_value, value))}]"
    # TOML and JSON write strings, numbers and booleans alike, except for one control character.
    text = json.dumps(str(value) if isinstance(value, Path) else value, ensure_ascii=False)
    return text.replace("\x7f", "\\u007f")


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
"""Pattern that finds a key with many parts, for which the parser needs quadratic time and memory."""


def lines_of(text: str, locations: Iterable[Location]) -> dict[Location, int]:
    """Return a dict from each location to the line (1-based) on which the key, or else its table, begins.

    Locations missing from ``text``, which must be valid, are left out.
    """
    locations = list(locations)
    wanted = {location[:end]: 0 for location in locations for end in range(1, len(location) + 1)}
    lines = text.split("\n")
    first = 1
    for end in range(1, len(lines) + 1):
        try:
            content: Any = tomllib.loads("\n".join(lines[:end]))
        except (ValueError, RecursionError):
            continue  # a value continues on the next line
        for location in [location for location, line in wanted.items() if not line]:
            with suppress(LookupError, TypeError):
                reduce(getitem, location, content)
                wanted[location] = first
        first = end + 1
    found = {}
    for location in locations:
        known = [line for end in range(len(location), 0, -1) if (line := wanted[location[:end]])]
        if known:
            found[location] = known[0]
    return found


def create(file: Path, text: str) -> None:
    """Write a new file that only the user can read.

    Raises ConfigError if the path already exists or cannot be written.
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
    """Set ``key`` in ``[section]`` of ``file``, creating the file if necessary. A symbolic link is kept.

    If the file cannot be read or written, or is not TOML, raises ConfigError and leaves the file unchanged.
    """
    text = read_text(file, required=False)
    changed = _with_key(text or "", section, key, value, file)
    if text is None:
        create(file, changed)
        return
    real = Path(os.path.realpath(file))
    try:
        paths.write_atomically(real, changed, real.stat().st_mode & 0o777)
    except OSError as error:
        raise _cannot_write(file, error) from None


def _with_key(text: str, section: str, key: str, value: str | bool, file: Path) -> str:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    expected = parse(text, file)
    by_hand = ConfigError(
        f"{file}: cannot be changed automatically; write {key} = {format_value(value)} under [{section}]"
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
    if parse(changed, file) != expected:
        raise by_hand
    return changed


def _cannot_write(file: Path, error: OSError) -> ConfigError:
    reason = error.strerror or error
    return ConfigError(f"{file}: cannot be written ({reason}); check its folder's permissions")
