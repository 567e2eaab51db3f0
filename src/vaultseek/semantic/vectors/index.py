"""The vector index: the nearest vectors with exact filters, over any store of vectors.

The store keeps the vectors; a matrix of them, in files of its own where there is a folder, answers. So every
store gives the same answers, exactly, and is itself needed for writing only. Beyond the matrix's budget the
store proposes the nearest, and they are scored in full precision. Runs in the semantic worker.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from vaultseek.base import limits
from vaultseek.errors import IndexDamaged
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.columns import Column
from vaultseek.semantic.vectors.matrix import Matrix, Snapshot, VectorHits
from vaultseek.semantic.vectors.matrix_file import FileDamaged, MatrixFile
from vaultseek.semantic.vectors.port import NoteIds, Numbers, StoreState, VectorBatch, VectorStore

VECTOR_WRITE = 1000
"""Vectors per write to the store."""
VECTOR_WRITE_SHARED = 64
"""The same where the store also answers, because queries wait for its writes."""
VECTOR_EXACT = 250
"""Filtered vectors up to which they are scored one by one rather than searched."""
VECTOR_EXACT_COST = 3
"""Vectors that a search returns in the time that it takes to score one exactly."""

NO_NUMBERS: Numbers = np.zeros(0, np.int64)
log = logging.getLogger(__name__)


class VectorIndex:
    """A collection and its matrix. One thread writes; others may search at the same time."""

    def __init__(
        self,
        store: VectorStore,
        folder: Path | None = None,
        name: str = "",
        pause: Callable[[], None] | None = None,
    ) -> None:
        """Open the index; ``pause`` is called between writes, to let waiting queries run.

        The matrix is in files of this name in ``folder``, or in memory only. Raises ``IndexDamaged`` if the
        store has to be read and cannot be.
        """
        self._store = store
        self._name = name
        self._pause = pause or (lambda: None)
        self._state = store.state()
        self._file = MatrixFile(folder, name) if folder is not None else None
        self._rows: Column | None = None
        self._matrix = self._load()
        self._current = (self._matrix, self._matrix.snapshot(self._vectors()))

    def __len__(self) -> int:
        """Return the number of vectors."""
        return len(self._matrix)

    @property
    def version(self) -> str | None:
        """The version that the last complete ``apply`` set."""
        return self._state.version

    def apply(self, batch: VectorBatch, deletes: Numbers = NO_NUMBERS, version: str | None = None) -> None:
        """Delete, then store or replace, then set the version.

        Of equal numbers the last is stored; vectors that are not finite are left out. A crash in between
        leaves the old version. It is idempotent.
        """
        batch, deletes = _unique(batch), np.unique(deletes)
        state = self._next_state(version)
        size = VECTOR_WRITE if self._matrix.in_budget else VECTOR_WRITE_SHARED
        self._append(batch, deletes, state)
        last = max(0, len(batch) - 1) // size * size
        for start in range(0, last + 1, size):
            self._store.write(
                batch.slice(start, start + size),
                deletes if start == 0 else NO_NUMBERS,
                state if start == last else None,
            )
            self._pause()
        self._state = state

    def search(self, vector: Vectors, k: int, allowed: NoteIds | None = None) -> VectorHits:
        """Return the best hits of the ``k`` best notes, best first, a few hits per note; ties by number.

        Notes as near as the ``k``-th are returned, too. ``allowed`` are the notes to search in. The filter is
        exact and precedes the cut: there are ``k`` notes in the result if ``k`` allowed ones have a vector.
        """
        matrix, snapshot = self._intact()
        if len(snapshot.numbers) and vector.shape != snapshot.vectors.shape[1:]:
            raise ValueError(f"a vector of {len(vector)} numbers, not {snapshot.vectors.shape[1]}")
        if matrix.in_budget:
            return snapshot.search(vector, k, allowed)
        return self._propose(vector, k, allowed)

    def vectors(self, notes: Sequence[int] | NoteIds) -> tuple[NoteIds, Vectors]:
        """Return those notes that have a vector, and the vector of each; of several, that of the least
        number."""
        _, snapshot = self._intact()
        rows = snapshot.rows_of(np.asarray(notes, dtype=np.int64))
        rows = rows[np.lexsort((snapshot.numbers[rows], snapshot.notes[rows]))]
        found, first = np.unique(snapshot.notes[rows], return_index=True)
        return found, snapshot.vectors[rows[first]]

    def scores(self, vector: Vectors, numbers: Numbers) -> dict[int, float]:
        """Return the scores of those of these numbers that have a vector."""
        matrix, snapshot = self._intact()
        rows = matrix.rows_of(numbers)
        rows = rows[rows < len(snapshot.numbers)]
        products = snapshot.vectors[rows] @ vector
        return dict(zip(snapshot.numbers[rows].tolist(), products.tolist(), strict=True))

    def numbers(self, notes: Sequence[int] | NoteIds) -> Numbers:
        """Return the numbers of all vectors of these notes."""
        _, snapshot = self._current
        return snapshot.numbers[snapshot.rows_of(np.asarray(notes, dtype=np.int64))]

    def _intact(self) -> tuple[Matrix, Snapshot]:
        """Return the matrix and its snapshot. Raises ``IndexDamaged`` if another program wrote its file."""
        current = self._current
        if self._file is not None and not self._file.is_intact():
            raise IndexDamaged(
                "the vectors were changed by another program; the vector index has to be rebuilt"
            )
        return current

    def _load(self) -> Matrix:
        """Return the matrix, from its files if they are of the store's state, else from the store."""
        matrix = Matrix(limits.VECTOR_SCAN_BYTES)
        if self._file is None:
            for page in self._store.pages():
                self._keep(page.vectors)
                matrix.append(page, NO_NUMBERS)
            return matrix
        try:
            self._file.load(self._state, matrix)
        except FileDamaged as error:
            if self._state.write:  # a new store has no files yet
                log.warning("the matrix %s is made again from the store: %s", self._name, error)
            self._file.replace(self._store.pages(), self._state)
            matrix = Matrix(limits.VECTOR_SCAN_BYTES)
            self._file.load(self._state, matrix)
        return matrix

    def _next_state(self, version: str | None) -> StoreState:
        write = self._state.write + 1 if self._state.write else secrets.randbits(40) + 1
        return StoreState(self._state.version if version is None else version, write)

    def _append(self, batch: VectorBatch, deletes: Numbers, state: StoreState) -> None:
        """Write to the matrix, and make its files anew where most of them is of no use."""
        _, snapshot = self._intact()
        if len(batch) and snapshot.vectors.size and batch.vectors.shape[1] != snapshot.vectors.shape[1]:
            raise IndexDamaged("the vectors are those of another model; the vector index has to be rebuilt")
        if self._file is not None:
            if self._matrix.gone > len(self._matrix) + VECTOR_WRITE or self._file.has_too_many_records:
                self._file.replace(self._pages(), self._state)
                matrix = Matrix(limits.VECTOR_SCAN_BYTES)
                self._file.load(self._state, matrix)
                self._matrix = matrix
            self._file.append(batch, deletes, state)
        self._keep(batch.vectors)
        self._matrix.append(batch, deletes)
        self._current = (self._matrix, self._matrix.snapshot(self._vectors()))

    def _pages(self) -> list[VectorBatch]:
        _, snapshot = self._current
        rows = np.flatnonzero(snapshot.notes >= 0)
        size = VECTOR_WRITE
        parts = [rows[start : start + size] for start in range(0, len(rows), size)]
        return [
            VectorBatch(snapshot.numbers[part], snapshot.notes[part], snapshot.vectors[part])
            for part in parts
        ]

    def _keep(self, vectors: Vectors) -> None:
        """Keep vectors in memory if there is no file."""
        if self._file is None and len(vectors):
            self._rows = self._rows or Column(np.float32, vectors.shape[1])
            self._rows.append(vectors)

    def _vectors(self) -> Vectors:
        if self._file is not None:
            return self._file.vectors()
        return self._rows.rows if self._rows is not None else np.zeros((0, 0), np.float32)

    def _propose(self, vector: Vectors, k: int, allowed: NoteIds | None) -> VectorHits:
        """Search what the store proposes, deeper and deeper until there are enough notes or it is cheaper to
        score all that are allowed."""
        matrix, snapshot = self._current
        rows = np.flatnonzero(snapshot.notes >= 0) if allowed is None else snapshot.rows_of(allowed)
        notes = len(np.unique(snapshot.notes[rows])) if allowed is not None else k
        enough, total = min(k, notes), len(matrix)
        if enough <= 0 or not len(rows):
            return VectorHits.none()
        depth = min(total, 2 * enough * total // len(rows) + enough)
        while len(rows) > VECTOR_EXACT and depth <= VECTOR_EXACT_COST * len(rows):
            near = matrix.rows_of(self._store.nearest(vector, depth))
            near = near[near < len(snapshot.notes)]
            near = np.intersect1d(near, rows)
            if depth >= total or len(np.unique(snapshot.notes[near])) >= enough:
                return snapshot.score(vector, near, k)
            depth = min(total, 4 * depth)
        return snapshot.score(vector, rows, k)


def _unique(batch: VectorBatch) -> VectorBatch:
    """Return the last vector of each number, without those that are not finite."""
    if not len(batch):
        return VectorBatch.empty()
    last = {number: row for row, number in enumerate(batch.numbers.tolist())}
    rows = np.fromiter(last.values(), dtype=np.int64, count=len(last))
    rows = rows[np.isfinite(batch.vectors.sum(axis=1))[rows]]
    return VectorBatch(batch.numbers[rows], batch.notes[rows], batch.vectors[rows])
