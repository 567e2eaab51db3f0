"""The first vault: asking the user for the folder of notes."""

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from vaultseek.doors.cli.terminal import clean
from vaultseek.errors import UsageError

_OBSIDIAN_FILES = (
    ".config/obsidian/obsidian.json",
    ".var/app/md.obsidian.Obsidian/config/obsidian/obsidian.json",
    "snap/obsidian/current/.config/obsidian/obsidian.json",
)
_OBSIDIAN_FILE_OF_MACOS = "Library/Application Support/obsidian/obsidian.json"
_MOST_BYTES = 1_000_000


def choose_vault() -> str:
    """Ask the user for a folder of notes and return it. Raises UsageError if the user chooses none."""
    known = obsidian_vaults()
    print("Which folder contains your notes?\n")
    for number, folder in enumerate(known, 1):
        print(f"  {number}  {clean(_from_home(folder))}")
    expected = "Enter its number, or the path of another folder" if known else "Enter the path of a folder"
    while answer := _answer(f"{expected} (press Enter to quit): "):
        is_number = answer.isdecimal() and 0 < int(answer) <= len(known)
        folder = known[int(answer) - 1] if is_number else os.path.abspath(os.path.expanduser(answer))
        if os.path.isdir(folder):
            return folder
        print(f"There is no folder {clean(folder)}.")
    raise UsageError("no folder was chosen; `vaultseek vault add DIR` adds one")


def obsidian_vaults() -> list[str]:
    """Return the existing folders that Obsidian lists as vaults, most recently opened first."""
    files = [_OBSIDIAN_FILE_OF_MACOS] if sys.platform == "darwin" else _OBSIDIAN_FILES
    opened: dict[str, float] = {}
    for file in files:
        with suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
            with (Path.home() / file).open("rb") as source:
                listed = json.loads(source.read(_MOST_BYTES))["vaults"].values()
            opened |= {str(vault["path"]): float(vault.get("ts") or 0) for vault in listed}
    return [path for path in sorted(opened, key=lambda path: -opened[path]) if os.path.isdir(path)]


def _from_home(folder: str) -> str:
    home = os.path.join(os.path.expanduser("~"), "")
    return f"~/{folder.removeprefix(home)}" if folder.startswith(home) else folder


def _answer(question: str) -> str:
    try:
        return input(question).strip()
    except EOFError:
        return ""
