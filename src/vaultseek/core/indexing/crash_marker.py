"""Record on disk which note is being parsed, so that a crash can be attributed to it.

A crash in native code leaves no exception behind. The key of each note is therefore written before the note
is parsed. The key is written only to the page cache, because it must survive a crash of the process, not of
the machine. A note whose content crashed the process ``MAX_CRASHES`` times is not parsed again until it
changes. A kill by another program counts for less than a crash.
"""

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from vaultseek.base.child_process import CRASH_KILLS
from vaultseek.base.model import Problem
from vaultseek.base.paths import read_json, write_atomically

MAX_CRASHES = 2
"""Number of crashes after which a note is no longer parsed."""
_MAX_KILLS = MAX_CRASHES * CRASH_KILLS
KEY_BYTES = 64 * 1024

CRASHED = Problem(
    "ends_daemon", "reading this note crashed the daemon; only its name is searched until it changes"
)
log = logging.getLogger(__name__)


class CrashMarker:
    """Record of notes that crashed the process, and of the note being parsed. Methods raise OSError on disk
    errors.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._crashes_file = file.with_name(file.name + ".json")
        self._kills = _read_crashes(self._crashes_file)
        """Map from the key of a note's content to the number of kills recorded for it. A crash counts as
        several kills."""
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        last_key = os.pread(self._descriptor, KEY_BYTES, 0).decode("utf-8", "replace").rstrip("\n")
        os.ftruncate(self._descriptor, 0)
        if last_key:
            self._count("the previous daemon", last_key, CRASH_KILLS)

    def close(self) -> None:
        """Close the marker file."""
        os.close(self._descriptor)

    def abandon(self) -> None:
        """Remove the marker file for good, so that ending the process does not count as a crash."""
        with contextlib.suppress(OSError):
            self._file.unlink()

    def is_blocked(self, path: str, digest: bytes) -> bool:
        """True if parsing this content has crashed the process too often."""
        return bool(self._kills) and self._kills.get(crash_key(path, digest), 0) >= _MAX_KILLS

    def blocked(self) -> list[str]:
        """Return the keys of all contents that may no longer be parsed because they crashed their reader."""
        return [key for key, kills in self._kills.items() if kills >= _MAX_KILLS]

    def count_crash(self, path: str, digest: bytes, kills: int) -> None:
        """Record that another process ended while parsing this content; this counts as ``kills`` kills."""
        self._count("a process", crash_key(path, digest), kills)

    @contextlib.contextmanager
    def parsing(self, path: str, digest: bytes) -> Iterator[None]:
        """Mark a note as being parsed while the context is active."""
        key = crash_key(path, digest)
        os.pwrite(self._descriptor, key.encode("utf-8", "replace") + b"\n", 0)
        try:
            yield
        finally:
            os.ftruncate(self._descriptor, 0)
        if self._kills.pop(key, None):
            self._write_crashes()

    def _count(self, process: str, key: str, kills: int) -> None:
        self._kills[key] = self._kills.get(key, 0) + kills
        log.warning(
            "%s died while parsing a note (crash %d; after crash %d, the note is skipped)",
            process,
            self._kills[key],
            _MAX_KILLS,
        )
        self._write_crashes()

    def _write_crashes(self) -> None:
        write_atomically(self._crashes_file, json.dumps(self._kills))


def crash_key(path: str, digest: bytes) -> str:
    """Return the key under which crashes of this content are counted."""
    return f"{digest.hex()} {path}"


def _read_crashes(file: Path) -> dict[str, int]:
    try:
        crashes = read_json(file)
    except (OSError, ValueError):
        return {}
    entries = crashes.items() if isinstance(crashes, dict) else ()
    return {key: count for key, count in entries if isinstance(count, int)}
