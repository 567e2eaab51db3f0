"""Segments, commits and locks of the keyword index: the one module that opens a Whoosh index.

Whoosh keeps the list of segments, their deletions and the write lock, publishes a commit by renaming its
table of contents, and removes the files that no commit needs. Its extension points add three things:

* a *codec* that stores a segment as flat arrays (``segment``) and not as pickles of 128 postings each;
* a *storage* that creates files with mode 0600, flushes them to the disk before the table of contents can
  name them, and appends a checksum to the table of contents, a pickle that is read only if it fits;
* a *revision* inside the table of contents, so that content and revision are published by one rename.
"""

from __future__ import annotations

import errno
import os
import uuid
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from whoosh.codec import base
from whoosh.fields import Schema
from whoosh.filedb.filestore import FileStorage
from whoosh.filedb.structfile import StructFile
from whoosh.index import TOC, FileIndex
from whoosh.writing import SegmentWriter

from vaultseek.errors import Busy, IndexDamaged, VaultseekError
from vaultseek.store.keyword.segment import Bools, Segment, Sink

_NAME = "MAIN"
_EXTENSION = ".post"
_TRAILER = b"vsk1"
_TRAILER_BYTES = len(_TRAILER) + 4
_UNFINISHED = ".unfinished"
_FILE_MODE = 0o600
_NOT_DAMAGE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class Commit:
    """A published state: its revision, the analyzer's version, and every segment with its deleted notes."""

    generation: int
    revision: str | None
    analyzer_version: str
    segments: tuple[SegmentEntry, ...]


class SegmentEntry(base.Segment):  # type: ignore[misc]
    """An entry of Whoosh's table of contents: a segment file and the numbers of its deleted notes."""

    def __init__(self, indexname: str) -> None:
        super().__init__(indexname)
        self.segid = uuid.uuid4().hex[:16]  # Whoosh's is of ``random``, and repeats where that is seeded
        self._size = 0
        self.deleted: set[int] = set()

    def codec(self) -> ArrayCodec:
        return ArrayCodec()

    def should_assemble(self) -> bool:
        return False

    def doc_count_all(self) -> int:
        return self._size

    def set_doc_count(self, doccount: int) -> None:
        self._size = doccount

    def deleted_count(self) -> int:
        return len(self.deleted)

    def deleted_docs(self) -> Iterator[int]:
        return iter(self.deleted)

    def delete_document(self, docnum: int, delete: bool = True) -> None:
        if delete:
            self.deleted.add(docnum)
        else:
            self.deleted.discard(docnum)

    def is_deleted(self, docnum: int) -> bool:
        return docnum in self.deleted

    def alive(self) -> Bools:
        """Return bool[D], false where a note is deleted."""
        alive = np.ones(self._size, np.bool_)
        alive[list(self.deleted)] = False
        return alive

    @property
    def file_name(self) -> str:
        """The name of the segment's file."""
        return str(self.make_filename(_EXTENSION))


class ArrayCodec(base.Codec):  # type: ignore[misc]
    """Whoosh's interface for a segment format. The writer below hands over whole segments, not postings."""

    length_stats = False

    def per_document_writer(self, storage: Any, segment: SegmentEntry) -> _IdleWriter:
        return _IdleWriter()

    def field_writer(self, storage: Any, segment: SegmentEntry) -> _IdleWriter:
        return _IdleWriter()

    def new_segment(self, storage: Any, indexname: str) -> SegmentEntry:
        return SegmentEntry(indexname)


