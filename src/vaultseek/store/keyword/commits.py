"""Commits, segments and the write lock of the keyword index, kept by Whoosh.

Whoosh keeps the list of segments and their deletions, publishes a commit by renaming its table of contents,
locks the index, and removes the files that no commit needs. This module adds:

* a *storage* that creates files with mode 0600, flushes them to disk before the table of contents refers to
  them, and appends a checksum to the table of contents, which is a pickle and is read only if the checksum
  matches;
* a *revision* inside the table of contents, so that content and revision are published by one rename.

Postings are stored in segments, which have their own format (``segment``): flat arrays, ready for arithmetic.
"""

from __future__ import annotations

import errno
import os
import uuid
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from whoosh.codec import base
from whoosh.fields import Schema
from whoosh.filedb.filestore import FileStorage
from whoosh.filedb.structfile import StructFile
from whoosh.index import TOC, clean_files

from vaultseek.base.paths import shortage
from vaultseek.errors import Busy, IndexDamaged, VaultseekError
from vaultseek.store.keyword.segment import Bools, Segment

_NAME = "MAIN"
_EXTENSION = ".post"
_TRAILER = b"vsk1"
_TRAILER_BYTES = len(_TRAILER) + 4
_UNFINISHED = ".unfinished"
_FILE_MODE = 0o600


@dataclass(frozen=True, slots=True)
class Commit:
    """A published state of the index: its revision, the analyzer's version, and all segments with their
    deleted notes."""

    generation: int
    revision: str | None
    analyzer_version: str
    segments: tuple[SegmentEntry, ...]


class SegmentEntry(base.Segment):  # type: ignore[misc]
    """An entry of Whoosh's table of contents: a segment file with the numbers of its deleted notes."""

    def __init__(self, size: int, deleted: Iterable[int] = ()) -> None:
        super().__init__(_NAME)
        self.segid = uuid.uuid4().hex[:16]  # Whoosh's ids come from ``random``, and repeat if it is seeded
        self._size = size
        self.deleted = set(deleted)

    def doc_count_all(self) -> int:
        return self._size

    def deleted_count(self) -> int:
        return len(self.deleted)

    def alive(self) -> Bools:
        """Return a mask of the notes that are not deleted, bool[D]."""
        alive = np.ones(self._size, np.bool_)
        alive[list(self.deleted)] = False
        return alive

    @property
    def file_name(self) -> str:
        """The name of the segment's file."""
        return str(self.make_filename(_EXTENSION))


class Commits:
    """Published states of an index directory; only one process may write at a time."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._storage = _Storage(str(directory), supports_mmap=False)

    def create(self, analyzer_version: str) -> None:
        """Publish an empty index in an empty directory."""
        contents = _Contents([])
        contents.analyzer_version = analyzer_version
        TOC(Schema(), contents, 0).write(self._storage, _NAME)

    def latest(self) -> Commit:
        """Return the last published commit. Raises ``IndexDamaged`` if it cannot be read."""
        with translate_read_errors():
            generation = TOC._latest_generation(self._storage, _NAME)
            if generation < 0:
                raise IndexDamaged("keyword index: no table of contents; the index will be rebuilt")
            self._storage.check(TOC._filename(_NAME, generation))
            toc = TOC.read(self._storage, _NAME, gen=generation)
            contents: _Contents = toc.segments
            return Commit(generation, contents.revision, contents.analyzer_version, tuple(contents))

    def open(self, entry: SegmentEntry, *, verify: bool) -> Segment:
        """Open a published segment. Raises ``IndexDamaged`` if its content has changed."""
        with translate_read_errors():
            segment = Segment(self.directory / entry.file_name, verify=verify)
            if len(segment) != entry.doc_count_all():
                raise IndexDamaged(
                    f"keyword index: {entry.file_name} has the wrong size; the index will be rebuilt"
                )
            return segment

    def prepare(self, write: Callable[[IO[bytes]], int]) -> PreparedSegment:
        """Write a segment that is not part of a commit yet; ``write`` fills the file and returns the number
        of notes.

        Needs no lock and may be slow. After an error, no file remains.
        """
        path = self.directory / f"{uuid.uuid4().hex}{_UNFINISHED}"
        with _translate_write_errors():
            try:
                with self._storage.create_file(path.name) as file:
                    size = write(file.file)
                    self._storage.sync(file.file)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        return PreparedSegment(path, size)

    @contextmanager
    def writing(self, prepared: PreparedSegment | None) -> Iterator[Commit]:
        """Lock the index and yield its last commit. At the end, delete a prepared segment that was not
        published.

        Raises ``Busy`` if another process is writing.
        """
        try:
            with self._locked(), _translate_write_errors():
                yield self.latest()
        finally:
            if prepared is not None:
                prepared.path.unlink(missing_ok=True)

    def publish(
        self,
        last: Commit,
        revision: str | None,
        entries: Iterable[SegmentEntry],
        prepared: PreparedSegment | None = None,
        deleted: Collection[int] = (),
    ) -> None:
        """Publish the segments in ``entries``, and the prepared segment without its ``deleted`` notes. Call
        this only within ``writing``."""
        contents = _Contents(entries)
        contents.revision, contents.analyzer_version = revision, last.analyzer_version
        if prepared is not None and prepared.size:
            entry = SegmentEntry(prepared.size, deleted)
            self._storage.rename_file(prepared.path.name, entry.file_name)
            contents.append(entry)
        generation = last.generation + 1
        TOC(Schema(), contents, generation).write(self._storage, _NAME)
        clean_files(self._storage, _NAME, generation, contents)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with _translate_write_errors():
            lock = self._storage.lock(f"{_NAME}_WRITELOCK")
            if not lock.acquire():
                raise Busy("keyword index: another process is writing to it; stop that process")
        try:
            yield
        finally:
            lock.release()

    def sweep(self) -> None:
        """Remove files left by a process that was killed while writing."""
        for path in self.directory.iterdir():
            if path.name.endswith(_UNFINISHED) or ".toc." in path.name:
                path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class PreparedSegment:
    """A segment file that is written but not published; ``size`` is its note count."""

    path: Path
    size: int


class _Contents(list[SegmentEntry]):
    """Whoosh's pickled list of segments, with the values that are published together with it."""

    revision: str | None = None
    analyzer_version: str = ""


