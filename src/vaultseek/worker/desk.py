"""What the semantic worker does when asked: embed, store vectors, search them. Runs in the child only."""

from __future__ import annotations

import contextlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from vaultseek.errors import ConfigError, UsageError, WorkerUnavailable
from vaultseek.index.vectors.index import VectorHit, VectorIndex
from vaultseek.index.vectors.port import NoteIds, OpenDirectory, StoreDirectory, VectorBatch
from vaultseek.models import rerank
from vaultseek.models.embed import embed
from vaultseek.models.encoder import Encoder, Vectors
from vaultseek.models.rerank import CrossEncoderReranker
from vaultseek.worker.lanes import ANSWER, Reply
from vaultseek.worker.pipe import Array, Frame


class Desk:
    """Answers frames by the ``call`` in their header. Each method is named like its other end."""

    def __init__(self, encoder: Encoder, open_directory: OpenDirectory, pause: Callable[[], None]) -> None:
        self._encoder = encoder
        self._shelf = _Shelf(open_directory, pause)
        self._pause = pause
        self._rerankers: dict[str, CrossEncoderReranker] = {}
        self._calls: dict[str, Callable[[Frame], Reply]] = {
            "embed": self._embed,
            "query": self._query,
            "vectors": self._vectors,
            "apply": self._apply,
            "stamp": self._stamp,
            "count": self._count,
            "drop": self._drop,
            "rerank": self._rerank,
        }

    def handle(self, frame: Frame) -> Reply:
        """The answer to a frame: header and arrays."""
        call = self._calls.get(frame.header["call"])
        if call is None:
            raise UsageError(f"the semantic worker knows no call {frame.header['call']!r}")
        return call(frame)

    def _embed(self, frame: Frame) -> Reply:
        urgent = frame.header["lane"] == ANSWER
        done = embed(self._encoder, frame.header["texts"], pause=None if urgent else self._pause)
        return {"failed": done.failed}, [done.vectors]

    def _query(self, frame: Frame) -> Reply:
        header = frame.header
        began = time.perf_counter()
        vector, allowed = self._asked(frame)
        embedded = time.perf_counter()
        with self._shelf.reading(Path(header["store"])) as collection:
            chunks = _search(collection(header["chunks"]), vector, header["k"], allowed)
            notes = _search(collection(header["notes"]), vector, header["k"], allowed)
        answer = {
            "ids": [hit.id for hit in chunks],
            "embed_ms": 1000 * (embedded - began),
            "search_ms": 1000 * (time.perf_counter() - embedded),
        }
        return answer, [vector, *_columns(chunks), *_columns(notes)]

    def _asked(self, frame: Frame) -> tuple[Vectors, NoteIds | None]:
        """The query's vector and the notes to search in; arrays come in this order if at all."""
        arrays = list(frame.arrays)
        text = frame.header["text"]
        if text is None:
            vector = np.asarray(arrays.pop(0), dtype=np.float32)
        else:
            done = embed(self._encoder, [text], query=True)
            if done.failed:
                raise WorkerUnavailable(f"the query cannot be embedded: {done.failed[0][1]}")
            vector = done.vectors[0]
        return vector, arrays.pop(0) if frame.header["filtered"] else None

    def _vectors(self, frame: Frame) -> Reply:
        header = frame.header
        with self._shelf.reading(Path(header["store"])) as collection:
            index = collection(header["collection"])
            found = index.vectors(frame.arrays[0].tolist()) if index is not None else {}
        notes = np.array(list(found), dtype=np.int64)
        matrix = np.stack(list(found.values())) if found else np.zeros((0, 0), np.float32)
        return {}, [notes, matrix.astype(np.float32, copy=False)]

    def _apply(self, frame: Frame) -> Reply:
        header = frame.header
        notes, vectors = frame.arrays
        index = self._shelf.writing(Path(header["store"]), header["collection"])
        entries = VectorBatch(header["ids"], notes.tolist(), np.asarray(vectors, dtype=np.float32))
        index.apply(entries, header["deletes"], header["stamp"])
        return {}, ()

    def _stamp(self, frame: Frame) -> Reply:
        with self._shelf.reading(Path(frame.header["store"])) as collection:
            index = collection(frame.header["collection"])
            return {"stamp": index.version if index is not None else None}, ()

    def _count(self, frame: Frame) -> Reply:
        with self._shelf.reading(Path(frame.header["store"])) as collection:
            index = collection(frame.header["collection"])
            return {"count": len(index) if index is not None else 0}, ()

    def _drop(self, frame: Frame) -> Reply:
        self._shelf.drop(Path(frame.header["store"]))
        return {}, ()

    def _rerank(self, frame: Frame) -> Reply:
        name = frame.header["model"]
        try:
            if name not in self._rerankers:
                self._rerankers = {name: rerank.load(name)}
        except ConfigError as error:
            raise WorkerUnavailable(str(error), "model_unusable") from None
        return {}, [self._rerankers[name].score(frame.header["query"], frame.header["texts"])]


