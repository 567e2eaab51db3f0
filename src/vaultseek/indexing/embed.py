"""Vectors follow the ledger: what has no vector in the store is embedded, newest notes first.

Every step can be repeated: vectors are kept in the ledger before they go to the store, and a chunk is marked
as stored after the store has it. A store that is lost is filled again from the ledger without the model.

Another model, another way to make texts or another way to cut them begins another store. Until that one is
full the one before answers, with the model that it was made with.
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
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from vaultseek import paths
from vaultseek.errors import IndexDamaged, VaultseekError, WorkerUnavailable
from vaultseek.failpoints import failpoint
from vaultseek.index.ledger import ChunkRow, Ledger, NoteRow, note_vector_id
from vaultseek.limits import (
    BATCH_TEXTS,
    EMBED_RETRY_SECONDS,
    EMBED_SECONDS,
    OPENING_CHARS,
    QUERY_EMBED_SECONDS,
    RETRY_SECONDS,
)
from vaultseek.markdown.chunk import CHUNKER_VERSION
from vaultseek.markdown.embedding_text import EMBEDDING_TEXT_VERSION, EmbeddingText, note_text, passage_text
from vaultseek.model import JSON, Problem, Reason
from vaultseek.models.catalogue import find_model
from vaultseek.worker import CHUNKS, NOTES, SemanticAnswer, SemanticWorker

WAITING_TEXTS = 512

log = logging.getLogger(__name__)
InWriter = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class EmbeddingSpec:
    """What decides a vector besides the text: the model, how much it reads, and how the text is made."""

    fingerprint: str
    count: Callable[[str], int]
    window: int
    model: str = ""
    """The model's name in the settings."""

    @property
    def name(self) -> str:
        """Vectors of recipes with different names must never meet in one store."""
        return f"{self.fingerprint}/{CHUNKER_VERSION}/{EMBEDDING_TEXT_VERSION}"

    @property
    def reading(self) -> str:
        """Notes that were cut by another one have to be read again."""
        return f"{self.fingerprint}/{self.window}/{CHUNKER_VERSION}"

    def passage(self, note: NoteRow, row: ChunkRow) -> EmbeddingText:
        """The text that is embedded for a chunk."""
        return passage_text(
            title=note.title,
            title_is_name=note.title_is_name,
            aliases=note.aliases,
            heading_path=row.chunk.heading_path,
            text=row.chunk.text,
            count=self.count,
            window=self.window,
        )

    def note(self, note: NoteRow, opening: str) -> EmbeddingText:
        """The text that is embedded for a whole note."""
        description = note.properties.get("description")
        return note_text(
            title=note.title,
            title_is_name=note.title_is_name,
            aliases=note.aliases,
            tags=note.tags,
            description=description if isinstance(description, str) else "",
            opening=opening,
            count=self.count,
            window=self.window,
        )


@dataclass(frozen=True, slots=True)
class _Item:
    """One vector to be stored: of the chunk with this number, or of the note if that is None.

    ``vector`` is there if the same text was embedded before.
    """

    note: int
    text: EmbeddingText
    chunk: int | None = None
    vector: bytes | None = None

    @property
    def id(self) -> str:
        """What the vector is stored under."""
        return note_vector_id(self.note) if self.chunk is None else str(self.chunk)