class _Storage(FileStorage):  # type: ignore[misc]
    """Storage that creates files with mode 0600; a table of contents is either complete or missing."""

    def create_file(self, name: str, excl: bool = False, mode: str = "wb", **kwargs: Any) -> Any:
        Path(self._fpath(name)).touch(_FILE_MODE)
        return super().create_file(name, excl=False, mode=mode, **kwargs)

    def open_file(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Open a file. A table of contents is copied to memory first, because Whoosh does not close an
        unreadable one."""
        if name.endswith(".toc"):
            return StructFile(BytesIO(Path(self._fpath(name)).read_bytes()), name=name)
        return super().open_file(name, *args, **kwargs)

    def lock(self, name: str) -> Any:
        Path(self._fpath(name)).touch(_FILE_MODE)
        return super().lock(name)

    def rename_file(self, oldname: str, newname: str, safe: bool = False) -> None:
        if newname.endswith(".toc"):
            self._seal(Path(self._fpath(oldname)))
        super().rename_file(oldname, newname, safe=safe)
        self._sync_directory()

    def sync(self, file: Any) -> None:
        file.flush()
        os.fsync(file.fileno())

    def check(self, name: str) -> None:
        data = Path(self._fpath(name)).read_bytes()
        body, trailer = data[:-_TRAILER_BYTES], data[-_TRAILER_BYTES:]
        if trailer != _TRAILER + zlib.crc32(body).to_bytes(4, "little"):
            raise IndexDamaged("keyword index: the table of contents has changed; the index will be rebuilt")

    def _seal(self, path: Path) -> None:
        with path.open("r+b") as file:
            checksum = zlib.crc32(file.read())
            file.write(_TRAILER + checksum.to_bytes(4, "little"))
            self.sync(file)

    def _sync_directory(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def translate_read_errors() -> Iterator[None]:
    """Convert exceptions raised in the ``with`` block to ``IndexDamaged``, except for a full disk or a lack
    of memory.

    Damage can surface as any exception; Whoosh raises five kinds.
    """
    try:
        yield
    except (VaultseekError, MemoryError):
        raise
    except Exception as error:
        if shortage(error) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            raise
        raise IndexDamaged(
            f"keyword index: {type(error).__name__} while reading; the index will be rebuilt"
        ) from error


@contextmanager
def _translate_write_errors() -> Iterator[None]:
    """Raise ``IndexDamaged`` as ``translate_read_errors`` does, but pass on all system errors except a
    missing file."""
    try:
        with translate_read_errors():
            yield
    except IndexDamaged as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError | NotADirectoryError):
            raise cause from None
        raise
