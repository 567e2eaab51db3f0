"""Vectors in Chroma. No other module uses Chroma.

An entry is a number, the id of its note and the vector, never text: Chroma keeps deleted rows on disk. A
search returns numbers.

Chroma's own data and the store's state are in one SQLite file, written in order, so that the state is never
newer than the vectors. The graph files beside it are not written safely; a loss there is noticed when the
store is read or written, and raises ``IndexDamaged``.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from vaultseek.base import limits, paths
from vaultseek.errors import Busy, IndexDamaged, WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.port import Numbers, StoreState, VectorBatch

VECTOR_IDS = 500
"""Ids per request to delete."""
VECTOR_PAGE = 2_000
"""Vectors read per request."""

NOTE = "note"
"""Name of the note's id in the metadata of a vector."""
VERSION, WRITE = "stamp", "write"
"""Names of the store's version and the number of its last write in the metadata of a collection."""
_MARKER = "chroma.sqlite3"
_HNSW = {
    "space": "cosine",
    "ef_construction": 40,
    "ef_search": 400,
    "max_neighbors": 12,
    "batch_size": 1000,
    "sync_threshold": 2_000,
}
"""The graph is searched only beyond the budget of the exact scan, so it may be coarse and quick to build.

Chroma keeps the vectors of as many writes as ``sync_threshold`` besides the graph, also those deleted since.
"""


def read_state(path: Path, name: str) -> StoreState | None:
    """Return the state of a collection, read without Chroma; None if there is no such collection.

    Raises ``IndexDamaged`` if the database cannot be read and ``Busy`` if it is locked.
    """
    if not (path / _MARKER).exists():
        return None
    rows = _select(
        path,
        "SELECT m.key, m.str_value, m.int_value FROM collections c"
        " LEFT JOIN collection_metadata m ON m.collection_id = c.id WHERE c.name = ?",
        name,
    )
    values = {key: text if text is not None else number for key, text, number in rows}
    return StoreState(values.get(VERSION), int(values.get(WRITE) or 0)) if rows else None


def examine(path: Path) -> dict[str, tuple[int, str | None]]:
    """Return (number of vectors, version) of each collection of the database in the folder ``path``.

    Reads the SQLite file without Chroma, also while the database is in use. Raises ``IndexDamaged`` if it
    cannot be read and ``Busy`` if it is locked.
    """
    rows = _select(
        path,
        "SELECT c.name, count(e.id), (SELECT str_value FROM collection_metadata m"
        " WHERE m.collection_id = c.id AND m.key = ?) FROM collections c"
        " JOIN segments s ON s.collection = c.id AND s.scope = 'METADATA'"
        " LEFT JOIN embeddings e ON e.segment_id = s.id GROUP BY c.id",
        VERSION,
    )
    return {name: (count, version) for name, count, version in rows}


def _select(path: Path, sql: str, parameter: str) -> list[tuple[Any, ...]]:
    address = f"file:{quote(os.fsencode(path / _MARKER))}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=10.0)) as connection:
            return connection.execute(sql, (parameter,)).fetchall()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise Busy("the vector store is busy; try again") from None
        raise IndexDamaged(f"the vector index has to be rebuilt: {error}") from None
    except sqlite3.DatabaseError as error:
        raise IndexDamaged(f"the vector index has to be rebuilt: {error}") from None


class ChromaDirectory:
    """The Chroma database in the folder ``path``, which is created with its first collection."""

    def __init__(self, path: Path) -> None:
        self.folder = path
        self._path = path
        self._client: Any = None

    def collection(self, name: str, *, create: bool) -> ChromaStore | None:
        """See ``StoreDirectory.collection``."""
        if not create and not (self._path / _MARKER).exists():
            return None
        with _translate_errors(self._path):
            client = self._open()
            if not create and name not in {collection.name for collection in client.list_collections()}:
                return None
            collection = client.get_or_create_collection(
                name, embedding_function=None, configuration={"hnsw": _HNSW}
            )
        return ChromaStore(self._path, collection)

    def close(self) -> None:
        """See ``StoreDirectory.close``."""
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(Exception):
                client.close()
        _forget(self._path)

    def _open(self) -> Any:
        if self._client is None:
            import chromadb
            from chromadb.config import Settings

            paths.private_directory(self._path)
            self._client = chromadb.PersistentClient(
                str(self._path), settings=Settings(anonymized_telemetry=False)
            )
        return self._client


