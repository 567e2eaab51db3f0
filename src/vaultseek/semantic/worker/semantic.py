"""The daemon's side of the semantic worker: the requests to the worker. Imports no heavy modules."""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.base.text import count
from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.models.catalogue import LocalModel
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.worker.child import Child, WorkerRequest
from vaultseek.semantic.worker.pipe import Array, Frame
from vaultseek.semantic.worker.queues import ANSWER, EMBED, LOOKUP, RERANK, STORE
from vaultseek.semantic.worker.state import SemanticAnswer, WorkerSettings, WorkerState, answer_of
from vaultseek.semantic.worker.supervisor import Supervisor

SEARCH_SECONDS = 1.5
VECTOR_FRAME = 1_000
"""Maximum number of vectors in one frame to the worker."""

CHUNKS, NOTES = "chunks", "notes"
"""The two collections in a store: one has a vector for each passage, the other a vector for each note."""
log = logging.getLogger(__name__)


class SemanticWorker:
    """The semantic worker, as used from one event loop; call `stop` before the loop ends.

    Deadlines are in seconds from now. Every method raises `WorkerUnavailable` if the worker is down, is
    broken, is too slow or exits. Methods with a ``store`` raise `IndexDamaged` if that store must be dropped
    and refilled. Urgent requests fail if the worker is not ready; all other requests wait for it.
    """

    counts_quickly = True

    def __init__(
        self,
        model: LocalModel,
        *,
        log: Path | None = None,
        settings: WorkerSettings | None = None,
        on_state: Callable[[WorkerState], None] | None = None,
    ) -> None:
        self._settings = settings or WorkerSettings()
        self._on_state = on_state
        self._supervisor = Supervisor(model, self._settings, log, self._follow_state)
        self.want, self.start, self.stop = (
            self._supervisor.want,
            self._supervisor.start,
            self._supervisor.stop,
        )
        self._reranker = LoadedReranker(self._settings.longest_start_seconds)
        self._kept_reranker: str | None = None
        self._preparing: asyncio.Task[None] | None = None

    @property
    def state(self) -> WorkerState:
        """The current state of the worker."""
        return self._supervisor.state

    @property
    def memory_bytes(self) -> int | None:
        """Resident memory of the worker, in bytes; None while no worker is running."""
        return self._supervisor.memory_bytes

    async def ready(self, deadline: float | None = None) -> None:
        """Start the worker if necessary, and wait until it is ready."""
        await self._supervisor.ready_child(deadline)

    async def embed(
        self, texts: Sequence[str], *, urgent: bool = False, deadline: float | None = None
    ) -> Vectors:
        """Return a unit vector for each text: ``(len(texts), dimension)``. A row is NaN if its text could not
        be embedded.

        Background texts are sent in batches of similar length, at the lowest priority; urgent texts overtake
        them.
        """
        remaining, settings = _Deadline(deadline), self._settings
        queue, seconds = (ANSWER, settings.answer_seconds) if urgent else (EMBED, settings.embed_seconds)
        child = await self._supervisor.ready_child(0 if urgent else remaining.seconds)
        vectors = np.full((len(texts), self._supervisor.dimension), np.nan, dtype=np.float32)
        for batch in self._supervisor.poison_texts.batches(texts, limits.BATCH_TEXTS):
            header: JSON = {"texts": [texts[i] for i in batch]}
            doing = f"embedding {count(len(batch), 'passage')}"
            request = WorkerRequest("embed", queue, seconds, header, doing=doing)
            frame = await child.ask(request, remaining.seconds)
            rows = frame.arrays[0]
            if rows.shape[1] != vectors.shape[1]:  # a server's dimension became known only after the start
                vectors = np.full((len(texts), rows.shape[1]), np.nan, dtype=np.float32)
            vectors[batch] = rows
            for row, reason in frame.header["failed"]:
                log.warning("text of %d characters was not embedded: %s", len(texts[batch[row]]), reason)
        return vectors

    async def apply(
        self,
        store: Path,
        collection: str,
        *,
        numbers: Sequence[int] | NDArray[np.int64] = (),
        notes: Sequence[int] | NDArray[np.int64] = (),
        vectors: Vectors | None = None,
        deletes: Sequence[int] | NDArray[np.int64] = (),
        version: str | None = None,
        deadline: float | None = None,
    ) -> None:
        """Delete vectors from a collection, then add or replace vectors, then set the version. A missing
        collection is created.

        The call may be repeated. After a crash, the version is never newer than the vectors. Non-finite
        vectors are left out; if a number occurs several times, its last vector is stored.
        """
        remaining = _Deadline(deadline)
        rows = [np.asarray(each, dtype=np.int64) for each in (numbers, notes)]
        gone = np.asarray(deletes, dtype=np.int64)
        matrix = np.zeros((0, 0), np.float32) if vectors is None else np.asarray(vectors, np.float32)
        if not len(rows[0]) == len(rows[1]) == len(matrix):
            raise ValueError(f"{len(rows[0])} numbers, {len(rows[1])} notes and {len(matrix)} vectors")
        for start in range(0, max(len(matrix), 1), VECTOR_FRAME):
            part = slice(start, start + VECTOR_FRAME)
            last = start + VECTOR_FRAME >= len(matrix)
            header: JSON = {"collection": collection, "version": version if last else None}
            arrays = (rows[0][part], rows[1][part], matrix[part], gone[: 0 if start else None])
            await self._at_store("apply", store, header, remaining, arrays)

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
        """Return the ``k`` notes nearest to a text or vector, both by passages and by whole notes
        (``collections``).

        With ``allowed``, only notes in ``allowed`` are searched; this filter is exact and is applied first. A
        missing collection counts as empty. Urgent: raises `WorkerUnavailable` at once unless the worker is
        ready.
        """
        header: JSON = {
            "chunks": collections[0],
            "notes": collections[1],
            "text": text if isinstance(text, str) else None,
            "k": k,
            "filtered": allowed is not None,
        }
        query = () if isinstance(text, str) else (np.asarray(text, dtype=np.float32),)
        arrays = query if allowed is None else (*query, np.asarray(allowed, dtype=np.int64))
        return answer_of(await self._ask_urgently("query", ANSWER, store, header, arrays, deadline))

    async def vectors(
        self, store: Path, notes: Sequence[int], *, deadline: float | None = SEARCH_SECONDS
    ) -> dict[int, Vectors]:
        """Return, by note id, the vectors of those ``notes`` that have one. Urgent; does not wait for a
        running ``query``."""
        header, arrays = {"collection": NOTES}, (np.asarray(notes, dtype=np.int64),)
        answer = await self._ask_urgently("vectors", LOOKUP, store, header, arrays, deadline)
        numbers, matrix = answer.arrays
        return dict(zip(numbers.tolist(), matrix, strict=True))

    def keep_reranker(self, model: str | None) -> None:
        """Load the cross-encoder ``model`` whenever a child becomes ready, so that no search waits for it.

        With None, no model is loaded from now on. A model that is already loaded stays loaded until the child
        ends.
        """
        if model != self._kept_reranker:
            self._kept_reranker = model
            self._prepare(self.state)

    async def rerank(
        self,
        query: str,
        texts: Sequence[str],
        model: str,
        *,
        deadline: float | None = limits.RERANK_SECONDS,
    ) -> NDArray[np.float32]:
        """Return a score in (0, 1) for each text, computed by the cross-encoder ``model`` (a name or folder).

        Texts that cannot be scored before the deadline get NaN, starting with the last one. Urgent. Unless
        the model is kept, the first request starts loading it and will probably get its scores too late.
        """
        remaining = _Deadline(deadline)
        child = await self._supervisor.ready_child(0)
        await self._reranker.load(child, model, remaining.seconds)
        # All processes share this clock; the answer must be back by the deadline.
        seconds = remaining.seconds
        until = None if seconds is None else time.monotonic() + seconds - limits.RERANK_ANSWER_SECONDS
        header: JSON = {"query": query, "texts": list(texts), "model": model, "until": until}
        doing = f"reranking {count(len(texts), 'passage')}"
        request = WorkerRequest("rerank", RERANK, self._settings.store_seconds, header, doing=doing)
        scores: NDArray[np.float32] = (await child.ask(request, seconds)).arrays[0]
        return scores

    async def version(self, store: Path, collection: str, *, deadline: float | None = None) -> str | None:
        """Return the version set by the last complete `apply`; None if the collection is missing."""
        frame = await self._at_store("about", store, {"collection": collection}, _Deadline(deadline))
        value: str | None = frame.header["version"]
        return value

    async def count(self, store: Path, collection: str, *, deadline: float | None = None) -> int:
        """Return the number of vectors in a collection; 0 if the collection is missing."""
        frame = await self._at_store("about", store, {"collection": collection}, _Deadline(deadline))
        return int(frame.header["count"])

    async def drop(self, store: Path, *, deadline: float | None = None) -> None:
        """Remove the store and its collections, even if they are damaged or the child is down."""
        self._supervisor.clear_crashes(store)
        if not self._supervisor.running:
            await asyncio.to_thread(shutil.rmtree, store, ignore_errors=True)
        else:
            await self._at_store("drop", store, {}, _Deadline(deadline))

    def _follow_state(self, state: WorkerState) -> None:
        self._prepare(state)
        if self._on_state is not None:
            self._on_state(state)

    def _prepare(self, state: WorkerState) -> None:
        if state.status == "ready" and self._kept_reranker is not None:
            self._preparing = asyncio.get_running_loop().create_task(self._load_kept(self._kept_reranker))

    async def _load_kept(self, model: str) -> None:
        try:
            await self._reranker.load(await self._supervisor.ready_child(0), model, None)
        except WorkerUnavailable as error:
            log.warning("the reranker is not loaded: %s", error)

    async def _ask_urgently(
        self,
        call: str,
        queue: str,
        store: Path,
        header: JSON,
        arrays: Sequence[Array],
        deadline: float | None,
    ) -> Frame:
        self._supervisor.check_store(store)
        child = await self._supervisor.ready_child(0)
        seconds, header = self._settings.answer_seconds, {**header, "store": str(store)}
        request = WorkerRequest(call, queue, seconds, header, arrays, str(store), "answering a query")
        return await self._ask(child, request, deadline)

    async def _at_store(
        self, call: str, store: Path, header: JSON, remaining: _Deadline, arrays: Sequence[Array] = ()
    ) -> Frame:
        self._supervisor.check_store(store)
        child = await self._supervisor.ready_child(remaining.seconds)
        seconds = self._settings.store_seconds
        words = {"apply": "storing vectors", "drop": "removing a store"}.get(call, "reading a store")
        request = WorkerRequest(
            call, STORE, seconds, {**header, "store": str(store)}, arrays, str(store), words
        )
        return await self._ask(child, request, remaining.seconds)

    async def _ask(self, child: Child, request: WorkerRequest, seconds: float | None) -> Frame:
        frame = await child.ask(request, seconds)
        self._supervisor.record_success(request.call, request.store)
        return frame


