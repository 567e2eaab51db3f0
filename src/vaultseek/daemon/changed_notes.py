"""The notes of a vault that have changed, counted for whoever judges it anew when they are many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class ChangedNotes:
    """The number of changes of notes since a vault was opened, and since it was judged last."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = asyncio.Event()
        self._judged_at: int | None = None

    def add(self, count: int) -> None:
        """Count the changes of a scan or a save, which may be none."""
        self._count += count
        self._changed.set()

    async def wait_for_share(self, notes: Callable[[], int], *, pause: float, share: float) -> None:
        """Return ``pause`` seconds after the first scan, then after ``share`` of the notes have changed."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            await asyncio.sleep(pause)
            new = self._count - (self._judged_at or 0)
            if self._judged_at is None or new > share * notes():
                self._judged_at = self._count
                return
