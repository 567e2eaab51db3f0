"""On-disk segment of the keyword index: notes, counts and positions of each term as flat arrays.

A segment contains D notes, numbered 0..D-1, and V distinct terms in byte order. The *rows* of a term are its
postings: one row for each note and field that contains the term, ascending by ``key = note * 8 + field``. So
one slice of ``keys`` and ``counts`` is a whole posting list, ready for arithmetic. The array ``positions``
contains the positions of one row after another; a row's positions start at the sum of the counts before it.

The file is a sequence of such arrays, then a JSON directory with the type, offset, size and checksum of each
array, then a footer. It is written once and never changed. Arrays whose size depends on the number of terms
or notes are kept in memory (``Tables``); rows and positions are read on demand and cached by the operating
system. Nothing is memory-mapped, so a file truncated while open gives an error instead of killing the
process.
"""

from __future__ import annotations

import json
import os
import struct
import weakref
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import repeat
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.limits import MIB
from vaultseek.errors import IndexDamaged
from vaultseek.store.keyword.strings import Strings

FIELDS = ("title", "aliases", "headings", "tags", "path", "body", "code")
"""Names of a note's fields, in the order of the field numbers."""
FIELD_BITS = 3
"""Number of bits in a field's number."""
FIELD_SLOTS = 1 << FIELD_BITS
FIELD_MASK = FIELD_SLOTS - 1
BODY, CODE = FIELDS.index("body"), FIELDS.index("code")
POSITION_BITS = 32
"""Number of low bits of a *place* that contain the position: ``key << 32 | position`` encodes note, field and
position."""
NOTE_SHIFT = POSITION_BITS + FIELD_BITS
"""Number of bits by which the note number is shifted in a place."""
GAP = 1
"""Number of positions left free between two texts in a field."""

Ints = NDArray[np.integer[Any]]
Bools = NDArray[np.bool_]

_MAGIC = b"vaultseek keyword segment 2\n"
_FOOTER = struct.Struct("<QII")
_EMPTY: Ints = np.zeros(0, np.uint32)


@dataclass(frozen=True, slots=True)
class Tables:
    """The part of a segment that is kept in memory.

    notes: int64[D], ids in the ledger. languages: uint8[D], see ``analysis.LanguageRules``. lengths: uint32[D
    * 8], number of positions per note and field, by key. first_chunks: uint32[D + 1]; a note's chunks run
    from its own entry to the next note's entry. chunk_lengths: uint32[C * 2], number of positions in the body
    and in the code of each chunk. chunk_ids: C ids. vocabulary: V terms, sorted. first_rows, first_positions:
    uint32[V + 1], like first_chunks. words: W written forms, without accents but not stemmed, sorted;
    word_terms: uint32[W], the term of each word. A word with terms in several languages occurs once per
    language.
    """

    notes: Ints
    languages: Ints
    lengths: Ints
    first_chunks: Ints
    chunk_lengths: Ints
    chunk_ids: Strings
    vocabulary: Strings
    first_rows: Ints
    first_positions: Ints
    words: Strings
    word_terms: Ints


@dataclass(frozen=True, slots=True)
class ChunkPlaces:
    """Start of the prose and start of the code of each chunk.

    firsts: int64[C * 2], the starts as places, ascending. slots: int64[C * 2], the index in ``chunk_lengths``
    for each start.
    """

    firsts: Ints
    slots: Ints


@dataclass(frozen=True, slots=True)
class RowStarts:
    """The rows of one term. keys: uint32[r]. starts: uint32[r + 1], the first position of each row."""

    keys: Ints
    starts: Ints

    @property
    def nbytes(self) -> int:
        """Size of the arrays in bytes."""
        return self.keys.nbytes + self.starts.nbytes

    def of_notes(self, notes: Ints) -> tuple[Ints, Ints]:
        """Return the first row of each note, and the number of its rows."""
        firsts = self.keys.searchsorted((notes << FIELD_BITS).astype(np.uint32))
        return firsts, self.keys.searchsorted((notes + 1 << FIELD_BITS).astype(np.uint32)) - firsts


