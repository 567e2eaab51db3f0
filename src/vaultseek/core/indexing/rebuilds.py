"""Pauses between rebuilds of a vector store, so that one which is damaged again at once makes no loop."""

from __future__ import annotations

import time

from vaultseek.base.limits import WORKER_BACKOFF_SECONDS
from vaultseek.errors import WorkerUnavailable

SOON_SECONDS = 60.0
"""Time after a rebuild within which the next one has to wait."""


class StoreRebuilds:
    """The rebuilds of one store: the first at once, another soon after it after the pauses of a worker."""

    def __init__(self) -> None:
        self.damage: str | None = None
        """The damage for which the store has to be rebuilt; None if it has not."""
        self._due = 0.0
        self._last: float | None = None
        self._repeated = 0

    def request(self, damage: str) -> None:
        """Note damage for which the store has to be rebuilt."""
        if self.damage is not None:
            return
        now = time.monotonic()
        soon = self._last is not None and now - self._last < SOON_SECONDS
        self._repeated = self._repeated + 1 if soon else 0
        pause = WORKER_BACKOFF_SECONDS[min(self._repeated, len(WORKER_BACKOFF_SECONDS) - 1)] if soon else 0.0
        self.damage, self._due = damage, now + pause

    def is_due(self) -> bool:
        """True if a rebuild was requested and its pause is over."""
        return self.damage is not None and time.monotonic() >= self._due

    def begin(self) -> None:
        """Note that a new store takes the place of the damaged one."""
        self.damage, self._last = None, time.monotonic()

    def check(self) -> None:
        """Raise `WorkerUnavailable` while a rebuild that was requested has to wait."""
        if self.damage is not None and not self.is_due():
            text = f"the vector index was rebuilt and is damaged again; it is rebuilt later: {self.damage}"
            raise WorkerUnavailable(text, "failing")
