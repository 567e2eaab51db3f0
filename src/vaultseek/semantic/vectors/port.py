"""Data types of the vector index, and the interface of an approximate index."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.models.encoder import Vectors

Numbers = NDArray[np.int64]
Rows = NDArray[np.int64]
Scores = NDArray[np.float32]
NoteIds = Numbers


@dataclass(frozen=True, slots=True)
class VectorBatch:
    """Vectors to be stored: their numbers, the notes that they belong to, and the unit vectors as ``(count,
    dimension)``."""

    numbers: Numbers
    notes: NoteIds
    vectors: Vectors

    @classmethod
    def empty(cls) -> VectorBatch:
        """Return a batch without vectors."""
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros((0, 0), np.float32))

    def __len__(self) -> int:
        return len(self.numbers)


class ApproximateIndex(Protocol):
    """An index of a matrix's first rows. It finds the nearest rows without scanning all of them.

    Every method may raise ``WorkerUnavailable``; the index is unusable afterwards.
    """

    def count(self) -> int:
        """Return the number of rows in the index."""

    def add(self, first: int, vectors: Vectors) -> None:
        """Store rows with consecutive numbers, beginning with ``first``. Some of the rows may already be in
        the index."""

    def nearest(self, vector: Vectors, k: int) -> Rows:
        """Return the numbers of the ``k`` nearest rows, best first. The index may miss a few rows."""

    def end(self) -> None:
        """Delete the index's files and release its memory."""


OpenIndex = Callable[[Path], ApproximateIndex]
"""Function that opens the index in a folder; the folder is created if it is missing."""
