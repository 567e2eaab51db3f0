"""Shutdown of the daemon within a time limit, and the report of the previous daemon's crash.

Committed data survives a kill at any time. A task that does not end in time is therefore killed, and
continues at the next start.
"""

import faulthandler
import logging
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

STOP_SECONDS = 1.5
"""Seconds allowed at shutdown for answering clients, finishing a commit and closing files."""
CRASH_CHARS = 4_000
"""Maximum number of characters of a crash report that are logged."""

log = logging.getLogger(__name__)


class Shutdown:
    """A timer that calls ``cut_off``, which kills the process, ``STOP_SECONDS`` after the start of the
    shutdown."""

    def __init__(self, cut_off: Callable[[], None]) -> None:
        self._cut_off = cut_off
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def start_timer(self) -> None:
        """Start the timer, from any thread; further calls have no effect."""
        with self._lock:
            if self._timer is None:
                self._timer = threading.Timer(STOP_SECONDS, self._cut_off)
                self._timer.daemon = True
                self._timer.start()

    def handle_signals(self, stop: Callable[[], None]) -> None:
        """Install handlers that start the timer and call ``stop`` on SIGTERM and SIGINT. Must be called in
        the main thread.

        The signals are read in a separate thread, which calls ``stop``, because the event loop may be busy.
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
                self.start_timer()
                stop()


_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def report_crashes(file: Path) -> None:
    """Log the crash report that the previous daemon left in ``file``, if any. A crash of this daemon will be
    written to ``file``.

    A crash happens, for example, when a file is truncated while it is mapped. Nothing is lost, and the next
    command starts a new daemon.
    """
    try:
        text = file.read_text("utf-8", "replace")[:CRASH_CHARS].strip() if file.exists() else ""
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        log.warning("a crash could not be reported: %s", error)
        return
    faulthandler.enable(descriptor)  # the descriptor stays open for the life of the process
    if text:
        log.error("the previous daemon crashed; nothing is lost; please report this:\n%s", text)
