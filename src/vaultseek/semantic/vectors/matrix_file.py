"""Storage of a collection's vectors in two files.

``<name>.<n>.rows`` contains the vectors in full precision, one after another, and is memory-mapped.
``<name>.journal`` contains a record of each write: the numbers and notes of the added rows, the deleted
numbers, and the new version, all with checksums. A write appends to the rows, then to the journal, then sets
the journal's length in its header. A record is overwritten if the process was killed while writing it. All
other damage and loss is detected when the files are opened.
"""

import contextlib
import mmap
import os
import secrets
import shutil
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vaultseek.base import paths
from vaultseek.base.model import ReasonCode
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.matrix import Matrix
from vaultseek.semantic.vectors.port import NoteIds, Numbers, VectorBatch

_MAGIC = b"vsmat002"
_HEADER = struct.Struct("<8sIQI")
"""Layout of the header: magic number, number in the name of the rows file, minimum length of the journal,
checksum."""
_RECORD = struct.Struct("<8xIIIIIII")
"""Layout of a record's header: dimension, number of vectors, number of deletions, bytes of the version;
checksums of rows, lists and header. The first eight bytes are unused."""
_READ_ROWS = 4096
_RECORDS = 1000
_FLOAT = np.dtype("<f4")


@dataclass(frozen=True, slots=True)
class _Record:
    """One write as recorded in the journal, with the checksum of the added rows."""

    version: str | None
    dimension: int
    numbers: Numbers
    notes: NoteIds
    deletes: Numbers
    checksum: int


@dataclass(slots=True)
class _Mapping:
    """The mapped rows: the file descriptor, the number of bytes in use, the time of vaultseek's last write in
    nanoseconds (None during a write), and the mapped memory."""

    file: int
    size: int
    written: int | None
    memory: mmap.mmap

    def __del__(self) -> None:
        os.close(self.file)

    def is_intact(self) -> bool:
        """True if no other program has shortened the file or written to it."""
        written = self.written
        status = os.fstat(self.file)
        if status.st_size < self.size:
            return False
        return written in (None, status.st_mtime_ns) or self.written != written

    @contextlib.contextmanager
    def writing(self, path: Path) -> Iterator[None]:
        """Record the time of a write to ``path``, which may no longer be the mapped file."""
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
        self._number = 0
        self._dimension = 0
        self._count = 0
        self._end = _HEADER.size
        self._mapping: _Mapping | None = None
        self.records = 0

    @property
    def exists(self) -> bool:
        """True if the collection exists, even if it is damaged."""
        return self._journal.exists()

    @property
    def proposals(self) -> Path:
        """The folder for an approximate index of the current rows."""
        return self._rows.with_suffix(".proposals")

    @property
    def is_outdated(self) -> bool:
        """True if the files should be rewritten because the journal is long."""
        return self.records > _RECORDS + self._count // 64

    def load(self, matrix: Matrix) -> str | None:
        """Fill ``matrix`` and return the version. Raises ``IndexDamaged`` if the files are incomplete."""
        try:
            with _shortage_named():
                journal = self._journal.read_bytes()
                end = self._begin(journal)
                records = []
                while (record := _record_at(journal, end)) is not None:
                    records.append(record[0])
                    end = record[1]
                self._read(records, matrix)
        except OSError as error:
            raise _damage(str(error)) from None
        self._end, self.records = end, len(records)
        return records[-1].version if records else None

    def append(self, batch: VectorBatch, deletes: Numbers, version: str | None) -> None:
        """Append a batch and deletions durably. Raises ``WorkerUnavailable`` if the disk is full."""
        dimension = batch.vectors.shape[1] if len(batch) else self._dimension
        rows = np.ascontiguousarray(batch.vectors, dtype=_FLOAT)
        record = _pack(version, dimension, batch, deletes, zlib.crc32(rows.data))
        with _shortage_named():
            if len(batch):
                with self._mapping.writing(self._rows) if self._mapping else contextlib.nullcontext():
                    _write_at(self._rows, self._count * dimension * _FLOAT.itemsize, rows.data)
            _write_at(self._journal, self._end, record, self._header(self._end + len(record)))
        self._dimension = dimension
        self._count += len(batch)
        self._end += len(record)
        self.records += 1

    def vectors(self) -> Vectors:
        """Return the memory-mapped rows."""
        if not self._count:
            self._mapping = None
            return np.zeros((0, self._dimension), np.float32)
        size = self._count * self._dimension * _FLOAT.itemsize
        file = os.open(self._rows, os.O_RDONLY | os.O_CLOEXEC)
        memory = mmap.mmap(file, size, access=mmap.ACCESS_READ)
        self._mapping = _Mapping(file, size, os.fstat(file).st_mtime_ns, memory)
        return np.frombuffer(memory, dtype=np.float32).reshape(self._count, self._dimension)

    def release_pages(self) -> None:
        """Release the memory of the rows that were read; they are read from the file again when needed."""
        if (mapping := self._mapping) is not None:
            mapping.memory.madvise(mmap.MADV_DONTNEED)

    def is_intact(self) -> bool:
        """True unless another program has shortened or overwritten the mapped rows."""
        mapping = self._mapping
        return mapping is None or mapping.is_intact()

    def replace(self, pages: Iterable[VectorBatch], version: str | None) -> None:
        """Replace the files with new ones that contain the vectors in ``pages``."""
        new = MatrixFile(self._folder, f"{self._name}.new")
        new._number = secrets.randbelow(1 << 31) + 1
        new._rows = self._folder / f"{self._name}.{new._number}.rows"
        try:
            new._fill(pages, version)
            new._journal.replace(self._journal)
        except BaseException:
            for path in (new._rows, new._journal):
                path.unlink(missing_ok=True)
            raise
        for path in self._folder.glob(f"{self._name}.*.rows"):
            if path != new._rows:
                with contextlib.suppress(OSError):
                    path.unlink()
        for path in self._folder.glob(f"{self._name}.*.proposals"):
            shutil.rmtree(path, ignore_errors=True)

    def _fill(self, pages: Iterable[VectorBatch], version: str | None) -> None:
        with _shortage_named():
            paths.private_directory(self._folder)
            self._rows.write_bytes(b"")
            self._journal.write_bytes(self._header(_HEADER.size))
        for path in (self._rows, self._journal):
            path.chmod(0o600)
        for page in pages:
            self.append(page, np.zeros(0, np.int64), None)
        self.append(VectorBatch.empty(), np.zeros(0, np.int64), version)

    def _header(self, length: int) -> bytes:
        head = struct.pack("<8sIQ", _MAGIC, self._number, length)
        return head + struct.pack("<I", zlib.crc32(head))

    def _begin(self, journal: bytes) -> int:
        """Read the journal's header; return the start of the first record."""
        if len(journal) < _HEADER.size:
            raise _damage("the journal has no header")
        magic, self._number, length, checksum = _HEADER.unpack_from(journal)
        if magic != _MAGIC or checksum != zlib.crc32(journal[: _HEADER.size - 4]):
            raise _damage("the journal has an unknown header")
        if length > len(journal):
            raise _damage("the journal was cut off")
        self._rows = self._folder / f"{self._name}.{self._number}.rows"
        return _HEADER.size

    def _read(self, records: list[_Record], matrix: Matrix) -> None:
        dimensions = {record.dimension for record in records if len(record.numbers)}
        if len(dimensions) > 1:
            raise _damage("the rows differ in their dimensions")
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
                    raise _damage("the rows are damaged")
                matrix.place(record.numbers, record.notes, record.deletes)


