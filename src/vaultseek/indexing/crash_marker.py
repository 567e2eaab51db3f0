"""Which note is being read, on disk, so that a process knows what the one before it died of.

A crash in native code leaves no exception behind. The name of each note is written down before it is read, to
the page cache and no further: it has to outlive the process, not the machine. A note that is found there at
``CRASHES`` starts with the same content is not read again until it changes.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from vaultseek.model import Problem
from vaultseek.paths import write_atomically

CRASHES = 2
"""So often may reading a note end the daemon before it is left alone."""

POISON = Problem(
    "ends_daemon", "reading this note crashed the daemon; only its name is searched until it changes"
)
log = logging.getLogger(__name__)


class CrashMarker:
    """Says which notes are not to be read, and writes down which one is. Raises OSError where it cannot."""

    def __init__(self, file: Path) -> None:
        self._memory = file.with_name(file.name + ".json")
        self._crashes = _remembered(self._memory)
        self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        last = os.pread(self._descriptor, _BYTES, 0).decode("utf-8", "replace").rstrip("\n")
        os.ftruncate(self._descriptor, 0)
        if last:
            self._crashes[last] = self._crashes.get(last, 0) + 1
            log.warning(
                "the daemon before this one ended while it read a note (%d times)", self._crashes[last]
            )
            self._remember()

    def close(self) -> None:
        """Nothing is being read any more."""
        os.close(self._descriptor)

    def is_poison(self, path: str, digest: bytes) -> bool:
        """Whether reading this content has ended the process often enough."""
        return bool(self._crashes) and self._crashes.get(_key(path, digest), 0) >= CRASHES

    @contextlib.contextmanager
    def reading(self, path: str, digest: bytes) -> Iterator[None]:
        """Read the note within this context."""
        key = _key(path, digest)
        os.pwrite(self._descriptor, key.encode("utf-8", "replace") + b"\n", 0)
        try:
            yield
        finally:
            os.ftruncate(self._descriptor, 0)
        if self._crashes.pop(key, None):
            self._remember()

    def _remember(self) -> None:
        write_atomically(self._memory, json.dumps(self._crashes))


_BYTES = 64 * 1024


def _key(path: str, digest: bytes) -> str:
    return f"{digest.hex()} {path}"


def _remembered(file: Path) -> dict[str, int]:
    try:
        known = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    entries = known.items() if isinstance(known, dict) else ()
    return {key: count for key, count in entries if isinstance(count, int)}
