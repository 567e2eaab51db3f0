"""The end of the daemon, by a signal or a client's request: in time, wherever its threads are.

What is committed survives a kill at any moment, so whatever does not end by itself is cut off, and the next
start goes on from there.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

STOP_SECONDS = 1.5
"""Time to end by itself: to answer clients, to finish a commit, to close files."""


class Ending:
    """Calls ``cut_off``, which ends the process, if it lives ``STOP_SECONDS`` longer than it was asked to."""

    def __init__(self, cut_off: Callable[[], None]) -> None:
        self._cut_off = cut_off
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def begin(self) -> None:
        """Begin to count the time, from any thread; another call changes nothing."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(STOP_SECONDS, self._cut_off)
                self._timer.daemon = True
                self._timer.start()

    def follow_signals(self, stop: Callable[[], None]) -> None:
        """Begin, and call ``stop`` in another thread, at SIGTERM and SIGINT. Call it in the main thread.

        The signals are read by a thread of their own: the event loop may be busy.
        """
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in _SIGNALS:
            signal.signal(number, lambda number, frame: None)
        threading.Thread(target=self._read, args=(reading, stop), name="signals", daemon=True).start()

    def _read(self, reading: int, stop: Callable[[], None]) -> None:
        while data := os.read(reading, 16):
            if any(number in data for number in _SIGNALS):
                self.begin()
                stop()


_SIGNALS = (signal.SIGTERM, signal.SIGINT)
