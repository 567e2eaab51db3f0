"""Obsidian's settings in a vault: excluded files, new links, line breaks, property types.

The vault may come from a stranger: files are limited in size, and every reader of a setting checks its value.
"""

import json
import os
import re
import stat
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from vaultseek.base.limits import APP_SETTINGS_BYTES, FOLDER_NAMES
from vaultseek.base.paths import is_folder

OBSIDIAN_FOLDER = ".obsidian"
APP_FILE = f"{OBSIDIAN_FOLDER}/app.json"
TYPES_FILE = f"{OBSIDIAN_FOLDER}/types.json"
DAILY_NOTES_FILE = f"{OBSIDIAN_FOLDER}/daily-notes.json"


def has_obsidian(root: Path) -> bool:
    """True for an Obsidian vault."""
    return is_folder(root / OBSIDIAN_FOLDER)


def app_settings(root: Path, file: str = APP_FILE) -> Mapping[str, Any]:
    """Return the settings in one of Obsidian's files; empty if it is missing, too large or invalid."""
    try:
        settings = json.loads(_read(root / file))
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def is_day_first(root: Path, folder: Path) -> bool | None:
    """Return whether the day comes before the month in dates like ``4-5-2026``; None if unknown.

    The format of the vault's daily notes decides. Without it, the file names in the folder decide: a number
    above 12 is not a month. The names are checked again once the folder has changed.
    """
    format = app_settings(root, DAILY_NOTES_FILE).get("format")
    if isinstance(format, str) and (order := _ORDER.search(_LITERAL.sub("", format))):
        return order[0] == "D"
    try:
        return _is_day_first_in(folder, folder.stat().st_mtime_ns)
    except OSError:
        return None


_LITERAL = re.compile(r"\[[^\]]*\]|.*/")
_ORDER = re.compile(r"D(?=D?o?\W*M)|M(?=M?\W*D)")
"""The day or the month, whichever comes first in a moment.js format; each is written as one or two
letters."""


@lru_cache(maxsize=64)
def _is_day_first_in(folder: Path, changed: int) -> bool | None:
    days = months = 0
    with os.scandir(folder) as entries:
        for entry in islice(entries, FOLDER_NAMES):
            for first, second in _TWO_NUMBERS.findall(entry.name):
                days += int(first) > 12
                months += int(second) > 12
    return None if days == months else days > months


_TWO_NUMBERS = re.compile(r"(?<!\d)(\d\d?)[-_./](\d\d?)[-_./]\d{4}(?!\d)")


def _read(file: Path) -> bytes:
    # Links are followed, since many vaults share settings this way, but a pipe must not block.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        data = stream.read(APP_SETTINGS_BYTES + 1)
    return data if len(data) <= APP_SETTINGS_BYTES else b""
