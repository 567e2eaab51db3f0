"""The daemon's side of the semantic worker: keeps a child process alive and asks it. Imports nothing heavy.

The child may crash, hang or be killed at any time. Whoever waits for it then gets `WorkerUnavailable` at
once, and it is started again after a while, later each time; after some failures in a row only every few
minutes (the breaker). A child that dies twice over the same store makes that store count as damaged.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek import limits
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.model import JSON
from vaultseek.worker.child import COMMAND, Child, Death, Flight, Request
from vaultseek.worker.lanes import ANSWER, EMBED, RERANK, STORE
from vaultseek.worker.pipe import Array, Frame
from vaultseek.worker.suspects import Suspects

Vectors = NDArray[np.float32]
Status = Literal["down", "starting", "ready", "broken"]
CHUNKS, NOTES = "chunks", "notes"
"""The two collections of a store: one vector a passage, and one a note."""
log = logging.getLogger(__name__)


class Model(Protocol):
    """Which model the child loads: its name in the settings, and its folder unless the name says enough."""

    @property
    def name(self) -> str: ...
    @property
    def directory(self) -> Path | None: ...


@dataclass(frozen=True, slots=True)
class WorkerState:
    """How the worker is. ``reason`` says why it is not ready; ``doing`` what it works on, in words."""

    status: Status
    reason: str | None = None
    pid: int | None = None
    model: str | None = None
    dimension: int | None = None
    window: int | None = None
    memory_bytes: int | None = None
    restarts: int = 0
    doing: str = ""


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How the child is run; the defaults are for use, other values for tests."""

    stores: Literal["chroma", "memory"] = "chroma"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    command: Sequence[str] = COMMAND
    start_seconds: float = limits.WORKER_START_SECONDS
    answer_seconds: float = limits.WORKER_QUERY_SECONDS
    embed_seconds: float = limits.EMBED_SECONDS
    store_seconds: float = limits.WORKER_STORE_SECONDS
    backoff_seconds: Sequence[float] = limits.WORKER_BACKOFF_SECONDS
    stable_seconds: float = limits.WORKER_STABLE_SECONDS


class ChunkHit(NamedTuple):
    """A passage that was found: chunk id, note, cosine to the query."""

    id: str
    note: int
    score: float


class NoteHit(NamedTuple):
    """A note that was found by its own vector: note, cosine to the query."""

    note: int
    score: float


