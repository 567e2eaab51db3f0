"""Reading a TOML file: bounded, and whatever is wrong with it is said in one line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from vaultseek import limits
from vaultseek.errors import ConfigError
from vaultseek.schema import shown


def read(file: Path, *, required: bool) -> dict[str, Any]:
    """The tables of ``file``; nothing if it does not exist and is not ``required``.

    Raises:
        ConfigError: one line that names the file and, where it can be told, the line.
    """
    try:
        with file.open("rb") as stream:
            raw = stream.read(limits.CONFIG_BYTES + 1)
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{file}: no such file; --config takes the path of a TOML file") from None
        return {}
    except OSError as error:
        raise ConfigError(f"{file}: cannot be read ({error.strerror or error})") from None
    if len(raw) > limits.CONFIG_BYTES:
        raise ConfigError(f"{file}: larger than {limits.CONFIG_BYTES} bytes, which no configuration is")
    return _parse(raw, file)


def _parse(raw: bytes, file: Path) -> dict[str, Any]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"{file}: line {line}: expected UTF-8 text, found other bytes") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {_syntax_error(str(error), text)}") from None
    except RecursionError:
        raise ConfigError(f"{file}: nested too deeply to be a configuration") from None


def _syntax_error(message: str, text: str) -> str:
    found = re.fullmatch(r"(.*) \(at (?:line (\d+), column \d+|end of document)\)", message, re.DOTALL)
    if found is None:
        return f"not valid TOML: {shown(message)}"
    line = found[2] or str(text.count("\n", 0, len(text.rstrip())) + 1)
    return f"line {line}: not valid TOML: {found[1]}"
