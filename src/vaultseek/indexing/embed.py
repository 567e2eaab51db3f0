"""Bring the vector store up to the ledger: embed the texts that have no vector in it, newest notes first.

Every step can be repeated: vectors go to the ledger before they go to the store, and a chunk is marked as
stored after the store has it. A lost store is rebuilt from the ledger without the model.

Another model, another chunking or another embedding text begins another store. Until that one is full, the
previous one answers, with its own model.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import shutil
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vaultseek import paths
from vaultseek.errors import IndexDamaged, Unavailable, VaultseekError, WorkerUnavailable
from vaultseek.failpoints import failpoint
from vaultseek.index.ledger import Ledger, note_of_vector
from vaultseek.indexing.handout import Handout, is_unit_vector
from vaultseek.indexing.unembedded import EmbeddingSpec, Item, Unembedded
from vaultseek.limits import (
    BATCH_TEXTS,
    EMBED_RETRY_SECONDS,
    EMBED_SECONDS,
    QUERY_EMBED_SECONDS,
    RETRY_SECONDS,
)
from vaultseek.model import JSON, Problem, Reason
from vaultseek.models.catalogue import find_model
from vaultseek.models.encoder import Vectors
from vaultseek.worker import CHUNKS, NOTES, SemanticAnswer, SemanticWorker
from vaultseek.worker.port import VectorKeeper

WAITING_TEXTS = 2048
"""Texts read from the ledger at once."""
STORED_TEXTS = 1024
"""Most vectors in one write to the store."""
STORE_SECONDS = 1.0
"""Time after which computed vectors are stored, so that they can be searched."""

log = logging.getLogger(__name__)
InWriter = Callable[..., Awaitable[Any]]


class OldModels:
    """Workers for models that the settings no longer name, while a store made with one still answers."""

    def __init__(self) -> None:
        self._workers: dict[str, SemanticWorker] = {}
        self._users: dict[str, int] = {}

    async def borrow(self, name: str, fingerprint: str) -> None:
        """Start a worker for the model, unless the model has changed since."""
        self._users[name] = self._users.get(name, 0) + 1
        if name in self._workers:
            return
        with contextlib.suppress(VaultseekError, OSError):
            model = await asyncio.to_thread(find_model, name)
            if model.fingerprint == fingerprint:
                self._workers[name] = SemanticWorker(model)
                await self._workers[name].start()

    async def vector(self, name: str, text: str) -> Any:
        """Return the vector of the text by that model. Raises WorkerUnavailable."""
        if name not in self._workers:
            raise WorkerUnavailable(
                "the vectors are being rebuilt for another model; `vaultseek status` shows the progress"
            )
        return (await self._workers[name].embed([text], urgent=True, deadline=QUERY_EMBED_SECONDS))[0]

    async def give_back(self, name: str) -> None:
        """Give up one use of the model; the last one ends its worker."""
        self._users[name] = self._users.get(name, 1) - 1
        if self._users[name] <= 0 and name in self._workers:
            await self._workers.pop(name).stop()

    async def stop(self) -> None:
        """End all workers."""
        for name in list(self._workers):
            await self._workers.pop(name).stop()


class Embedding:
    """The vector store of one vault and the steps that bring it up to the ledger, a batch each.

    ``directory`` holds the stores of this spec and of the previous one.
    """

    def __init__(
        self,
        ledger: Ledger,
        worker: VectorKeeper,
        directory: Path,
        spec: EmbeddingSpec,
        in_writer: InWriter,
        old_models: OldModels | None = None,
    ) -> None:
        self.spec = spec
        self.wake = asyncio.Event()
        """Set when there may be something to embed."""
        self.store = directory / store_folder(spec.name)
        self.may_hold_removed = True
        """True if the store may hold vectors of chunks and notes that the ledger no longer has."""
        self.ready = False
        self._directory = directory
        self._old_models = old_models or OldModels()
        self._previous: JSON | None = None
        self._ledger = ledger
        self._worker = worker
        self._in_writer = in_writer
        self._unembedded = Unembedded(ledger, spec)
        self._handout: Handout | None = None
        self._borrowers = 0
        self._brought: dict[str, bytes] = {}
        self._waiting: list[Item] = []
        self._revision = -1
        self._recent: deque[tuple[float, int]] = deque(maxlen=20)

    def rate(self) -> float:
        """Return the texts embedded per second over the last batches; 0 when none were lately."""
        if len(self._recent) < 2 or time.monotonic() - self._recent[-1][0] > 10:
            return 0.0
        seconds = self._recent[-1][0] - self._recent[0][0]
        return sum(count for _, count in list(self._recent)[1:]) / seconds if seconds > 0 else 0.0

    async def step(self) -> bool:
        """Store one batch of vectors; false if there is nothing left to do.

        Raises WorkerUnavailable. A damaged store is discarded and rebuilt by the following steps.
        """
        try:
            # None is left to say what the store has, if the engine that keeps it was found to be another one.
            if not self.ready or not self._ledger.vectors.store():
                await self._open_store()
            if await self._store_batch():
                return True
            if self._handout is None:  # else texts are missing that a client embeds
                await self._swap()
            return False
        except IndexDamaged as error:
            await self.discard_store(str(error))
            return True

    @contextlib.contextmanager
    def handed_out(self) -> Iterator[None]:
        """Have a client embed the texts, with ``texts_to_embed`` and ``bring``, until the context is left.

        Only texts that the client refuses are embedded here meanwhile.
        """
        self._borrowers += 1
        if self._handout is None:
            self._handout = Handout(self._ledger, self._unembedded)
        try:
            yield
        finally:
            self._borrowers -= 1
            if not self._borrowers:
                self._handout = None
            self.wake.set()

    async def texts_to_embed(self, limit: int) -> dict[str, str]:
        """Return texts by key for the client that embeds them, of as many chunks or notes as ``limit``.

        Empty while there are none, or the store is not open. Raises Unavailable if nobody has said that a
        client embeds.
        """
        handout = self._current_handout()
        if not self.ready:
            return {}
        texts = await handout.take(limit)
        self.wake.set()
        return texts

    async def bring(self, vectors: Mapping[str, Vectors], refused: Collection[str]) -> int:
        """Keep the vectors that the client has computed; return how many were asked for and are usable.

        Nothing waits here for the thread that writes: it may wait for notes that the same client reads.
        Texts that it refuses, and those whose vectors are no unit vectors of the model's length, are embedded
        here. Raises Unavailable as ``texts_to_embed`` does, or WorkerUnavailable.
        """
        handout = self._current_handout()
        if self._worker.state.dimension is None:
            await self._worker.ready(EMBED_SECONDS)
        dimension = self._worker.state.dimension
        usable = {key: row for key, row in vectors.items() if is_unit_vector(row, dimension)}
        new = {key: row.tobytes() for key, row in usable.items() if handout.is_out(key)}
        self._brought |= new
        handout.take_back(new, [*refused, *(vectors.keys() - usable.keys())])
        self._recent.append((time.monotonic(), len(new)))
        self.wake.set()
        return len(new)

    def _current_handout(self) -> Handout:
        if self._handout is None:
            raise Unavailable("nobody waits for vectors of a client; use index/wait with vectors_from_client")
        return self._handout

    @property
    def has_previous(self) -> bool:
        """True while the store of the previous spec answers."""
        return self._previous is not None

    @property
    def is_current(self) -> bool:
        """True if queries are embedded with the model of ``spec``, not with the one before."""
        return self._previous is None or self._previous["fingerprint"] == self.spec.fingerprint

    async def open(self) -> None:
        """Make the store ready for searches without embedding. Raises WorkerUnavailable or IndexDamaged."""
        if not self.ready:
            await self._open_store()

    async def copy(self) -> bool:
        """Store some of the vectors that the ledger has and embed nothing; false if the store has them all.

        Raises WorkerUnavailable or IndexDamaged.
        """
        await self.open()
        for limit in (WAITING_TEXTS, self._ledger.counts().pending):
            items = await self._in_writer(self._unembedded.first, limit)
            if known := [item for item in items if item.vector is not None]:
                await self._store(known[:STORED_TEXTS])
                return True
        return False

    async def stored(self) -> tuple[int, int]:
        """Return how many vectors of passages and of notes the store has. Raises WorkerUnavailable."""
        return await self._worker.count(self.store, CHUNKS), await self._worker.count(self.store, NOTES)

    def marked(self) -> tuple[int, int]:
        """Return how many vectors of passages and of notes it has as far as the ledger knows."""
        counts = self._ledger.counts()
        return counts.embedded, counts.notes - (counts.pending - (counts.chunks - counts.embedded))

    @property
    def unembedded(self) -> Unembedded:
        """The texts that have no vector in the store."""
        return self._unembedded

    async def query(self, text: str, k: int, allowed: Any, deadline: float) -> SemanticAnswer:
        """Return the nearest passages and notes, from the previous store while this one is not full.

        Raises WorkerUnavailable or IndexDamaged.
        """
        previous = self._previous
        if previous is None:
            answer = await self._worker.query(self.store, text, k, allowed=allowed, deadline=deadline)
            return await self.spec.judged(answer, text)
        query: Any = text
        if previous["fingerprint"] != self.spec.fingerprint:
            query = await self._old_models.vector(previous["model"], text)
        store = self._directory / previous["folder"]
        try:
            answer = await self._worker.query(store, query, k, allowed=allowed, deadline=deadline)
        except IndexDamaged:
            await self._swap()
            answer = await self._worker.query(self.store, text, k, allowed=allowed, deadline=deadline)
            return await self.spec.judged(answer, text)
        return await self.spec.judged(answer, text, previous["fingerprint"])

    async def note_vectors(self, notes: Sequence[int], deadline: float) -> Mapping[int, Any]:
        """Return the stored vectors of ``notes``. Raises WorkerUnavailable or IndexDamaged."""
        previous = self._previous
        store = self.store if previous is None else self._directory / previous["folder"]
        return await self._worker.vectors(store, notes, deadline=deadline)

    async def discard_store(self, reason: str) -> None:
        """Discard the vector store; the next step begins a new one, of the vectors that the ledger has."""
        log.warning("%s is discarded and filled again: %s", self.store, reason)
        self.ready = False
        self._waiting.clear()
        await self._worker.drop(self.store)
        await self._in_writer(self._ledger.vectors.begin_store, "")
        self.wake.set()

    async def _open_store(self) -> None:
        """Open the store if it is the one that the ledger's marks refer to; begin a new one if not."""
        version = await self._worker.version(self.store, CHUNKS)
        await self._worker.version(self.store, NOTES)  # opens it, which takes long if its files are damaged
        if (
            not version
            or version != self._ledger.vectors.store()
            or not version.startswith(self.spec.name + ":")
        ):
            version = f"{self.spec.name}:{uuid.uuid4().hex}"
            await self._in_writer(self._keep_previous)
            await self._worker.drop(self.store)
            for collection in (CHUNKS, NOTES):
                await self._worker.apply(self.store, collection, version=version)
            failpoint("store.made")
            await self._in_writer(self._ledger.vectors.begin_store, version)
        await self._begin_with_previous()
        self.may_hold_removed = await self._is_out_of_step()
        self.ready = True

    async def _is_out_of_step(self) -> bool:
        """True if the store has other numbers of vectors than the ledger's marks, or is slow to tell: a
        process may have been killed between a write to the one and to the other."""
        return not self._worker.counts_quickly or await self.stored() != self.marked()

    def _keep_previous(self) -> None:
        """Let a store of another spec answer until this one is full, if the marks refer to one."""
        name = self._ledger.vectors.store().rpartition(":")[0]
        folder = store_folder(name)
        if name and name != self.spec.name and (self._directory / folder).is_dir():
            fingerprint = name.split("/")[0]
            model = self._ledger.vectors.store_model()
            previous = {"folder": folder, "fingerprint": fingerprint, "model": model}
            self._ledger.vectors.set_previous_store(previous)
        self._ledger.vectors.set_store_model(self.spec.model)

    async def _begin_with_previous(self) -> None:
        previous = await self._in_writer(self._ledger.vectors.previous_store)
        if previous is not None and previous["folder"] == self.store.name:
            previous = None
        in_use = {self.store.name, previous["folder"]} if previous else {self.store.name}
        await asyncio.to_thread(_sweep, self._directory, in_use)
        if previous is not None and previous["fingerprint"] != self.spec.fingerprint:
            await self._old_models.borrow(previous["model"], previous["fingerprint"])
        self._previous = previous

    async def _swap(self) -> None:
        """Drop the previous store, because this one is full."""
        previous, self._previous = self._previous, None
        if previous is None:
            return
        failpoint("store.swapped")
        await self._in_writer(self._ledger.vectors.set_previous_store, None)
        await self._worker.drop(self._directory / previous["folder"])
        if previous["fingerprint"] != self.spec.fingerprint:
            await self._old_models.give_back(previous["model"])

    async def _keep_brought(self) -> None:
        """Have the ledger keep what clients have brought."""
        new, self._brought = self._brought, {}
        if not new:
            return
        try:
            await self._in_writer(self._ledger.vectors.put, new)
        except BaseException:
            self._brought |= new
            raise

    async def _store_batch(self) -> bool:
        await self._keep_brought()
        orphans = await self._in_writer(self._ledger.vectors.orphans, WAITING_TEXTS)
        if orphans:
            await self._delete(orphans)
        if self._handout is not None:
            return await self._store_handed_out(self._handout) or bool(orphans)
        if not self._waiting or self._revision != self._ledger.revision:
            self._waiting = await self._in_writer(self._next_items)
        if not self._waiting:
            return bool(orphans)
        embedded = [item for item in self._waiting if item.vector is not None]
        if embedded:
            self._waiting = [item for item in self._waiting if item.vector is None]
        else:
            embedded = await self._embed_some()
        try:
            for start in range(0, len(embedded), STORED_TEXTS):
                await self._store(embedded[start : start + STORED_TEXTS])
        except (WorkerUnavailable, IndexDamaged):
            self.may_hold_removed = True
            raise
        return True

    async def _store_handed_out(self, handout: Handout) -> bool:
        """Store what a client has brought, and embed what it has refused; false if there is neither."""
        self._waiting = []
        refused, items = handout.refused(BATCH_TEXTS), handout.arrived(STORED_TEXTS)
        try:
            if refused:
                new = await self._embed(refused)
                await self._in_writer(self._ledger.vectors.put, new)
                items += [replace(item, vector=new.get(self._unembedded.key(item))) for item in refused]
            for of_notes in (False, True):
                if some := [item for item in items if (item.chunk is None) == of_notes]:
                    await self._store(some)
        finally:
            handout.forget([*items, *refused])
        return bool(items)

    async def _delete(self, orphans: list[str]) -> None:
        version = self._ledger.vectors.store()
        notes = [number for number in map(note_of_vector, orphans) if number is not None]
        chunks = [int(orphan) for orphan in orphans if note_of_vector(orphan) is None]
        for collection, numbers in ((CHUNKS, chunks), (NOTES, notes)):
            if numbers:
                await self._worker.apply(self.store, collection, deletes=numbers, version=version)
        failpoint("vectors.forgotten")
        await self._in_writer(self._ledger.vectors.mark_stored, [], [], orphans)

    def _next_items(self) -> list[Item]:
        """Return the next texts, all of chunks or all of notes. Runs in the writer thread."""
        self._revision = self._ledger.revision
        return self._unembedded.first(WAITING_TEXTS)

    async def _embed_some(self) -> list[Item]:
        """Return texts with their vectors, after the ledger has stored these.

        They are embedded batch after batch for a while, because a write costs more than a batch.
        """
        items: list[Item] = []
        new: dict[str, bytes] = {}
        end = time.monotonic() + STORE_SECONDS
        while self._waiting and len(items) < STORED_TEXTS and (not items or time.monotonic() < end):
            batch, self._waiting = self._waiting[:BATCH_TEXTS], self._waiting[BATCH_TEXTS:]
            try:
                vectors = await self._embed(batch)
            except WorkerUnavailable:
                if not items:
                    raise
                break  # what was computed is kept; the next step meets the trouble
            self._recent.append((time.monotonic(), len(vectors)))
            items += batch
            new |= vectors
        failpoint("vectors.computed")
        await self._in_writer(self._ledger.vectors.put, new)
        failpoint("vectors.kept")
        return [replace(item, vector=new.get(self._unembedded.key(item))) for item in items]

    async def _embed(self, items: Sequence[Item]) -> dict[str, bytes]:
        """Return the vectors of the items' texts, without those that failed, by their keys."""
        texts = {self._unembedded.key(item): item.text.text for item in items if item.text is not None}
        if not texts:
            return {}
        matrix = await self._worker.embed(list(texts.values()), deadline=EMBED_SECONDS)
        rows = zip(texts, matrix, strict=True)
        return {key: row.tobytes() for key, row in rows if np.isfinite(row).all()}

    async def _store(self, items: Sequence[Item]) -> None:
        """Store the vectors and mark them as stored; report the texts that have none."""
        vectors = [(item, item.vector) for item in items if item.vector is not None]
        store = self._ledger.vectors.store()
        if vectors:
            await self._worker.apply(
                self.store,
                NOTES if items[0].chunk is None else CHUNKS,
                numbers=[item.number for item, _ in vectors],
                notes=[item.note for item, _ in vectors],
                vectors=np.frombuffer(b"".join(data for _, data in vectors), np.float32).reshape(
                    len(vectors), -1
                ),
                version=store,
            )
        failpoint("vectors.stored")
        await self._in_writer(self._mark_stored, items, store)

    def _mark_stored(self, items: Sequence[Item], store: str) -> None:
        """Mark the items as stored, but those whose notes have changed since: these have other texts now.

        None of them if another ``store`` was begun meanwhile. A failed text counts as stored, or it would be
        tried again forever.
        """
        if self._ledger.vectors.store() != store:
            return
        items = self._unembedded.unchanged(items)
        failed = sorted({item.note for item in items if not item.vector})
        if failed:
            self._report_failures(failed)
        chunks = [item.chunk for item in items if item.chunk is not None]
        notes = [item.note for item in items if item.chunk is None]
        self._ledger.vectors.mark_stored(chunks, notes, [])

    def _report_failures(self, notes: Sequence[int]) -> None:
        problem = Problem("not_embedded", "a passage could not be embedded; only its words are searched")
        for row in self._ledger.notes.by_id(notes).values():
            self._ledger.problems.add(row.path, problem)


