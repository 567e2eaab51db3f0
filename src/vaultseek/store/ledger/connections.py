"""One SQLite connection for each thread, all closed at once, but none in the middle of a statement."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable

from vaultseek.base.limits import LEDGER_CLOSE_SECONDS


class Connections:
    """The connections of all threads to one file; ``open`` opens one."""

    def __init__(self, open: Callable[[], sqlite3.Connection]) -> None:
        self._open = open
        self._local = threading.local()
        self._all: list[tuple[sqlite3.Connection, threading.RLock]] = []
        self._lock = threading.Lock()
        self._closed = False

    def own(self) -> tuple[sqlite3.Connection, threading.RLock]:
        """Return the calling thread's connection, opened on first use, and the lock to hold while it works.

        Raises sqlite3.ProgrammingError once they are closed.
        """
        own: tuple[sqlite3.Connection, threading.RLock] | None = getattr(self._local, "own", None)
        if own is None:
            own = self._open(), threading.RLock()
            with self._lock:
                if self._closed:
                    own[0].close()
                    raise sqlite3.ProgrammingError("the ledger is closed")
                self._all.append(own)
            self._local.own = own
        return own

    def close(self) -> None:
        """Interrupt what they do, and close them.

        A connection that is closed under a statement ends the process. One that is not interrupted in time
        stays open.
        """
        with self._lock:
            self._closed = True
            closing, self._all = self._all, []
        for connection, lock in closing:
            if lock.acquire(blocking=False) or _interrupt(connection, lock):
                try:
                    connection.close()
                finally:
                    lock.release()


def _interrupt(connection: sqlite3.Connection, lock: threading.RLock) -> bool:
    """Interrupt a statement and take the lock; false if it does not end in time."""
    connection.interrupt()
    if not lock.acquire(timeout=LEDGER_CLOSE_SECONDS):
        return False
    with contextlib.suppress(sqlite3.Error):
        connection.execute("SELECT 1")  # or the mark would keep SQLite from emptying its log
    return True
