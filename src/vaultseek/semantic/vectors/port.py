"""The port to a vector store, which only knows numbers and vectors, and a store in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.models.encoder import Vectors

Numbers = NDArray[np.int64]
Scores = NDArray[np.float32]
NoteIds = Numbers


@dataclass(frozen=True, slots=True)
class VectorBatch:
    """Vectors to be stored: numbers, the notes they belong to, and unit vectors ``(count, dimension)``."""

    numbers: Numbers
    notes: NoteIds
    vectors: Vectors

    @classmethod
    def empty(cls) -> VectorBatch:
        """Return a batch of no vectors."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0), np.float32))

    def __len__(self) -> int:
        """Return the number of vectors."""
        return len(self.numbers)

    def slice(self, start: int, end: int) -> VectorBatch:
        """Return the vectors from ``start`` up to, not including, ``end``."""
        return VectorBatch(self.numbers[start:end], self.notes[start:end], self.vectors[start:end])


class StoreState(NamedTuple):
    """State of a store: the version it was given last, and the number of its last write.

    The first write has a random number and each later one the next, so equal states mean equal contents.
    """

    version: str | None = None
    write: int = 0


class VectorStore(Protocol):
    """One collection of vectors. Every method raises ``IndexDamaged`` if the store cannot be used."""

    def write(self, batch: VectorBatch, deletes: Numbers, state: StoreState | None = None) -> None:
        """Delete, then store or replace, then set the state if it is given.

        Unknown numbers may be deleted; the numbers of a batch are unique. The state becomes durable with or
        after all that was written before it, never earlier.
        """

    def nearest(self, vector: Vectors, k: int) -> Numbers:
        """Return the numbers of the ``k`` nearest, best first. A few may be missed."""

    def pages(self) -> Iterator[VectorBatch]:
        """Yield all vectors, some thousand at a time."""

    def state(self) -> StoreState:
        """Return the state that was set last."""


class StoreDirectory(Protocol):
    """The collections in one folder on disk."""

    @property
    def folder(self) -> Path | None:
        """The folder, where files that belong to a collection may be kept; None if there is none."""

    def collection(self, name: str, *, create: bool) -> VectorStore | None:
        """Return the collection ``name``; if there is none, create it or return None."""

    def close(self) -> None:
        """Release the folder, so that it can be removed."""


OpenDirectory = Callable[[Path], StoreDirectory]


class MemoryStore:
    """An exact store in memory: for tests, and the reference for other stores."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[int, Vectors]] = {}
        self._state = StoreState()
        self._lock = threading.Lock()

    def write(self, batch: VectorBatch, deletes: Numbers, state: StoreState | None = None) -> None:
        """See ``VectorStore.write``."""
        with self._lock:
            for number in deletes.tolist():
                self._rows.pop(number, None)
            notes = batch.notes.tolist()
            for number, note, vector in zip(batch.numbers.tolist(), notes, batch.vectors, strict=True):
                self._rows[number] = (note, np.array(vector, dtype=np.float32))
            self._state = state or self._state

    def nearest(self, vector: Vectors, k: int) -> Numbers:
        """See ``VectorStore.nearest``; this store misses none."""
        for batch in self.pages():
            return batch.numbers[np.argsort(-(batch.vectors @ vector), kind="stable")[: max(k, 0)]]
        return np.zeros(0, np.int64)

    def pages(self) -> Iterator[VectorBatch]:
        """See ``VectorStore.pages``."""
        with self._lock:
            rows = dict(self._rows)
        if rows:
            notes, vectors = zip(*rows.values(), strict=True)
            yield VectorBatch(
                np.array(list(rows), dtype=np.int64), np.array(notes, dtype=np.int64), np.stack(vectors)
            )

    def state(self) -> StoreState:
        """See ``VectorStore.state``."""
        return self._state


class MemoryDirectory:
    """Collections in memory; ``path`` is ignored."""

    def __init__(self, path: Path) -> None:
        self.folder = None
        self._collections: dict[str, MemoryStore] = {}

    def collection(self, name: str, *, create: bool) -> MemoryStore | None:
        """See ``StoreDirectory.collection``."""
        if create:
            self._collections.setdefault(name, MemoryStore())
        return self._collections.get(name)

    def close(self) -> None:
        """Drop all collections."""
        self._collections.clear()
