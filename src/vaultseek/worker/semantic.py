"""The daemon's side of the semantic worker: what it can be asked. Imports nothing heavy."""

from __future__ import annotations

import asyncio
import logging
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaultseek import limits
from vaultseek.model import JSON
from vaultseek.models.encoder import Vectors
from vaultseek.worker.answer import SemanticAnswer, answer_of
from vaultseek.worker.child import Child, Request
from vaultseek.worker.lanes import ANSWER, EMBED, RERANK, STORE
from vaultseek.worker.pipe import Array, Frame
from vaultseek.worker.state import Model, WorkerSettings, WorkerState
from vaultseek.worker.supervisor import Supervisor

SEARCH_SECONDS = 1.5
VECTOR_FRAME = 1_000
"""Vectors a frame to the worker."""

CHUNKS, NOTES = "chunks", "notes"
"""The two collections of a store: one vector a passage, and one a note."""
log = logging.getLogger(__name__)


class SemanticWorker:
    """The semantic worker as the daemon sees it. For one event loop; `stop` it before the loop ends.

    Deadlines are in seconds from now. Every method raises `WorkerUnavailable` when the worker is down,
    broken, too slow or dies, and those that name a store raise `IndexDamaged` when it has to be dropped and
    filled again. Urgent calls never wait for a worker that is not ready; all others do.
    """

    def __init__(
        self,
        model: Model,
        *,
        log: Path | None = None,
        settings: WorkerSettings | None = None,
        on_state: Callable[[WorkerState], None] | None = None,
    ) -> None:
        self._settings = settings or WorkerSettings()
        self._supervisor = Supervisor(model, self._settings, log, on_state)

    @property
    def state(self) -> WorkerState:
        """How the worker is at this moment."""
        return self._supervisor.state

    async def start(self) -> None:
        """Begin to start the child; do not wait until it is ready. Starting twice is once."""
        await self._supervisor.start()

    async def stop(self) -> None:
        """End the child and with it all calls under way. Only `start` brings it back, no call does."""
        await self._supervisor.stop()

    async def ready(self, deadline: float | None = None) -> None:
        """Start if need be and return when the worker is ready."""
        await self._supervisor.ready_child(deadline)

    async def embed(
        self, texts: Sequence[str], *, urgent: bool = False, deadline: float | None = None
    ) -> Vectors:
        """Unit vectors, one a text: ``(len(texts), dimension)``. A row is NaN if the model failed there.

        Background texts go in batches of like length, at the lowest priority; urgent ones go before them.
        """
        until = _Until(deadline)
        child = await self._supervisor.ready_child(0 if urgent else until.left)
        vectors = np.full((len(texts), self._supervisor.dimension), np.nan, dtype=np.float32)
        for batch in self._supervisor.suspects.batches(texts, limits.BATCH_TEXTS):
            request = self._embedding([texts[i] for i in batch], urgent=urgent)
            frame = await child.ask(request, until.left)
            vectors[batch] = frame.arrays[0]
            for row, reason in frame.header["failed"]:
                log.warning("a text of %d characters was not embedded: %s", len(texts[batch[row]]), reason)
        return vectors

    async def apply(
        self,
        store: Path,
        collection: str,
        *,
        ids: Sequence[str] = (),
        notes: Sequence[int] | NDArray[np.int64] = (),
        vectors: Vectors | None = None,
        deletes: Sequence[str] = (),
        stamp: str | None = None,
        deadline: float | None = None,
    ) -> None:
        """Delete, store or replace vectors in a collection, made if need be; then set the stamp, if given.

        Safe to repeat. After a crash the stamp is never newer than the vectors. Vectors that are not finite
        are left out; of equal ids the last is stored.
        """
        until = _Until(deadline)
        numbers = np.asarray(notes, dtype=np.int64)
        matrix = np.zeros((0, 0), np.float32) if vectors is None else np.asarray(vectors, np.float32)
        if not len(ids) == len(numbers) == len(matrix):
            raise ValueError(f"{len(ids)} ids, {len(numbers)} notes and {len(matrix)} vectors")
        size = VECTOR_FRAME
        parts: list[tuple[slice, Sequence[str]]] = [
            *((slice(0, 0), deletes[at : at + size]) for at in range(0, len(deletes), size)),
            *((slice(at, at + size), ()) for at in range(0, len(ids), size)),
        ] or [(slice(0, 0), ())]
        for part, (rows, gone) in enumerate(parts):
            header = {
                "ids": list(ids[rows]),
                "deletes": list(gone),
                "stamp": stamp if part == len(parts) - 1 else None,
            }
            arrays = (numbers[rows], matrix[rows])
            await self._at_store("apply", store, {"collection": collection, **header}, until, arrays)

    async def query(
        self,
        store: Path,
        text: str | Vectors,
        k: int,
        *,
        collections: tuple[str | None, str | None] = (CHUNKS, NOTES),
        allowed: NDArray[np.int64] | None = None,
        deadline: float | None = SEARCH_SECONDS,
    ) -> SemanticAnswer:
        """The ``k`` notes nearest to a text or vector, by passages and by notes (``collections``).

        ``allowed`` are the notes to search in, exactly and before the cut. A collection that does not exist
        is empty. Urgent: raises `WorkerUnavailable` at once unless the worker is ready.
        """
        self._supervisor.check(store)
        header: JSON = {
            "store": str(store),
            "chunks": collections[0],
            "notes": collections[1],
            "text": text if isinstance(text, str) else None,
            "k": k,
            "filtered": allowed is not None,
        }
        given = () if isinstance(text, str) else (np.asarray(text, dtype=np.float32),)
        arrays = given if allowed is None else (*given, np.asarray(allowed, dtype=np.int64))
        child = await self._supervisor.ready_child(0)
        seconds = self._settings.answer_seconds
        request = Request("query", ANSWER, seconds, header, arrays, str(store), "answering a query")
        return answer_of(await self._asked(child, request, deadline))

    async def vectors(
        self,
        store: Path,
        notes: Sequence[int],
        *,
        collection: str = NOTES,
        deadline: float | None = SEARCH_SECONDS,
    ) -> dict[int, Vectors]:
        """The vectors of those of the notes that have one. Urgent, like ``query``."""
        self._supervisor.check(store)
        child = await self._supervisor.ready_child(0)
        header: JSON = {"store": str(store), "collection": collection}
        arrays = (np.asarray(notes, dtype=np.int64),)
        seconds = self._settings.answer_seconds
        request = Request("vectors", ANSWER, seconds, header, arrays, str(store), "answering a query")
        found, matrix = (await self._asked(child, request, deadline)).arrays
        return dict(zip(found.tolist(), matrix, strict=True))

    async def rerank(
        self,
        query: str,
        texts: Sequence[str],
        model: str,
        *,
        deadline: float | None = limits.RERANK_SECONDS,
    ) -> NDArray[np.float32]:
        """How well each text answers the query, in (0, 1), by the cross-encoder ``model`` (a name or folder).

        Urgent. The model is loaded at the first call, which is likely to come too late, and stays loaded.
        """
        child = await self._supervisor.ready_child(0)
        header: JSON = {"query": query, "texts": list(texts), "model": model}
        seconds = self._settings.store_seconds
        request = Request("rerank", RERANK, seconds, header, doing=f"reranking {len(texts)} passages")
        scores: NDArray[np.float32] = (await child.ask(request, deadline)).arrays[0]
        return scores

    async def stamp(self, store: Path, collection: str, *, deadline: float | None = None) -> str | None:
        """What the last complete `apply` was stamped with; None if there is no such collection."""
        frame = await self._at_store("stamp", store, {"collection": collection}, _Until(deadline))
        value: str | None = frame.header["stamp"]
        return value

    async def count(self, store: Path, collection: str, *, deadline: float | None = None) -> int:
        """How many vectors the collection holds; 0 if there is none."""
        frame = await self._at_store("count", store, {"collection": collection}, _Until(deadline))
        return int(frame.header["count"])

    async def drop(self, store: Path, *, deadline: float | None = None) -> None:
        """Remove the store and its collections, in whatever state it is. Works without the child, too."""
        self._supervisor.forgive(store)
        if not self._supervisor.running:
            await asyncio.to_thread(shutil.rmtree, store, ignore_errors=True)
        else:
            await self._at_store("drop", store, {}, _Until(deadline))

    def _embedding(self, texts: list[str], *, urgent: bool) -> Request:
        lane, seconds = (
            (ANSWER, self._settings.answer_seconds) if urgent else (EMBED, self._settings.embed_seconds)
        )
        return Request("embed", lane, seconds, {"texts": texts}, doing=f"embedding {len(texts)} texts")

    async def _at_store(
        self, call: str, store: Path, header: JSON, until: _Until, arrays: Sequence[Array] = ()
    ) -> Frame:
        self._supervisor.check(store)
        child = await self._supervisor.ready_child(until.left)
        seconds = self._settings.store_seconds
        words = {"apply": "storing vectors", "drop": "removing a store"}.get(call, "reading a store")
        request = Request(call, STORE, seconds, {**header, "store": str(store)}, arrays, str(store), words)
        return await self._asked(child, request, until.left)

    async def _asked(self, child: Child, request: Request, seconds: float | None) -> Frame:
        frame = await child.ask(request, seconds)
        self._supervisor.succeeded(request.call, request.store)
        return frame


class _Until:
    """A deadline given in seconds from now, for several steps one after another."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else asyncio.get_running_loop().time() + seconds

    @property
    def left(self) -> float | None:
        """Seconds that are left, None without a deadline."""
        return None if self._end is None else max(0.0, self._end - asyncio.get_running_loop().time())