@dataclass(frozen=True, slots=True)
class SemanticAnswer:
    """What is nearest in meaning, best first in each list, and how long it took.

    ``chunks`` holds up to ``k`` notes and a few passages of each; ``vector`` is the query's own.
    """

    chunks: list[ChunkHit]
    notes: list[NoteHit]
    vector: Vectors = field(repr=False)
    embed_ms: float = 0.0
    search_ms: float = 0.0


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
        self._model = model
        self._log = log
        self._settings = settings or WorkerSettings()
        self._on_state = on_state
        self._status: Status = "down"
        self._reason: str | None = "it was not started"
        self._child: Child | None = None
        self._hello: JSON = {}
        self._spawned = 0
        self._failures = 0
        self._stopped = False
        self._supervising: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._suspects = Suspects()
        self._deaths: dict[tuple[str, str], int] = {}
        self._damaged: set[str] = set()

    @property
    def state(self) -> WorkerState:
        """How the worker is at this moment."""
        child = self._child
        return WorkerState(
            status=self._status,
            reason=self._reason,
            pid=child.pid if child else None,
            model=self._hello.get("model"),
            dimension=self._hello.get("dimension"),
            window=self._hello.get("window"),
            memory_bytes=child.memory_bytes() if child else None,
            restarts=max(0, self._spawned - 1),
            doing=self._doing(child),
        )

    async def start(self) -> None:
        """Begin to start the child; do not wait until it is ready. Starting twice is once."""
        self._stopped = False
        if self._supervising is None:
            self._become("starting", _LOADING)
            self._supervising = asyncio.create_task(self._supervise())

    async def stop(self) -> None:
        """End the child and with it all calls under way. Only `start` brings it back, no call does."""
        self._stopped = True
        supervising, self._supervising = self._supervising, None
        if supervising is None:
            return
        supervising.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await supervising
        if self._child is not None:
            await self._child.stop()
        self._child = None
        self._become("down", "it was stopped")

    async def ready(self, deadline: float | None = None) -> None:
        """Start if need be and return when the worker is ready."""
        await self._ready_child(limits.WORKER_START_SECONDS if deadline is None else deadline)

    async def embed(
        self, texts: Sequence[str], *, urgent: bool = False, deadline: float | None = None
    ) -> Vectors:
        """Unit vectors, one a text: ``(len(texts), dimension)``. A row is NaN if the model failed there.

        Background texts go in batches of like length, at the lowest priority; urgent ones go before them.
        """
        until = _Until(deadline)
        child = await self._ready_child(0 if urgent else until.left)
        vectors = np.full((len(texts), int(self._hello["dimension"])), np.nan, dtype=np.float32)
        for batch in self._suspects.batches(texts, limits.BATCH_TEXTS):
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
        size = limits.VECTOR_FRAME
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
        deadline: float | None = limits.SEARCH_SECONDS,
    ) -> SemanticAnswer:
        """The ``k`` notes nearest to a text or vector, by passages and by notes (``collections``).

        ``allowed`` are the notes to search in, exactly and before the cut. A collection that does not exist
        is empty. Urgent: raises `WorkerUnavailable` at once unless the worker is ready.
        """
        self._check(store)
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
        child = await self._ready_child(0)
        seconds = self._settings.answer_seconds
        request = Request("query", ANSWER, seconds, header, arrays, str(store), "answering a query")
        return _answer(await self._asked(child, request, deadline))

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
        child = await self._ready_child(0)
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
        self._damaged.discard(str(store))
        for key in [key for key in self._deaths if key[1] == str(store)]:
            del self._deaths[key]
        if self._child is None:
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
        self._check(store)
        child = await self._ready_child(until.left)
        seconds = self._settings.store_seconds
        words = {"apply": "storing vectors", "drop": "removing a store"}.get(call, "reading a store")
        request = Request(call, STORE, seconds, {**header, "store": str(store)}, arrays, str(store), words)
        return await self._asked(child, request, until.left)

    async def _asked(self, child: Child, request: Request, seconds: float | None) -> Frame:
        frame = await child.ask(request, seconds)
        self._deaths.pop((request.call, request.store or ""), None)
        return frame

    def _check(self, store: Path) -> None:
        if str(store) in self._damaged:
            raise IndexDamaged("the vector index crashes the semantic worker and has to be filled again")

    async def _ready_child(self, seconds: float | None) -> Child:
        """The child, once it is ready. Raises `WorkerUnavailable` if that takes longer than ``seconds``."""
        if not self._stopped:
            await self.start()
        seconds = self._settings.start_seconds if seconds is None else seconds
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self._status in ("down", "starting") and seconds > 0 and not self._stopped:
                    await self._changed.wait()
        if self._status != "ready" or self._child is None:
            why = f": {self._reason}" if self._reason else ""
            raise WorkerUnavailable(f"the semantic worker is {_WORDS[self._status]}{why}")
        return self._child

    async def _supervise(self) -> None:
        """Start the child, again and again, until `stop`."""
        while True:
            pause = self._settings.backoff_seconds
            try:
                death = await self._live()
            except WorkerUnavailable as error:
                death = Death(str(error))
            log.warning("the semantic worker is down: %s", death.reason)
            self._failures = limits.WORKER_BREAKER_FAILURES if death.permanent else self._failures + 1
            broken = self._failures >= limits.WORKER_BREAKER_FAILURES
            self._become("broken" if broken else "down", death.reason)
            await asyncio.sleep(pause[-1] if broken else pause[min(self._failures, len(pause)) - 1])

    async def _live(self) -> Death:
        """One life of a child, from its start to its death."""
        self._become("starting", _LOADING)
        self._spawned += 1
        hello = {
            "model": self._model.name,
            "directory": str(self._model.directory) if self._model.directory else None,
            "precision": self._settings.precision,
            "stores": self._settings.stores,
        }
        child = await Child.spawn(hello, self._mourn, command=self._settings.command, log=self._log)
        self._child = child
        ends: list[asyncio.Future[Any]] = [child.ready, child.ended]
        await asyncio.wait(ends, timeout=self._settings.start_seconds, return_when="FIRST_COMPLETED")
        if not child.ready.done():
            child.kill("it did not become ready in time")
        elif not child.ready.cancelled():
            self._hello = child.hello
            self._become("ready", None)
            await asyncio.wait({child.ended}, timeout=self._settings.stable_seconds)
            if not child.ended.done():
                self._failures = 0
        return await asyncio.shield(child.ended)

    def _mourn(self, death: Death) -> None:
        """Answer what the dead child left behind, and learn from it."""
        self._child = None
        if self._status == "ready":
            self._become("down", death.reason)
        for flight in death.flights:
            if flight.began:
                self._learn(flight)
        for flight in death.flights:
            store = flight.request.store
            if flight.began and store in self._damaged:
                flight.fail(
                    IndexDamaged("the vector index crashes the semantic worker and has to be filled again")
                )
            else:
                flight.fail(WorkerUnavailable(f"the semantic worker is down: {death.reason}"))

    def _learn(self, flight: Flight) -> None:
        request = flight.request
        if request.call == "embed":
            self._suspects.died_over(request.header["texts"])
        elif request.store is not None and request.call != "drop":
            key = (request.call, request.store)
            self._deaths[key] = self._deaths.get(key, 0) + 1
            if self._deaths[key] == limits.WORKER_STORE_DEATHS:
                self._damaged.add(request.store)
                self._failures -= 1  # the cause is found and set aside: this death is not the worker's fault

    def _become(self, status: Status, reason: str | None) -> None:
        if (status, reason) == (self._status, self._reason):
            return
        self._status, self._reason = status, reason
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
        if self._on_state is not None:
            self._on_state(self.state)

    def _doing(self, child: Child | None) -> str:
        if self._status != "ready" or child is None:
            return "loading the model" if self._status == "starting" else ""
        return child.doing()


class _Until:
    """A deadline given in seconds from now, for several steps one after another."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else asyncio.get_running_loop().time() + seconds

    @property
    def left(self) -> float | None:
        """Seconds that are left, None without a deadline."""
        return None if self._end is None else max(0.0, self._end - asyncio.get_running_loop().time())


_LOADING = "the model is being loaded"
_WORDS = {"down": "down", "starting": "starting", "ready": "starting", "broken": "broken"}


def _answer(frame: Frame) -> SemanticAnswer:
    vector, chunk_notes, chunk_scores, notes, scores = frame.arrays
    columns = (frame.header["ids"], chunk_notes.tolist(), chunk_scores.tolist())
    return SemanticAnswer(
        chunks=[ChunkHit(*hit) for hit in zip(*columns, strict=True)],
        notes=[NoteHit(*hit) for hit in zip(notes.tolist(), scores.tolist(), strict=True)],
        vector=vector,
        embed_ms=frame.header["embed_ms"],
        search_ms=frame.header["search_ms"],
    )
