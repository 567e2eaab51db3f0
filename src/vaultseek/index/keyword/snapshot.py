"""All segments of a keyword index at one moment, with the statistics of the vault that ranking needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.index.keyword.segment import FIELD_SLOTS, Bools, Ints, Segment, run_lengths

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SegmentView:
    """A segment as a search sees it: ``alive``, bool[notes], and the number of its first note among all."""

    segment: Segment
    alive: Bools
    base: int


class Snapshot:
    """All segments at one moment. It never changes and may be used from any thread."""

    def __init__(self, parts: Sequence[tuple[Segment, Bools]]) -> None:
        views: list[SegmentView] = []
        base = 0
        for segment, alive in parts:
            views.append(SegmentView(segment, alive, base))
            base += len(segment)
        self.views = tuple(views)
        self.size = base
        """Number of notes in all segments, deleted ones included."""

    @cached_property
    def notes(self) -> Ints:
        """Ids in the ledger, int64[size]."""
        return joined([view.segment.tables.notes for view in self.views], np.int64)

    @cached_property
    def alive(self) -> Bools:
        """False where a note is deleted, bool[size]."""
        return joined([view.alive for view in self.views], np.bool_)

    @cached_property
    def count(self) -> int:
        """N, the number of living notes."""
        return int(np.count_nonzero(self.alive))

    @cached_property
    def averages(self) -> Floats:
        """Mean length of each field over the living notes that have it, float64[8]; 1 where none has."""
        return _means(
            [view.segment.tables.lengths.reshape(-1, FIELD_SLOTS)[view.alive] for view in self.views]
        )

    @cached_property
    def chunk_averages(self) -> Floats:
        """Mean length of prose and of code over the living chunks that have any, float64[2]."""
        return _means([_living_chunk_lengths(view) for view in self.views], width=2)


def joined(arrays: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    """Concatenate arrays; none give an empty array of ``dtype``."""
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype)


def _living_chunk_lengths(view: SegmentView) -> Ints:
    tables = view.segment.tables
    living = np.repeat(view.alive, run_lengths(tables.first_chunks))
    return tables.chunk_lengths.reshape(-1, 2)[living]


def _means(lengths: Sequence[Ints], width: int = FIELD_SLOTS) -> Floats:
    totals, present = np.zeros(width, np.int64), np.zeros(width, np.int64)
    for part in lengths:
        for slot, column in enumerate(part.T):
            totals[slot] += column.sum(dtype=np.int64)
            present[slot] += np.count_nonzero(column)
    return np.where(present > 0, totals / np.maximum(present, 1), 1.0)
