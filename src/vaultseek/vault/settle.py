"""Collecting hints until a burst of them is over."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass

from vaultseek.limits import HINTS

SETTLE_SECONDS = 0.05
SETTLE_MAX_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class HintBatch:
    """The hints of one burst. ``rescan_reason`` is the reason to compare the whole vault, or None."""

    paths: frozenset[str]
    rescan_reason: str | None


class Hints:
    """Thread-safe: ``add`` and ``request_rescan`` from any thread, ``next_batch`` awaited by one consumer."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._rescan_reason: str | None = None
        self._last = 0.0
        self._arrived = asyncio.Event()

    def add(self, path: str) -> None:
        """A path that may have changed."""
        with self._lock:
            if len(self._paths) < HINTS:
                self._paths.add(path)
            else:
                self._rescan_reason = self._rescan_reason or "too many changes at once"
            first = self._touch()
        if first:
            self._wake()

    def request_rescan(self, reason: str) -> None:
        """Changes may have been lost: everything has to be compared."""
        with self._lock:
            self._rescan_reason = reason
            self._touch()
        self._wake()

    def pending(self) -> bool:
        """Whether a hint has come that nobody has taken yet."""
        with self._lock:
            return bool(self._paths) or self._rescan_reason is not None

    async def next_batch(self) -> HintBatch:
        """Wait for a hint, then until hints stop coming or the burst has lasted too long; take them all."""
        await self._arrived.wait()
        began = time.monotonic()
        while True:
            await asyncio.sleep(SETTLE_SECONDS)
            now = time.monotonic()
            if now - self._last >= SETTLE_SECONDS or now - began >= SETTLE_MAX_SECONDS:
                return self.drain()

    def drain(self) -> HintBatch:
        """Take what is there now, without waiting."""
        with self._lock:
            taken = HintBatch(frozenset(self._paths), self._rescan_reason)
            self._paths.clear()
            self._rescan_reason = None
            self._arrived.clear()
        return taken

    def _touch(self) -> bool:
        first = self._last == 0.0 or not self._arrived.is_set()
        self._last = time.monotonic()
        return first

    def _wake(self) -> None:
        try:
            self.loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            return  # the loop is closing; nobody works hints off any more
