"""The second vector space of a vault: the passages and notes that the vault's own model embeds, embedded by
another model, which answers questions in the languages that the first does not read.

It is synced with the ledger as the keyword index is, from the position it is at, which is the version of its
store: no note is marked. The notes that changed since are written again; their vectors come from the ledger
where the same text was embedded before. It is filled when the vault's own vectors are complete, and its model
is loaded only while it is used: changes are collected for some minutes, or until somebody asks."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import (
    BATCH_TEXTS,
    EMBED_RETRY_SECONDS,
    EMBED_SECONDS,
    ERROR_CHARS,
    RETRY_SECONDS,
)
from vaultseek.base.text import one_line
from vaultseek.core.indexing.rebuilds import StoreRebuilds
from vaultseek.core.indexing.succession import store_folder, sweep
from vaultseek.core.indexing.unembedded import EmbeddingSpec, Item, Unembedded
from vaultseek.core.indexing.writer import InWriter
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.models.calibration import calibration_of
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.semantic.worker import CHUNKS, NOTES, SemanticAnswer, SemanticWorker
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.semantic.worker.port import VectorKeeper
from vaultseek.semantic.worker.state import Model
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import Position, RemovalsPruned, changes, pending_count

PAGE_NOTES = 64
"""Notes whose vectors are written at once; the position in the ledger is written with them."""
COLLECT_SECONDS = 300.0
"""Time for which changes are collected once the space is full, unless it is asked."""
START_SECONDS = 30.0
"""Longest wait of background work for the worker to start."""

log = logging.getLogger(__name__)


class SpaceModel(Model, Protocol):
    """The model of a second space."""

    @property
    def fingerprint(self) -> str:
        """The name of its vectors."""


class SecondSpace:
    """The vector store of another model for one vault.

    Texts are composed for the vault's own model, ``spec``: passages are cut for that, and its tokenizer is
    loaded already.
    """

    def __init__(
        self,
        ledger: Ledger,
        pool: WorkerPool,
        model: SpaceModel,
        directory: Path,
        spec: EmbeddingSpec,
        in_writer: InWriter,
        keep: Callable[[SemanticWorker], VectorKeeper] | None = None,
        place: str = "",
    ) -> None:
        """``keep`` returns whoever keeps the vectors of a worker, if not the worker itself, at ``place``."""
        self.model = model
        self.wake = asyncio.Event()
        """Set when there may be something to embed."""
        self.asked = asyncio.Event()
        """Set when the space was asked, so that its model is loaded."""
        self.was_full = False
        """True once every note of the ledger was in the space since it was opened."""
        self.problem: str | None = None
        """Reason why its vectors cannot be computed or stored at the moment."""
        name = f"{model.fingerprint}/{spec.name}"
        self.store = directory / store_folder(name)
        self._name = name
        self._directory = directory
        self._ledger = ledger
        self._pool = pool
        self._texts = Unembedded(ledger, replace(spec, fingerprint=model.fingerprint))
        self._in_writer = in_writer
        self._keep: Callable[[SemanticWorker], VectorKeeper] = keep or (lambda worker: worker)
        self._place = place and f"{place} "
        self._position = self._kept_position()
        self._rebuilds = StoreRebuilds()
        self._is_synced()

    async def stored(self) -> tuple[int, int]:
        """Return how many vectors of passages and of notes the space has. Raises WorkerUnavailable."""
        async with self._pool.use(self.model) as worker:
            await worker.ready(START_SECONDS)
            keeper = self._keep(worker)
            return await keeper.count(self.store, CHUNKS), await keeper.count(self.store, NOTES)

    def expected(self) -> tuple[int, int]:
        """Return how many of both there are in the ledger; a text that cannot be embedded has none."""
        passages = notes = 0
        ids = self._ledger.notes.ids()
        for start in range(0, len(ids), PAGE_NOTES):
            items = [item for item in self._texts.of_notes(ids[start : start + PAGE_NOTES]) if item.vector]
            of_passages = sum(item.chunk is not None for item in items)
            passages, notes = passages + of_passages, notes + len(items) - of_passages
        return passages, notes

    def pending_count(self) -> int | None:
        """Return how many notes are not in the space as they are now; None before it is opened."""
        return None if self._position is None else pending_count(self._ledger, self._position)

    @property
    def worker(self) -> SemanticWorker:
        """The worker of the space's model, which may not run."""
        return self._pool.worker(self.model)

    async def step(self, is_free: Callable[[], bool] = lambda: True) -> bool:
        """Store the vectors of some notes; false if there is nothing left to do, or if ``is_free`` is not.

        Raises WorkerUnavailable. A damaged store is dropped and filled again by the following steps.
        """
        if self._position not in (None, Position()) and not self._ledger.vectors.second_store():
            self._position = None  # the engine that keeps it was found to be another one
        if self._position is not None and self._is_synced():
            return False
        async with self._pool.use(self.model) as worker:
            await worker.ready(START_SECONDS)
            try:
                if self._position is None:
                    await self._open(self._keep(worker))
                return await self._store_page(self._keep(worker), is_free)
            except IndexDamaged as error:
                self._rebuilds.request(str(error))
                await self._discard_damaged(self._keep(worker))
                return True

    async def open(self) -> None:
        """Find out how far the space is. Raises WorkerUnavailable or IndexDamaged."""
        if self._position is None:
            async with self._pool.use(self.model) as worker:
                await worker.ready(START_SECONDS)
                await self._open(self._keep(worker))

    async def query(self, text: str, k: int, allowed: NoteIds | None, deadline: float) -> SemanticAnswer:
        """Return the nearest passages and notes; starting the worker counts towards the deadline, in seconds.

        Raises WorkerUnavailable or IndexDamaged.
        """
        end = asyncio.get_running_loop().time() + deadline
        async with self._pool.use(self.model) as worker:
            await worker.ready(deadline)
            left = max(0.0, end - asyncio.get_running_loop().time())
            answer = await self._keep(worker).query(self.store, text, k, allowed=allowed, deadline=left)
        self.asked.set()
        self.wake.set()
        if allowed is None and not len(answer.note_ids):
            self._position, self.was_full = None, False  # the store is not what the ledger remembers
        # It is asked what it reads; counting pieces would load its vocabulary.
        curve = calibration_of(self.model.fingerprint).curve(answer.vector)
        return replace(answer, meaning_curve=curve)

    async def note_vectors(self, notes: Sequence[int], deadline: float) -> Mapping[int, Any]:
        """Return the vectors of ``notes`` in this space. Raises WorkerUnavailable or IndexDamaged."""
        async with self._pool.use(self.model) as worker:
            return await self._keep(worker).vectors(self.store, notes, deadline=deadline)

    async def discard_store(self, reason: str) -> None:
        """Drop the store, later if that was done a moment ago; the next step begins a new one."""
        self._rebuilds.request(reason)
        async with self._pool.use(self.model) as worker:
            await self._discard_damaged(self._keep(worker))
        self.wake.set()

    async def _discard_damaged(self, worker: VectorKeeper) -> None:
        self._position, self.was_full = None, False
        if self._rebuilds.is_due():
            log.warning("%s is discarded and filled again: %s", self.store, self._rebuilds.damage)
            await worker.drop(self.store)
            self._rebuilds.begin()

    def _is_synced(self) -> bool:
        if self._position is None:
            return False
        try:
            is_synced = next(changes(self._ledger, self._position, 1), None) is None
        except RemovalsPruned:
            return False
        self.was_full = self.was_full or is_synced
        return is_synced

    async def _open(self, worker: VectorKeeper) -> None:
        self._rebuilds.check()
        await self._discard_damaged(worker)
        await asyncio.to_thread(sweep, self._directory, {self.store.name})
        position = self._position_of(await worker.version(self.store, NOTES) or "")
        if position is None:
            await self._begin(worker)
        self._position = self._position or position

    def _kept_position(self) -> Position | None:
        """Return the position as the ledger remembers it, if the space has all notes: it saves loading the
        model to ask the store."""
        position = self._position_of(self._ledger.vectors.second_store())
        return position if position and self.store.is_dir() and not self._place else None

    def _position_of(self, version: str) -> Position | None:
        """Return the position that a version of the store names; None if it is of other vectors."""
        name, _, position = version.rpartition("@")
        revision, _, note = position.partition(".")
        if name != f"{self._name}:{self._ledger.generation}":
            return None
        return Position(int(revision), int(note))

    async def _begin(self, worker: VectorKeeper) -> None:
        """Begin an empty store."""
        await worker.drop(self.store)
        self._position, self.was_full = Position(), False

    async def _store_page(self, worker: VectorKeeper, is_free: Callable[[], bool]) -> bool:
        try:
            page = next(changes(self._ledger, self._position or Position(), PAGE_NOTES), None)
        except RemovalsPruned:
            await self._begin(worker)
            return True
        if page is None:
            self.was_full = True
            return False
        notes, removed, position = page
        items = await asyncio.to_thread(self._texts.of_notes, notes)
        embedded = await self._embedded(worker, items, is_free)
        if embedded is None:
            return False
        version = f"{self._name}:{self._ledger.generation}@{position.revision}.{position.note}"
        touched = np.array([*notes, *removed], np.int64)
        passages = [item for item in embedded if item.chunk is not None]
        await self._write(worker, CHUNKS, passages, touched, None)
        failpoint("second.half_stored")
        whole = [item for item in embedded if item.chunk is None]
        await self._write(worker, NOTES, whole, touched, version)
        await self._in_writer(self._ledger.vectors.set_second_store, f"{self._place}{version}")
        self._position = position
        return True

    async def _embedded(
        self, worker: VectorKeeper, items: Sequence[Item], is_free: Callable[[], bool]
    ) -> list[Item] | None:
        """Return the items that have vectors; None if other work came first: what is computed is kept."""
        texts = {self._texts.key(item): item.text.text for item in items if item.text and not item.vector}
        missing = list(texts)
        computed: dict[str, bytes] = {}
        for start in range(0, len(missing), BATCH_TEXTS):
            if not is_free():
                return None
            batch = missing[start : start + BATCH_TEXTS]
            matrix = await worker.embed([texts[key] for key in batch], deadline=EMBED_SECONDS)
            pairs = zip(batch, matrix, strict=True)
            new = {key: row.tobytes() for key, row in pairs if np.isfinite(row).all()}
            await self._in_writer(self._ledger.vectors.put, new)
            computed |= new
        items = [replace(item, vector=item.vector or computed.get(self._texts.key(item))) for item in items]
        return [item for item in items if item.vector]

    async def _write(
        self,
        worker: VectorKeeper,
        collection: str,
        items: Sequence[Item],
        touched: NoteIds,
        version: str | None,
    ) -> None:
        """Store the vectors of the items, and delete all others of the ``touched`` notes."""
        numbers = np.array([item.number for item in items], np.int64)
        old = await worker.numbers(self.store, touched, collection=collection)
        data = np.frombuffer(b"".join(item.vector or b"" for item in items), np.float32)
        await worker.apply(
            self.store,
            collection,
            numbers=numbers,
            notes=[item.note for item in items],
            vectors=data.reshape(len(items), -1) if items else None,
            deletes=np.setdiff1d(old, numbers),
            version=version,
        )


async def follow(space: SecondSpace, is_free: Callable[[], bool]) -> None:
    """Keep the space up to the ledger, while ``is_free``: the vault's own vectors come first.

    ``space.wake`` is set when notes may have changed.
    """
    last_logged = ""
    while True:
        try:
            busy = is_free() and await space.step(is_free)
        except Exception as error:  # it is tried again; nobody waits for it
            busy, problem = False, one_line(str(error), ERROR_CHARS) or type(error).__name__
            space.problem = problem
            if problem != last_logged:
                log.warning("the second vectors of %s: %s; trying again", space.store.parent, problem)
            last_logged = problem
            await asyncio.sleep(
                RETRY_SECONDS if isinstance(error, WorkerUnavailable) else EMBED_RETRY_SECONDS
            )
            continue
        if busy:
            space.problem = None
            continue
        if not is_free():
            await asyncio.sleep(RETRY_SECONDS)
            continue
        last_logged, space.problem = "", None
        space.wake.clear()
        await space.wake.wait()
        if space.was_full:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(space.asked.wait(), COLLECT_SECONDS)
            space.asked.clear()
