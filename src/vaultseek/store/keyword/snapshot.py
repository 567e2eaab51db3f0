"""Snapshots of all segments of a keyword index, with the vault-wide statistics for ranking."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.limits import TERM_CACHE_BYTES, TERM_CACHE_NOTE_BYTES
from vaultseek.store.keyword.analysis import LanguageRules, language_of_mark
from vaultseek.store.keyword.inverter import NAMES, PROPERTIES
from vaultseek.store.keyword.segment import (
    FIELD_SLOTS,
    NOTE_SHIFT,
    Bools,
    ChunkPlaces,
    Ints,
    Segment,
    run_lengths,
    sum_lengths,
)
from vaultseek.store.keyword.strings import Strings

Floats = NDArray[np.float64]
_NO_PASSAGES = (NAMES.encode(), PROPERTIES.encode())
SPARSE_IDS = 16
"""Maximum ratio of the largest note id to the number of notes. Above it, a lookup table by id would waste
memory."""
KEPT_PARTS = 4
"""Number of snapshots of note subsets that are kept for the next search."""
ENTRY_BYTES = 500
"""Approximate number of bytes that a cached value takes in addition to its arrays."""


class Sized(Protocol):
    """A value that reports the size of its arrays in bytes."""

    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=Sized)


@dataclass(frozen=True, slots=True)
class SegmentView:
    """A segment as part of a snapshot.

    ``alive``: bool[notes], false for deleted notes. ``base`` and ``chunk_base``: the numbers of the segment's
    first note and first chunk, counted over all segments.
    """

    segment: Segment
    alive: Bools
    all_alive: bool
    base: int
    chunk_base: int


@dataclass(frozen=True, slots=True)
class ChunkIds:
    """The chunk ids of several segments, and the number of each segment's first chunk."""

    bases: tuple[int, ...]
    ids: tuple[Strings, ...]

    def __getitem__(self, number: int) -> str:
        """Return the id of a chunk by its number over all segments."""
        segment = bisect_right(self.bases, number) - 1
        return self.ids[segment][number - self.bases[segment]].decode()


class ByteCache:
    """Thread-safe cache of the most recently used values, up to ``budget`` bytes."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._values: OrderedDict[Hashable, Sized] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    @property
    def nbytes(self) -> int:
        """Size of the values in bytes."""
        return self._bytes

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the cached value for ``key``. If it is missing, ``make`` creates it; two threads may create
        it at the same time."""
        value = self._values.get(key)
        if value is not None:
            with suppress(KeyError):  # another thread may just have dropped it
                self._values.move_to_end(key)
            return cast(T, value)
        made = make()
        self._put(key, made)
        return made

    def _put(self, key: Hashable, value: Sized) -> None:
        size = value.nbytes + ENTRY_BYTES
        if size > self._budget:
            return
        with self._lock:
            if key in self._values:
                return
            self._values[key] = value
            self._bytes += size
            while self._bytes > self._budget:
                self._bytes -= self._values.popitem(last=False)[1].nbytes + ENTRY_BYTES