class ChromaStore:
    """One collection of Chroma's, cosine distance."""

    def __init__(self, path: Path, collection: Any) -> None:
        self._path = path
        self._collection = collection

    def write(self, batch: VectorBatch, deletes: Numbers, state: StoreState | None = None) -> None:
        """See ``VectorStore.write``; the state is in the collection's metadata."""
        gone = _ids(deletes)
        with _translate_errors(self._path):
            for start in range(0, len(gone), VECTOR_IDS):
                self._collection.delete(ids=gone[start : start + VECTOR_IDS])
            if len(batch):
                self._collection.upsert(
                    ids=_ids(batch.numbers),
                    embeddings=batch.vectors,
                    metadatas=[{NOTE: note} for note in batch.notes.tolist()],
                )
            if state is not None:
                version = {} if state.version is None else {VERSION: state.version}
                self._collection.modify(metadata={WRITE: state.write, **version})

    def nearest(self, vector: Vectors, k: int) -> Numbers:
        """See ``VectorStore.nearest``."""
        if k <= 0:
            return _numbers([])
        with _translate_errors(self._path):
            # Ids alone: what else Chroma can return takes several times as long.
            result = self._collection.query(query_embeddings=[vector], n_results=k, include=[])
            return _numbers(result["ids"][0])

    def page(self, start: int) -> VectorBatch:
        """Return some vectors from the ``start``-th on, none after the last."""
        with _translate_errors(self._path):
            rows = self._collection.get(include=["metadatas", "embeddings"], limit=VECTOR_PAGE, offset=start)
            if not rows["ids"]:
                return VectorBatch.empty()
            notes = np.array([int(row[NOTE]) for row in rows["metadatas"]], dtype=np.int64)
            vectors = np.asarray(rows["embeddings"], dtype=np.float32)
            return VectorBatch(_numbers(rows["ids"]), notes, vectors)

    def pages(self) -> Iterator[VectorBatch]:
        """See ``VectorStore.pages``."""
        start = 0
        while len(page := self.page(start)):
            yield page
            start += len(page)

    def state(self) -> StoreState:
        """See ``VectorStore.state``."""
        with _translate_errors(self._path):
            metadata = self._collection.metadata or {}
        return StoreState(metadata.get(VERSION), int(metadata.get(WRITE) or 0))


def _ids(numbers: Numbers) -> list[str]:
    return list(map(str, numbers.tolist()))


def _numbers(ids: Sequence[str]) -> Numbers:
    """Return ids as numbers; a store made by an earlier version has ``note:`` before the number of a note."""
    return np.array([int(id.rpartition(":")[2]) for id in ids], dtype=np.int64)


def _forget(path: Path) -> None:
    """Remove a database from Chroma's cache, which keeps even one that it failed to open."""
    with contextlib.suppress(ImportError, AttributeError):
        from chromadb.api.shared_system_client import SharedSystemClient

        SharedSystemClient._identifier_to_system.pop(str(path), None)
        SharedSystemClient._identifier_to_refcount.pop(str(path), None)


@contextlib.contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Raise ``IndexDamaged`` for damage that Chroma meets, and ``WorkerUnavailable`` if the disk is full.

    Anything else passes, such as a package that is missing: a new index would not mend it.
    """
    try:
        yield
    except BaseException as error:  # Chroma's native part panics with a BaseException
        line = " ".join(str(error).split())[:200] or type(error).__name__
        if isinstance(error, Exception) and _is_disk_full(path, line):
            raise WorkerUnavailable(
                "the disk is full; free some space, and indexing continues by itself", "disk_full"
            ) from None
        if not _is_damage(error):
            raise
        raise IndexDamaged(f"the vector index cannot be used and has to be rebuilt: {line}") from None


def _is_damage(error: BaseException) -> bool:
    """True for what Chroma raises if its files are not as it left them."""
    return isinstance(error, _DAMAGE) or not _CHROMA_DAMAGE.isdisjoint(
        kind.__name__ for kind in type(error).__mro__
    )


_CHROMA_DAMAGE = frozenset({"ChromaError", "PanicException"})
"""The base of Chroma's errors, and the panic of its native part, whose class cannot be imported."""
_DAMAGE = (
    sqlite3.DatabaseError,
    ValueError,
    LookupError,
    TypeError,
    FileNotFoundError,
    FileExistsError,
    NotADirectoryError,
    IsADirectoryError,
)
"""Raised by reading the values of a damaged database, and by something else in its place."""


def _is_disk_full(path: Path, line: str) -> bool:
    if "disk is full" in line or "No space left" in line:
        return True
    with contextlib.suppress(OSError):
        return shutil.disk_usage(os.fspath(path)).free < limits.VECTOR_FREE_BYTES
    return False
