"""The open vector stores of the semantic worker. Used only in the child."""

from __future__ import annotations

import contextlib
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from vaultseek.base import limits
from vaultseek.base.model import VectorIndexKind
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.matrix_file import MatrixFile
from vaultseek.semantic.worker.chroma_process import ChromaProcess


class StoreCache:
    """The open stores. Reads and writes may run at the same time; dropping a store waits for its readers."""

    def __init__(self, kind: VectorIndexKind = "auto") -> None:
        self._kind = kind
        self._stores: dict[str, _OpenStore] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def reading(self, path: str) -> Iterator[Callable[[str | None], VectorIndex | None]]:
        """Yield a function that returns a collection by name, or None if the collection is missing. The
        collections are valid until the ``with`` block ends."""
        store = self._store(path)
        with store.lock:
            yield lambda name: store.index(name, create=False) if name is not None else None

    def writing(self, path: str, name: str) -> VectorIndex:
        """Return the collection ``name``, creating it if it is missing. Call this only from the queue that
        also drops stores."""
        index = self._store(path).index(name, create=True)
        assert index is not None
        return index

    def drop(self, path: str) -> None:
        """Close a store and remove its folder. A damaged store can be dropped, because it is not opened."""
        store = self._store(path)
        with store.lock:
            store.close()
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(path)

    def _store(self, path: str) -> _OpenStore:
        with self._lock:
            store = self._stores.get(path)
            if store is not None and store.is_lost():
                store.close()
                store = None
            if store is None:
                store = self._stores[path] = _OpenStore(Path(path), self._kind)
            return store


class _OpenStore:
    """A store's folder, its open collections, and a lock that makes the store's removal wait for readers."""

    def __init__(self, folder: Path, kind: VectorIndexKind) -> None:
        self._folder = folder
        self._kind = kind
        self._indexes: dict[str, VectorIndex] = {}
        self.lock = threading.RLock()

    def is_lost(self) -> bool:
        """True if the folder of an open collection was removed, for example by another process."""
        return bool(self._indexes) and not self._folder.is_dir()

    def close(self) -> None:
        """Close the collections, whose files will not be used again."""
        for index in self._indexes.values():
            index.end()
        self._indexes.clear()

    def index(self, name: str, *, create: bool) -> VectorIndex | None:
        with self.lock:
            if name not in self._indexes:
                if not create and not MatrixFile(self._folder, name).exists:
                    return None
                open_index = None if self._kind == "exact" else ChromaProcess
                is_proposed = has_memory if self._kind == "auto" else bool
                self._indexes[name] = VectorIndex(self._folder, name, open_index, is_proposed)
            return self._indexes[name]


def has_memory(vectors: int) -> bool:
    """Return true if Chroma is worth using for this many bytes of vectors, and fits into memory."""
    if vectors < limits.PROPOSED_BYTES:
        return False
    try:
        available = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return True  # only Linux reports it
    return available is None or int(available[1]) * limits.KIB > _CHROMA_MEMORY * vectors


_CHROMA_MEMORY = 4
"""Bytes of memory required per byte of vectors. Chroma uses two of these bytes; the rest is left for other
programs."""
