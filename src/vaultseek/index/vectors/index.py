"""The semantic index: nearest vectors with exact filters, over any store of vectors.

A store only knows strings and vectors. Which note a vector belongs to, the filter and the cut are decided
here, so that every store gives the same answers. Runs in the semantic worker; an exact store in memory
stands at the end of the module, Chroma's in `semantic_chroma`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.errors import IndexDamaged
from vaultseek.models.encoder import Vectors

VECTOR_WRITE = 64
"""Vectors a write to Chroma, which holds the interpreter lock meanwhile and keeps queries waiting."""
VECTOR_EXACT = 250
"""Up to this many vectors left by a filter are scored one by one instead of searched for."""
VECTOR_EXACT_COST = 3
"""To score one vector exactly takes as long as to find this many more by a search."""
VECTOR_PASSAGES = 5
"""Passages a note that one search returns."""
VECTOR_PROBES = 16

NoteIds = NDArray[np.int64]


class Hit(NamedTuple):
    """A vector that was found: its id, the note it belongs to, and its cosine to the query."""

    id: str
    note: int
    score: float


@dataclass(frozen=True, slots=True)
class Entries:
    """Vectors to be stored: ids, the notes they belong to, and unit vectors ``(len(ids), dimension)``."""

    ids: Sequence[str]
    notes: Sequence[int]
    vectors: Vectors

    def slice(self, start: int, end: int) -> Entries:
        """The entries from ``start`` to before ``end``."""
        return Entries(self.ids[start:end], self.notes[start:end], self.vectors[start:end])


class VectorStore(Protocol):
    """One collection of vectors. Every method raises `IndexDamaged` if the store cannot be used."""

    def write(self, entries: Entries, deletes: Sequence[str]) -> None:
        """Delete, then store, replacing what has the same id. Unknown ids may be deleted. Ids are unique."""

    def nearest(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        """Ids and cosines of the ``k`` nearest, best first. A few may be missed."""

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """The vectors of those ids that are held."""

    def notes(self) -> dict[str, int]:
        """The note of every id that is held."""

    def stamp(self, new: str | None = None) -> str | None:
        """What `stamp` was last given, None if nothing; first put ``new`` in its place, if it is given.

        The new stamp is as durable as what was written before it, and never more.
        """


class StoreDirectory(Protocol):
    """The collections that lie in one folder on disk."""

    def collection(self, name: str, *, create: bool) -> VectorStore | None:
        """The collection ``name``, or None if there is none and none is to be made."""

    def close(self) -> None:
        """Let go of the folder, so that it can be removed."""


OpenDirectory = Callable[[Path], StoreDirectory]


class SemanticIndex:
    """A collection with its notes in memory. Written by one thread, searched by others at the same time."""

    def __init__(self, store: VectorStore, pause: Callable[[], None] | None = None) -> None:
        """``pause`` is called between writes: a store may hold the interpreter lock, and queries wait."""
        self._store = store
        self._pause = pause or (lambda: None)
        self._lock = threading.Lock()
        self._note_of = store.notes()
        self._ids_of: dict[int, set[str]] = {}
        for id, note in self._note_of.items():
            self._ids_of.setdefault(note, set()).add(id)
        self._probe()

    def __len__(self) -> int:
        return len(self._note_of)

    @property
    def stamp(self) -> str | None:
        """What the last complete `apply` was stamped with."""
        return self._store.stamp()

    def apply(self, entries: Entries, deletes: Sequence[str] = (), stamp: str | None = None) -> None:
        """Delete, then store or replace, then set the stamp.

        Of equal ids the last is stored; vectors that are not finite are left out. A crash in between leaves
        the old stamp, and applying the same again gives the same as applying it once.
        """
        entries = _unique(entries)
        gone = list(dict.fromkeys(deletes))
        none = entries.slice(0, 0)
        for at in range(0, len(gone), VECTOR_WRITE):
            self._write(none, gone[at : at + VECTOR_WRITE])
        for at in range(0, len(entries.ids), VECTOR_WRITE):
            self._write(entries.slice(at, at + VECTOR_WRITE), ())
        if stamp is not None:
            self._store.stamp(stamp)

    def search(self, vector: Vectors, k: int, allowed: NoteIds | None = None) -> list[Hit]:
        """The best hits of the ``k`` best notes, best first, a few hits a note; ties by id.

        ``allowed`` are the notes to search in; the filter is exact and comes before the cut: ``k`` notes are
        found if ``k`` allowed notes have a vector here.
        """
        with self._lock:
            total = len(self._note_of)
            among = self._among(allowed)
        notes, held = (len(self._ids_of), total) if among is None else (len(among), sum(among.values()))
        wanted = min(k, notes)
        if wanted <= 0:
            return []
        fetch = min(total, 2 * wanted * total // held + wanted)
        if among is not None and (held <= VECTOR_EXACT or _dearer(fetch, held)):
            return _cut(self._score_all(vector, among), k)
        hits = self._overfetch(vector, wanted, among, fetch, held=held, total=total)
        if len({hit.note for hit in hits}) < wanted:
            hits = self._score_all(vector, among)
        return _cut(hits, k)

    def vectors(self, notes: Sequence[int]) -> dict[int, Vectors]:
        """A vector of each of these notes that has any here: of several, that of the least id."""
        with self._lock:
            id_of = {note: min(self._ids_of[note]) for note in notes if note in self._ids_of}
        found = self._store.vectors(list(id_of.values()))
        return {note: found[id] for note, id in id_of.items() if id in found}

    def _overfetch(
        self,
        vector: Vectors,
        wanted: int,
        among: Mapping[int, int] | None,
        fetch: int,
        *,
        held: int,
        total: int,
    ) -> list[Hit]:
        """Ask for more of the nearest until ``wanted`` notes are among them or it does not pay any more."""
        while True:
            found = self._store.nearest(vector, fetch)
            hits = [
                Hit(id, note, score)
                for id, score in found
                if (note := self._note_of.get(id)) is not None and (among is None or note in among)
            ]
            enough = len({hit.note for hit in hits}) >= wanted
            if enough or fetch >= total or _dearer(fetch, held):
                return hits
            fetch = min(total, 4 * fetch)

    def _score_all(self, vector: Vectors, among: Iterable[int] | None) -> list[Hit]:
        with self._lock:
            notes = list(self._ids_of) if among is None else list(among)
            ids = [id for note in notes for id in self._ids_of.get(note, ())]
        found = self._store.vectors(ids)
        kept = [id for id in ids if id in found and id in self._note_of]
        if len(kept) < len(ids):
            self._check_missing(ids, found)
        if not kept:
            return []
        scores = np.stack([found[id] for id in kept]) @ vector
        return [Hit(id, self._note_of[id], float(score)) for id, score in zip(kept, scores, strict=True)]

    def _check_missing(self, ids: Sequence[str], found: Mapping[str, Vectors]) -> None:
        """Ids that are neither found nor were deleted meanwhile mean that the store has lost vectors."""
        with self._lock:
            lost = [id for id in ids if id in self._note_of and id not in found]
        if lost and len(self._store.vectors(lost)) < len(lost):
            raise IndexDamaged("the vector index has lost vectors; it has to be rebuilt")

    def _among(self, allowed: NoteIds | None) -> dict[int, int] | None:
        """Allowed notes that have vectors here, and how many."""
        if allowed is None:
            return None
        return {note: len(self._ids_of[note]) for note in allowed.tolist() if note in self._ids_of}

    def _write(self, entries: Entries, deletes: Sequence[str]) -> None:
        known = [id for id in deletes if id in self._note_of]
        if not entries.ids and not known:
            return
        self._store.write(entries, known)
        with self._lock:
            for id in known:
                self._forget(id)
            for id, note in zip(entries.ids, entries.notes, strict=True):
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
        """Touch what a damaged store would fail at, so that it fails now and not in the middle of a query."""
        if not self._note_of:
            return
        step = max(1, len(self._note_of) // VECTOR_PROBES)
        ids = list(self._note_of)[::step]
        vectors = self._store.vectors(ids)
        if len(vectors) < len(ids) or not self._store.nearest(next(iter(vectors.values())), 1):
            raise IndexDamaged("the vector index has lost vectors; it has to be rebuilt")


class MemoryStore:
    """An exact store that lives as long as the process: for tests, and what other stores are measured by."""

    def __init__(self) -> None:
        self._rows: dict[str, tuple[int, Vectors]] = {}
        self._stamp: str | None = None
        self._lock = threading.Lock()

    def write(self, entries: Entries, deletes: Sequence[str]) -> None:
        """See `VectorStore.write`."""
        with self._lock:
            for id in deletes:
                self._rows.pop(id, None)
            for id, note, vector in zip(entries.ids, entries.notes, entries.vectors, strict=True):
                self._rows[id] = (int(note), np.array(vector, dtype=np.float32))

    def nearest(self, vector: Vectors, k: int) -> list[tuple[str, float]]:
        """See `VectorStore.nearest`; here nothing is missed."""
        with self._lock:
            rows = list(self._rows.items())
        if not rows or k <= 0:
            return []
        scores = np.stack([row for _, (_, row) in rows]) @ vector
        best = np.argsort(-scores, kind="stable")[:k]
        return [(rows[i][0], float(scores[i])) for i in best]

    def vectors(self, ids: Sequence[str]) -> dict[str, Vectors]:
        """See `VectorStore.vectors`."""
        with self._lock:
            return {id: self._rows[id][1] for id in ids if id in self._rows}

    def notes(self) -> dict[str, int]:
        """See `VectorStore.notes`."""
        with self._lock:
            return {id: note for id, (note, _) in self._rows.items()}

    def stamp(self, new: str | None = None) -> str | None:
        """See `VectorStore.stamp`."""
        if new is not None:
            self._stamp = new
        return self._stamp


class MemoryDirectory:
    """Collections in memory; ``path`` only tells them apart from those of other vaults."""

    def __init__(self, path: Path) -> None:
        self._collections: dict[str, MemoryStore] = {}

    def collection(self, name: str, *, create: bool) -> MemoryStore | None:
        """See `StoreDirectory.collection`."""
        if create:
            self._collections.setdefault(name, MemoryStore())
        return self._collections.get(name)

    def close(self) -> None:
        """Forget everything."""
        self._collections.clear()


def _dearer(fetch: int, held: int) -> bool:
    """Whether to search for so many costs more than to score so many one by one."""
    return fetch > VECTOR_EXACT_COST * held


def _unique(entries: Entries) -> Entries:
    """Of equal ids the last, and none whose vector is not finite."""
    if not entries.ids:
        return Entries((), (), np.empty((0, 0), dtype=np.float32))
    finite = np.isfinite(entries.vectors.sum(axis=1))
    last = {id: row for row, id in enumerate(entries.ids)}
    rows = [row for row in last.values() if finite[row]]
    return Entries(
        [entries.ids[row] for row in rows], [int(entries.notes[row]) for row in rows], entries.vectors[rows]
    )


def _cut(hits: list[Hit], k: int) -> list[Hit]:
    """The first hits of the first ``k`` notes."""
    seen: dict[int, int] = {}
    kept: list[Hit] = []
    for hit in sorted(hits, key=lambda hit: (-hit.score, hit.id)):
        count = seen.get(hit.note, 0)
        if (count or len(seen) < k) and count < VECTOR_PASSAGES:
            seen[hit.note] = count + 1
            kept.append(hit)
    return kept
