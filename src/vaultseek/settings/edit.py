"""Changing one key of ``config.toml`` without touching its comments, its order or the other keys."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from vaultseek.base import paths
from vaultseek.errors import ConfigError
from vaultseek.settings import toml


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
