"""The second vector space of a vault: the same texts, embedded by another model.

It answers queries in languages that the vault's own model does not support. Like the first space it is an
``Embedding``. It is filled once the vault's own vectors are complete. Its model is loaded only while needed,
so changes are collected for a few minutes, or until a query arrives.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from vaultseek.base.failpoints import failpoint
from vaultseek.base.model import Reason
from vaultseek.core.indexing.embed import Embedding
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.indexing.writer import InWriter
from vaultseek.semantic.models.calibration import calibration_of
from vaultseek.semantic.models.catalogue import LocalModel
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.semantic.worker import SemanticAnswer, SemanticWorker
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.semantic.worker.state import VectorKeeper, WorkerState
from vaultseek.store.ledger import Ledger

PAGE_NOTES = 500
"""Number of notes whose texts are composed at once when vectors are counted."""
COLLECT_SECONDS = 300.0
"""Seconds for which changes are collected once the space is complete; a query ends the wait."""
START_SECONDS = 30.0
"""Maximum seconds that background work waits for the worker to start."""
_REMOTE = "-remote"
"""Suffix of the store's version if a remote engine holds the store."""


class SecondSpace(Embedding):
    """Second vector space of one vault, with vectors from a second model.

    Its texts are composed with ``spec``, the embedding spec of the vault's own model: passages are cut to
    that model's window, and its tokenizer is already loaded.
    """

    def __init__(
        self,
        ledger: Ledger,
        pool: WorkerPool,
        model: LocalModel,
        directory: Path,
        spec: EmbeddingSpec,
        in_writer: InWriter,
        vector_store: Callable[[SemanticWorker], VectorKeeper] = lambda worker: worker,
        *,
        is_remote: bool = False,
    ) -> None:
        """Create the space for ``model``, in ``directory``.

        ``vector_store`` returns the store for a worker's vectors; this store may be a remote engine.
        """
        self.model = model
        self.asked = asyncio.Event()
        """Event that is set when the space is queried, so that pending changes are embedded while its model
        is in memory."""
        self.problem: str | None = None
        """Reason why the space's vectors cannot be computed or stored at the moment."""
        self._is_remote = is_remote
        space = ledger.second_space
        if not space.is_followed:
            space.begin_store("")
        keeper = PooledKeeper(pool, model, vector_store)
        own = replace(spec, fingerprint=model.fingerprint, model=model.name)
        super().__init__(ledger, keeper, directory, own, in_writer, pool, space)
        self.was_full = self._is_stored()
        """True if the space has contained every note of the ledger at least once since it was opened."""

    def set_problem(self, problem: Reason | None) -> None:
        """Set the reason why the space cannot be filled, or None."""
        self.problem = None if problem is None else problem.text

    def pending_count(self) -> int | None:
        """Return how many notes are missing or outdated in the space; None if the space has no store yet."""
        return self._space.incomplete_notes() if self._space.store() else None

    @property
    def has_some(self) -> bool:
        """True if the space has the vector of at least one passage, or is complete."""
        pending = self._space.pending_counts()
        return bool(self._space.store()) and (not any(pending) or pending[0] < self._ledger.counts().chunks)

    def expected(self) -> tuple[int, int]:
        """Return how many passage vectors and how many note vectors a complete space has. Texts that cannot
        be embedded are not counted.
        """
        counts, ids = self._ledger.counts(), self._ledger.notes.ids()
        passages, notes = counts.chunks, counts.notes
        for start in range(0, len(ids), PAGE_NOTES):
            missing = self.unembedded.without_vectors(ids[start : start + PAGE_NOTES])
            passages, notes = passages - missing[0], notes - missing[1]
        return passages, notes

    async def step(self) -> bool:
        """Embed one batch as ``Embedding.step`` does, without loading the model if nothing is left to do."""
        if not self.ready and self._is_stored():
            return False
        is_busy = await super().step()
        self.was_full = self.was_full or not (is_busy or any(self._space.pending_counts()))
        return is_busy

    async def rest(self) -> None:
        """Wait until there may be texts to embed. Once the space has been full, also collect changes for a
        few minutes.
        """
        await super().rest()
        if self.was_full:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(COLLECT_SECONDS):
                    await self.asked.wait()
            self.asked.clear()

    async def query(self, text: str, k: int, allowed: NoteIds | None, deadline: float) -> SemanticAnswer:
        """Answer a query as ``Embedding.query`` does. The deadline, in seconds, includes the time to start
        the worker.
        """
        answer = await super().query(text, k, allowed, deadline)
        self.asked.set()
        self.wake.set()
        return answer

    async def discard_store(self, reason: str) -> None:
        """Discard the vector store; see ``Embedding.discard_store``."""
        self.was_full = False
        await super().discard_store(reason)

    def _new_version(self) -> str:
        return super()._new_version() + (_REMOTE if self._is_remote else "")

    async def _judged(self, answer: SemanticAnswer, text: str) -> SemanticAnswer:
        # Use the model's own calibration; counting token pieces would load the model's vocabulary.
        return replace(answer, meaning_curve=calibration_of(answer.model).curve(answer.vector))

    def _is_stored(self) -> bool:
        """True if, according to the ledger, the local store has a vector for every text."""
        version = self._space.store()
        return (
            version.startswith(f"{self.spec.name}:")
            and not (self._is_remote or version.endswith(_REMOTE))
            and self.store.is_dir()
            and not any(self._space.pending_counts())
            and not any(self._space.orphans(1))
        )


