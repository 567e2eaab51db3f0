"""The queue of files to be read after the notes, in parts that are short enough to wait for."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import replace
from typing import Any

from vaultseek.base.limits import EXTRACTION_RETRY_SECONDS
from vaultseek.content.files.diff import Changes
from vaultseek.content.kinds import LINKING_TURN, is_markdown, turn
from vaultseek.daemon.scans import Extent

PART_SECONDS = 1.0
"""Time that reading a part should take, because a note that is saved meanwhile waits for it."""
MOST_FILES = 256


class FileQueue:
    """The files of a vault other than notes that are still to be read, pictures last.

    One whose reader was killed is retried once after all others, by itself.
    """

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}
        self._later: dict[str, float] = {}
        self._size = 1
        self._done = self._part = 0

    def __bool__(self) -> bool:
        return bool(self._paths or self._later)

    def extent(self) -> Extent:
        """Return the files of which none waits; one that is retried later counts only for all."""
        if not self:
            return Extent.ALL
        first = next(iter(self._paths), None)
        return Extent.LINKING if first is None or turn(first) > LINKING_TURN else Extent.NOTES

    def progress(self, done: int = 0, total: int = 0) -> tuple[int, int]:
        """Return (files read, all files), given ``done`` of ``total`` in the part that is being read."""
        return self._done + done, self._done + total + len(self._paths) + len(self._later)

    def defer(self, changes: Changes) -> Changes:
        """Return the changes without the files to read, which are queued; removed files leave the queue."""
        for path in (*changes.removed, *changes.attachments_added, *(old for old, _ in changes.moved)):
            self._paths.pop(path, None)
            self._later.pop(path, None)
        files = [path for path in changes.read if not is_markdown(path)]
        if not files:
            return changes
        new = [path for path in files if path not in self._paths and path not in self._later]
        waiting = [*new, *self._paths] if len(new) <= MOST_FILES else [*self._paths, *new]
        self._paths = dict.fromkeys(sorted(waiting, key=turn))
        return replace(changes, read=tuple(path for path in changes.read if is_markdown(path)))

    def next(self) -> tuple[str, ...]:
        """Take the files that are read next, after ``pause``."""
        part = tuple(self._paths)[: self._size] or tuple(self._later)[:1]
        for path in part:
            self._paths.pop(path, None)
            self._later.pop(path, None)
        self._part = len(part)
        return part

    def pause(self) -> float:
        """Return the seconds until the next files may be read."""
        if self._paths or not self._later:
            return 0.0
        return max(0.0, next(iter(self._later.values())) - time.monotonic())

    def retry_later(self, paths: Iterable[str]) -> None:
        """Defer files whose reader was killed."""
        due = time.monotonic() + EXTRACTION_RETRY_SECONDS
        self._later |= dict.fromkeys(paths, due)

    def requeue(self, part: Sequence[str]) -> None:
        """Return files of ``next`` to the front, because something else comes first."""
        self._paths = dict.fromkeys((*part, *self._paths))

    def record_duration(self, seconds: float) -> None:
        """Choose the size of the next part by the duration of the last one."""
        self._size = max(1, min(MOST_FILES, int(self._size * min(4.0, PART_SECONDS / max(seconds, 0.01)))))
        self._done = self._done + self._part if self else 0

    def clear(self) -> None:
        """Forget all files; a comparison of the vault finds them again."""
        self._paths.clear()
        self._later.clear()
        self._done = 0


class FilePreparation:
    """Extracts the texts of files, a part at a time, while the writer does other work.

    ``prepare`` reads the files at some paths, and returns those to try once more; it runs in a thread, for
    minutes if there is OCR.
    """

    def __init__(self, prepare: Callable[[tuple[str, ...]], Set[str]]) -> None:
        self._prepare = prepare
        self._current: tuple[tuple[str, ...], asyncio.Task[Set[str]]] | None = None

    async def failed(self, part: tuple[str, ...], other: asyncio.Task[Any]) -> Set[str] | None:
        """Return once the texts of ``part`` can be indexed, with the paths to retry.

        None if ``other`` ends before.
        """
        while True:
            if self._current is None:
                work = asyncio.to_thread(self._prepare, part)
                self._current = part, asyncio.get_running_loop().create_task(work)
                self._current[1].add_done_callback(lambda done: done.cancelled() or done.exception())
            prepared, task = self._current
            await asyncio.wait((task, other), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                return None
            self._current = None
            if prepared == part:
                # An error comes again where the file is indexed, and is reported there.
                return task.result() if task.exception() is None else frozenset()
