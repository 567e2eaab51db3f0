"""Precedence of searches: in every process, background work calls `give_way` between its steps.

The daemon shares two flags with its child processes through a page of memory: one is set while a search is
running, the other while the machine runs on battery. Only the daemon sets the flags. Steps take milliseconds;
within a step, searches rely only on the low priority of background threads and processes.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import cache

VARIABLE = "VAULTSEEK_PRECEDENCE"
"""Environment variable that passes the descriptor of the file with the flags to child processes."""
WAIT_SECONDS = 0.5
"""Maximum duration of each wait in `give_way`, in seconds."""
FREE_SECONDS = 0.25
"""Number of seconds for which a thread does not wait again after a full wait in `give_way`. Background work
thus gets a third of the time during continuous searches."""
LOOK_SECONDS = 0.002
_SEARCHING, _ON_BATTERY, _SIZE = 0, 1, 2
_lock = threading.Lock()
_step = threading.local()
_searches = 0


@contextlib.contextmanager
def searching() -> Iterator[None]:
    """Make background work wait until the ``with`` block ends. Steps that have begun are finished first."""
    _count_search(1)
    try:
        yield
    finally:
        _count_search(-1)


def set_on_battery(on_battery: bool) -> None:
    """Set whether the machine runs on battery; if so, background work gets half its usual share of time."""
    _flags()[0][_ON_BATTERY] = on_battery


def give_way() -> None:
    """Wait while a search is running. On battery, also wait as long as this thread's last step took."""
    flags, _ = _flags()
    if flags[_ON_BATTERY]:
        time.sleep(min(time.monotonic() - getattr(_step, "began", time.monotonic()), WAIT_SECONDS))
    if flags[_SEARCHING] and time.monotonic() >= getattr(_step, "free_until", 0.0):
        end = time.monotonic() + WAIT_SECONDS
        while flags[_SEARCHING] and time.monotonic() < end:
            time.sleep(LOOK_SECONDS)
        if flags[_SEARCHING]:
            _step.free_until = time.monotonic() + FREE_SECONDS
    if flags[_ON_BATTERY]:
        _step.began = time.monotonic()


def handed_on() -> tuple[tuple[int, ...], dict[str, str]]:
    """Return the file descriptors and the environment variables through which a child process shares the
    flags."""
    file = _flags()[1]
    return () if file is None else (file,), {} if file is None else {VARIABLE: str(file)}


def _count_search(change: int) -> None:
    global _searches
    with _lock:
        _searches += change
        _flags()[0][_SEARCHING] = _searches > 0


@cache
def _flags() -> tuple[mmap.mmap, int | None]:
    """Return the shared flags and the descriptor of their file, which may come from the parent process.

    Without a file, the flags apply only to this process.
    """
    try:
        if number := os.environ.get(VARIABLE):
            return mmap.mmap(int(number), _SIZE), int(number)
        with tempfile.TemporaryFile() as file:
            os.ftruncate(file.fileno(), _SIZE)
            return mmap.mmap(file.fileno(), _SIZE), os.dup(file.fileno())
    except (OSError, ValueError):  # no disk space, or the variable belongs to another program
        return mmap.mmap(-1, _SIZE), None
