"""The watcher of a vault's folder: hints about changes, and requests for rescans."""

import asyncio
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from vaultseek.base.paths import is_folder
from vaultseek.content.files.settle import Hints
from vaultseek.content.files.watch import Watcher

LIVENESS_SECONDS = 2.0
"""Seconds between checks of the watcher and the vault's folder."""
POLL_SECONDS = 5.0
"""Minimum seconds between rescans if changes cannot be watched, or while the vault is missing."""
POLL_SHARE = 20
"""Ratio of the time between repeated rescans to the duration of a rescan; limits the CPU time for rescans."""


class FolderWatch:
    """A watcher of one folder, with the hints that it collects.

    ``is_missing`` returns True while the vault is considered missing; ``rescan_seconds`` is the rescan
    interval, in seconds, if changes can be watched.
    """

    def __init__(self, root: Path, is_missing: Callable[[], bool], rescan_seconds: float) -> None:
        self._root = root
        self._is_missing = is_missing
        self._usual_seconds = rescan_seconds
        hints = Hints(asyncio.get_running_loop(), lambda path: os.path.lexists(root / path))
        self.next_batch, self.request_rescan = hints.next_batch, hints.request_rescan
        self._watcher = Watcher(root, hints.add, hints.request_rescan)
        self._watching = threading.Lock()
        self._is_stopped = False
        self._missing_since: float | None = None
        self._poll_reason: str | None = None
        self._scan_seconds = 0.0
        self._last_scan = time.monotonic()
        self._closed_folders: frozenset[str] = frozenset()

    async def start(self) -> None:
        """Start or restart watching."""
        await self._watch_again()
        self._poll_reason = self._watcher.poll_reason

    async def stop(self) -> None:
        """Stop watching permanently, even if a start is in progress; return when the threads have ended."""
        self._is_stopped = True
        await asyncio.to_thread(self._restart)

    def record_scan(self, began: float) -> None:
        """Record the duration of a rescan that started at the monotonic time ``began`` and has just ended."""
        self._last_scan = time.monotonic()
        self._scan_seconds = self._last_scan - began

    def add_unreadable(self, folders: Iterable[str]) -> None:
        """Add folders that could not be listed. Watching is restarted once they become readable."""
        self._closed_folders |= {folder for folder in folders if not self._may_enter(folder)}

    @property
    def poll_reason(self) -> str | None:
        """The reason why changes may go unnoticed and the folder is rescanned often; None if the whole folder
        is watched."""
        return self._watcher.poll_reason

    @property
    def missing_seconds(self) -> float:
        """Number of seconds for which ``check`` has found the folder missing."""
        return 0.0 if self._missing_since is None else time.monotonic() - self._missing_since

    async def check(self) -> None:
        """Request a rescan when changes may have been lost, and after each rescan interval. Never returns."""
        last_scan = time.monotonic()
        while True:
            previous = time.monotonic()
            await asyncio.sleep(LIVENESS_SECONDS)
            now = time.monotonic()
            if now - previous > 3 * LIVENESS_SECONDS:
                self.request_rescan("the machine was asleep")
            await self._check_folder(now)
            if now - last_scan > self._rescan_seconds():
                last_scan = now
                self.request_rescan("the rescan interval has passed")

    async def _check_folder(self, now: float) -> None:
        is_there = is_folder(self._root)
        was_missing = self._missing_since is not None
        self._missing_since = None if is_there else self._missing_since or now
        if not is_there:
            if not self._is_missing():
                self.request_rescan("the vault's folder is missing")
        elif not self._watcher.alive():
            await self._watch_again()
            self.request_rescan("the watcher was restarted")
        elif self._watcher.may_have_lost_folders and self._may_scan_again(now):
            await self._watch_again()
            self.request_rescan("a folder was moved")
        elif any(map(self._may_enter, self._closed_folders)):
            self._closed_folders = frozenset()
            await self._watch_again()
            self.request_rescan("a folder can be read again")
        elif self._watcher.may_see_more():
            await self._watch_again()
        elif was_missing:
            self.request_rescan("the vault's folder is back")
        self._watcher.look()
        if self._watcher.poll_reason != self._poll_reason:
            self._poll_reason = self._watcher.poll_reason
            self.request_rescan("the watched folders changed")

    async def _watch_again(self) -> None:
        await asyncio.to_thread(self._restart)

    def _restart(self) -> None:
        # If the waiting task is cancelled, its thread continues, so a lock is needed.
        with self._watching:
            self._watcher.stop()
            if not self._is_stopped:
                self._watcher.start()

    def _may_enter(self, folder: str) -> bool:
        return os.access(self._root / folder, os.R_OK | os.X_OK)

    def _may_scan_again(self, now: float) -> bool:
        return now - self._last_scan >= POLL_SHARE * self._scan_seconds

    def _rescan_seconds(self) -> float:
        if self._is_missing() or self._watcher.poll_reason is not None:
            return max(POLL_SECONDS, POLL_SHARE * self._scan_seconds)
        return self._usual_seconds