class PooledKeeper:
    """A worker that runs only while there are requests, and the store for its vectors.

    See ``VectorKeeper`` for the methods. Each method starts the worker if necessary, and raises
    WorkerUnavailable if that takes longer than the deadline.
    """

    counts_quickly = True

    def __init__(
        self, pool: WorkerPool, model: LocalModel, vector_store: Callable[[SemanticWorker], VectorKeeper]
    ) -> None:
        self._pool = pool
        self._model = model
        self._vector_store = vector_store

    @property
    def state(self) -> WorkerState:
        return self._pool.worker(self._model).state

    async def ready(self, deadline: float | None = None) -> None:
        async with self._pool.use(self._model) as worker:
            await worker.ready(deadline)

    async def embed(
        self, texts: Sequence[str], *, urgent: bool = False, deadline: float | None = None
    ) -> Vectors:
        async with self._started() as keeper:
            return await keeper.embed(texts, urgent=urgent, deadline=deadline)

    async def apply(self, store: Path, collection: str, **changes: Any) -> None:
        async with self._started() as keeper:
            await keeper.apply(store, collection, **changes)
        failpoint("second.stored")

    async def query(
        self,
        store: Path,
        text: str | Vectors,
        k: int,
        *,
        allowed: NoteIds | None = None,
        deadline: float | None = None,
    ) -> SemanticAnswer:
        clock = asyncio.get_running_loop().time
        began = clock()
        async with self._started(deadline) as keeper:
            left = None if deadline is None else max(0.0, deadline - (clock() - began))
            return await keeper.query(store, text, k, allowed=allowed, deadline=left)

    async def vectors(
        self, store: Path, notes: Sequence[int], *, deadline: float | None = None
    ) -> Mapping[int, Vectors]:
        async with self._pool.use(self._model) as worker:
            return await self._vector_store(worker).vectors(store, notes, deadline=deadline)

    async def version(self, store: Path, collection: str, *, deadline: float | None = None) -> str | None:
        async with self._started() as keeper:
            return await keeper.version(store, collection, deadline=deadline)

    async def count(self, store: Path, collection: str, *, deadline: float | None = None) -> int:
        async with self._started() as keeper:
            return await keeper.count(store, collection, deadline=deadline)

    async def drop(self, store: Path, *, deadline: float | None = None) -> None:
        async with self._pool.use(self._model) as worker:
            await self._vector_store(worker).drop(store, deadline=deadline)

    @contextlib.asynccontextmanager
    async def _started(self, deadline: float | None = START_SECONDS) -> AsyncIterator[VectorKeeper]:
        async with self._pool.use(self._model) as worker:
            await worker.ready(deadline)
            yield self._vector_store(worker)
