"""Byte strings in one buffer, used for the vocabulary, words and chunk ids of a segment."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer[Any]]

HEAD_BYTES = 8
"""Number of leading bytes of a string that are compared in one step."""


class Strings(Sequence[bytes]):
    """Byte strings in one buffer. They must be sorted and distinct for ``find_all`` and ``with_prefix``."""

    __slots__ = ("_heads", "_offsets", "blob", "offsets")

    def __init__(self, blob: bytes, offsets: Ints) -> None:
        data = np.asarray(offsets, np.uint32).tobytes()
        self.blob = blob
        self.offsets: Ints = np.frombuffer(data, np.uint32)
        self._offsets = memoryview(data).cast("I")
        self._heads: Ints | None = None

    @classmethod
    def of(cls, values: Iterable[bytes]) -> Strings:
        """Put ``values`` into one buffer."""
        values = list(values)
        offsets = np.fromiter(accumulate(map(len, values), initial=0), np.uint32, len(values) + 1)
        return cls(b"".join(values), offsets)

    def __reduce__(self) -> tuple[type[Strings], tuple[bytes, Ints]]:
        """Copy the strings by content, because a view of memory cannot be pickled."""
        return Strings, (self.blob, self.offsets)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, index: int) -> bytes: ...
    @overload
    def __getitem__(self, index: slice) -> list[bytes]: ...
    def __getitem__(self, index: int | slice) -> bytes | list[bytes]:
        if isinstance(index, slice):
            stop = len(self) if index.stop is None else index.stop
            bounds = self._offsets[index.start or 0 : stop + 1].tolist()
            return [self.blob[first:last] for first, last in pairwise(bounds)]
        return self.blob[self._offsets[index] : self._offsets[index + 1]]

    def find_all(self, values: Sequence[bytes], heads: Ints) -> list[int]:
        """Return the indexes of the strings that are among ``values``; ``heads`` are the values'
        `first_bytes`."""
        own = self._first_bytes()
        lows, highs = own.searchsorted(heads), own.searchsorted(heads, side="right")
        indexes: list[int] = []
        for at in (lows < highs).nonzero()[0].tolist():
            value, high = values[at], int(highs[at])
            index = bisect_left(self, value, int(lows[at]), high)
            if index < high and self[index] == value:
                indexes.append(index)
        return indexes

    def with_prefix(self, prefix: bytes) -> range:
        """Return the indexes of all strings that begin with ``prefix``."""
        return range(self._place(prefix), self._place(prefix + b"\xff"))

    def _place(self, value: bytes) -> int:
        heads = self._first_bytes()
        head = first_bytes([value])[0]
        low, high = int(heads.searchsorted(head)), int(heads.searchsorted(head, side="right"))
        return bisect_left(self, value, low, high)

    def _first_bytes(self) -> Ints:
        """Return the first bytes of each string as a number; the numbers are ascending. Most comparisons need
        only these bytes."""
        if self._heads is None:
            starts = self.offsets[:-1].astype(np.int64)
            sizes = self.offsets[1:] - starts
            data = np.frombuffer(self.blob + bytes(HEAD_BYTES), np.uint8)
            heads = np.zeros((len(self), HEAD_BYTES), np.uint8)
            for at in range(HEAD_BYTES):
                heads[:, at] = data[starts + at] * (sizes > at)
            self._heads = heads.view(">u8").ravel().astype(np.uint64)
        return self._heads


def first_bytes(values: Iterable[bytes]) -> Ints:
    """Return the beginning of each value as a number; the numbers sort like the values: uint64[values]."""
    heads = [int.from_bytes(value[:HEAD_BYTES].ljust(HEAD_BYTES, b"\0")) for value in values]
    return np.array(heads, np.uint64)


def word_tables(pairs: Iterable[tuple[bytes, int]]) -> tuple[Strings, Ints]:
    """Return the tables ``words`` and ``word_terms`` of a segment, given its distinct pairs of word and
    term."""
    ordered = sorted(pairs)
    return Strings.of(word for word, _ in ordered), np.array([term for _, term in ordered], np.uint32)
