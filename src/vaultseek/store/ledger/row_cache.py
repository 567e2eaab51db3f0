"""Decoded rows kept in memory until the next commit: searches read the same notes again and again."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

V = TypeVar("V")


class RowCache(Generic[V]):
    """At most ``capacity`` values by integer key, for any thread.

    A commit clears it. A value that was read before a commit and arrives after it is not kept, so that no
    reader sees an outdated row.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: dict[int, V] = {}
        self._generation = 0
        self._lock = threading.Lock()

    def get_or_read(
        self, keys: Sequence[int], read: Callable[[Sequence[int]], Mapping[int, V]]
    ) -> dict[int, V]:
        """Return the values of the keys in their order; ``read`` returns those that are not here.

        Keys that it does not return are left out.
        """
        with self._lock:
            generation = self._generation
            values = {key: self._values[key] for key in keys if key in self._values}
        if len(values) == len(keys):
            return values
        rows = read([key for key in keys if key not in values])
        self._keep(rows, generation)
        values.update(rows)
        return {key: values[key] for key in keys if key in values}

    def clear(self) -> None:
        """Forget everything; called after each commit."""
        with self._lock:
            self._generation += 1
            self._values.clear()

    def _keep(self, rows: Mapping[int, V], generation: int) -> None:
        with self._lock:
            if generation != self._generation:
                return
            if len(self._values) + len(rows) > self._capacity:
                self._values.clear()
            if len(rows) <= self._capacity:
                self._values.update(rows)
