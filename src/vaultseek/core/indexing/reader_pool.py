"""Pool of reader processes for one vault, used when many notes must be read.

Readers read, parse, chunk and invert notes at low priority, so that the daemon's interpreter stays free for
searches. A note that crashes its reader, or takes too long, affects only that process.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vaultseek.base.child_process import ChildEnded, ChildProcess, is_from_outside, processor_count
from vaultseek.base.limits import READER_NOTE_SECONDS
from vaultseek.base.model import JSON
from vaultseek.content.files.scan import FileStat
from vaultseek.core.indexing.reader_process import NO_NOTE, read_index
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.merge import PreparedSegment
from vaultseek.store.ledger import NoteRows, UnchangedNote

if TYPE_CHECKING:
    from vaultseek.core.indexing.engine import Engine

PROCESSES = 4
"""Maximum number of reader processes per vault."""
NOTE_SECONDS = READER_NOTE_SECONDS
COMMAND = (sys.executable, "-P", "-m", "vaultseek.core.indexing.reader_process")
MERGED_HERE_NOTES = 4096
"""Minimum number of notes that a merge of segments must read to run in a separate process."""
_END_SECONDS = 1.0
"""Maximum seconds that a reader may take to exit after it has closed its pipe."""
_MERGER = {"root": "", "counter": "", "window": 0, "max_bytes": 0, "files": None}


class ReaderError(Exception):
    """Raised when a reader process ended unexpectedly.

    ``index`` is the position, within the job, of the note being read, or -1 if no note was being read.
    ``outside`` is true if another program ended the process.
    """

    def __init__(self, index: int, *, outside: bool = False) -> None:
        super().__init__("a note-reading process ended unexpectedly")
        self.index = index
        self.outside = outside


@dataclass(frozen=True, slots=True)
class ReadJob:
    """Notes to read, given as (id, path, stored hash or None), and the keyword index for which to write a
    segment.
    """

    notes: Sequence[tuple[int, str, bytes | None]]
    blocked: Sequence[str]
    directory: Path | None
    rules: LanguageRules

    def as_json(self) -> JSON:
        """Return the job as it is sent to the reader."""
        return {
            "notes": [
                (number, path, digest.hex() if digest else None) for number, path, digest in self.notes
            ],
            "blocked": list(self.blocked),
            "directory": None if self.directory is None else str(self.directory),
            "rules": astuple(self.rules),
        }


@dataclass(frozen=True, slots=True)
class ReadNotes:
    """Result of a read job: the new, changed and unchanged notes among the first ``done`` notes of the job.

    ``segment`` contains the notes in ``indexed``, or is None if it could not be written. ``seconds`` is the
    processor time.
    """

    indexed: Sequence[tuple[int, NoteRows]]
    unchanged: Sequence[UnchangedNote]
    done: int
    segment: PreparedSegment | None = None
    seconds: float = 0.0


class ReaderPool:
    """A few reader processes, started on demand and ended by ``close``."""

    def __init__(self, hello: Mapping[str, Any], processes: int | None = None) -> None:
        """Create a pool of readers from ``hello``, the result of ``NoteReader.describe``."""
        self.processes = processes or min(PROCESSES, processor_count())
        self._hello = hello
        self._threads = ThreadPoolExecutor(self.processes, thread_name_prefix="reader")
        self._local = threading.local()
        self._readers: set[ReaderProcess] = set()
        self._lock = threading.Lock()
        self._closed = False

    def start(self) -> None:
        """Start the processes before the first job, because each needs a second to import its modules."""
        for _ in range(self.processes):
            self._threads.submit(self._in_reader, lambda reader: None)

    def read(self, job: ReadJob) -> Future[ReadNotes]:
        """Read notes in one of the processes. The returned future raises ReaderError or OSError."""
        return self._threads.submit(self._in_reader, lambda reader: reader.read(job))

    def merge(self, step: Callable[[ReaderProcess], bool]) -> Future[bool]:
        """Call ``step`` with a reader process that can merge segments."""
        return self._threads.submit(self._in_reader, step)

    def close(self) -> None:
        """End all reader processes, even those in the middle of a job."""
        with self._lock:
            self._closed = True
            for reader in self._readers:
                reader.kill()
        self._threads.shutdown(cancel_futures=True)
        for reader in self._readers:
            reader.end()

    def _in_reader(self, work: Callable[[ReaderProcess], Any]) -> Any:
        reader: ReaderProcess | None = getattr(self._local, "reader", None)
        if reader is None:
            reader = self._local.reader = self._start()
        try:
            return work(reader)
        except BaseException:
            self._local.reader = None
            with self._lock:
                self._readers.discard(reader)
            reader.end()
            raise

    def _start(self) -> ReaderProcess:
        with self._lock:
            if self._closed:
                raise ReaderError(-1)
            reader = ReaderProcess(self._hello)
            self._readers.add(reader)
            return reader


class ReaderProcess:
    """One reader process, for use by one thread."""

    def __init__(self, hello: Mapping[str, Any]) -> None:
        self._progress = tempfile.TemporaryFile()  # noqa: SIM115
        number = self._progress.fileno()
        os.pwrite(number, NO_NOTE, 0)
        self._process = ChildProcess(COMMAND, stderr=subprocess.DEVNULL, pass_fds=[number])
        with contextlib.suppress(ChildEnded):
            self._process.send({**hello, "progress": number, "seconds": NOTE_SECONDS})

    def read(self, job: ReadJob) -> ReadNotes:
        """Read the notes of a job. Raises ReaderError."""
        indexed: list[tuple[int, NoteRows]] = []
        unchanged: list[UnchangedNote] = []
        self._ask(job.as_json())
        while True:
            frame = self._receive()
            for entry in filter(None, frame["notes"]):
                if len(entry) == 2:
                    values = entry[1]
                    values[3] = bytes.fromhex(values[3])
                    indexed.append((entry[0], NoteRows(*values)))
                else:
                    path, stat, racy, modified = entry
                    unchanged.append(UnchangedNote(path, FileStat(*stat), racy, modified))
            if "done" in frame:
                segment = _segment(job.directory, frame["segment"]) if job.directory is not None else None
                return ReadNotes(indexed, unchanged, frame["done"], segment, frame["seconds"])

    def merge_files(self, directory: Path, files: Sequence[tuple[str, Collection[int]]]) -> PreparedSegment:
        """Merge segment files of the index in ``directory``. Raises ReaderError."""
        self._ask({"files": files, "directory": str(directory)})
        segment = _segment(directory, self._receive()["segment"])
        if segment is None:
            raise ReaderError(-1)
        return segment

    def kill(self) -> None:
        """Kill the process. The thread that uses it then gets a ReaderError."""
        self._process.kill()

    def end(self) -> None:
        """End the process and close its files."""
        self._process.kill()
        self._process.end()
        self._progress.close()

    def _ask(self, job: JSON) -> None:
        try:
            self._process.send(job)
        except ChildEnded:
            raise self._died() from None

    def _receive(self) -> JSON:
        try:
            return self._process.receive()[0]
        except ChildEnded:
            raise self._died() from None

    def _died(self) -> ReaderError:
        status = self._process.end(_END_SECONDS)
        return ReaderError(read_index(self._progress.fileno()), outside=is_from_outside(status))


def merge_step(engine: Engine, *, purge: bool = False) -> bool:
    """Merge keyword segments once, large ones in a separate process; return False if no merge is due.

    Raises the same errors as ``KeywordIndex.merge_step``.
    """
    if engine.notes_to_merge(purge=purge) < MERGED_HERE_NOTES:
        return engine.merge_step(purge=purge)
    try:
        with contextlib.closing(ReaderPool(_MERGER, 1)) as pool:
            merge = pool.merge(lambda reader: engine.merge_step(reader.merge_files, purge=purge))
            return bool(merge.result())
    except ReaderError:
        return engine.merge_step(purge=purge)


def _segment(directory: Path, named: Sequence[Any] | None) -> PreparedSegment | None:
    return PreparedSegment(directory / Path(named[0]).name, named[1]) if named else None
