"""Keep a vector store in sync with the ledger by embedding the texts that have no vector yet.

Notes come before passages, and the newest notes come first. Every step can be repeated: a vector is written
to the ledger, then to the store, and only then is its text removed from the list of missing vectors. A lost
store is rebuilt from the ledger without the model.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from vaultseek.base import paths
from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import (
    BATCH_TEXTS,
    EMBED_RETRY_SECONDS,
    EMBED_SECONDS,
    RETRY_SECONDS,
    WORKER_BACKOFF_SECONDS,
)
from vaultseek.base.model import NOT_EMBEDDED, Problem, Reason, ReasonCode
from vaultseek.core.indexing.embedding_queue import EmbeddingQueue, SentBatch
from vaultseek.core.indexing.status import EmbeddingRate
from vaultseek.core.indexing.store_migration import StoreMigration, StoreRebuilds, store_folder
from vaultseek.core.indexing.unembedded import EmbeddingSpec, Item, Position, Unembedded, try_refused_again
from vaultseek.core.indexing.writer import InWriter
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.worker import CHUNKS, NOTES, SemanticAnswer
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.semantic.worker.state import VectorKeeper
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.vectors import SpaceTable

WAITING_TEXTS = 2048
"""Maximum number of ledger entries read at once."""
STORE_SECONDS = 1.0
"""Seconds for which computed vectors are collected before they are stored. Only stored vectors can be
searched."""
SENT_BATCHES = 2
"""Maximum number of batches sent to the worker at a time: the batch that it is embedding and the next one, so
that it keeps working while vectors are stored."""

LIST_SECONDS = 0.5
"""Maximum seconds that one call spends finding texts without a vector."""
_LENGTH_ERROR = 1e-3
log = logging.getLogger(__name__)
_NO_VECTOR = Problem(NOT_EMBEDDED, "a passage could not be embedded; it is searched by word only")


class Embedding:
    """One vector space of a vault: its store, and the sync of the store with the ledger, one batch at a time.

    ``directory`` holds the stores of the current embedding spec and of the previous one. ``pool`` has the
    worker for the previous spec's model. ``space`` is the ledger table of texts whose vectors the store
    lacks; by default, the table of the first space.
    """

    def __init__(
        self,
        ledger: Ledger,
        worker: VectorKeeper,
        directory: Path,
        spec: EmbeddingSpec,
        in_writer: InWriter,
        pool: WorkerPool | None = None,
        space: SpaceTable | None = None,
    ) -> None:
        self.spec = spec
        self.wake = asyncio.Event()
        """Event that is set when there may be texts to embed."""
        self.retry = asyncio.Event()
        """Event that is set when a failed step should be retried without further waiting."""
        self.store = directory / store_folder(spec.name)
        """Path of the vector store."""
        self.may_hold_removed = True
        """True if the store may still contain vectors of chunks and notes that were removed from the
        ledger."""
        self.ready = False
        self.opening = asyncio.Lock()
        """Lock that is held while the store is being opened."""
        self._ledger = ledger
        self._worker = worker
        self._in_writer = in_writer
        self._space = space or ledger.space
        self.rate = EmbeddingRate()
        self.unembedded = Unembedded(ledger, spec, self._space)
        """Texts that have no vector in the store."""
        self._migration = StoreMigration(self._space, self.store, spec, in_writer, pool)
        self._rebuilds = StoreRebuilds()
        self._refused_tried = self._space is not ledger.space  # only the first space records refused texts
        self._queue = EmbeddingQueue(ledger, self.unembedded)

    async def step(self) -> bool:
        """Store one batch of vectors; return False if nothing is left to do.

        Raises WorkerUnavailable. A damaged store is discarded and rebuilt by the following steps.
        """
        try:
            await self.open()
            if not self._refused_tried:
                await self._in_writer(try_refused_again, self._ledger)
                self._refused_tried = True
            if await self._store_batch():
                return True
            # If vectors are still missing, a note was stored a moment ago.
            if not any(self._space.pending_counts()):
                await self._migration.end(self._worker.drop)
            return False
        except IndexDamaged as error:
            await self.discard_store(str(error))
            return True

    @property
    def has_previous(self) -> bool:
        """True while the store of the previous spec answers queries."""
        return self._migration.previous is not None

    @property
    def models(self) -> set[str]:
        """Fingerprints of the models whose vectors the space needs: its own, and the previous store's."""
        previous = self._migration.previous
        return {self.spec.fingerprint} | ({previous.fingerprint} if previous is not None else set())

    @property
    def is_current(self) -> bool:
        """True if queries are embedded with the model of ``spec``; False if they are embedded with the
        previous model.
        """
        return self._migration.is_same_model

    def release_previous(self) -> None:
        """Release the worker of the previous spec's model when the vault is closed."""
        self._migration.release_model()

    async def rest(self) -> None:
        """Wait until there may be texts to embed."""
        await self.wake.wait()

    async def open(self) -> None:
        """Open the store for searches without embedding anything. Raises WorkerUnavailable or IndexDamaged.

        For a read-only ledger, wait until another process has created the store.
        """
        async with self.opening:
            # The ledger has no store name if the engine turned out to be a different one.
            if not self.ready or not self._space.store():
                await self._open_store()

    async def copy(self) -> None:
        """Store the vectors that the ledger already has, without embedding any.

        Raises WorkerUnavailable or IndexDamaged.
        """
        await self.open()
        pages = self.unembedded.pages()
        while (items := await asyncio.to_thread(next, pages, None)) is not None:
            if known := [item for item in items if item.vector is not None]:
                await self._put(known)

    async def texts_after(self, position: Position, limit: int) -> tuple[dict[str, str], Position]:
        """Return up to ``limit`` texts without a vector, as a dict from key to text, and the position at
        which to continue.

        The oldest texts come first. ``step`` begins with the newest notes, so the two methods rarely work on
        the same texts.
        """
        texts: dict[str, str] = {}
        end = time.monotonic() + LIST_SECONDS
        while len(texts) < limit and time.monotonic() < end:
            items, position = await asyncio.to_thread(
                self.unembedded.after, position, min(limit - len(texts), WAITING_TEXTS)
            )
            if not items:
                break
            missing = (item for item in items if item.vector is None and item.text is not None)
            texts |= {self.unembedded.key(item): item.text.text for item in missing if item.text is not None}
        return texts, position

    async def keep(self, vectors: Mapping[str, Vectors]) -> int:
        """Store ``vectors``, a dict from text keys to vectors computed by a cluster. Return how many were
        usable and new.

        Only unit vectors of the model's dimension are accepted; texts whose vectors are rejected are embedded
        locally. Raises WorkerUnavailable.
        """
        if self._worker.state.dimension is None:
            await self._worker.ready(EMBED_SECONDS)
        dimension = self._worker.state.dimension
        known = self._ledger.vectors.get(list(vectors))
        new = {
            key: row.tobytes()
            for key, row in vectors.items()
            if key not in known and key.startswith(self.unembedded.key_prefix) and _is_unit(row, dimension)
        }
        await self._in_writer(self._ledger.vectors.put, new)
        self.rate.add(len(new))
        self.wake.set()
        return len(new)

    async def stored(self) -> tuple[int, int]:
        """Return how many passage vectors and how many note vectors are in the store. Raises
        WorkerUnavailable.
        """
        return await self._worker.count(self.store, CHUNKS), await self._worker.count(self.store, NOTES)

    async def query(self, text: str, k: int, allowed: Any, deadline: float) -> SemanticAnswer:
        """Return the nearest passages and notes. Until this store is full, the previous store answers.

        While ``may_have_removed`` is true, the answer may contain passages and notes that were removed from
        the ledger. Raises WorkerUnavailable, or IndexDamaged if the store is damaged or missing.
        """
        previous = self._migration.previous
        if previous is not None:
            query = await self._migration.question(previous, text)
            with contextlib.suppress(IndexDamaged):
                answer = await self._worker.query(previous.path, query, k, allowed=allowed, deadline=deadline)
                return await self._judged(replace(answer, model=previous.fingerprint), text)
            await self._migration.end(self._worker.drop)
        answer = await self._worker.query(self.store, text, k, allowed=allowed, deadline=deadline)
        searched_all = allowed is None and previous is None
        if (
            searched_all
            and not len(answer.passage_numbers)
            and self._space.store()
            and self._expected()[0] > 0
        ):
            raise IndexDamaged("the vectors are missing; search again when they have been rebuilt")
        return await self._judged(replace(answer, model=self.spec.fingerprint), text)

    @property
    def may_have_removed(self) -> bool:
        """True if an answer may contain passages and notes that were removed from the ledger."""
        return self.may_hold_removed or self.has_previous or self.has_orphans

    @property
    def has_orphans(self) -> bool:
        """True if the store has vectors of passages or notes that were removed from the ledger."""
        return any(self._space.orphans(1))

    async def _judged(self, answer: SemanticAnswer, text: str) -> SemanticAnswer:
        return await self.spec.judged(answer, text)

    async def note_vectors(self, notes: Sequence[int], deadline: float) -> Mapping[int, Any]:
        """Return a dict from the ids of ``notes`` to their stored vectors. Raises WorkerUnavailable or
        IndexDamaged.
        """
        previous = self._migration.previous
        store = self.store if previous is None else previous.path
        return await self._worker.vectors(store, notes, deadline=deadline)

    async def discard_store(self, reason: str) -> None:
        """Discard the vector store immediately, or later if another store was discarded a moment ago.

        The next step creates a new store from the ledger's vectors. If the ledger is read-only, its store is
        kept and checked again by the next ``open``.
        """
        self.ready = False
        if self._ledger.is_read_only:
            return
        self._rebuilds.request(reason)
        self._queue.clear()
        self.wake.set()
        await self._discard_damaged()

    async def _discard_damaged(self) -> None:
        if self._rebuilds.is_due():
            log.warning("discarding and refilling the vector store %s: %s", self.store, self._rebuilds.damage)
            await self._worker.drop(self.store)
            await self._in_writer(self._space.begin_store, "")
            self._rebuilds.begin()

    async def _open_store(self) -> None:
        """Open the store that the ledger's entries describe, or create a new one."""
        self._rebuilds.check()
        await self._discard_damaged()
        version = self._space.store()
        is_known = bool(version) and version.startswith(self.spec.name + ":")
        versions = [await self._worker.version(self.store, collection) for collection in (CHUNKS, NOTES)]
        if not is_known or versions != [version, version]:
            self.ready = False
            if self._ledger.is_read_only:
                text = "the vectors are not ready yet; the machine that indexes the vault creates them"
                raise WorkerUnavailable(text, "being_built")
            version = self._new_version()
            await self._in_writer(self._migration.begin)
            await self._worker.drop(self.store)
            for collection in (CHUNKS, NOTES):
                await self._worker.apply(self.store, collection, version=version)
            failpoint("store.made")
            await self._in_writer(self._space.begin_store, version)
        elif self._worker.counts_quickly and not self._ledger.is_read_only:
            with contextlib.suppress(WorkerUnavailable):  # a full disk, for example; the name can wait
                await self._rename_store()
        await self._migration.resume()
        # A process may have been killed between writing to the store and to the ledger.
        self.may_hold_removed = not self._worker.counts_quickly or await self.stored() != self._expected()
        self.ready = True

    async def _rename_store(self) -> None:
        """Give the store a new name, so that an older copy of its files or of the ledger is later recognized
        as outdated.
        """
        version = self._new_version()
        for collection in (CHUNKS, NOTES):
            await self._worker.apply(self.store, collection, version=version)
        await self._in_writer(partial(self._space.begin_store, version, is_renamed=True))

    def _new_version(self) -> str:
        return f"{self.spec.name}:{uuid.uuid4().hex}"

    async def _store_batch(self) -> bool:
        orphans = await self._in_writer(self._space.orphans, WAITING_TEXTS)
        has_orphans = any(orphans)
        if has_orphans:
            await self._delete(*orphans)
        if not await self._queue.fill():
            return has_orphans
        ahead = asyncio.create_task(self._queue.look_ahead())
        try:
            await self._store_next()
        except BaseException:
            ahead.cancel()
            self._queue.clear()  # the items taken still have no vector, so they must be queued again
            raise
        await ahead
        return True

    async def _store_next(self) -> None:
        """Store vectors for the loaded texts: the vectors already known or, if there are none, newly computed
        ones.
        """
        embedded = self._queue.take_known() or await self._embed_some()
        try:
            await self._put(embedded)
        except (WorkerUnavailable, IndexDamaged):
            self.may_hold_removed = True
            raise

    async def _put(self, items: Sequence[Item]) -> None:
        vectors = [(item, item.vector) for item in items if item.vector is not None]
        version = self._space.store()
        if vectors:
            data = np.frombuffer(b"".join(vector for _, vector in vectors), np.float32)
            await self._worker.apply(
                self.store,
                NOTES if items[0].chunk is None else CHUNKS,
                numbers=[item.number for item, _ in vectors],
                notes=[item.note for item, _ in vectors],
                vectors=data.reshape(len(vectors), -1),
                version=version,
            )
        failpoint("vectors.stored")
        await self._in_writer(self._remove_stored, items, version)

    async def _delete(self, chunks: Sequence[int], notes: Sequence[int]) -> None:
        for collection, numbers in ((CHUNKS, chunks), (NOTES, notes)):
            if numbers:
                version = self._space.store()
                await self._worker.apply(self.store, collection, deletes=numbers, version=version)
        failpoint("vectors.forgotten")
        await self._in_writer(self._space.remove_orphans, chunks, notes)

    def _expected(self) -> tuple[int, int]:
        counts, (chunks, notes) = self._ledger.counts(), self._space.pending_counts()
        return counts.chunks - chunks, counts.notes - notes

    def _remove_stored(self, items: Sequence[Item], version: str) -> None:
        """Remove the items from the list of missing vectors, except items of notes that have changed since.

        Removes nothing if a store with a different ``version`` has been created since. A text that cannot be
        embedded counts as stored; otherwise it would be retried forever. Runs in the writer thread.
        """
        if self._space.store() != version:
            return
        self._space.enter_removed(*_numbers(items))
        items = self.unembedded.unchanged(items)
        failed = sorted({item.note for item in items if not item.vector})
        if self._space is self._ledger.space:
            for row in self._ledger.notes.by_id(failed).values():
                if not self._ledger.problems.has(row.path, NOT_EMBEDDED):
                    self._ledger.problems.add(row.path, _NO_VECTOR)
        self._space.remove_stored(*_numbers(items))

    async def _embed_some(self) -> list[Item]:
        """Embed texts, write their vectors to the ledger, and return the texts with their vectors.

        Embeds several consecutive batches, because a write costs more than a batch.
        """
        items: list[tuple[str, Item]] = []
        new: dict[str, bytes] = {}
        known: dict[str, bytes] = {}
        end = time.monotonic() + STORE_SECONDS
        while (not items or time.monotonic() < end) and (batch := self._next_sent()):
            try:
                vectors = await batch.vectors
            except WorkerUnavailable:
                if not items:
                    raise
                self._queue.clear()
                break  # keep what was computed; the next step will hit the problem again
            self.rate.add(len(vectors))
            items += batch.items
            known |= batch.known
            new |= vectors
        failpoint("vectors.computed")
        await self._in_writer(self._ledger.vectors.put, new)
        failpoint("vectors.kept")
        known |= new
        return [replace(item, vector=known.get(key)) for key, item in items]

    def _next_sent(self) -> SentBatch | None:
        """Take the oldest batch that was sent to the worker, after sending the batch that follows it."""
        sent = self._queue.sent
        while len(sent) < SENT_BATCHES and (batch := self._queue.take(BATCH_TEXTS)):
            items = [(self.unembedded.key(item), item) for item in batch]
            # A cluster may have computed some vectors in the meantime.
            known = self._ledger.vectors.get([key for key, _ in items])
            texts = {key: item.text.text for key, item in items if item.text is not None and key not in known}
            vectors = asyncio.create_task(self._embed(texts))
            vectors.add_done_callback(_ignore_error)
            sent.append(SentBatch(items, known, vectors))
        return sent.popleft() if sent else None

    async def _embed(self, texts: Mapping[str, str]) -> dict[str, bytes]:
        if not texts:
            return {}
        matrix = await self._worker.embed(list(texts.values()), deadline=EMBED_SECONDS)
        rows = zip(texts, matrix, strict=True)
        return {key: row.tobytes() for key, row in rows if np.isfinite(row).all()}


