"""Read many notes in batches in reader processes, and publish the index segments that the readers write."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from vaultseek.base.child_process import CRASH_KILLS
from vaultseek.base.precedence import give_way
from vaultseek.content.files.read import read_note
from vaultseek.core.indexing.crash_marker import CrashMarker
from vaultseek.core.indexing.reader_pool import ReaderError, ReaderPool, ReadJob, ReadNotes
from vaultseek.core.indexing.reading import NoteReader, content_digest, read_or_report
from vaultseek.store.ledger import IndexedNote, Ledger, NoteRows, UnchangedNote, note_rows

if TYPE_CHECKING:
    from vaultseek.core.indexing.engine import Engine

FIRST_NOTES = 64
"""Number of notes in each of the first batches. The number is small, so that the first notes are soon
searchable."""
MOST_NOTES = 1024
"""Maximum number of notes in a batch."""
BATCH_SECONDS = 1.0
"""Target processor time for reading a batch, in seconds."""
ATTEMPTS = 8
"""Maximum number of reader processes that may crash on a batch; after that, the calling process reads the
batch."""
LAST_NOTES = 16
"""Minimum number of notes in a batch. Batches become smaller towards the end, but not smaller than this."""
_LOOK_SECONDS = 0.1

log = logging.getLogger(__name__)
_Note = tuple[int, str, bytes | None]
"""Id, path and stored hash of a note to be read."""


@dataclass(slots=True)
class _Waiting:
    job: ReadJob
    result: Future[ReadNotes]
    attempts: int = 1


class BatchReader:
    """Batch reader for the notes of one vault. A context manager: entering it starts its reader processes,
    leaving it ends them."""

    def __init__(
        self,
        hello: Mapping[str, Any],
        reader: NoteReader,
        ledger: Ledger,
        engine: Engine,
        crash_marker: CrashMarker,
    ) -> None:
        self._pool = ReaderPool(hello)
        self._reader = reader
        self._ledger = ledger
        self._engine = engine
        self._crash_marker = crash_marker
        self._merging: Future[bool] | None = None
        self._size = FIRST_NOTES

    def __enter__(self) -> BatchReader:
        self._pool.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.close()

    def read(self, paths: Sequence[str], stopped: threading.Event) -> Iterator[ReadNotes]:
        """Yield the notes in batches. Commit each batch before requesting the next.

        Batches arrive in the order in which they finish, so that no process waits for a process with longer
        notes.
        """
        rest = deque(self._numbered(paths))
        jobs: list[_Waiting] = []
        while not stopped.is_set():
            while len(jobs) <= self._pool.processes and rest:
                job = self._job(rest)
                jobs.append(_Waiting(job, self._pool.read(job)))
            if not jobs:
                return
            wait([each.result for each in jobs], _LOOK_SECONDS, FIRST_COMPLETED)
            waiting = next((each for each in jobs if each.result.done()), None)
            if waiting is None:
                continue
            jobs.remove(waiting)
            try:
                result = waiting.result.result()
            except (OSError, ReaderError) as error:
                if self._try_again(waiting, error):
                    jobs.append(waiting)
                else:
                    yield self._read_here(waiting.job)
                continue
            # The time that this batch took determines the size of the next batches.
            give_way()  # because committing a batch blocks the interpreter, which searches need
            share = BATCH_SECONDS / max(result.seconds, 0.01)
            self._size = max(1, min(MOST_NOTES, int(result.done * min(4.0, share))))
            yield result
            rest.extendleft(reversed(waiting.job.notes[result.done :]))

    def publish(self, batch: ReadNotes) -> None:
        """Make a committed batch searchable by word, and start a merge of index segments if one is due."""
        notes = [number for number, _ in batch.indexed]
        segment = batch.segment
        if segment is None or not self._engine.add(self._ledger, segment, notes):
            self._engine.sync(self._ledger)
        if self._merging is None or self._merging.done():
            is_due, merge = self._engine.notes_to_merge() > 0, self._engine.merge_step
            self._merging = self._pool.merge(lambda reader: merge(reader.merge_files)) if is_due else None

    def _numbered(self, paths: Sequence[str]) -> Iterator[_Note]:
        numbers = self._ledger.notes.numbers(paths)
        hashes = self._ledger.notes.hashes(paths)
        for path in paths:
            yield numbers[path], path, hashes.get(path)

    def _job(self, rest: deque[_Note]) -> ReadJob:
        """Return a job with the first notes of ``rest``. The last jobs are smaller, so that all processes
        finish at about the same time.
        """
        size = min(self._size, max(LAST_NOTES, len(rest) // (2 * self._pool.processes)))
        notes = [rest.popleft() for _ in range(min(size, len(rest)))]
        return ReadJob(notes, self._crash_marker.blocked(), self._engine.directory, self._engine.index.rules)

    def _try_again(self, waiting: _Waiting, error: OSError | ReaderError) -> bool:
        """Resubmit a job without the note that crashed its reader. Returns False if the calling process must
        read the job itself.
        """
        if isinstance(error, OSError):
            log.warning("cannot start a process to read notes: %s", error.strerror)
            return False
        if error.index < 0 or waiting.attempts >= ATTEMPTS:
            return False
        job = waiting.job
        path = job.notes[error.index][1]
        if (content := read_note(self._reader.root, path)) is not None:
            kills = 1 if error.outside else CRASH_KILLS
            self._crash_marker.count_crash(path, content_digest(content), kills)
        waiting.job = ReadJob(job.notes, self._crash_marker.blocked(), job.directory, job.rules)
        waiting.attempts += 1
        waiting.result = self._pool.read(waiting.job)
        return True

    def _read_here(self, job: ReadJob) -> ReadNotes:
        indexed: list[tuple[int, NoteRows]] = []
        unchanged: list[UnchangedNote] = []
        for number, path, stored in job.notes:
            note = read_or_report(self._reader, path, stored, self._crash_marker)
            if isinstance(note, IndexedNote):
                indexed.append((number, note_rows(note)))
            elif note is not None:
                unchanged.append(note)
        return ReadNotes(indexed, unchanged, len(job.notes))
