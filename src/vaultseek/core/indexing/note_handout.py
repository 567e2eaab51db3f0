"""Notes that a client parses, on other machines, in place of this machine's reader processes.

The reader processes still check each note: they compare its bytes with those that the client got, validate
its result, and invert the words. They parse a note themselves if it has changed meanwhile or was not
submitted. So the index is the same whatever a client leaves undone.
"""

import contextlib
import itertools
import secrets
import threading
import time
from collections import deque
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace

from vaultseek.base.limits import READER_JOB_BYTES, TAKEN_NOTE_BYTES
from vaultseek.core.indexing.crash_marker import crash_key
from vaultseek.core.indexing.reader_pool import ReaderPool, ReadJob, ReadNotes
from vaultseek.core.indexing.reading import NoteReader, ParsedText, content_digest

JOBS = 8
"""Most jobs that are prepared ahead while a client parses."""

STALLED_SECONDS = 60.0
"""Time without a submitted note after which reader processes read all, until the client submits one."""


@dataclass(frozen=True, slots=True)
class HandedNote:
    """A note for the client, to be submitted under ``key``."""

    key: str
    path: str
    data: bytes


@dataclass(eq=False, slots=True)
class _Job:
    """A job whose notes go to the client first: those before ``end``, of which ``next`` is the next."""

    job: ReadJob
    pool: ReaderPool
    end: int
    future: Future[ReadNotes] = field(default_factory=Future)
    next: int = 0
    out: int = 0
    size: int = 0
    texts: dict[int, ParsedText] = field(default_factory=dict)


class NoteHandout:
    """The notes of one vault that are out; used by several threads."""

    def __init__(self, reader: NoteReader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._taking = threading.Lock()
        self._clients = 0
        self._last_submitted = 0.0
        self._is_stalled = False
        self._jobs: deque[_Job] = deque()
        self._out: dict[str, tuple[_Job, int, bytes]] = {}
        self._prefix = secrets.token_hex(4)
        self._serial = itertools.count()

    @property
    def has_client(self) -> bool:
        """True while a client waits for notes."""
        return self._clients > 0

    @property
    def is_open(self) -> bool:
        """True while notes go to a client, which has not stalled."""
        return self._clients > 0 and not self._is_stalled

    @contextlib.contextmanager
    def opened(self) -> Iterator[None]:
        """Hand notes out to a client until the context is left; reader processes then read the rest."""
        with self._lock:
            self._clients += 1
            self._is_stalled = False
        try:
            yield
        finally:
            with self._lock:
                self._clients -= 1
                if not self._clients:
                    self._reclaim()

    def reclaim_if_stalled(self) -> None:
        """Let reader processes read the notes that are out if the client has submitted nothing for long."""
        with self._lock:
            if self._jobs and time.monotonic() - self._last_submitted > STALLED_SECONDS:
                self._is_stalled = True
                self._reclaim()

    def read(self, job: ReadJob, pool: ReaderPool) -> Future[ReadNotes]:
        """Let the client parse notes, then the pool index them."""
        with self._lock:
            if not self.is_open:
                return pool.read(job)
            if not self._jobs:
                self._last_submitted = time.monotonic()
            handed = _Job(job, pool, len(job.notes))
            self._jobs.append(handed)
            return handed.future

    def forget(self, pool: ReaderPool) -> None:
        """Forget the jobs for this pool, which ends."""
        with self._lock:
            self._jobs = deque(job for job in self._jobs if job.pool is not pool)
            self._out = {key: out for key, out in self._out.items() if out[0].pool is not pool}

    def take(self, limit: int) -> list[HandedNote]:
        """Return notes that are not out yet, with their bytes, oldest job first; none if all are out."""
        taken: list[HandedNote] = []
        size = 0
        with self._taking:
            while len(taken) < limit and size < TAKEN_NOTE_BYTES and (place := self._next()) is not None:
                note = self._hand_out(*place)
                if note is not None:
                    taken.append(note)
                    size += len(note.data)
        return taken

    def submit(self, texts: Mapping[str, str], refused: Collection[str]) -> int:
        """Accept parsed notes, and the keys of refused ones; return how many were out."""
        with self._lock:
            self._last_submitted = time.monotonic()
            self._is_stalled = False
            kept = 0
            for key in (*texts, *refused):
                job, index, digest = self._out.pop(key, (None, 0, b""))
                if job is None:
                    continue
                if key in texts:
                    job.texts[index] = ParsedText(digest, texts[key])
                    kept += 1
                self._done(job)
            return kept

    def _reclaim(self) -> None:
        self._out.clear()
        while self._jobs:
            self._start(self._jobs[0])

    def _next(self) -> tuple[_Job, int] | None:
        with self._lock:
            for job in self._jobs:
                if job.next < job.end:
                    job.next += 1
                    job.out += 1
                    return job, job.next - 1
        return None

    def _hand_out(self, job: _Job, index: int) -> HandedNote | None:
        _, path, stored = job.job.notes[index]
        try:
            content = self._reader.content(path)
        except OSError:
            content = None  # a reader process says what is wrong
        digest = b"" if content is None else content_digest(content)
        is_new = content is not None and (stored != digest or content.problem is not None)
        with self._lock:
            if job not in self._jobs:
                return None
            if content is not None and is_new:
                job.size += len(content.data)
            if job.size > READER_JOB_BYTES:
                job.end = job.next  # a reader process would go no further, either
            blocked = crash_key(path, digest) in job.job.blocked
            if content is None or blocked or not is_new or not self._reader.takes_elsewhere(path, content):
                self._done(job)
                return None
            key = f"{self._prefix}-{next(self._serial)}"
            self._out[key] = job, index, digest
        return HandedNote(key, path, content.data)

    def _done(self, job: _Job) -> None:
        job.out -= 1
        if not job.out and job.next >= job.end:
            self._start(job)

    def _start(self, job: _Job) -> None:
        self._jobs.remove(job)
        notes = job.job.notes[: job.end]
        inner = job.pool.read(replace(job.job, notes=notes, elsewhere=job.texts))
        inner.add_done_callback(lambda done: _pass_on(done, job.future))


def _pass_on(done: Future[ReadNotes], future: Future[ReadNotes]) -> None:
    if done.cancelled():
        future.cancel()
    elif (error := done.exception()) is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())