def _ignore_error(task: asyncio.Task[Any]) -> None:
    """Keep asyncio from logging the error of a task that nobody awaits any more."""
    if not task.cancelled():
        task.exception()


def _is_unit(vector: Vectors, dimension: int | None) -> bool:
    """Return whether ``vector`` is a finite unit vector, and has the given ``dimension`` if that is known."""
    if vector.ndim != 1 or len(vector) != (dimension or len(vector)) or not np.isfinite(vector).all():
        return False
    return abs(float(np.linalg.norm(vector)) - 1.0) < _LENGTH_ERROR


def _numbers(items: Sequence[Item]) -> tuple[list[int], list[int]]:
    chunks = [item.chunk for item in items if item.chunk is not None]
    return chunks, [item.note for item in items if item.chunk is None]


async def follow(
    embedding: Embedding,
    on_problem: Callable[[Reason | None], None],
    is_free: Callable[[], bool] = lambda: True,
) -> None:
    """Keep the store in sync with the ledger whenever ``is_free()`` is true, so that other work comes first.

    Calls ``on_problem`` with the reason why embedding fails, or with None once it works.
    """
    last_logged: Reason | None = None
    failures = 0
    while True:
        embedding.wake.clear()  # before the step, so that changes during it are not missed
        embedding.retry.clear()
        try:
            busy = is_free() and await embedding.step()
            on_problem(None)
        except WorkerUnavailable as error:
            problem = Reason.of(error)
            on_problem(problem)
            failures = failures + 1 if problem.code == "failing" else 0
            pause = WORKER_BACKOFF_SECONDS[min(failures, len(WORKER_BACKOFF_SECONDS) - 1)]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(RETRY_SECONDS, pause)):
                    await embedding.retry.wait()
            continue
        except Exception as error:
            if what := paths.shortage(error):
                code: ReasonCode = "disk_full" if paths.is_disk_full(error) else "failing"
                problem = Reason(code, f"{what} so that indexing can continue")
            else:
                message = f"storing vectors failed ({type(error).__name__}); see the log"
                problem = Reason("failing", message)
            if problem != last_logged:
                log.error("%s: %s", embedding.store.parent, problem.text, exc_info=error)
            last_logged = problem
            on_problem(problem)
            await asyncio.sleep(EMBED_RETRY_SECONDS)
            continue
        last_logged, failures = None, 0
        if not is_free():
            await asyncio.sleep(RETRY_SECONDS)
        elif not busy:
            await embedding.rest()
