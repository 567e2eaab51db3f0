"""Vectors in an engine: the semantic worker embeds, the engine keeps and finds."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from vaultseek.engines.postgres.backend import KINDS, Hits, Kind, PostgresBackend
from vaultseek.engines.writer import ShardWriter
from vaultseek.errors import Unavailable, WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.worker import CHUNKS, SemanticAnswer, SemanticWorker
from vaultseek.semantic.worker.state import Numbers, WorkerState
from vaultseek.store.ledger import Ledger

T = TypeVar("T")
ANSWER_VECTORS = 20
"""Notes of each list whose vectors come with an answer."""
VECTOR_PASSAGES = 5
"""Passages of a note in an answer."""
BULK_VECTORS = 1000
"""Vectors of a batch from which more are on their way, so that an index is made later: that is faster."""
THREADS = 4
"""Concurrent requests to the engine; one that hangs blocks no other part of the program."""
_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="engine")


class EngineVectors:
    """The vectors of one vault in an engine, of the texts that ``worker`` embeds; see ``SemanticWorker``.

    The last part of a store's path names its space. ``writer`` has the right to write; without it another
    daemon keeps the vectors, and writing does nothing. Raises WorkerUnavailable if the engine does not
    answer.
    """

    counts_quickly = False

    def __init__(
        self,
        worker: SemanticWorker,
        backend: PostgresBackend,
        ledger: Ledger,
        *,
        writer: ShardWriter | None = None,
    ) -> None:
        self._worker = worker
        self._backend = backend
        self._writer = writer
        self._ledger = ledger

    @property
    def state(self) -> WorkerState:
        """The state of the worker."""
        return self._worker.state

    def want(self) -> None:
        """End the pause of a worker that is down, because a request came."""
        self._worker.want()

    async def ready(self, deadline: float | None = None) -> None:
        """Return when the worker can embed."""
        await self._worker.ready(deadline)

    async def embed(
        self, texts: Sequence[str], *, urgent: bool = False, deadline: float | None = None
    ) -> Vectors:
        """Return a unit vector for each text."""
        return await self._worker.embed(texts, urgent=urgent, deadline=deadline)

    async def apply(
        self,
        store: Path,
        collection: str,
        *,
        numbers: Numbers = (),
        notes: Numbers = (),
        vectors: Vectors | None = None,
        deletes: Numbers = (),
        version: str | None = None,
        deadline: float | None = None,
    ) -> None:
        """Delete, store or replace vectors in a collection; then set the version."""
        writer, kind = self._writer, _kind(collection)
        if writer is not None:
            await _ask(
                lambda: self._apply(writer, store.name, kind, numbers, notes, vectors, deletes, version),
                deadline,
            )

    async def query(
        self,
        store: Path,
        text: str | Vectors,
        k: int,
        *,
        allowed: NDArray[np.int64] | None = None,
        deadline: float | None = None,
    ) -> SemanticAnswer:
        """Return the ``k`` notes nearest to a text or vector, by passages and by notes."""
        began = time.perf_counter()
        vector = await self._query_vector(store, text, deadline)
        embedded = time.perf_counter()
        passages, notes = await asyncio.gather(
            *(
                _ask(partial(self._backend.nearest, store.name, kind, vector, k, allowed), deadline)
                for kind in KINDS
            )
        )
        best = sorted(
            {*dict.fromkeys(passages.notes.tolist()[:ANSWER_VECTORS]), *notes.notes[:ANSWER_VECTORS].tolist()}
        )
        vectors = await _ask(lambda: self._backend.vectors(store.name, "notes", best), deadline)
        passages = _limited_per_note(passages)
        return SemanticAnswer(
            passages.numbers,
            passages.notes,
            passages.scores.astype(np.float32),
            notes.notes,
            notes.scores.astype(np.float32),
            vector,
            1000 * (embedded - began),
            1000 * (time.perf_counter() - embedded),
            vectors,
        )

    async def vectors(
        self, store: Path, notes: Sequence[int], *, deadline: float | None = None
    ) -> Mapping[int, Vectors]:
        """Return the vectors of those notes that have one."""
        return await _ask(lambda: self._backend.vectors(store.name, "notes", notes), deadline)

    async def version(self, store: Path, collection: str, *, deadline: float | None = None) -> str | None:
        """Return the version of the last complete ``apply``; None if there is no such collection."""
        await self._worker.ready(deadline)  # callers may use the store from now on
        name = version_name(store.name, _kind(collection))
        return await _ask(lambda: self._backend.state().get(name), deadline)

    async def count(self, store: Path, collection: str, *, deadline: float | None = None) -> int:
        """Return the number of vectors in the collection."""
        return await _ask(lambda: self._backend.count(store.name, _kind(collection)), deadline)

    async def drop(self, store: Path, *, deadline: float | None = None) -> None:
        """Delete the vectors of a space."""
        if (writer := self._writer) is not None:
            await _ask(lambda: self._drop(writer, store.name), deadline)

    async def _query_vector(self, store: Path, text: str | Vectors, deadline: float | None) -> Vectors:
        """Return the vector of a question, which some models embed otherwise than a passage."""
        if not isinstance(text, str):
            return np.asarray(text, np.float32)
        nothing = (None, None)
        answer = await self._worker.query(store, text, 1, collections=nothing, deadline=deadline)
        return answer.vector

    def _apply(
        self,
        writer: ShardWriter,
        space: str,
        kind: Kind,
        numbers: Numbers,
        notes: Numbers,
        vectors: Vectors | None,
        deletes: Numbers,
        version: str | None,
    ) -> None:
        ids = np.asarray(notes, np.int64)
        # A note that was removed meanwhile needs no vector, which would be an orphan.
        kept = np.isin(ids, list(self._ledger.notes.revisions(ids.tolist())))
        with writer.transaction() as backend:
            if len(deletes):
                backend.forget_vectors(space, kind, deletes)
            if kept.any() and vectors is not None:
                backend.put_vectors(
                    space, kind, np.asarray(numbers, np.int64)[kept], ids[kept], vectors[kept]
                )
            if version is not None:
                backend.set_state(version_name(space, kind), version)
        if 0 < len(ids) < BULK_VECTORS:
            self._backend.optimize(space, kind)

    def _drop(self, writer: ShardWriter, space: str) -> None:
        with writer.transaction() as backend:
            backend.drop_vectors(space)
            for kind in KINDS:
                backend.set_state(version_name(space, kind), "")


def version_name(space: str, kind: Kind) -> str:
    """Return the name of the version of vectors in the state of a shard."""
    return f"{space}/{kind}"


async def _ask(work: Callable[[], T], deadline: float | None) -> T:
    """Do work in a thread. Raises WorkerUnavailable if the engine does not answer, or not in time."""
    running = asyncio.get_running_loop().run_in_executor(_threads, work)
    try:
        async with asyncio.timeout(deadline):
            return await running
    except TimeoutError:
        raise WorkerUnavailable(
            "the engine took too long to find vectors; it is asked again by itself", "deadline"
        ) from None
    except Unavailable as error:
        raise WorkerUnavailable(str(error), error.cause) from error


def _kind(collection: str) -> Kind:
    return "passages" if collection == CHUNKS else "notes"


def _limited_per_note(hits: Hits) -> Hits:
    places: dict[int, int] = {}
    kept = []
    for row, note in enumerate(hits.notes.tolist()):
        places[note] = places.get(note, 0) + 1
        if places[note] <= VECTOR_PASSAGES:
            kept.append(row)
    return Hits(hits.numbers[kept], hits.notes[kept], hits.scores[kept])