def examine(folder: Path, name: str) -> tuple[int, str | None]:
    """Return the number of vectors and the version of a collection. Raises ``IndexDamaged``."""
    file, matrix = MatrixFile(folder, name), Matrix(0)
    version = file.load(matrix) if file.exists else None
    return len(matrix), version


def _blocks(file: object, count: int, dimension: int) -> Iterator[Vectors]:
    buffer = np.empty((min(count, _READ_ROWS), dimension), dtype=_FLOAT)
    for start in range(0, count, _READ_ROWS):
        rows = buffer[: min(_READ_ROWS, count - start)]
        if file.readinto(rows) != rows.nbytes:  # type: ignore[attr-defined]
            raise _damage("rows are missing")
        yield rows


def _write_at(path: Path, end: int, data: bytes | memoryview, header: bytes = b"") -> None:
    """Write ``data`` at the offset ``end``, replacing the remains of a failed write, then write ``header`` at
    the start."""
    with path.open("r+b") as file:
        file.truncate(end)
        file.seek(end)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        file.write(header)


def _pack(version: str | None, dimension: int, batch: VectorBatch, deletes: Numbers, checksum: int) -> bytes:
    name = (version or "").encode()
    lists = name + b"".join(
        np.ascontiguousarray(each, dtype="<i8").tobytes() for each in (batch.numbers, batch.notes, deletes)
    )
    lengths = (dimension, len(batch), len(deletes), len(name))
    head = struct.pack("<8xIIIIII", *lengths, checksum, zlib.crc32(lists))
    return head + struct.pack("<I", zlib.crc32(head)) + lists


def _record_at(journal: bytes, start: int) -> tuple[_Record, int] | None:
    """Return the record at the offset ``start``, and its end; None if the journal ends within the record."""
    if start + _RECORD.size > len(journal):
        return None
    dimension, count, deletes, version, rows, lists, head = _RECORD.unpack_from(journal, start)
    if head != zlib.crc32(journal[start : start + _RECORD.size - 4]):
        raise _damage("a record in the journal is damaged")
    begin = start + _RECORD.size
    end = begin + version + 8 * (2 * count + deletes)
    if end > len(journal):
        return None
    if lists != zlib.crc32(journal[begin:end]):
        raise _damage("a record in the journal is damaged")
    name = journal[begin : begin + version].decode() or None
    each = np.frombuffer(journal, "<i8", 2 * count + deletes, begin + version).astype(np.int64)
    numbers, notes, deleted = each[:count], each[count : 2 * count], each[2 * count :]
    return _Record(name, dimension, numbers, notes, deleted, rows), end


def _damage(what: str) -> IndexDamaged:
    return IndexDamaged(f"the vector index has to be rebuilt: {what}")


@contextlib.contextmanager
def _shortage_named() -> Iterator[None]:
    """Convert OSError to ``WorkerUnavailable`` if the disk is full or no more files can be opened."""
    try:
        yield
    except OSError as error:
        if not (what := paths.shortage(error)):
            raise
        cause: ReasonCode = "disk_full" if paths.is_disk_full(error) else "failing"
        raise WorkerUnavailable(f"{what} so that indexing can continue", cause) from None
