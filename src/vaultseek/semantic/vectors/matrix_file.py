"""The vectors of a collection in two files beside the store, so that opening it does not need the store.

``<name>.<n>.rows`` has the vectors in full precision, one after the other, and is mapped into memory.
``<name>.journal`` says for each write which rows it added, with their numbers and notes, what it deleted, and
the state of the store after it, all with checksums. A write appends to the rows, then to the journal; the
next one overwrites what a kill left behind the last whole record. Any other damage is noticed when the files
are opened, and so is a state that is not the store's; they are then made again from the store.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import shutil
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vaultseek.base import paths
from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.matrix import Matrix
from vaultseek.semantic.vectors.port import NoteIds, Numbers, StoreState, VectorBatch

_MAGIC = b"vsmat001"
_HEADER = struct.Struct("<8sII")
"""Magic, number in the name of the rows, checksum."""
_RECORD = struct.Struct("<QIIIIIII")
"""Number of the write, dimension, vectors, deletes, bytes of the version; checksums of rows, lists, this."""
_READ_ROWS = 4096
_RECORDS = 1000
_FLOAT = np.dtype("<f4")


class FileDamaged(Exception):
    """The files are missing, damaged or not of the store's state."""


@dataclass(frozen=True, slots=True)
class _Record:
    """One write: the lists in the journal, and the rows that it added."""

    state: StoreState
    dimension: int
    numbers: Numbers
    notes: NoteIds
    deletes: Numbers
    checksum: int


@dataclass(slots=True)
class _Mapping:
    """The rows as they are mapped: the descriptor of their file, the bytes in use, and when the file was last
    written here, in nanoseconds, None while that happens."""

    file: int
    size: int
    written: int | None

    def __del__(self) -> None:
        os.close(self.file)

    def is_intact(self) -> bool:
        """True if nobody else has shortened the file or written to it."""
        written = self.written
        status = os.fstat(self.file)
        if status.st_size < self.size:
            return False
        return written in (None, status.st_mtime_ns) or self.written != written

    @contextlib.contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """Expect a write to ``path``, which need not be the mapped file any more."""
        if not os.path.samestat(path.stat(), os.fstat(self.file)):
            yield
            return
        self.written = None
        try:
            yield
        finally:
            self.written = os.fstat(self.file).st_mtime_ns


class MatrixFile:
    """The files of the collection ``name`` in ``folder``. One thread writes."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name
        self._journal = folder / f"{name}.journal"
        self._rows = folder
        self._dimension = 0
        self._count = 0
        self._end = _HEADER.size
        self._mapping: _Mapping | None = None
        self.records = 0

    @property
    def has_too_many_records(self) -> bool:
        """True if the journal is so long that rewriting it pays."""
        return self.records > _RECORDS + self._count // 64

    def load(self, expected: StoreState, matrix: Matrix) -> None:
        """Fill ``matrix``. Raises ``FileDamaged`` unless the files are whole and of the expected state.

        They may be one write ahead, because a write goes to them first and it is safe to repeat it.
        """
        try:
            journal = self._journal.read_bytes()
            end = self._begin(journal)
            records = []
            while (record := _record_at(journal, end)) is not None:
                records.append(record[0])
                end = record[1]
            last = records[-1].state if records else StoreState()
            ahead = len(records) > 1 and last.write == expected.write + 1
            if (records[-2].state if ahead else last) != expected:
                raise FileDamaged("the files are not of the state of the store")
            self._read(records, matrix)
        except OSError as error:
            raise FileDamaged(str(error)) from None
        self._end, self.records = end, len(records)

    def append(self, batch: VectorBatch, deletes: Numbers, state: StoreState) -> None:
        """Add a write, durable against a kill. Raises ``WorkerUnavailable`` if the disk is full."""
        dimension = batch.vectors.shape[1] if len(batch) else self._dimension
        rows = np.ascontiguousarray(batch.vectors, dtype=_FLOAT)
        record = _pack(state, dimension, batch, deletes, zlib.crc32(rows.data))
        try:
            with self._mapping.writing(self._rows) if self._mapping else contextlib.nullcontext():
                _write_at(self._rows, self._count * dimension * _FLOAT.itemsize, rows.data)
            _write_at(self._journal, self._end, record)
        except OSError as error:
            if not paths.is_disk_full(error):
                raise
            message = "the disk is full; free some space, and indexing continues by itself"
            raise WorkerUnavailable(message, "disk_full") from None
        self._dimension = dimension
        self._count += len(batch)
        self._end += len(record)
        self.records += 1

    def vectors(self) -> Vectors:
        """Return the rows, mapped into memory."""
        if not self._count:
            self._mapping = None
            return np.zeros((0, self._dimension), np.float32)
        size = self._count * self._dimension * _FLOAT.itemsize
        file = os.open(self._rows, os.O_RDONLY | os.O_CLOEXEC)
        self._mapping = _Mapping(file, size, os.fstat(file).st_mtime_ns)
        mapped = mmap.mmap(file, size, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, dtype=np.float32).reshape(self._count, self._dimension)

    def is_intact(self) -> bool:
        """True unless another program shortened or wrote the mapped rows."""
        mapping = self._mapping
        return mapping is None or mapping.is_intact()

    def replace(self, pages: Iterable[VectorBatch], state: StoreState) -> None:
        """Make the files anew with all that is in ``pages``."""
        paths.private_directory(self._folder)
        number = _number_of(self._journal) + 1
        new = MatrixFile(self._folder, f"{self._name}.new")
        new._rows = self._folder / f"{self._name}.{number}.rows"
        for path in (new._rows, new._journal, self._journal):
            if path.is_dir():  # damage: a file cannot take its place
                shutil.rmtree(path)
        new._rows.write_bytes(b"")
        header = struct.pack("<8sI", _MAGIC, number)
        new._journal.write_bytes(header + struct.pack("<I", zlib.crc32(header)))
        for path in (new._rows, new._journal):
            path.chmod(0o600)
        for page in pages:
            new.append(page, np.zeros(0, np.int64), StoreState())
        new.append(VectorBatch.empty(), np.zeros(0, np.int64), state)
        new._journal.replace(self._journal)
        for path in self._folder.glob(f"{self._name}.*.rows"):
            if path != new._rows:
                with contextlib.suppress(OSError):
                    path.unlink()

    def _begin(self, journal: bytes) -> int:
        """Read the journal's header; return where the first record is."""
        if len(journal) < _HEADER.size:
            raise FileDamaged("the journal has no header")
        magic, number, checksum = _HEADER.unpack_from(journal)
        if magic != _MAGIC or checksum != zlib.crc32(journal[: _HEADER.size - 4]):
            raise FileDamaged("the journal has another header")
        self._rows = self._folder / f"{self._name}.{number}.rows"
        return _HEADER.size

    def _read(self, records: list[_Record], matrix: Matrix) -> None:
        dimensions = {record.dimension for record in records if len(record.numbers)}
        if len(dimensions) > 1:
            raise FileDamaged("the rows have several dimensions")
        self._dimension = dimensions.pop() if dimensions else 0
        self._count = sum(len(record.numbers) for record in records)
        matrix.reserve(self._count)
        with self._rows.open("rb") as file:
            for record in records:
                checksum = 0
                for rows in _blocks(file, len(record.numbers), record.dimension):
                    checksum = zlib.crc32(rows.data, checksum)
                    matrix.code(rows)
                if checksum != record.checksum:
                    raise FileDamaged("the rows are damaged")
                matrix.place(record.numbers, record.notes, record.deletes)


