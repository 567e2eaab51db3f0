"""The thread of a vault that writes to an engine, apart from the one that writes to the ledger.

An engine elsewhere may take minutes, or accept what it is given and never answer. Nothing else waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable


class EngineThread:
    """A thread that does its work each time it is woken, once more if it is woken meanwhile.

    It does not keep the process from ending. ``work`` raises nothing.
    """

    def __init__(self, name: str, work: Callable[[], None]) -> None:
        self._work = work
        self._changed = threading.Condition()
        self._is_wanted = False
        self._is_working = False
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name=f"engine-{name}", daemon=True)
        self._thread.start()

    @property
    def is_idle(self) -> bool:
        """True if all that it was woken for is done."""
        with self._changed:
            return not (self._is_wanted or self._is_working)

    def wake(self) -> None:
        """Have the work done, after what is done now."""
        with self._changed:
            self._is_wanted = True
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """End after the work in progress, and wait for that so long at most."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join(seconds)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._is_working = False
                self._changed.wait_for(lambda: self._is_wanted or self._is_closed)
                if self._is_closed:
                    return
                self._is_wanted, self._is_working = False, True
            self._work()
