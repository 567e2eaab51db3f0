"""Settings of Obsidian in a vault: excluded files, new links, line breaks, types of properties.

The vault may be a stranger's: files are bounded, and whoever reads a setting checks its value.
"""

import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vaultseek.base.limits import APP_SETTINGS_BYTES
from vaultseek.base.paths import is_folder

OBSIDIAN_FOLDER = ".obsidian"
APP_FILE = f"{OBSIDIAN_FOLDER}/app.json"
TYPES_FILE = f"{OBSIDIAN_FOLDER}/types.json"


def has_obsidian(root: Path) -> bool:
    """True for a vault of Obsidian."""
    return is_folder(root / OBSIDIAN_FOLDER)


def app_settings(root: Path, file: str = APP_FILE) -> Mapping[str, Any]:
    """Return the settings in a file of the app; none if it is missing, too large or not understood."""
    try:
        settings = json.loads(_read(root / file))
    except (OSError, ValueError, RecursionError):
        return {}
    return settings if isinstance(settings, dict) else {}


def _read(file: Path) -> bytes:
    # Links are followed, since many share the settings of their vaults so, but a pipe must not block.
    descriptor = os.open(file, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        data = stream.read(APP_SETTINGS_BYTES + 1)
    return data if len(data) <= APP_SETTINGS_BYTES else b""