def open_directory(kind: str) -> OpenDirectory:
    """What opens stores of the kind ``"chroma"`` or ``"memory"``, its libraries imported."""
    if kind == "memory":
        from vaultseek.index.vectors.port import MemoryDirectory

        return MemoryDirectory
    if kind != "chroma":
        raise ConfigError(f"there is no vector store {kind!r}; use chroma")
    from vaultseek.index.vectors import chroma as semantic_chroma

    semantic_chroma.warm_up()
    return semantic_chroma.ChromaDirectory


class _Place:
    """One store's folder, its open collections, and the lock that keeps readers and its removal apart."""

    def __init__(self, directory: StoreDirectory, pause: Callable[[], None]) -> None:
        self._pause = pause
        self.directory = directory
        self.indexes: dict[str, VectorIndex] = {}
        self.lock = threading.RLock()

    def index(self, name: str, *, create: bool) -> VectorIndex | None:
        with self.lock:
            if name not in self.indexes:
                store = self.directory.collection(name, create=create)
                if store is None:
                    return None
                self.indexes[name] = VectorIndex(store, self._pause)
            return self.indexes[name]


class _Shelf:
    """The stores that were opened. Reading and writing at once is fine; dropping waits for readers."""

    def __init__(self, open_directory: OpenDirectory, pause: Callable[[], None]) -> None:
        self._open = open_directory
        self._pause = pause
        self._places: dict[Path, _Place] = {}
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def reading(self, path: Path) -> Iterator[Callable[[str | None], VectorIndex | None]]:
        """Collections by name, as long as the context lasts; None for what is not there."""
        place = self._place(path)
        with place.lock:
            yield lambda name: place.index(name, create=False) if name is not None else None

    def writing(self, path: Path, name: str) -> VectorIndex:
        """The collection ``name``, made if it is not there. Only the lane that drops may write."""
        index = self._place(path).index(name, create=True)
        assert index is not None
        return index

    def drop(self, path: Path) -> None:
        """Close the store and remove its folder, whatever is in it; a damaged one is not opened for that."""
        place = self._place(path)
        with place.lock:
            place.indexes.clear()
            place.directory.close()
            with contextlib.suppress(FileNotFoundError):
                shutil.rmtree(path)

    def _place(self, path: Path) -> _Place:
        with self._lock:
            if path not in self._places:
                self._places[path] = _Place(self._open(path), self._pause)
            return self._places[path]


def _search(index: VectorIndex | None, vector: Vectors, k: int, allowed: NoteIds | None) -> list[VectorHit]:
    return index.search(vector, k, allowed) if index is not None else []


def _columns(hits: list[VectorHit]) -> list[Array]:
    return [
        np.array([hit.note for hit in hits], dtype=np.int64),
        np.array([hit.score for hit in hits], dtype=np.float32),
    ]
