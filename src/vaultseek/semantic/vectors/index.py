"""Vector index, which finds the nearest vectors and filters exactly.

Normally, a matrix of all vectors is scanned, which is exact; the matrix's files are the source of truth. If
there are many vectors, an approximate index proposes candidates, which are scored in full precision. If that
index is not ready, or a filter leaves few notes, all vectors are scored. Runs in the semantic worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from vaultseek.base import limits
from vaultseek.errors import IndexDamaged
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.matrix import Matrix, Snapshot, VectorHits
from vaultseek.semantic.vectors.matrix_file import MatrixFile
from vaultseek.semantic.vectors.port import NoteIds, Numbers, OpenIndex, VectorBatch
from vaultseek.semantic.vectors.proposals import Proposals

VECTOR_PAGE = 1000
"""Number of vectors copied at once when the files are rewritten."""
SPARE, LEAST_SPARE = 8, 100
"""Limits on unused rows: the files are rewritten once the number of unused rows exceeds ``LEAST_SPARE`` plus
one for every ``SPARE`` vectors."""
PROPOSED = 1000
"""Maximum number of candidates requested from the approximate index. With more candidates, a scan would be as
fast."""

NO_NUMBERS: Numbers = np.zeros(0, np.int64)


class VectorIndex:
    """A collection of vectors. One thread writes; other threads may search at the same time."""

    def __init__(
        self,
        folder: Path,
        name: str,
        open_index: OpenIndex | None = None,
        is_proposed: Callable[[int], bool] = lambda vectors: False,
    ) -> None:
        """Open the index in the files called ``name`` in ``folder``, creating them if necessary.

        ``open_index`` opens an approximate index, which is used if the vectors exceed the matrix's budget, or
        if ``is_proposed`` returns true for the vectors' size in bytes. Raises ``IndexDamaged``.
        """
        self._open_index = open_index
        self._is_proposed = is_proposed
        self._proposed = False
        self._file = MatrixFile(folder, name)
        self.version: str | None = None
        """The version set by the last complete ``apply``."""
        if not self._file.exists:
            self._file.replace([], None)
        self._matrix, self._proposals = self._load()
        self._publish()

    def __len__(self) -> int:
        return len(self._matrix)

    @property
    def has_proposals(self) -> bool:
        """True if an approximate index is ready. Reading this property starts that index if it is needed."""
        snapshot, proposals = self._current
        return proposals is not None and proposals.count(snapshot.vectors) > 0

    def apply(self, batch: VectorBatch, deletes: Numbers = NO_NUMBERS, version: str | None = None) -> None:
        """Delete vectors, then add or replace vectors, then set the version if one is given.

        If a number occurs several times, its last vector is stored; non-finite vectors are left out. A crash
        before the end changes nothing. Idempotent.
        """
        batch, deletes, version = _unique(batch), np.unique(deletes), version or self.version
        snapshot = self._intact().snapshot
        if len(batch) and snapshot.vectors.size and batch.vectors.shape[1] != snapshot.vectors.shape[1]:
            raise IndexDamaged("the vectors are from a different model; the vector index has to be rebuilt")
        # Compacting the file also rebuilds any approximate index, which takes minutes.
        spare = len(self) // (SPARE if self._current.proposals is None else 1)
        if self._matrix.gone > spare + LEAST_SPARE or self._file.is_outdated:
            self._file.replace(self._pages(), self.version)
            self.end()
            self._matrix, self._proposals = self._load()
        self._file.append(batch, deletes, version)
        self._matrix.append(batch, deletes)
        self.version = version
        self._publish()

    def search(self, vector: Vectors, k: int, allowed: NoteIds | None = None) -> VectorHits:
        """Return the best hits for the ``k`` nearest notes, a few hits per note, best first; ties are sorted
        by vector number.

        Notes that are as near as the ``k``-th are also returned. With ``allowed``, only notes in ``allowed``
        are searched. This filter is exact and is applied first: the result has ``k`` notes if ``k`` allowed
        notes have vectors.
        """
        current = self._intact()
        snapshot = current.snapshot
        if len(snapshot.numbers) and vector.shape != snapshot.vectors.shape[1:]:
            raise ValueError(f"a vector of {len(vector)} numbers, not {snapshot.vectors.shape[1]}")
        hits = current.proposed(vector, k, allowed)
        return hits if hits is not None else snapshot.search(vector, k, allowed)

    def vectors(self, notes: Sequence[int] | NoteIds) -> tuple[NoteIds, Vectors]:
        """Return the vector of each note that has one. If a note has several vectors, return the one with the
        lowest number."""
        snapshot = self._intact().snapshot
        rows = snapshot.rows_of(np.asarray(notes, dtype=np.int64))
        rows = rows[np.lexsort((snapshot.numbers[rows], snapshot.notes[rows]))]
        found, first = np.unique(snapshot.notes[rows], return_index=True)
        return found, snapshot.vectors[rows[first]]

    def _intact(self) -> _Current:
        """Return the current vectors. Raises ``IndexDamaged`` if another program has written to their
        file."""
        current = self._current
        if not self._file.is_intact():
            raise IndexDamaged(
                "the vectors were changed by another program; the vector index has to be rebuilt"
            )
        return current

    def end(self) -> None:
        """Release the approximate index and remove its files."""
        if self._proposals is not None:
            self._proposals.end()

    def _load(self) -> tuple[Matrix, Proposals | None]:
        matrix, file = Matrix(limits.VECTOR_SCAN_BYTES), self._file
        self.version = file.load(matrix)
        if self._open_index is None:
            return matrix, None
        # All rows are read to fill the index, for each scan with a filter, and for each scan before the index
        # is ready; the index releases their pages.
        return matrix, Proposals(self._open_index, file.proposals, file.release_pages)

    def _publish(self) -> None:
        vectors = self._file.vectors()
        if not self._proposed:  # once true, stays true: the index's own memory counts as used
            self._proposed = not self._matrix.in_budget or self._is_proposed(vectors.nbytes)
        proposals = self._proposals if self._proposed else None
        self._current = _Current(self._matrix.snapshot(vectors), proposals)

    def _pages(self) -> Iterator[VectorBatch]:
        snapshot = self._current.snapshot
        rows = np.flatnonzero(snapshot.notes >= 0)
        for start in range(0, len(rows), VECTOR_PAGE):
            part = rows[start : start + VECTOR_PAGE]
            yield VectorBatch(snapshot.numbers[part], snapshot.notes[part], snapshot.vectors[part])


class _Current(NamedTuple):
    """A snapshot of the vectors, with the approximate index that proposes the nearest ones."""

    snapshot: Snapshot
    proposals: Proposals | None

    def proposed(self, vector: Vectors, k: int, allowed: NoteIds | None) -> VectorHits | None:
        """Return the best hits among the rows that the approximate index proposes and the rows that it does
        not contain yet. Return None if that index is not ready or proposes too few notes."""
        if self.proposals is None or k <= 0:
            return None
        is_allowed = self.snapshot.is_allowed(allowed)
        depth = k + 2 * k * len(is_allowed) // (int(np.count_nonzero(is_allowed)) or 1)
        count = self.proposals.count(self.snapshot.vectors) if depth <= PROPOSED else 0
        near = self.proposals.nearest(vector, depth) if depth <= count else None
        if near is None:
            return None
        near = near[near < len(is_allowed)]
        near = near[is_allowed[near]]
        if len(np.unique(self.snapshot.notes[near])) < k:
            return None
        later = np.arange(count, len(is_allowed))
        return self.snapshot.score(vector, np.concatenate([near, later[is_allowed[later]]]), k)


def _unique(batch: VectorBatch) -> VectorBatch:
    """Return a batch with the last vector for each number, without the numbers whose last vector is not
    finite."""
    if not len(batch):
        return VectorBatch.empty()
    last = {number: row for row, number in enumerate(batch.numbers.tolist())}
    rows = np.fromiter(last.values(), dtype=np.int64, count=len(last))
    rows = rows[np.isfinite(batch.vectors.sum(axis=1))[rows]]
    return VectorBatch(batch.numbers[rows], batch.notes[rows], batch.vectors[rows])
