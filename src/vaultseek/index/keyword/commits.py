"""Segments, commits and locks of the keyword index: the one module that opens a Whoosh index.

Whoosh keeps the list of segments, their deletions and the write lock, publishes a commit by renaming its
table of contents, and removes the files that no commit needs. Three things are added through its own doors:

* a *codec*, which stores a segment as flat arrays (``postings``) and not as pickles of 128 postings each;
* a *storage*, which makes files 0600, flushes them to the disk before the table of contents can name them,
  and puts a checksum behind the table of contents, which is a pickle and is not read unless that fits;
* a *stamp* inside the table of contents, so that content and stamp are published by one rename.
"""

from __future__ import annotations

import errno
import os
import uuid
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from whoosh.codec import base
from whoosh.fields import Schema
from whoosh.filedb.filestore import FileStorage
from whoosh.index import TOC, FileIndex
from whoosh.writing import SegmentWriter

from vaultseek.errors import Busy, IndexDamaged, VaultseekError
from vaultseek.index.keyword.postings import Bools, Segment, Sink

_NAME = "MAIN"
_EXTENSION = ".post"
_TRAILER = b"vsk1"
_TRAILER_BYTES = len(_TRAILER) + 4
_UNFINISHED = ".unfinished"
_FILE_MODE = 0o600
_NOT_DAMAGE = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EDQUOT}


@dataclass(frozen=True, slots=True)
class Commit:
    """What was published: the stamp given with it and every segment with its deleted notes."""

    generation: int
    stamp: str | None
    recipe: str
    segments: tuple[SegmentEntry, ...]


class SegmentEntry(base.Segment):  # type: ignore[misc]
    """A line of Whoosh's table of contents: a file and which of its notes are deleted."""

    def __init__(self, indexname: str) -> None:
        super().__init__(indexname)
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
        """bool[D], false where a note is deleted."""
        alive = np.ones(self._size, np.bool_)
        alive[list(self.deleted)] = False
        return alive

    @property
    def file_name(self) -> str:
        return str(self.make_filename(_EXTENSION))


class ArrayCodec(base.Codec):  # type: ignore[misc]
    """Whoosh's plug for a segment format. The writer below hands over whole segments, not single postings."""

    length_stats = False

    def per_document_writer(self, storage: Any, segment: SegmentEntry) -> _Idle:
        return _Idle()

    def field_writer(self, storage: Any, segment: SegmentEntry) -> _Idle:
        return _Idle()

    def new_segment(self, storage: Any, indexname: str) -> SegmentEntry:
        return SegmentEntry(indexname)


class Commits:
    """The published states of an index in a directory. One writer at a time, from one process."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._storage = _Storage(str(directory), supports_mmap=False)

    def create(self, recipe: str) -> None:
        """Publish an empty index in an empty directory."""
        contents = _Contents([])
        contents.recipe = recipe
        TOC(Schema(), contents, 0).write(self._storage, _NAME)

    def latest(self) -> Commit:
        """What was published last; ``IndexDamaged`` if it cannot be read."""
        with damage_noticed():
            generation = TOC._latest_generation(self._storage, _NAME)
            if generation < 0:
                raise IndexDamaged("keyword index: no table of contents; it will be filled again")
            self._storage.check(TOC._filename(_NAME, generation))
            toc = TOC.read(self._storage, _NAME, gen=generation)
            contents: _Contents = toc.segments
            return Commit(generation, contents.stamp, contents.recipe, tuple(contents))

    def open(self, entry: SegmentEntry, *, verify: bool) -> Segment:
        """Open a published segment; ``IndexDamaged`` if it is not what was written."""
        with damage_noticed():
            segment = Segment(self.directory / entry.file_name, verify=verify)
            if len(segment) != entry.doc_count_all():
                raise IndexDamaged(
                    f"keyword index: {entry.file_name} has another size; it will be filled again"
                )
            return segment

    def prepare(self, write: Callable[[Sink], int]) -> Prepared:
        """Write a segment that no commit knows yet; ``write`` fills the file and returns its number of notes.

        It needs no lock and may take its time. On an error nothing is left behind.
        """
        path = self.directory / f"{uuid.uuid4().hex}{_UNFINISHED}"
        with _writing():
            try:
                with self._storage.create_file(path.name) as file:
                    size = write(file.file)
                    self._storage.sync(file.file)
            except BaseException:
                path.unlink(missing_ok=True)
                raise
        return Prepared(path, size)

    @contextmanager
    def writing(self, prepared: Prepared | None) -> Iterator[Change]:
        """A change that is published by its ``publish``; without that ``prepared`` is gone and nothing else.

        The lock is released whatever happens: Whoosh keeps it when a disk is full.
        """
        try:
            with self._locked(), _writing():
                self.latest()
                change = Change(FileIndex(self._storage, indexname=_NAME))
                try:
                    yield change
                finally:
                    change.abandon()
        finally:
            if prepared is not None:
                prepared.path.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with _writing():
            lock = self._storage.lock(f"{_NAME}_WRITELOCK")
            if not lock.acquire():
                raise Busy("keyword index: another process is writing to it; end that process")
        try:
            yield
        finally:
            lock.release()

    def sweep(self) -> None:
        """Remove what a process left behind that was killed while it wrote."""
        for path in self.directory.iterdir():
            if path.name.endswith(_UNFINISHED) or ".toc." in path.name:
                path.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A segment that is written but not published."""

    path: Path
    size: int


