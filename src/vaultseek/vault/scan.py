"""Walking a vault: which files there are and with what stamps. Opens no file and follows no link."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from vaultseek.limits import PATH_BYTES
from vaultseek.model import Problem
from vaultseek.text import escape_undecodable
from vaultseek.vault.ignore import Ignore

NOTE_SUFFIX = ".md"


class Stamp(NamedTuple):
    """What ``stat`` says of a file; only ever compared for equality."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


_OWN_VAULT = "a vault of its own, left out of this one; search in it with --vault"
_LINK = "a link, which is not followed; if it leads to notes, run `vaultseek vault add` with their folder"
_HAS_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}$")
NOT_A_FILE = "a link or special file; links are not followed, so put a copy of the note here"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file of the vault. ``path`` is relative, with ``/``; ``stamp`` is None for attachments."""

    path: str
    stamp: Stamp | None
    problem: Problem | None = None


def is_note(path: str) -> bool:
    """Whether a file is read as a note; anything else is an attachment."""
    return path[-3:].lower() == NOTE_SUFFIX


def scan(root: Path, ignore: Ignore, below: str = "") -> Iterator[FoundFile]:
    """Yield every file of the vault, or of the folder ``below``.

    A folder that cannot be listed yields one entry with a problem and does not stop the walk.
    """
    waiting = [below]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder if folder else root) as entries:
                for entry in entries:
                    found = _found(entry, folder, ignore)
                    if isinstance(found, str):
                        waiting.append(found)
                    elif found is not None:
                        yield found
        except FileNotFoundError:
            continue
        except OSError as error:
            reason = error.strerror or "cannot be read"
            message = f"{reason}; its notes are not searched, so look at the folder's permissions"
            yield FoundFile(folder or ".", None, Problem("unreadable_folder", message))


def left_out_folder(path: str, ignore: Ignore) -> FoundFile | None:
    """What is to be said of a folder that is left out: nothing if that is what the user wants."""
    return None if ignore.unwanted(path) else FoundFile(path, None, Problem("nested_vault", _OWN_VAULT))


def left_out_link(path: str) -> FoundFile | None:
    """What is to be said of a link: nothing if it is called like an attachment.

    It is not looked at where a link leads; to look may be enough to reach another machine.
    """
    if is_note(path):
        return FoundFile(path, None, Problem("not_a_file", NOT_A_FILE))
    return None if _HAS_EXTENSION.search(path) else FoundFile(path, None, Problem("link", _LINK))


def stamp_of(root: Path, path: str) -> Stamp | None:
    """The stamp of one file now, or None if it is gone or no regular file."""
    try:
        return regular_stamp((root / path).lstat())
    except (OSError, ValueError):
        return None


def regular_stamp(status: os.stat_result) -> Stamp | None:
    """The stamp in a stat result, or None if that is no regular file."""
    if not stat.S_ISREG(status.st_mode):
        return None
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


def _found(entry: os.DirEntry[str], folder: str, ignore: Ignore) -> FoundFile | str | None:
    path = f"{folder}/{entry.name}" if folder else entry.name
    legible = escape_undecodable(path)
    if legible != path:
        return FoundFile(legible, None, Problem("bad_name", "the file name is not valid UTF-8; rename it"))
    if entry.is_dir(follow_symlinks=False):
        return left_out_folder(path, ignore) if ignore.folder(path) else path
    if ignore.file(path) or (entry.is_symlink() and ignore.unwanted(path)):
        return None
    if entry.is_symlink() and (found := left_out_link(path)) is not None:
        return found
    if len(path.encode()) > PATH_BYTES:
        return FoundFile(
            path, None, Problem("path_too_long", f"the path is longer than {PATH_BYTES} bytes; shorten it")
        )
    if not is_note(path):
        return FoundFile(path, None) if entry.is_file(follow_symlinks=False) else None
    try:
        stamp = regular_stamp(entry.stat(follow_symlinks=False))
    except FileNotFoundError:
        return None
    if stamp is None:
        return FoundFile(path, None, Problem("not_a_file", NOT_A_FILE))
    return FoundFile(path, stamp)