def store_folder(spec_name: str) -> str:
    """Return the name of the folder of the store for a spec."""
    return hashlib.sha256(spec_name.encode()).hexdigest()[:12]


def _sweep(directory: Path, in_use: set[str]) -> None:
    """Remove the stores that are not in use."""
    for path in directory.iterdir() if directory.is_dir() else ():
        if path.name not in in_use:
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)


async def follow(embedding: Embedding, on_problem: Callable[[Reason | None], None]) -> None:
    """Keep the vector store up to the ledger; ``on_problem`` is called with what prevents it, or None."""
    last_logged: Reason | None = None
    while True:
        embedding.wake.clear()  # before the step: what changes meanwhile must not be missed
        try:
            busy = await embedding.step()
            on_problem(None)
        except WorkerUnavailable as error:
            on_problem(Reason.of(error))
            busy = False
            await asyncio.sleep(RETRY_SECONDS)
            continue
        except Exception as error:
            if paths.is_disk_full(error):
                problem = Reason(
                    "disk_full", "the disk is full; free some space, and indexing continues by itself"
                )
            else:
                message = f"storing vectors failed ({type(error).__name__}); see the log"
                problem = Reason("failing", message)
            if problem != last_logged:
                log.error("%s: %s", embedding.store.parent, problem.text, exc_info=error)
            last_logged = problem
            on_problem(problem)
            await asyncio.sleep(EMBED_RETRY_SECONDS)
            continue
        last_logged = None
        if not busy:
            await embedding.wake.wait()