class Change:
    """What the next commit will hold, built on what was published last."""

    def __init__(self, index: FileIndex) -> None:
        self._writer = _Writer(index)

    @property
    def entries(self) -> list[SegmentEntry]:
        """The segments published last; their deletions may be added to."""
        return list(self._writer.segments)

    @property
    def stamp(self) -> str | None:
        """The stamp published last."""
        stamp: str | None = self._writer.segments.stamp
        return stamp

    def publish(
        self,
        stamp: str | None,
        kept: Iterable[SegmentEntry],
        prepared: Prepared | None = None,
        deleted: Collection[int] = (),
    ) -> None:
        """Commit the segments kept and the prepared one, some notes of which may be deleted already."""
        kept = list(kept)
        self._writer.stamp = stamp
        self._writer.prepared = prepared
        self._writer.newsegment.deleted.update(deleted)
        self._writer._added = prepared is not None and prepared.size > 0
        self._writer.commit(mergetype=lambda _writer, _segments: kept)

    def abandon(self) -> None:
        """Give up what was not published."""
        if not self._writer.is_closed:
            with suppress(Exception):
                self._writer.cancel()


class _Writer(SegmentWriter):  # type: ignore[misc]
    """Whoosh's writer, but the new segment comes in one piece and the table of contents carries a stamp."""

    stamp: str | None = None
    prepared: Prepared | None = None

    def __init__(self, index: FileIndex) -> None:
        super().__init__(index, _lk=False, codec=ArrayCodec())
        self._recipe = self.segments.recipe

    def _flush_segment(self) -> None:
        assert self.prepared is not None
        self.storage.rename_file(self.prepared.path.name, self.newsegment.file_name)
        self.docnum = self.prepared.size

    def _commit_toc(self, segments: list[SegmentEntry]) -> None:
        contents = _Contents(segments)
        contents.stamp, contents.recipe = self.stamp, self._recipe
        super()._commit_toc(contents)


class _Contents(list[SegmentEntry]):
    """The list of segments as Whoosh pickles it, with what is published together with it."""

    stamp: str | None = None
    recipe: str = ""


class _Storage(FileStorage):  # type: ignore[misc]
    """Files that only their owner can read, and a table of contents that is whole or not there."""

    def create_file(self, name: str, excl: bool = False, mode: str = "wb", **kwargs: Any) -> Any:
        Path(self._fpath(name)).touch(_FILE_MODE)
        return super().create_file(name, excl=False, mode=mode, **kwargs)

    def lock(self, name: str) -> Any:
        Path(self._fpath(name)).touch(_FILE_MODE)
        return super().lock(name)

    def temp_storage(self, name: str | None = None) -> Any:
        """Whoosh's writer asks for a folder for postings that it sorts; it gets none and needs none."""
        return _Storage(str(Path(self.folder) / f"{name}"))

    def rename_file(self, oldname: str, newname: str, safe: bool = False) -> None:
        """Publish a finished file: the one way in which the names that count come into being."""
        if newname.endswith(".toc"):
            self._seal(Path(self._fpath(oldname)))
        super().rename_file(oldname, newname, safe=safe)
        self._sync_directory()

    def sync(self, file: Any) -> None:
        file.flush()
        os.fsync(file.fileno())

    def check(self, name: str) -> None:
        """Raise ``IndexDamaged`` unless the table of contents is as it was written."""
        data = Path(self._fpath(name)).read_bytes()
        body, trailer = data[:-_TRAILER_BYTES], data[-_TRAILER_BYTES:]
        if trailer != _TRAILER + zlib.crc32(body).to_bytes(4, "little"):
            raise IndexDamaged("keyword index: the table of contents has changed; it will be filled again")

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


class _Idle:
    """Stands where Whoosh expects a writer of single postings or documents."""

    is_closed = False

    def close(self) -> None:
        self.is_closed = True


@contextmanager
def damage_noticed() -> Iterator[None]:
    """Damage shows itself as any exception at all, from Whoosh as five kinds; a full disk is no damage."""
    try:
        yield
    except (VaultseekError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _NOT_DAMAGE:
            raise
        raise IndexDamaged(
            f"keyword index: {type(error).__name__} while reading; it will be filled again"
        ) from error


@contextmanager
def _writing() -> Iterator[None]:
    """As when reading, but what the system refuses is its own error: only a missing file is damage."""
    try:
        with damage_noticed():
            yield
    except IndexDamaged as error:
        cause = error.__cause__
        if isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError | NotADirectoryError):
            raise cause from None
        raise