@dataclass(frozen=True, slots=True)
class Block:
    """Rows and positions of consecutive terms."""

    keys: Ints
    counts: Ints
    positions: Ints


def write_segment(file: IO[bytes], tables: Tables, blocks: Iterable[Block], types: tuple[str, str]) -> None:
    """Write a segment; ``blocks`` contain the segment's rows in vocabulary order.

    ``types`` are the integer types of counts and positions, such as ``("<u2", "<u4")``.
    """
    writer = _Writer(file)
    writer.begin("keys", "<u4", int(tables.first_rows[-1]))
    writer.begin("counts", types[0], int(tables.first_rows[-1]))
    writer.begin("positions", types[1], int(tables.first_positions[-1]))
    for block in blocks:
        writer.extend("keys", block.keys)
        writer.extend("counts", block.counts)
        writer.extend("positions", block.positions)
    for field in fields(tables):
        value = getattr(tables, field.name)
        if isinstance(value, Strings):
            writer.array(f"{field.name}.blob", np.frombuffer(value.blob, np.uint8))
            writer.array(f"{field.name}.offsets", value.offsets)
        else:
            writer.array(field.name, value)
    writer.finish()


class Segment:
    """An open segment, readable from any thread; the file is closed when the last reference is gone.

    Opening compares every byte with its checksum, unless ``verify`` is false. Reading raises ``IndexDamaged``
    if the file is truncated.
    """

    def __init__(self, path: Path, *, verify: bool = True) -> None:
        self._name = path.name
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, self._fd)
        self._state = self._file_state()
        self._sections = self._directory()
        if verify:
            self.verify()
        self.tables = self._tables()
        self.types = (self._sections["counts"].type, self._sections["positions"].type)

    def __len__(self) -> int:
        """Return the number of notes, including deleted ones."""
        return len(self.tables.notes)

    def verify(self) -> None:
        """Raise ``IndexDamaged`` unless all bytes match their checksums."""
        for section in self._sections.values():
            if self._checksum(section) != section.checksum:
                raise self._damaged("the content has changed")

    def check_unchanged(self) -> None:
        """Raise ``IndexDamaged`` if another program has written to the open file.

        Reading does not check for this. So call this method after reading and before using the data.
        """
        if self._file_state() != self._state:
            raise self._damaged("another program changed the file")

    def _file_state(self) -> tuple[int, int]:
        status = os.fstat(self._fd)
        return status.st_size, status.st_mtime_ns

    def terms(self, texts: Sequence[bytes], heads: Ints) -> list[int]:
        """Return the term numbers of the ``texts`` that occur in this segment; ``heads`` are the texts'
        `first_bytes`."""
        return self.tables.vocabulary.find_all(texts, heads)

    def rows(self, term: int) -> tuple[Ints, Ints]:
        """Return the keys and counts of a term's rows."""
        first, last = self._span(self.tables.first_rows, term, term + 1)
        return self._read("keys", first, last), self._read("counts", first, last)

    def positions(self, term: int) -> Ints:
        """Return the positions of all rows of a term."""
        return self._read("positions", *self._span(self.tables.first_positions, term, term + 1))

    def row_starts(self, term: int) -> RowStarts:
        """Return the keys of a term's rows and the start of each row's positions, for looking up single
        notes."""
        keys, counts = self.rows(term)
        starts = np.zeros(len(keys) + 1, np.uint32)
        np.cumsum(counts, out=starts[1:])
        return RowStarts(keys, starts)

    def places_in(self, term: int, rows: RowStarts, notes: Ints) -> Ints:
        """Return the occurrences of a term in ``notes`` as ascending places. ``notes`` must be ascending;
        ``rows`` contains all rows of the term."""
        firsts, counts = rows.of_notes(notes)
        inside = run_indexes(firsts, counts)
        sizes = rows.starts[inside + 1] - rows.starts[inside]
        starts = rows.starts[firsts].astype(np.int64)
        positions = self._positions_at(term, starts, rows.starts[firsts + counts] - starts)
        return np.repeat(rows.keys[inside].astype(np.int64), sizes) << POSITION_BITS | positions

    def _positions_at(self, term: int, starts: Ints, sizes: Ints) -> Ints:
        """Return the positions in some rows of a term. Each row's positions are read separately."""
        first, _ = self._span(self.tables.first_positions, term, term + 1)
        section = self._sections["positions"]
        offsets = (section.offset + (starts + first) * section.itemsize).tolist()
        lengths = (sizes * section.itemsize).tolist()
        data = b"".join(map(os.pread, repeat(self._fd), lengths, offsets))
        if len(data) != sum(lengths):
            raise self._damaged("the file is truncated")
        return np.frombuffer(data, section.type)

    @cached_property
    def length_sums(self) -> Ints:
        """Sum and number of each field's non-zero lengths, int64[2, 8]."""
        return sum_lengths(self.tables.lengths.reshape(-1, FIELD_SLOTS))

    @cached_property
    def chunk_length_sums(self) -> Ints:
        """Sum and number of the non-zero lengths of the chunks' prose and code, int64[2, 2]."""
        return sum_lengths(self.tables.chunk_lengths.reshape(-1, 2))

    @cached_property
    def chunk_places(self) -> ChunkPlaces:
        """Start of the prose and start of the code of each chunk."""
        first = self.tables.first_chunks.astype(np.int64)
        sizes = run_lengths(first)
        firsts, slots = np.zeros((2, 2 * int(first[-1])), np.int64)
        chunks = np.arange(int(first[-1]), dtype=np.int64)
        notes = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
        for column, field in enumerate((BODY, CODE)):
            steps = self.tables.chunk_lengths[column::2].astype(np.int64) + GAP
            starts = np.cumsum(steps) - steps
            positions = starts - starts[first[:-1][notes]]
            # The chunks of a note are adjacent: all their prose comes before all their code.
            rows = first[:-1][notes] + chunks + column * sizes[notes]
            firsts[rows] = notes << NOTE_SHIFT | field << POSITION_BITS | positions
            slots[rows] = 2 * chunks + column
        return ChunkPlaces(firsts, slots)

    def keys(self) -> Ints:
        """Return the keys of all rows, term by term."""
        return self._whole("keys")

    def block(self, first_term: int, last_term: int) -> Block:
        """Return the rows and positions of the terms from ``first_term`` up to, but excluding,
        ``last_term``."""
        rows = self._span(self.tables.first_rows, first_term, last_term)
        positions = self._span(self.tables.first_positions, first_term, last_term)
        keys, counts = self._read("keys", *rows), self._read("counts", *rows)
        return Block(keys, counts, self._read("positions", *positions))

    def _span(self, firsts: Ints, first: int, last: int) -> tuple[int, int]:
        return int(firsts[first]), int(firsts[last])

    def _read(self, name: str, first: int, last: int) -> Ints:
        if first >= last:
            return _EMPTY
        section = self._sections[name]
        size = section.itemsize
        data = self._bytes(section.offset + first * size, (last - first) * size)
        return np.frombuffer(data, section.type)

    def _bytes(self, offset: int, size: int) -> bytes:
        data = os.pread(self._fd, size, offset)
        if len(data) != size:
            raise self._damaged("the file is truncated")
        return data

    def _directory(self) -> dict[str, _Section]:
        size = os.fstat(self._fd).st_size
        if size < len(_MAGIC) + _FOOTER.size or self._bytes(0, len(_MAGIC)) != _MAGIC:
            raise self._damaged("the file is not a segment of this version")
        offset, length, checksum = _FOOTER.unpack(self._bytes(size - _FOOTER.size, _FOOTER.size))
        if offset + length + _FOOTER.size != size:
            raise self._damaged("the file is truncated")
        text = self._bytes(offset, length)
        if zlib.crc32(text) != checksum:
            raise self._damaged("the file's directory of sections has changed")
        return {name: _Section(*values) for name, values in json.loads(text).items()}

    def _checksum(self, section: _Section) -> int:
        checksum = 0
        for start in range(0, section.size, MIB):
            data = self._bytes(section.offset + start, min(MIB, section.size - start))
            checksum = zlib.crc32(data, checksum)
        return checksum

    def _tables(self) -> Tables:
        values: dict[str, Any] = {}
        for field in fields(Tables):
            if field.name in self._sections:
                values[field.name] = self._whole(field.name)
            else:
                blob = self._whole(f"{field.name}.blob").tobytes()
                values[field.name] = Strings(blob, self._whole(f"{field.name}.offsets"))
        return Tables(**values)

    def _whole(self, name: str) -> Ints:
        return self._read(name, 0, self._sections[name].count)

    def _damaged(self, reason: str) -> IndexDamaged:
        return IndexDamaged(f"keyword index, {self._name}: {reason}; the index will be rebuilt")


