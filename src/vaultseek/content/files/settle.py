"""Collect hints about changed paths until a burst of changes ends; paths that keep changing wait longer."""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from vaultseek.base.limits import HINTS

SETTLE_SECONDS = 0.05
"""Seconds without a new hint after which a burst ends."""
SETTLE_MAX_SECONDS = 2.0
"""Maximum seconds for which the hints in a burst are collected into one batch."""
FREE_CHANGES = 2
"""Number of successive changes to a path that are passed on without a pause: a save, and another save right
after it."""
FIRST_PAUSE_SECONDS = 2.0
PAUSE_GROWTH = 1.5
"""Factor by which each pause exceeds the previous one while a path keeps changing."""
LONGEST_PAUSE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class HintBatch:
    """Paths that may have changed in one burst, or a ``rescan_reason`` for comparing the whole vault."""

    paths: frozenset[str]
    rescan_reason: str | None


class Hints:
    """Thread-safe queue of hints: any thread may add hints, and one task on ``loop`` awaits ``next_batch``.

    ``exists`` is a function that returns whether a path currently exists.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, exists: Callable[[str], bool]) -> None:
        self._loop = loop
        self._exists = exists
        self._lock = threading.Lock()
        self._paths: set[str] = set()
        self._rescan_reason: str | None = None
        self._last_hint = 0.0
        self._arrived = asyncio.Event()
        self._pace = Pace()
        self._held: dict[str, float] = {}
        """Paths that changed again too soon, each mapped to the time at which it may be passed on."""

    def add(self, path: str) -> None:
        """Add a hint that the file or folder at ``path`` may have changed."""
        with self._lock:
            if len(self._paths) < HINTS:
                self._paths.add(path)
            else:
                self._rescan_reason = self._rescan_reason or "too many changes at once"
            is_first = self._touch()
        if is_first:
            self._wake()

    def request_rescan(self, reason: str) -> None:
        """Request a comparison of the whole vault, because hints may have been lost."""
        with self._lock:
            self._rescan_reason = reason
            self._touch()
        self._wake()

    async def next_batch(self) -> HintBatch:
        """Wait for a hint, then for the end of its burst (at most ``SETTLE_MAX_SECONDS``), and return all
        hints.

        ``Pace`` determines how often a file that keeps changing is passed on.
        """
        while True:
            await self._something_due()
            await self._end_of_burst()
            batch = self._drain()
            if batch.paths or batch.rescan_reason is not None:
                return batch

    async def _something_due(self) -> None:
        due = min(self._held.values(), default=None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(due):
                await self._arrived.wait()

    async def _end_of_burst(self) -> None:
        began = self._loop.time()
        while True:
            await asyncio.sleep(SETTLE_SECONDS)
            now = self._loop.time()
            if now - self._last_hint >= SETTLE_SECONDS or now - began >= SETTLE_MAX_SECONDS:
                return

    def _drain(self) -> HintBatch:
        with self._lock:
            changed, reason = self._paths, self._rescan_reason
            self._paths = set()
            self._rescan_reason = None
            self._arrived.clear()
        if reason is not None:  # the whole vault will be compared, including these paths
            self._held.clear()
            return HintBatch(frozenset(), reason)
        return HintBatch(frozenset(self._due(changed)), None)

    def _due(self, changed: set[str]) -> Iterator[str]:
        now = self._loop.time()
        for path in changed | self._held.keys():
            due = self._pace.due(path, now)
            # A missing file may have moved; a move is recognized only if both paths are in one batch.
            if due > now and self._exists(path):
                self._held[path] = due
            else:
                self._held.pop(path, None)
                self._pace.take(path, now)
                yield path

    def _touch(self) -> bool:
        """Record the time of a hint; return True if the consumer must be woken."""
        is_first = self._last_hint == 0.0 or not self._arrived.is_set()
        self._last_hint = self._loop.time()
        return is_first

    def _wake(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            return  # the loop is closing, so no task is waiting for hints


@dataclass(slots=True)
class _Changes:
    """Consecutive changes to a path: their number, the time when the last one was passed on, and the pause
    after it.
    """

    count: int
    taken: float
    pause: float

    def is_over(self, now: float) -> bool:
        """True if the path has not changed for so long that its next change counts as the first."""
        return now - self.taken > 2 * max(self.pause, FIRST_PAUSE_SECONDS)


class Pace:
    """Times at which changes to each path may be passed on again, in seconds on any monotonic clock."""

    def __init__(self) -> None:
        self._changes: dict[str, _Changes] = {}

    def due(self, path: str, now: float) -> float:
        """Return the earliest time, ``now`` or later, at which a change to ``path`` may be passed on."""
        changes = self._changes.get(path)
        return now if changes is None or changes.is_over(now) else max(now, changes.taken + changes.pause)

    def take(self, path: str, now: float) -> None:
        """Record that a change to ``path`` is passed on at the time ``now``."""
        changes = self._changes.pop(path, None)
        if changes is None or changes.is_over(now):
            changes = _Changes(0, now, 0.0)
        changes.count += 1
        changes.taken = now
        if changes.count >= FREE_CHANGES:
            changes.pause = min(max(FIRST_PAUSE_SECONDS, changes.pause * PAUSE_GROWTH), LONGEST_PAUSE_SECONDS)
        self._changes[path] = changes
        self._forget(now)

    def _forget(self, now: float) -> None:
        """Remove paths that no longer change. They come first, because paths are stored in the order in which
        they were passed on."""
        while self._changes:
            path = next(iter(self._changes))
            if now - self._changes[path].taken <= 2 * LONGEST_PAUSE_SECONDS:
                break
            del self._changes[path]
