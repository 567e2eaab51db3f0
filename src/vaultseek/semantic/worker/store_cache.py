"""The open vector stores of the semantic worker. Runs in the child only."""

from __future__ import annotations

import contextlib
import functools
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

from vaultseek.errors import ConfigError
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.port import OpenDirectory, StoreDirectory

Pause = Callable[[], None]


def open_directory(kind: str) -> OpenDirectory:
    """Return the function that opens stores of ``kind``, chroma or memory."""
    if kind == "memory":
        from vaultseek.semantic.vectors.port import MemoryDirectory

        return MemoryDirectory
    if kind != "chroma":
        raise ConfigError(f"there is no vector store {kind!r}; use chroma")
    from vaultseek.semantic.worker.store_process import RemoteDirectory, StoreProcess

    return functools.partial(RemoteDirectory, StoreProcess())


class StoreCache:
    """The open stores. Reading and writing at the same time is fine; dropping waits for readers."""

    def __init__(self, open_directory: OpenDirectory, pause: Pause) -> None:
        self._open = open_directory
        self._pause = pause
        self._stores: dict[Path, _OpenStore] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def reading(self, path: Path) -> Iterator[Callable[[str | None], VectorIndex | None]]:
        """Yield a lookup of collections by name, valid inside the context; None for a missing collection."""
        store = self._store(path)
        with store.lock:
            yield lambda name: store.index(name, create=False) if name is not None else None

    def writing(self, path: Path, name: str) -> VectorIndex:
        """Return the collection ``name``, created if it is missing. Only the queue that drops may write."""
        index = self._store(path).index(name, create=True)
        assert index is not None
        return index

    def drop(self, path: Path) -> None:
        """Close the store and remove its folder; a damaged store is not opened for that."""
        store = self._store(path)
        with store.lock:
            store.indexes.clear()
            store.directory.close()
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(path)

    def _store(self, path: Path) -> _OpenStore:
        with self._lock:
            store = self._stores.get(path)
            if store is not None and store.is_lost():
                store.directory.close()
                store = None
            if store is None:
                store = self._stores[path] = _OpenStore(self._open(path), self._pause)
            return store


class _OpenStore:
    """A store's folder, its open collections, and the lock that keeps readers and its removal apart."""

    def __init__(self, directory: StoreDirectory, pause: Pause) -> None:
        self._pause = pause
        self.directory = directory
        self.indexes: dict[str, VectorIndex] = {}
        self.lock = threading.RLock()

    def is_lost(self) -> bool:
        """True if the folder of an open collection was removed, as by another process."""
        folder = self.directory.folder
        return bool(self.indexes) and folder is not None and not folder.is_dir()

    def index(self, name: str, *, create: bool) -> VectorIndex | None:
        with self.lock:
            if name not in self.indexes:
                collection = self.directory.collection(name, create=create)
                if collection is None:
                    return None
                self.indexes[name] = VectorIndex(collection, self.directory.folder, name, self._pause)
            return self.indexes[name]
