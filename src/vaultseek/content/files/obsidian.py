"""Read Obsidian's settings in a vault: excluded files, new links, line breaks, property types.

The vault may come from a stranger: files are limited in size, and all code that reads a setting checks its
value.
"""

import contextlib
import json
import os
import re
import stat
import time
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from vaultseek.base.limits import APP_SETTINGS_BYTES, FOLDER_NAMES
from vaultseek.base.paths import is_folder

OBSIDIAN_FOLDER = ".obsidian"
APP_FILE = f"{OBSIDIAN_FOLDER}/app.json"
TYPES_FILE = f"{OBSIDIAN_FOLDER}/types.json"
DAILY_NOTES_FILE = f"{OBSIDIAN_FOLDER}/daily-notes.json"


def has_obsidian(root: Path) -> bool:
    """True if the folder ``root`` is an Obsidian vault."""
    return is_folder(root / OBSIDIAN_FOLDER)


def app_settings(root: Path, file: str = APP_FILE) -> Mapping[str, Any]:
    """Return the settings from one of Obsidian's files; empty if the file is missing, too large or
    invalid.
    """
    try:
        settings = json.loads(_read(root / file))
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


class _Names(NamedTuple):
    """Statistics of the file names in a folder.

    ``days_first`` is the number of dates that begin with the day minus the number that begin with the month;
    ``are_days`` is true if files are named by the day of the month.
    """

    days_first: int
    are_days: bool


class VaultDates(NamedTuple):
    """Date style in one folder of a vault.

    The format of the vault's daily notes decides. If this format does not show the style, the file names in
    the folder decide or, failing those, the file names in the whole vault. The names in the folder are read
    again after the folder has changed, and the names in the vault once a minute.
    """

    root: Path
    folder: Path

    def is_day_first(self) -> bool | None:
        """Return whether the day comes before the month in dates like ``4-5-2026``; None if unknown.

        A file named ``13-5-2026`` shows the order, because there is no month 13.
        """
        if order := _ORDER.search(self._format().rpartition("/")[2]):
            return order[0] == "D"
        days_first = self._names().days_first or _order_of_vault(self.root, int(time.monotonic() // 60))
        return None if not days_first else days_first > 0

    def has_day_folders(self) -> bool:
        """True if files are named by the day of the month, and folders by the year and the month."""
        folders, _, name = self._format().rpartition("/")
        return bool("Y" in folders and "Y" not in name) if name else self._names().are_days

    def _format(self) -> str:
        """Return the format of daily notes, without literal text; "" if the setting is missing."""
        format = app_settings(self.root, DAILY_NOTES_FILE).get("format")
        return _LITERAL.sub("", format) if isinstance(format, str) else ""

    def _names(self) -> _Names:
        try:
            return _names_in(self.folder, self.folder.stat().st_mtime_ns)
        except OSError:
            return _Names(0, False)


_LITERAL = re.compile(r"\[[^\]]*\]")
_ORDER = re.compile(r"D(?=D?o?\W*M)|M(?=M?\W*D)")
"""Pattern for the day or the month in a moment.js format, whichever comes first. Day and month have one or
two letters."""
_TWO_NUMBERS = re.compile(r"(?<!\d)(\d\d?)[-_./](\d\d?)[-_./]\d{4}(?!\d)")
_NUMBER = re.compile(r"(\d+)(?:st|nd|rd|th)?(?!\w|-\d)")
_LAST_DAY = 31


@lru_cache(maxsize=64)
def _names_in(folder: Path, changed: int) -> _Names:
    days_first = days = others = 0
    with os.scandir(folder) as entries:
        for entry in islice(entries, FOLDER_NAMES):
            days_first += _order_of(entry.name)
            if number := _NUMBER.match(entry.name):
                is_day = len(number[1]) < 3 and 0 < int(number[1]) <= _LAST_DAY
                days, others = days + is_day, others + (not is_day)
    return _Names(days_first, days > 0 and not others)


@lru_cache(maxsize=4)
def _order_of_vault(root: Path, minute: int) -> int:
    """Return how many more dates in the file names of a vault begin with the day than with the month.

    Only the first file names are read, because a save may wait for this. ``minute`` is part of the cache key,
    which limits the age of the result.
    """
    days_first, seen, folders = 0, 0, [str(root)]
    while folders and seen < FOLDER_NAMES:
        with contextlib.suppress(OSError), os.scandir(folders.pop()) as entries:
            for entry in islice(entries, FOLDER_NAMES - seen):
                seen += 1
                if not entry.is_dir(follow_symlinks=False):
                    days_first += _order_of(entry.name)
                elif not entry.name.startswith("."):
                    folders.append(entry.path)
    return days_first


def _order_of(name: str) -> int:
    """Return how many more dates in a name begin with the day than with the month."""
    return sum((int(first) > 12) - (int(second) > 12) for first, second in _TWO_NUMBERS.findall(name))


def _read(file: Path) -> bytes:
    # Follow links, since many vaults share settings this way, but do not block on a pipe.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        data = stream.read(APP_SETTINGS_BYTES + 1)
    return data if len(data) <= APP_SETTINGS_BYTES else b""