class OldModels:
    """Workers for models that the settings name no more, as long as a store made with one has to answer."""

    def __init__(self) -> None:
        self._workers: dict[str, SemanticWorker] = {}
        self._users: dict[str, int] = {}

    async def borrow(self, name: str, fingerprint: str) -> None:
        """Start a worker for the model, if it still is what it was."""
        self._users[name] = self._users.get(name, 0) + 1
        if name in self._workers:
            return
        with contextlib.suppress(VaultseekError, OSError):
            model = await asyncio.to_thread(find_model, name)
            if model.fingerprint == fingerprint:
                self._workers[name] = SemanticWorker(model)
                await self._workers[name].start()

    async def vector(self, name: str, text: str) -> Any:
        """The text's vector by that model. Raises WorkerUnavailable."""
        if name not in self._workers:
            raise WorkerUnavailable(
                "the vectors are being rebuilt for another model; `vaultseek status` shows the progress"
            )
        return (await self._workers[name].embed([text], urgent=True, deadline=QUERY_EMBED_SECONDS))[0]

    async def give_back(self, name: str) -> None:
        """Nobody who asked for the model needs it any more: end its worker."""
        self._users[name] = self._users.get(name, 1) - 1
        if self._users[name] <= 0 and name in self._workers:
            await self._workers.pop(name).stop()

    async def stop(self) -> None:
        """End all workers."""
        for name in list(self._workers):
            await self._workers.pop(name).stop()


