"""Read the bytes of notes, only from regular files and up to a size limit. A file that changes during reading
is read again."""

import contextlib
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path

from vaultseek.base.limits import MIB, NOTE_PARSE_BYTES, NOTE_READ_BYTES
from vaultseek.base.model import Problem
from vaultseek.base.paths import shortage
from vaultseek.content.files.scan import NOT_A_FILE, FileStat, regular_stat

READ_ATTEMPTS = 3
RACY_NANOSECONDS = 2_000_000_000
"""Minimum age of a file, in nanoseconds, for its times to be trusted. A younger file is read again, because a
later write could leave its times unchanged."""

_NOTE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER = os.O_DIRECTORY | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)


@dataclass(frozen=True, slots=True)
class NoteBytes:
    """Bytes of a note, and the stat of the file from which they were read.

    ``racy`` is true if the file changed so shortly before it was read that a later write could leave the same
    stat; the file must then be read again next time.
    """

    data: bytes
    stat: FileStat
    racy: bool
    problem: Problem | None = None


def read_note(root: Path, path: str, most: int = NOTE_READ_BYTES) -> NoteBytes | None:
    """Read up to ``most`` bytes of the file at ``path``; return None if it is missing.

    Never blocks and never follows links. The result for an unreadable note has a problem and no bytes.
    """
    for attempt in range(READ_ATTEMPTS):
        last = attempt == READ_ATTEMPTS - 1
        content = _read_once(root, path, last, most)
        if content is not _CHANGED:
            return content
    return None


_CHANGED = NoteBytes(b"", FileStat(0, 0, 0, 0), True)


def too_large(bound: int = NOTE_PARSE_BYTES) -> Problem:
    """Return the problem to report for a note with more than ``bound`` bytes."""
    most = f"{bound / MIB:g} MiB" if bound % MIB == 0 else f"{bound:,} bytes"
    setting = " ([index] max_note_bytes)" if bound < NOTE_PARSE_BYTES else ""
    return Problem("too_large", f"larger than {most}{setting}, so only its name is searched; split it")


def _read_once(root: Path, path: str, last: bool, most: int) -> NoteBytes | None:
    try:
        descriptor = _open(root, path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        if shortage(error):
            raise
        return _unopened(root / path, error)
    try:
        return _read_open(descriptor, last, most)
    except OSError as error:
        return _unreadable(FileStat(0, 0, 0, 0), _reason(error))
    finally:
        os.close(descriptor)


def _open(root: Path, path: str) -> int:
    """Open a note folder by folder, because any folder on its path may have become a link since the scan."""
    *folders, name = path.split("/")
    above = os.open(root, _FOLDER) if folders else None
    try:
        for folder in folders:
            inner = os.open(folder, _FOLDER | os.O_NOFOLLOW, dir_fd=above)
            above, outer = inner, above
            if outer is not None:
                os.close(outer)
        return os.open(name if folders else root / path, _NOTE, dir_fd=above)
    finally:
        if above is not None:
            os.close(above)


def _read_open(descriptor: int, last: bool, most: int) -> NoteBytes:
    status = os.fstat(descriptor)
    before = regular_stat(status)
    if before is None:
        return _unreadable(FileStat(0, 0, 0, 0), NOT_A_FILE, "not_a_file")
    if before.size > most:
        return NoteBytes(b"", before, False, too_large())
    if before.size and not status.st_blocks:
        return _not_local(descriptor, before)
    data = _read_all(descriptor)
    after = os.fstat(descriptor)
    if regular_stat(after) != before or len(data) != before.size:
        return NoteBytes(data, regular_stat(after) or before, True) if last else _CHANGED
    newest = max(before.mtime_ns, before.ctime_ns)
    return NoteBytes(data, before, time.time_ns() - newest < RACY_NANOSECONDS)


def _not_local(descriptor: int, stat: FileStat) -> NoteBytes:
    # On some file systems, small files are stored in the inode. Only a hole proves that the content is not
    # local, and only if the hole remains after all written data has been allocated.
    if _is_hole(descriptor):
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    if not _is_hole(descriptor):
        return NoteBytes(_read_all(descriptor), stat, True)
    return NoteBytes(
        b"",
        stat,
        False,
        Problem(
            "not_local",
            "the content is not on this machine; open the file once, or make its folder available offline",
        ),
    )


def _is_hole(descriptor: int) -> bool:
    try:
        hole = os.lseek(descriptor, 0, os.SEEK_HOLE) == 0
    except (OSError, AttributeError):
        hole = True
    os.lseek(descriptor, 0, os.SEEK_SET)
    return hole


def _read_all(descriptor: int) -> bytes:
    parts: list[bytes] = []
    remaining = NOTE_READ_BYTES + 1
    while remaining > 0:
        part = os.read(descriptor, min(remaining, 1 << 20))
        if not part:
            break
        parts.append(part)
        remaining -= len(part)
    return b"".join(parts)


def _unopened(file: Path, error: Exception) -> NoteBytes:
    try:
        stat = regular_stat(file.lstat())
    except PermissionError as closed:
        return _unreadable(FileStat(0, 0, 0, 0), f"{closed.strerror}; check its folder's permissions")
    except (OSError, ValueError):
        stat = None
    if stat is None:
        return _unreadable(FileStat(0, 0, 0, 0), NOT_A_FILE, "not_a_file")
    # A change of permissions changes the file's times; the end of a disk error does not.
    lasts = isinstance(error, PermissionError)
    return replace(_unreadable(stat, _reason(error)), racy=not lasts)


def _reason(error: Exception) -> str:
    return f"{getattr(error, 'strerror', None) or 'cannot be read'}; check the file's permissions"


def _unreadable(stat: FileStat, reason: str, code: str = "unreadable") -> NoteBytes:
    return NoteBytes(b"", stat, False, Problem(code, reason))
