"""The vector index: the nearest vectors with exact filters, over any store of vectors.

The notes of vectors, the filter and the cut are kept and decided here, so that every store gives the same
answers. Runs in the semantic worker.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vaultseek.errors import IndexDamaged
from vaultseek.index.vectors.port import NoteIds, VectorBatch, VectorStore
from vaultseek.models.encoder import Vectors

VECTOR_WRITE = 64
"""Vectors per write; Chroma holds the interpreter lock during a write, and queries wait."""
VECTOR_EXACT = 250
"""Filtered vectors up to which they are scored one by one rather than searched."""
VECTOR_EXACT_COST = 3
"""Vectors that a search returns in the time that it takes to score one exactly."""
VECTOR_PASSAGES = 5
"""Passages per note that a search returns."""
VECTOR_PROBES = 16
"""Vectors read when an index is opened, to notice damage."""


class VectorHit(NamedTuple):
    """A vector in a search result: its id, its note, and its cosine to the query."""

    id: str
    note: int
    score: float


class VectorIndex:
    """A collection with its notes in memory. One thread writes; others may search at the same time."""

    def __init__(self, store: VectorStore, pause: Callable[[], None] | None = None) -> None:
        """Open the index; ``pause`` is called between writes, to let waiting queries run.

        Raises ``IndexDamaged`` if the store has lost vectors.
        """
        self._store = store
        self._pause = pause or (lambda: None)
        self._lock = threading.Lock()
        self._note_of = store.notes()
        self._ids_of: dict[int, set[str]] = {}
        for id, note in self._note_of.items():
            self._ids_of.setdefault(note, set()).add(id)
        self._probe()

    def __len__(self) -> int:
        """Return the number of vectors."""
        return len(self._note_of)

    @property
    def version(self) -> str | None:
        """The version that the last complete ``apply`` set."""
        return self._store.version()

    def apply(self, batch: VectorBatch, deletes: Sequence[str] = (), version: str | None = None) -> None:
        """Delete, then store or replace, then set the version.

        Of equal ids the last is stored; vectors that are not finite are left out. A crash in between leaves
        the old version. It is idempotent.
        """
        batch = _unique(batch)
        gone = list(dict.fromkeys(deletes))
        empty = batch.slice(0, 0)
        for start in range(0, len(gone), VECTOR_WRITE):
            self._write(empty, gone[start : start + VECTOR_WRITE])
        for start in range(0, len(batch.ids), VECTOR_WRITE):
            self._write(batch.slice(start, start + VECTOR_WRITE), ())
        if version is not None:
            self._store.version(version)

    def search(self, vector: Vectors, k: int, allowed: NoteIds | None = None) -> list[VectorHit]:
        """Return the best hits of the ``k`` best notes, best first, a few hits per note; ties by id.

        ``allowed`` are the notes to search in. The filter is exact and precedes the cut: there are ``k``
        notes in the result if ``k`` allowed notes have a vector.
        """
        with self._lock:
            total = len(self._note_of)
            counts = self._vector_counts(allowed)
        if counts is None:
            notes, candidates = len(self._ids_of), total
        else:
            notes, candidates = len(counts), sum(counts.values())
        enough = min(k, notes)
        if enough <= 0:
            return []
        depth = min(total, 2 * enough * total // candidates + enough)
        if counts is not None and (candidates <= VECTOR_EXACT or _is_dearer(depth, candidates)):
            return _cut(self._score_all(vector, counts), k)
        hits = self._overfetch(vector, enough, counts, depth, candidates=candidates, total=total)
        if len({hit.note for hit in hits}) < enough:
            hits = self._score_all(vector, counts)
        return _cut(hits, k)

    def vectors(self, notes: Sequence[int]) -> dict[int, Vectors]:
        """Return the vector of each of these notes that has any; of several, that of the least id."""
        with self._lock:
            id_of = {note: min(self._ids_of[note]) for note in notes if note in self._ids_of}
        vectors = self._store.vectors(list(id_of.values()))
        return {note: vectors[id] for note, id in id_of.items() if id in vectors}

    def _overfetch(
        self,
        vector: Vectors,
        enough: int,
        allowed: Mapping[int, int] | None,
        depth: int,
        *,
        candidates: int,
        total: int,
    ) -> list[VectorHit]:
        """Search deeper and deeper until there are ``enough`` notes or exact scoring is cheaper."""
        while True:
            hits = [
                VectorHit(id, note, score)
                for id, score in self._store.nearest(vector, depth)
                if (note := self._note_of.get(id)) is not None and (allowed is None or note in allowed)
            ]
            complete = len({hit.note for hit in hits}) >= enough
            if complete or depth >= total or _is_dearer(depth, candidates):
                return hits
            depth = min(total, 4 * depth)

    def _score_all(self, vector: Vectors, allowed: Iterable[int] | None) -> list[VectorHit]:
        with self._lock:
            notes = list(self._ids_of) if allowed is None else list(allowed)
            ids = [id for note in notes for id in self._ids_of.get(note, ())]
        vectors = self._store.vectors(ids)
        present = [id for id in ids if id in vectors and id in self._note_of]
        if len(present) < len(ids):
            self._check_missing(ids, vectors)
        if not present:
            return []
        scores = np.stack([vectors[id] for id in present]) @ vector
        return [
            VectorHit(id, self._note_of[id], float(score)) for id, score in zip(present, scores, strict=True)
        ]

    def _check_missing(self, ids: Sequence[str], vectors: Mapping[str, Vectors]) -> None:
        """Raise ``IndexDamaged`` if the store has no vector of an id that was not deleted meanwhile."""
        with self._lock:
            missing = [id for id in ids if id in self._note_of and id not in vectors]
        if missing and len(self._store.vectors(missing)) < len(missing):
            raise IndexDamaged("the vector index has lost vectors; it has to be rebuilt")

    def _vector_counts(self, allowed: NoteIds | None) -> dict[int, int] | None:
        """Return the number of vectors of each allowed note that has any; None if all are allowed."""
        if allowed is None:
            return None
        return {note: len(self._ids_of[note]) for note in allowed.tolist() if note in self._ids_of}

    def _write(self, batch: VectorBatch, deletes: Sequence[str]) -> None:
        known = [id for id in deletes if id in self._note_of]
        if not batch.ids and not known:
            return
        self._store.write(batch, known)
        with self._lock:
            for id in known:
                self._forget(id)
            for id, note in zip(batch.ids, batch.notes, strict=True):
                if id in self._note_of:
                    self._forget(id)
                self._note_of[id] = note
                self._ids_of.setdefault(note, set()).add(id)
        self._pause()

    def _forget(self, id: str) -> None:
        note = self._note_of.pop(id)
        ids = self._ids_of[note]
        ids.discard(id)
        if not ids:
            del self._ids_of[note]

    def _probe(self) -> None:
        """Read some vectors, so that a damaged store fails now and not in the middle of a query."""
        if not self._note_of:
            return
        step = max(1, len(self._note_of) // VECTOR_PROBES)
        ids = list(self._note_of)[::step]
        vectors = self._store.vectors(ids)
        if len(vectors) < len(ids) or not self._store.nearest(next(iter(vectors.values())), 1):
            raise IndexDamaged("the vector index has lost vectors; it has to be rebuilt")


def _is_dearer(depth: int, candidates: int) -> bool:
    """True if a search of this depth costs more than to score the candidates one by one."""
    return depth > VECTOR_EXACT_COST * candidates


def _unique(batch: VectorBatch) -> VectorBatch:
    """Return the last vector of each id, without those that are not finite."""
    if not batch.ids:
        return VectorBatch((), (), np.empty((0, 0), dtype=np.float32))
    finite = np.isfinite(batch.vectors.sum(axis=1))
    last = {id: row for row, id in enumerate(batch.ids)}
    rows = [row for row in last.values() if finite[row]]
    return VectorBatch(
        [batch.ids[row] for row in rows], [int(batch.notes[row]) for row in rows], batch.vectors[rows]
    )


def _cut(hits: list[VectorHit], k: int) -> list[VectorHit]:
    """Return the first hits of the first ``k`` notes."""
    counts: dict[int, int] = {}
    top: list[VectorHit] = []
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.id)):
        count = counts.get(hit.note, 0)
        if (count or len(counts) < k) and count < VECTOR_PASSAGES:
            counts[hit.note] = count + 1
            top.append(hit)
    return top
