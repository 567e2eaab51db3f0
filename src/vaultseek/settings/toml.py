"""Reading TOML files within bounds, with errors of one line, and writing a value as TOML."""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from vaultseek.base import limits
from vaultseek.errors import ConfigError
from vaultseek.settings.describe import quote_value
from vaultseek.settings.toml_lines import MARK

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
