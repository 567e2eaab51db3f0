"""The port to a vector store, which only knows strings and vectors, and a store in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.models.encoder import Vectors

NoteIds = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class VectorBatch:
    """Vectors to be stored: ids, the notes they belong to, and unit vectors ``(len(ids), dimension)``."""

    ids: Sequence[str]
    notes: Sequence[int]
    vectors: Vectors

    def slice(self, start: int, end: int) -> VectorBatch:
        """Return the vectors from ``start`` up to, not including, ``end``."""
        return VectorBatch(self.ids[start:end], self.notes[start:end], self.vectors[start:end])


class VectorStore(Protocol):
    """One collection of vectors. Every method raises ``IndexDamaged`` if the store cannot be used."""

    def write(self, batch: VectorBatch, deletes: Sequence[str]) -> None:
        """Delete, then store or replace. Unknown ids may be deleted; the ids of a batch are unique."""

    def nearest(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        """Return ids and cosines of the ``k`` nearest, best first. A few may be missed."""

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """Return the vectors of these ids; unknown ids are left out."""

    def notes(self) -> dict[str, int]:
        """Return the note of every stored id."""

    def version(self, new: str | None = None) -> str | None:
        """Set the version if ``new`` is given; return the version, None if it was never set.

        The new version becomes durable with or after all that was written before it, never earlier.
        """


class StoreDirectory(Protocol):
    """The collections in one folder on disk."""

    def collection(self, name: str, *, create: bool) -> VectorStore | None:
        """Return the collection ``name``; if there is none, create it or return None."""

    def close(self) -> None:
        """Release the folder, so that it can be removed."""


OpenDirectory = Callable[[Path], StoreDirectory]


class MemoryStore:
    """An exact store in memory: for tests, and the reference for other stores."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[int, Vectors]] = {}
        self._version: str | None = None
        self._lock = threading.Lock()

    def write(self, batch: VectorBatch, deletes: Sequence[str]) -> None:
        """See ``VectorStore.write``."""
        with self._lock:
            for id in deletes:
                self._rows.pop(id, None)
            for id, note, vector in zip(batch.ids, batch.notes, batch.vectors, strict=True):
                self._rows[id] = (int(note), np.array(vector, dtype=np.float32))

    def nearest(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        """See ``VectorStore.nearest``; this store misses none."""
        with self._lock:
            rows = list(self._rows.items())
        if not rows or k <= 0:
            return []
        scores = np.stack([row for _, (_, row) in rows]) @ vector
        best = np.argsort(-scores, kind="stable")[:k]
        return [(rows[i][0], float(scores[i])) for i in best]

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """See ``VectorStore.vectors``."""
        with self._lock:
            return {id: self._rows[id][1] for id in ids if id in self._rows}

    def notes(self) -> dict[str, int]:
        """See ``VectorStore.notes``."""
        with self._lock:
            return {id: note for id, (note, _) in self._rows.items()}

    def version(self, new: str | None = None) -> str | None:
        """See ``VectorStore.version``."""
        if new is not None:
            self._version = new
        return self._version


class MemoryDirectory:
    """Collections in memory; ``path`` is ignored."""

    def __init__(self, path: Path) -> None:
        self._collections: dict[str, MemoryStore] = {}

    def collection(self, name: str, *, create: bool) -> MemoryStore | None:
        """See ``StoreDirectory.collection``."""
        if create:
            self._collections.setdefault(name, MemoryStore())
        return self._collections.get(name)

    def close(self) -> None:
        """Drop all collections."""
        self._collections.clear()
