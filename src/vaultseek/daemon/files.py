"""The queue of files other than notes. They are read after the notes, in small parts, because a saved note
has to wait for the end of a part."""

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
"""Target duration in seconds for reading one part; notes saved during this time have to wait."""
MOST_FILES = 256


class FileQueue:
    """A queue of a vault's files other than notes, with pictures last.

    A file whose reader process was killed is retried once, alone, after all other files.
    """

    def __init__(self) -> None:
        self._paths: dict[str, None] = {}
        self._later: dict[str, float] = {}
        self._size = 1
        self._done = self._part = 0

    def __bool__(self) -> bool:
        return bool(self._paths or self._later)

    def extent(self) -> Extent:
        """Return the largest scan extent whose files have all been read. Files that are waiting for a later
        retry matter only for the full extent."""
        if not self:
            return Extent.ALL
        first = next(iter(self._paths), None)
        return Extent.LINKING if first is None or turn(first) > LINKING_TURN else Extent.NOTES

    def progress(self, done: int = 0, total: int = 0) -> tuple[int, int]:
        """Return the number of files that have been read, and the number of all files.

        ``done`` is the number of files read so far in the current part, ``total`` the number of files in that
        part.
        """
        return self._done + done, self._done + total + len(self._paths) + len(self._later)

    def defer(self, changes: Changes) -> Changes:
        """Move all files other than notes from ``changes.read`` to the queue; return the remaining changes.
        Also remove deleted files from the queue."""
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
        """Remove the next files from the queue and return them. Call it after waiting ``pause`` seconds."""
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
        """Queue files for a later retry, because their reader process was killed."""
        due = time.monotonic() + EXTRACTION_RETRY_SECONDS
        self._later |= dict.fromkeys(paths, due)

    def requeue(self, part: Sequence[str]) -> None:
        """Put files taken by ``next`` back at the front of the queue, because other work comes first."""
        self._paths = dict.fromkeys((*part, *self._paths))

    def record_duration(self, seconds: float) -> None:
        """Choose the size of the next part, given how many seconds the last part took."""
        self._size = max(1, min(MOST_FILES, int(self._size * min(4.0, PART_SECONDS / max(seconds, 0.01)))))
        self._done = self._done + self._part if self else 0

    def clear(self) -> None:
        """Empty the queue; the next comparison of the vault finds the files again."""
        self._paths.clear()
        self._later.clear()
        self._done = 0


class FilePreparation:
    """Extraction of text from files, one part at a time, while the writer does other work.

    ``prepare`` reads the files at the given paths and returns the paths to retry once. It runs in a thread,
    and takes minutes if OCR is needed.
    """

    def __init__(self, prepare: Callable[[tuple[str, ...]], Set[str]]) -> None:
        self._prepare = prepare
        self._current: tuple[tuple[str, ...], asyncio.Task[Set[str]]] | None = None

    async def failed(self, part: tuple[str, ...], other: asyncio.Task[Any]) -> Set[str] | None:
        """Wait until the text of the files in ``part`` is extracted; return the paths to retry.

        Returns None if ``other`` completes first.
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
                # The same error occurs again when the file is indexed, and is reported there.
                return task.result() if task.exception() is None else frozenset()