class Snapshot:
    """Snapshot of all segments; immutable and thread-safe.

    ``cache_share``: share of the usual cache size that this snapshot may use.
    """

    def __init__(self, parts: Sequence[tuple[Segment, Bools]], cache_share: float = 1.0) -> None:
        views: list[SegmentView] = []
        base = chunk_base = 0
        for segment, alive in parts:
            views.append(SegmentView(segment, alive, bool(alive.all()), base, chunk_base))
            base += len(segment)
            chunk_base += len(segment.tables.chunk_ids)
        self.views = tuple(views)
        self.size = base
        """Number of notes in all segments, including deleted ones."""
        self.chunk_count = chunk_base
        """Number of chunks in all segments, including those of deleted notes."""
        cache_bytes = max(TERM_CACHE_BYTES, self.size * TERM_CACHE_NOTE_BYTES)
        self.cache = ByteCache(round(cache_share * cache_bytes))
        """Cached scores and occurrences of terms, computed by searches of this snapshot."""
        self._parts: tuple[tuple[Ints, Snapshot], ...] = ()

    def within(self, ids: Ints) -> Snapshot:
        """Return a snapshot as if only the notes with these ids existed.

        The new snapshot is kept for the next call with the same array of ids.
        """
        for known, part in self._parts:
            if known is ids:
                return part
        alive = self.mask(ids) & self.alive
        part = Snapshot(
            [(view.segment, alive[view.base : view.base + len(view.segment)]) for view in self.views],
            1 / KEPT_PARTS,
        )
        self._parts = (*self._parts[1 - KEPT_PARTS :], (ids, part))
        return part

    @cached_property
    def notes(self) -> Ints:
        """Ledger ids of the notes, int64[size]."""
        return joined([view.segment.tables.notes for view in self.views], np.int64)

    def mask(self, ids: Ints) -> Bools:
        """Return a mask of the notes with these ledger ids, bool[size]."""
        numbers = self._numbers
        if numbers is None:
            return np.isin(self.notes, ids)
        mask = np.zeros(self.size + 1, np.bool_)
        mask[numbers[ids[(ids >= 0) & (ids < len(numbers))]]] = True
        return mask[:-1]

    @cached_property
    def _numbers(self) -> Ints | None:
        """Lookup table from ids to the numbers of live notes, int32; the entry for an id without a live note
        is ``size``. None if ids are too large for a table."""
        highest = int(self.notes.max(initial=0))
        if highest > SPARSE_IDS * max(self.size, SPARSE_IDS) or int(self.notes.min(initial=0)) < 0:
            return None
        numbers = np.full(highest + 1, self.size, np.int32)
        living = np.flatnonzero(self.alive)
        numbers[self.notes[living]] = living
        return numbers

    @cached_property
    def alive(self) -> Bools:
        """Mask of the notes that are not deleted, bool[size]."""
        return joined([view.alive for view in self.views], np.bool_)

    @cached_property
    def count(self) -> int:
        """The number of live notes: all notes except deleted ones. This is N in the formula for BM25F."""
        return int(np.count_nonzero(self.alive))

    @cached_property
    def languages(self) -> frozenset[str | None]:
        """The analysis languages of all live notes."""
        return frozenset(language_of_mark(mark) for view in self.views for mark in _language_marks(view))

    def given_other_language(self, rules: LanguageRules) -> list[int]:
        """Return the ids of live notes whose stored language differs from the language that ``rules``
        assign."""
        ids: list[int] = []
        for view in self.views:
            outdated = rules.outdated(_language_marks(view))
            if outdated:
                tables = view.segment.tables
                ids += tables.notes[view.alive & np.isin(tables.languages, outdated)].tolist()
        return ids

    @cached_property
    def first_chunks(self) -> Ints:
        """The number of each note's first chunk, int64[size + 1]; a note's chunks end before the next note's
        first chunk."""
        firsts = [view.segment.tables.first_chunks[:-1] + np.int64(view.chunk_base) for view in self.views]
        return joined([*firsts, np.array([self.chunk_count])], np.int64)

    @cached_property
    def chunk_ids(self) -> ChunkIds:
        """The ids of all chunks."""
        bases = tuple(view.chunk_base for view in self.views)
        return ChunkIds(bases, tuple(view.segment.tables.chunk_ids for view in self.views))

    @cached_property
    def chunk_places(self) -> ChunkPlaces:
        """Start of the prose and start of the code of each chunk, numbered across all segments."""
        tables = [(view, view.segment.chunk_places) for view in self.views]
        firsts = [table.firsts + (view.base << NOTE_SHIFT) for view, table in tables]
        slots = [table.slots + 2 * view.chunk_base for view, table in tables]
        return ChunkPlaces(joined(firsts, np.int64), joined(slots, np.int64))

    @cached_property
    def chunk_lengths(self) -> Ints:
        """Lengths of the prose and the code of each chunk, uint32[2 * chunk_count]."""
        return joined([view.segment.tables.chunk_lengths for view in self.views], np.uint32)

    def passage_count(self) -> int:
        """Return the number of passages of live notes. This reads the ids of all chunks."""
        count = 0
        for view in self.views:
            ids = view.segment.tables.chunk_ids[:]
            lengths = run_lengths(view.segment.tables.first_chunks)
            living = np.repeat(view.alive, lengths).tolist()
            count += sum(id not in _NO_PASSAGES for id, alive in zip(ids, living, strict=True) if alive)
        return count

    @cached_property
    def averages(self) -> Floats:
        """Mean length of each field over the live notes that have the field, float64[8]; 1 if no note has the
        field."""
        return means([_length_sums(view) for view in self.views], FIELD_SLOTS)

    @cached_property
    def chunk_averages(self) -> Floats:
        """Mean length of prose over the live chunks with prose, and of code over those with code:
        float64[2]."""
        return means([_chunk_length_sums(view) for view in self.views], 2)

    def split_notes(self, notes: Ints) -> Iterator[tuple[SegmentView, Ints]]:
        """Yield each segment that contains some of ``notes``, with these notes' numbers in the segment.
        ``notes`` must be ascending."""
        if len(self.views) == 1:
            yield self.views[0], notes
            return
        bounds = [*notes.searchsorted([view.base for view in self.views]).tolist(), len(notes)]
        for view, first, last in zip(self.views, bounds, bounds[1:], strict=False):
            if first < last:
                yield view, notes[first:last] - view.base


def joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    """Concatenate arrays; return an empty array of ``dtype`` if there are none."""
    if len(arrays) == 1:
        return arrays[0]
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def _language_marks(view: SegmentView) -> list[int]:
    return np.flatnonzero(np.bincount(view.segment.tables.languages[view.alive])).tolist()


def _length_sums(view: SegmentView) -> Ints:
    sums = view.segment.length_sums
    if view.all_alive:
        return sums
    return sums - sum_lengths(view.segment.tables.lengths.reshape(-1, FIELD_SLOTS)[~view.alive])


def _chunk_length_sums(view: SegmentView) -> Ints:
    """Return the sum and number of non-zero lengths of live chunks, for body and code: int64[2, 2]."""
    sums, tables = view.segment.chunk_length_sums, view.segment.tables
    if view.all_alive:
        return sums
    dead = np.repeat(~view.alive, run_lengths(tables.first_chunks))
    return sums - sum_lengths(tables.chunk_lengths.reshape(-1, 2)[dead])


def means(sums: Sequence[Ints], width: int) -> Floats:
    """Return the mean length in each column, given the sums of the lengths and the numbers of lengths above
    0."""
    totals, present = sum(sums, np.zeros((2, width), np.int64))
    return np.where(present > 0, totals / np.maximum(present, 1), 1.0)
