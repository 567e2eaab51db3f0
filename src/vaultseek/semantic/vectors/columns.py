"""Arrays that grow at the end while other threads read the beginning."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

_GROWTH = 1.25
_LEAST = 64


class Column:
    """A growing array of rows; views returned by ``rows`` never change."""

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        self._shape = () if width is None else (width,)
        self._array: NDArray[Any] = np.empty((0, *self._shape), dtype=dtype)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[Any]:
        """A view of the rows stored so far."""
        return self._array[: self._count]

    def append(self, rows: NDArray[Any]) -> None:
        """Append rows at the end."""
        end = self._count + len(rows)
        self.reserve(end)
        self._array[self._count : end] = rows
        self._count = end

    def reserve(self, count: int) -> None:
        """Allocate memory for a total of ``count`` rows."""
        if count > len(self._array):
            room = max(count, _LEAST, int(_GROWTH * len(self._array)))
            grown = np.empty((room, *self._shape), dtype=self._array.dtype)
            grown[: self._count] = self.rows
            self._array = grown

    def change(self, indexes: NDArray[np.int64], value: Any) -> None:
        """Set the rows at ``indexes`` to ``value``, in a copy of the array, so that existing views do not
        change."""
        if len(indexes):
            self._array = self._array.copy()
            self._array[indexes] = value


class Table:
    """A map from small non-negative integers to integers; unset keys have the value -1."""

    def __init__(self) -> None:
        self._values = np.full(0, -1, dtype=np.int32)

    def get(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the values of ``keys``."""
        known = (keys >= 0) & (keys < len(self._values))
        values = np.full(len(keys), -1, dtype=np.int64)
        values[known] = self._values[keys[known]]
        return values

    def set(self, keys: NDArray[np.int64], values: NDArray[np.int64] | int) -> None:
        """Set the values of ``keys``; if a key occurs several times, its last value counts."""
        if not len(keys):
            return
        if (end := int(keys.max()) + 1) > len(self._values):
            grown = np.full(max(end, _LEAST, int(_GROWTH * len(self._values))), -1, dtype=np.int32)
            grown[: len(self._values)] = self._values
            self._values = grown
        self._values[keys] = values