class Commits:
    """The published states of an index in a directory. There is one writer at a time, of any process."""

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
                raise IndexDamaged("keyword index: no table of contents; it will be rebuilt")
            self._storage.check(TOC._filename(_NAME, generation))
            toc = TOC.read(self._storage, _NAME, gen=generation)
            contents: _Contents = toc.segments
            return Commit(generation, contents.revision, contents.analyzer_version, tuple(contents))

    def open(self, entry: SegmentEntry, *, verify: bool) -> Segment:
        """Open a published segment. Raises ``IndexDamaged`` if it is not as it was written."""
        with translate_read_errors():
            segment = Segment(self.directory / entry.file_name, verify=verify)
            if len(segment) != entry.doc_count_all():
                raise IndexDamaged(f"keyword index: {entry.file_name} has another size; it will be rebuilt")
            return segment

    def prepare(self, write: Callable[[Sink], int]) -> PreparedSegment:
        """Write a segment that no commit has yet; ``write`` fills the file and returns its number of notes.

        It needs no lock and may be slow. On an error nothing is left behind.
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
    def writing(self, prepared: PreparedSegment | None) -> Iterator[PendingCommit]:
        """Yield a pending commit, and drop it and the prepared segment unless its ``publish`` was called.

        Raises ``Busy`` if another process is writing. The lock is always released: Whoosh keeps it when the
        disk is full.
        """
        try:
            with self._locked(), _translate_write_errors():
                self.latest()
                commit = PendingCommit(FileIndex(self._storage, indexname=_NAME))
                try:
                    yield commit
                finally:
                    commit.abandon()
        finally:
            if prepared is not None:
                prepared.path.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with _translate_write_errors():
            lock = self._storage.lock(f"{_NAME}_WRITELOCK")
            if not lock.acquire():
                raise Busy("keyword index: another process is writing to it; end that process")
        try:
            yield
        finally:
            lock.release()

    def sweep(self) -> None:
        """Remove the files of a process that was killed while it wrote."""
        for path in self.directory.iterdir():
            if path.name.endswith(_UNFINISHED) or ".toc." in path.name:
                path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class PreparedSegment:
    """A segment file that is written but not published; ``size`` is its number of notes."""

    path: Path
    size: int


class PendingCommit:
    """The next commit, based on the last published one."""

    def __init__(self, index: FileIndex) -> None:
        self._writer = _Writer(index)

    @property
    def entries(self) -> list[SegmentEntry]:
        """The segments of the last commit, to which deletions may be added."""
        return list(self._writer.segments)

    @property
    def revision(self) -> str | None:
        """The revision of the last commit."""
        revision: str | None = self._writer.segments.revision
        return revision

    def publish(
        self,
        revision: str | None,
        entries: Iterable[SegmentEntry],
        prepared: PreparedSegment | None = None,
        deleted: Collection[int] = (),
    ) -> None:
        """Publish these segments and the prepared one, of which the notes ``deleted`` are deleted already."""
        entries = list(entries)
        self._writer.revision = revision
        self._writer.prepared = prepared
        self._writer.newsegment.deleted.update(deleted)
        self._writer._added = prepared is not None and prepared.size > 0
        self._writer.commit(mergetype=lambda _writer, _segments: entries)

    def abandon(self) -> None:
        """Drop the commit if it was not published."""
        if not self._writer.is_closed:
            with suppress(Exception):
                self._writer.cancel()


class _Writer(SegmentWriter):  # type: ignore[misc]
    """Whoosh's writer with a new segment that is written already, and a revision beside the segments."""

    revision: str | None = None
    prepared: PreparedSegment | None = None

    def __init__(self, index: FileIndex) -> None:
        super().__init__(index, _lk=False, codec=ArrayCodec())
        self._analyzer_version = self.segments.analyzer_version

    def _flush_segment(self) -> None:
        assert self.prepared is not None
        self.storage.rename_file(self.prepared.path.name, self.newsegment.file_name)
        self.docnum = self.prepared.size

    def _commit_toc(self, segments: list[SegmentEntry]) -> None:
        contents = _Contents(segments)
        contents.revision, contents.analyzer_version = self.revision, self._analyzer_version
        super()._commit_toc(contents)


class _Contents(list[SegmentEntry]):
    """The list of segments as Whoosh pickles it, with the values that are published together with it."""

    revision: str | None = None
    analyzer_version: str = ""


class _UnusedStorage(FileStorage):  # type: ignore[misc]
    """A folder that is never made."""

    def destroy(self) -> None:
        """Do nothing.

        Whoosh's own way keeps the error for the missing folder in a circle with the frames of the commit, and
        with them the files of old segments open until the next garbage collection.
        """


class _Storage(FileStorage):  # type: ignore[misc]
    """Files that only their owner can read, and a table of contents that is either complete or missing."""

    def create_file(self, name: str, excl: bool = False, mode: str = "wb", **kwargs: Any) -> Any:
        Path(self._fpath(name)).touch(_FILE_MODE)
        return super().create_file(name, excl=False, mode=mode, **kwargs)

    def open_file(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Open a file; a table of contents is copied, because Whoosh leaves it open if it cannot read it."""
        if name.endswith(".toc"):
            return StructFile(BytesIO(Path(self._fpath(name)).read_bytes()), name=name)
        return super().open_file(name, *args, **kwargs)

    def lock(self, name: str) -> Any:
        Path(self._fpath(name)).touch(_FILE_MODE)
        return super().lock(name)

    def temp_storage(self, name: str | None = None) -> Any:
        """Return the storage that Whoosh's writer wants for postings that it sorts. It has none to sort."""
        return _UnusedStorage(str(Path(self.folder) / f"{name}"))

    def rename_file(self, oldname: str, newname: str, safe: bool = False) -> None:
        """Publish a finished file under its final name, durably."""
        if newname.endswith(".toc"):
            self._seal(Path(self._fpath(oldname)))
        super().rename_file(oldname, newname, safe=safe)
        self._sync_directory()

    def sync(self, file: Any) -> None:
        """Flush a file to the disk."""
        file.flush()
        os.fsync(file.fileno())

    def check(self, name: str) -> None:
        """Raise ``IndexDamaged`` unless the table of contents fits its checksum."""
        data = Path(self._fpath(name)).read_bytes()
        body, trailer = data[:-_TRAILER_BYTES], data[-_TRAILER_BYTES:]
        if trailer != _TRAILER + zlib.crc32(body).to_bytes(4, "little"):
            raise IndexDamaged("keyword index: the table of contents has changed; it will be rebuilt")

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


class _IdleWriter:
    """A writer of single postings or documents, as Whoosh expects one, that is never used."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True


@contextmanager
def translate_read_errors() -> Iterator[None]:
    """Raise ``IndexDamaged`` for the body's exceptions, except for a full disk or a lack of memory.

    Damage can show as any exception; Whoosh raises five kinds.
    """
    try:
        yield
    except (VaultseekError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NOT_DAMAGE:
            raise
        raise IndexDamaged(
            f"keyword index: {type(error).__name__} while reading; it will be rebuilt"
        ) from error


@contextmanager
def _translate_write_errors() -> Iterator[None]:
    """Do the same for writing, where an error of the operating system passes unless a file is missing."""
    try:
        with translate_read_errors():
            yield
    except IndexDamaged as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError | NotADirectoryError):
            raise cause from None
        raise
