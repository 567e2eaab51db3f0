"""Scan a vault's files and their stat values, without opening files or following links."""

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from vaultseek.base.limits import PATH_BYTES
from vaultseek.base.model import Problem
from vaultseek.base.paths import shortage
from vaultseek.base.text import escape_undecodable
from vaultseek.content.files.ignore import Ignore
from vaultseek.content.files.obsidian import APP_FILE
from vaultseek.content.kinds import is_markdown

MOST_NS = 2**63 - 1
"""Largest number that the ledger can store. As a time in nanoseconds, it is in the year 2262; a file's times
may be later."""


class FileStat(NamedTuple):
    """The ``stat`` fields that show whether a file has changed. They are compared for equality only."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


_OWN_VAULT = "a separate vault, not part of this one; search it by its own name"
_LINK = "a symbolic link (not followed); if it leads to notes, add their folder as a vault"
_HAS_EXTENSION = re.compile(r"\.[A-Za-z0-9]{1,10}$")
NOT_A_FILE = "a symbolic link or special file, which is not read; put a copy of the note here"


@dataclass(frozen=True, slots=True)
class ScannedFile:
    """A file in the vault. ``path`` is relative to the vault, with ``/`` as separator; ``stat`` is None for
    attachments.
    """

    path: str
    stat: FileStat | None
    problem: Problem | None = None


def scan(root: Path, ignore: Ignore, below: str = "") -> Iterator[ScannedFile]:
    """Yield every file in the vault, or in its folder ``below``.

    A folder that cannot be listed yields one entry with a problem and does not stop the scan. Rules in the
    vault's settings that cannot be applied are reported as problems of the file that contains them. Raises
    OSError if too many files are open.
    """
    waiting = [below]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(root / folder if folder else root) as entries:
                for entry in entries:
                    scanned = _scan_entry(entry, folder, ignore)
                    if isinstance(scanned, str):
                        waiting.append(scanned)
                    elif scanned is not None:
                        yield scanned
        except FileNotFoundError:
            continue
        except OSError as error:
            if shortage(error):
                raise
            reason = error.strerror or "cannot be read"
            message = f"{reason}, so its notes are not searched; check the folder's permissions"
            yield ScannedFile(folder or ".", None, Problem("unreadable_folder", message))
    if not below:
        for message in ignore.problems:
            yield ScannedFile(APP_FILE, None, Problem("bad_rule", message))


def bad_name(path: str) -> ScannedFile | None:
    """Return an entry with a problem for a file or folder whose name is not UTF-8; None for other names."""
    legible = escape_undecodable(path)
    if legible == path:
        return None
    return ScannedFile(legible, None, Problem("bad_name", "the file name is not valid UTF-8; rename it"))


def skipped_folder(path: str, ignore: Ignore) -> ScannedFile | None:
    """Return an entry with a problem for a skipped folder; None if the user excluded the folder."""
    return None if ignore.is_excluded(path) else ScannedFile(path, None, Problem("nested_vault", _OWN_VAULT))


def skipped_link(path: str) -> ScannedFile | None:
    """Return an entry with a problem for a symbolic link; None if the link is named like an attachment.

    The target is not examined, because even examining it could access another machine.
    """
    if is_markdown(path):
        return ScannedFile(path, None, Problem("not_a_file", NOT_A_FILE))
    return None if _HAS_EXTENSION.search(path) else ScannedFile(path, None, Problem("link", _LINK))


def file_stat(root: Path, path: str) -> FileStat | None:
    """Return the stat of a file; None if it is missing or not a regular file."""
    try:
        return regular_stat((root / path).lstat())
    except (OSError, ValueError):
        return None


def regular_stat(status: os.stat_result) -> FileStat | None:
    """Return the relevant fields of a stat result; None if it is not from a regular file."""
    if not stat.S_ISREG(status.st_mode):
        return None
    inode = status.st_ino if status.st_ino <= MOST_NS else status.st_ino - 2**64
    return FileStat(status.st_size, _stored(status.st_mtime_ns), _stored(status.st_ctime_ns), inode)


def _stored(time: int) -> int:
    return max(-MOST_NS, min(time, MOST_NS))


def _scan_entry(entry: os.DirEntry[str], folder: str, ignore: Ignore) -> ScannedFile | str | None:
    path = f"{folder}/{entry.name}" if folder else entry.name
    if (unnamed := bad_name(path)) is not None:
        return unnamed
    if entry.is_dir(follow_symlinks=False):
        return skipped_folder(path, ignore) if ignore.skips_folder(path) else path
    if ignore.skips_file(path) or (entry.is_symlink() and ignore.is_excluded(path)):
        return None
    if entry.is_symlink() and (link := skipped_link(path)) is not None:
        return link
    if len(path.encode()) > PATH_BYTES:
        return ScannedFile(
            path, None, Problem("path_too_long", f"the path is longer than {PATH_BYTES} bytes; shorten it")
        )
    if not ignore.is_read(path):
        return ScannedFile(path, None) if entry.is_file(follow_symlinks=False) else None
    try:
        entry_stat = regular_stat(entry.stat(follow_symlinks=False))
    except FileNotFoundError:
        return None
    if entry_stat is None:
        return ScannedFile(path, None, Problem("not_a_file", NOT_A_FILE))
    return ScannedFile(path, entry_stat)