def _blocks(file: object, count: int, dimension: int) -> Iterator[Vectors]:
    buffer = np.empty((min(count, _READ_ROWS), dimension), dtype=_FLOAT)
    for start in range(0, count, _READ_ROWS):
        rows = buffer[: min(_READ_ROWS, count - start)]
        if file.readinto(rows) != rows.nbytes:  # type: ignore[attr-defined]
            raise FileDamaged("rows are missing")
        yield rows


def _write_at(path: Path, end: int, data: bytes | memoryview) -> None:
    """Write ``data`` at ``end``, and cut off what a write that failed left there."""
    with path.open("r+b") as file:
        file.truncate(end)
        file.seek(end)
        file.write(data)


def _pack(state: StoreState, dimension: int, batch: VectorBatch, deletes: Numbers, checksum: int) -> bytes:
    version = (state.version or "").encode()
    lists = version + b"".join(
        np.ascontiguousarray(each, dtype="<i8").tobytes() for each in (batch.numbers, batch.notes, deletes)
    )
    lengths = (state.write, dimension, len(batch), len(deletes), len(version))
    head = struct.pack("<QIIIIII", *lengths, checksum, zlib.crc32(lists))
    return head + struct.pack("<I", zlib.crc32(head)) + lists


def _record_at(journal: bytes, start: int) -> tuple[_Record, int] | None:
    """Return the record at ``start`` and where it ends; None if the journal ends within it."""
    if start + _RECORD.size > len(journal):
        return None
    write, dimension, count, deletes, version, rows, lists, head = _RECORD.unpack_from(journal, start)
    if head != zlib.crc32(journal[start : start + _RECORD.size - 4]):
        raise FileDamaged("a record of the journal is damaged")
    begin = start + _RECORD.size
    end = begin + version + 8 * (2 * count + deletes)
    if end > len(journal):
        return None
    if lists != zlib.crc32(journal[begin:end]):
        raise FileDamaged("a record of the journal is damaged")
    name = journal[begin : begin + version].decode() or None
    each = np.frombuffer(journal, "<i8", 2 * count + deletes, begin + version).astype(np.int64)
    numbers, notes, deleted = each[:count], each[count : 2 * count], each[2 * count :]
    return _Record(StoreState(name, write), dimension, numbers, notes, deleted, rows), end


def _number_of(journal: Path) -> int:
    """Return the number in the name of the present rows; 0 if it cannot be read."""
    try:
        with journal.open("rb") as file:
            return int(_HEADER.unpack(file.read(_HEADER.size))[1]) % (1 << 31)
    except (OSError, struct.error):
        return 0