@dataclass(slots=True)
class _Section:
    type: str
    offset: int
    count: int
    checksum: int = 0
    written: int = 0

    @property
    def itemsize(self) -> int:
        return np.dtype(self.type).itemsize

    @property
    def size(self) -> int:
        return self.count * self.itemsize


class _Writer:
    """Writer of several sections at once. The place of each section in the file is fixed from the start."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._sections: dict[str, _Section] = {}
        self._end = len(_MAGIC)
        file.write(_MAGIC)

    def begin(self, name: str, type_: str, count: int) -> None:
        section = self._sections[name] = _Section(type_, self._end, count)
        self._end += section.size

    def extend(self, name: str, values: Ints) -> None:
        section = self._sections[name]
        data = np.ascontiguousarray(values, section.type).tobytes()
        self._file.seek(section.offset + section.written)
        self._file.write(data)
        section.checksum = zlib.crc32(data, section.checksum)
        section.written += len(data)

    def array(self, name: str, values: Ints) -> None:
        self.begin(name, values.dtype.newbyteorder("<").str, len(values))
        self.extend(name, values)

    def finish(self) -> None:
        for name, section in self._sections.items():
            if section.written != section.size:
                raise ValueError(f"section {name}: {section.written} of {section.size} bytes")
        listing = {n: (s.type, s.offset, s.count, s.checksum) for n, s in self._sections.items()}
        text = json.dumps(listing).encode()
        self._file.seek(self._end)
        self._file.write(text + _FOOTER.pack(self._end, len(text), zlib.crc32(text)))


def sum_lengths(lengths: Ints) -> Ints:
    """Return, for each column, the sum of the lengths and the number of lengths above 0: int64[2,
    columns]."""
    present = [np.count_nonzero(column) for column in lengths.T]
    return np.array([lengths.sum(axis=0, dtype=np.int64), present], np.int64)


def run_starts(lengths: Ints) -> Ints:
    """Return the starts of consecutive runs with the given lengths, and the end of the last run: int64[len +
    1]."""
    starts = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def run_lengths(starts: Ints) -> Ints:
    """Return the lengths of consecutive runs; the inverse of ``run_starts``."""
    wide = starts.astype(np.int64)
    lengths: Ints = wide[1:] - wide[:-1]
    return lengths


def run_indexes(starts: Ints, lengths: Ints) -> Ints:
    """Return the indexes in several runs, one run after another: starts [5, 0] and lengths [2, 1] give [5, 6,
    0]."""
    ends = np.cumsum(lengths, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - (ends - lengths), lengths) + np.arange(total, dtype=np.int64)


class MemorySegment(Segment):
    """An in-memory segment of a few documents, as returned by ``inverter.invert``."""

    def __init__(self, tables: Tables, block: Block) -> None:
        self.tables = tables
        self.types = ("<u4", "<u4")
        self._arrays: dict[str, Ints] = {
            "keys": block.keys,
            "counts": block.counts,
            "positions": block.positions,
        }

    def verify(self) -> None:
        """Do nothing; data in memory has no checksum."""

    def check_unchanged(self) -> None:
        """Do nothing; no other program can change data in memory."""

    def keys(self) -> Ints:
        """Return the keys of all rows, term by term."""
        return self._arrays["keys"]

    def _positions_at(self, term: int, starts: Ints, sizes: Ints) -> Ints:
        return self.positions(term)[run_indexes(starts, sizes)]

    def _read(self, name: str, first: int, last: int) -> Ints:
        return self._arrays[name][first:last]