class Embedding:
    """Brings one vault's vector store up to its ledger, a batch a step. ``place`` holds its stores."""

    def __init__(
        self,
        ledger: Ledger,
        worker: SemanticWorker,
        place: Path,
        spec: EmbeddingSpec,
        in_writer: InWriter,
        old_models: OldModels | None = None,
    ) -> None:
        self.spec = spec
        self.wake = asyncio.Event()
        """Set when there may be something to embed."""
        self.store = place / store_folder(spec.name)
        self.ready = False
        self._place = place
        self._old_models = old_models or OldModels()
        self._previous: JSON | None = None
        self._ledger = ledger
        self._worker = worker
        self._in_writer = in_writer
        self._waiting: list[_Item] = []
        self._revision = -1
        self._recent: deque[tuple[float, int]] = deque(maxlen=20)

    def rate(self) -> float:
        """Texts a second over the last batches; 0 when nothing was embedded lately."""
        if len(self._recent) < 2 or time.monotonic() - self._recent[-1][0] > 10:
            return 0.0
        seconds = self._recent[-1][0] - self._recent[0][0]
        return sum(count for _, count in list(self._recent)[1:]) / seconds if seconds > 0 else 0.0

    async def step(self) -> bool:
        """Store one batch of vectors. False when there is nothing left to do.

        Raises WorkerUnavailable; a damaged store is thrown away and filled again by the following steps.
        """
        try:
            if not self.ready:
                await self._open_store()
            if await self._store_batch():
                return True
            await self._swap()
            return False
        except IndexDamaged:
            await self.discard_store()
            return True

    @property
    def has_previous(self) -> bool:
        """Whether the store of an earlier spec answers for now."""
        return self._previous is not None

    @property
    def is_current(self) -> bool:
        """True if queries are embedded with the model of ``spec``, not with the one before."""
        return self._previous is None or self._previous["fingerprint"] == self.spec.fingerprint

    async def open(self) -> None:
        """Make the store ready for searches, embed nothing. Raises WorkerUnavailable or IndexDamaged."""
        if not self.ready:
            await self._open_store()

    async def query(self, text: str, k: int, allowed: Any, deadline: float) -> SemanticAnswer:
        """The nearest passages and notes, of the store before while this one is not full.

        Raises WorkerUnavailable or IndexDamaged.
        """
        previous = self._previous
        if previous is None:
            return await self._worker.query(self.store, text, k, allowed=allowed, deadline=deadline)
        asked: Any = text
        if previous["fingerprint"] != self.spec.fingerprint:
            asked = await self._old_models.vector(previous["model"], text)
        store = self._place / previous["folder"]
        try:
            return await self._worker.query(store, asked, k, allowed=allowed, deadline=deadline)
        except IndexDamaged:
            await self._swap()
            return await self._worker.query(self.store, text, k, allowed=allowed, deadline=deadline)

    async def note_vectors(self, notes: Sequence[int], deadline: float) -> Mapping[int, Any]:
        """The notes' own vectors, as far as there are any. Raises WorkerUnavailable or IndexDamaged."""
        previous = self._previous
        store = self.store if previous is None else self._place / previous["folder"]
        return await self._worker.vectors(store, notes, deadline=deadline)

    async def discard_store(self) -> None:
        """Throw the vector store away; the next step begins a new one."""
        self.ready = False
        self._waiting.clear()
        await self._worker.drop(self.store)
        await self._in_writer(self._ledger.vectors.begin_store, "")
        self.wake.set()

    async def _open_store(self) -> None:
        """Trust the store only if it is the one that the ledger's marks speak of."""
        stamp = await self._worker.stamp(self.store, CHUNKS)
        if not stamp or stamp != self._ledger.vectors.store() or not stamp.startswith(self.spec.name + ":"):
            name = f"{self.spec.name}:{uuid.uuid4().hex}"
            await self._in_writer(self._keep_previous)
            await self._worker.drop(self.store)
            for collection in (CHUNKS, NOTES):
                await self._worker.apply(self.store, collection, stamp=name)
            failpoint("store.made")
            await self._in_writer(self._ledger.vectors.begin_store, name)
        await self._begin_with_previous()
        self.ready = True

    def _keep_previous(self) -> None:
        """If the marks speak of a store of another spec, let it answer until this one is full."""
        before = self._ledger.vectors.store().rpartition(":")[0]
        folder = store_folder(before)
        if before and before != self.spec.name and (self._place / folder).is_dir():
            fingerprint = before.split("/")[0]
            model = self._ledger.vectors.store_model()
            previous = {"folder": folder, "fingerprint": fingerprint, "model": model}
            self._ledger.vectors.set_previous_store(previous)
        self._ledger.vectors.set_store_model(self.spec.model)

    async def _begin_with_previous(self) -> None:
        previous = await self._in_writer(self._ledger.vectors.previous_store)
        if previous is not None and previous["folder"] == self.store.name:
            previous = None
        kept = {self.store.name, previous["folder"]} if previous else {self.store.name}
        await asyncio.to_thread(_sweep, self._place, kept)
        if previous is not None and previous["fingerprint"] != self.spec.fingerprint:
            await self._old_models.borrow(previous["model"], previous["fingerprint"])
        self._previous = previous

    async def _swap(self) -> None:
        """This store is full: the one before is not needed any more."""
        previous, self._previous = self._previous, None
        if previous is None:
            return
        failpoint("store.swapped")
        await self._in_writer(self._ledger.vectors.set_previous_store, None)
        await self._worker.drop(self._place / previous["folder"])
        if previous["fingerprint"] != self.spec.fingerprint:
            await self._old_models.give_back(previous["model"])

    async def _store_batch(self) -> bool:
        orphans = await self._in_writer(self._ledger.vectors.orphans, WAITING_TEXTS)
        if orphans:
            await self._forget(orphans)
        if not self._waiting or self._revision != self._ledger.revision:
            self._waiting = await self._in_writer(self._next_items)
        known = [item for item in self._waiting if item.vector is not None]
        if known:
            self._waiting = [item for item in self._waiting if item.vector is None]
            await self._store(known)
        elif self._waiting:
            batch, self._waiting = self._waiting[:BATCH_TEXTS], self._waiting[BATCH_TEXTS:]
            await self._store(await self._embedded(batch))
        else:
            return bool(orphans)
        return True

    async def _forget(self, orphans: list[str]) -> None:
        stamp = self._ledger.vectors.store()
        notes = [orphan for orphan in orphans if orphan.startswith("note:")]
        chunks = [orphan for orphan in orphans if not orphan.startswith("note:")]
        for collection, ids in ((CHUNKS, chunks), (NOTES, notes)):
            if ids:
                await self._worker.apply(self.store, collection, deletes=ids, stamp=stamp)
        failpoint("vectors.forgotten")
        await self._in_writer(self._ledger.vectors.mark_stored, [], [], orphans)

    def _next_items(self) -> list[_Item]:
        """The texts that come next, all of chunks or all of notes; runs in the writer's thread."""
        self._revision = self._ledger.revision
        rows = self._ledger.vectors.pending_chunks(WAITING_TEXTS)
        notes = self._ledger.notes.by_id(sorted({row.note for row in rows}))
        items = [
            _Item(row.note, self.spec.passage(notes[row.note], row), row.number)
            for row in rows
            if row.note in notes
        ]
        items = items or [self._note_item(note) for note in self._ledger.vectors.pending_notes(WAITING_TEXTS)]
        kept = self._ledger.vectors.get([self._key(item) for item in items])
        return [replace(item, vector=kept.get(self._key(item))) for item in items]

    def _note_item(self, note: NoteRow) -> _Item:
        return _Item(note.id, self.spec.note(note, self._ledger.chunks.opening(note.id, OPENING_CHARS)))

    def _key(self, item: _Item) -> str:
        return f"{self.spec.fingerprint}:{item.text.key}"

    async def _embedded(self, items: Sequence[_Item]) -> list[_Item]:
        """The items with their vectors, which the ledger remembers from now on."""
        texts = {self._key(item): item.text.text for item in items}
        matrix = await self._worker.embed(list(texts.values()), deadline=EMBED_SECONDS)
        good = [bool(np.isfinite(row).all()) for row in matrix]
        new = {key: row.tobytes() for key, row, ok in zip(texts, matrix, good, strict=True) if ok}
        failpoint("vectors.computed")
        await self._in_writer(self._ledger.vectors.put, new)
        failpoint("vectors.kept")
        self._recent.append((time.monotonic(), len(new)))
        return [replace(item, vector=new.get(self._key(item))) for item in items]

    async def _store(self, items: Sequence[_Item]) -> None:
        """Hand the vectors to the store and mark them; a text that failed is named and left out."""
        good = [(item, item.vector) for item in items if item.vector is not None]
        if good:
            await self._worker.apply(
                self.store,
                NOTES if items[0].chunk is None else CHUNKS,
                ids=[item.id for item, _ in good],
                notes=[item.note for item, _ in good],
                vectors=np.frombuffer(b"".join(v for _, v in good), np.float32).reshape(len(good), -1),
                stamp=self._ledger.vectors.store(),
            )
        failpoint("vectors.stored")
        # What failed counts as stored, or it would be tried for ever.
        await self._in_writer(self._name_failures, sorted({item.note for item in items if not item.vector}))
        chunks = [item.chunk for item in items if item.chunk is not None]
        notes = [item.note for item in items if item.chunk is None]
        await self._in_writer(self._ledger.vectors.mark_stored, chunks, notes, [])

    def _name_failures(self, notes: Sequence[int]) -> None:
        problem = Problem("not_embedded", "a passage could not be embedded; only its words are searched")
        for row in self._ledger.notes.by_id(notes).values():
            self._ledger.problems.add(row.path, problem)


def store_folder(spec: str) -> str:
    """The name of the folder that holds the store of a spec of this name."""
    return hashlib.sha256(spec.encode()).hexdigest()[:12]


def _sweep(place: Path, kept: set[str]) -> None:
    """Remove stores that nobody will ask again."""
    for found in place.iterdir() if place.is_dir() else ():
        if found.name not in kept:
            shutil.rmtree(found, ignore_errors=True)
            found.unlink(missing_ok=True)


async def follow(embedding: Embedding, on_problem: Callable[[Reason | None], None]) -> None:
    """Keep the vector store up to the ledger; ``on_problem`` is called with what prevents it, or None."""
    logged: Reason | None = None
    while True:
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
                words = f"storing vectors failed ({type(error).__name__}); see the log"
                problem = Reason("failing", words)
            if problem != logged:
                log.error("%s: %s", embedding.store.parent, problem.text, exc_info=error)
            logged = problem
            on_problem(problem)
            await asyncio.sleep(EMBED_RETRY_SECONDS)
            continue
        logged = None
        if not busy:
            embedding.wake.clear()
            await embedding.wake.wait()