class _Deadline:
    """A deadline in seconds from its creation, shared by several steps."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else asyncio.get_running_loop().time() + seconds

    @property
    def seconds(self) -> float | None:
        """Seconds that remain until the deadline; None without a deadline."""
        return None if self._end is None else max(0.0, self._end - asyncio.get_running_loop().time())


CRASHES = 2
"""Number of crashes while loading a model after which the model is not loaded again."""


class LoadedReranker:
    """Loader of the cross-encoder in the current child, for one event loop."""

    def __init__(self, seconds: float) -> None:
        """Set the number of ``seconds`` after which loading a model counts as hung."""
        self._seconds = seconds
        self._loading: tuple[Child, str, asyncio.Future[Frame]] | None = None
        self._crashes: Counter[str] = Counter()

    async def load(self, child: Child, model: str, seconds: float | None) -> None:
        """Wait until the child has loaded the model. A child loads a model only once.

        Raises `WorkerUnavailable` if loading fails or takes longer than ``seconds``; in the latter case,
        loading continues.
        """
        if self._crashes[model] >= CRASHES:
            raise WorkerUnavailable(
                f"{model!r} crashes the semantic worker; choose another model", "model_unusable"
            )
        if self._loading is None or self._loading[:2] != (child, model):
            doing = "loading the reranker"
            request = WorkerRequest("load_reranker", RERANK, self._seconds, {"model": model}, doing=doing)
            answer = asyncio.ensure_future(child.ask(request, None))
            self._loading = child, model, answer
            answer.add_done_callback(lambda done: self._record(child, model, done))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._loading[2])
        except TimeoutError:
            raise WorkerUnavailable("the reranker is still being loaded", "loading") from None

    def _record(self, child: Child, model: str, answer: asyncio.Future[Frame]) -> None:
        """Record whether the model was loaded. After a failure, the next search tries again."""
        if not answer.cancelled() and answer.exception() is None:
            self._crashes.pop(model, None)
            return
        if self._loading is not None and self._loading[2] is answer:
            self._loading = None
        if child.exited.done():
            self._crashes[model] += 1
