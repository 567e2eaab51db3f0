"""A vault that is indexed once for measuring, by the same parts that the daemon uses, without watching it.

The index lies in a folder of its own and is kept: the next run only takes in what has changed, and a text
that was embedded before is never embedded again.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from vaultseek import limits, paths
from vaultseek.errors import VaultMissing, WorkerUnavailable
from vaultseek.index.concept_vocabulary import Concept
from vaultseek.index.graph import Graph
from vaultseek.index.keyword.index import KeywordIndex
from vaultseek.index.ledger import Counts, Ledger
from vaultseek.index.vectors.index import NoteIds
from vaultseek.indexing import reconcile
from vaultseek.indexing.concepts import Concepts
from vaultseek.indexing.embed import Embedding, Recipe
from vaultseek.indexing.ingest import Intake, Keyword, Reading
from vaultseek.markdown.resolve import Names
from vaultseek.model import JSON, Reason
from vaultseek.models.catalogue import LocalModel
from vaultseek.vault.ignore import Ignore
from vaultseek.worker import SemanticAnswer, SemanticWorker

T = TypeVar("T")
Tell = Callable[[str, Counts], None]


@dataclass(frozen=True, slots=True)
class MeasuredPlace:
    """Which vault is measured, and how it wants to be read."""

    root: Path
    exclude: tuple[str, ...] = ()
    language: str | None = None


class MeasuredVault:
    """What a search needs of an open vault, for a vault that stands still. Made by :func:`measured_vault`."""

    def __init__(self, place: MeasuredPlace, cache: Path, worker: SemanticWorker, model: LocalModel) -> None:
        self._place = place
        self._worker = worker
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="evaluate")
        self._lock = paths.lock_directory(paths.private_directory(cache))
        recipe = Recipe(model.fingerprint, model.counter(), model.window)
        self.ledger = Ledger(cache / "ledger.sqlite")
        self._keyword = Keyword(cache / "keyword", place.language)
        self._names = Names()
        reading = Reading(place.root, recipe.count, recipe.window)
        self._intake = Intake(reading, self.ledger, self._names, self._keyword)
        self._embedding = Embedding(self.ledger, worker, cache / "semantic", recipe, self._in_writer)
        self._concepts = Concepts(cache, recipe.fingerprint, self.ledger, lambda: self._keyword.index, worker)

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self._place.root.name

    @property
    def root(self) -> Path:
        """Its folder."""
        return self._place.root

    @property
    def keyword_index(self) -> KeywordIndex:
        """The keyword index."""
        return self._keyword.index

    @property
    def graph(self) -> Graph | None:
        """The link graph."""
        return self._intake.graph

    def keyword_reason(self) -> Reason | None:
        """Nothing is missing in what was indexed before it is measured."""
        return None

    def keyword_lost(self) -> None:
        """The next run finds out for itself."""

    def semantic_reason(self) -> Reason | None:
        """Why the semantic lane cannot take part, None if it can."""
        return None if self._embedding.ready else Reason("being_built", "the vectors are not ready")

    async def ask_semantic(self, text: str, k: int, ids: NoteIds | None) -> SemanticAnswer:
        """The nearest passages and notes; with more patience than a person has."""
        answer = await self._embedding.query(text, k, ids, limits.CALL_SECONDS)
        known = self.ledger.chunks.ids([int(hit.id) for hit in answer.chunks])
        hits = [hit._replace(id=known[int(hit.id)]) for hit in answer.chunks if int(hit.id) in known]
        return replace(answer, chunks=hits)

    async def near_concepts(self, text: str, vector: Any, count: int, floor: float) -> list[Concept]:
        """Terms of the vault near to the text; the first that asks for them waits until they are known."""
        await self._concepts.refresh()
        return await self._concepts.near(text, vector, count, floor)

    async def note_vectors(self, notes: Sequence[int]) -> Mapping[int, Any]:
        """The notes' own vectors."""
        return await self._embedding.note_vectors(notes, limits.CALL_SECONDS)

    async def rerank(self, query: str, texts: Sequence[str], model: str, seconds: float) -> Sequence[float]:
        """How well each text answers the query; with more patience than a person has."""
        scores = await self._worker.rerank(query, texts, model, deadline=limits.CALL_SECONDS)
        return [float(score) for score in scores]

    def index_state(self) -> JSON:
        """Nothing: the index stands still."""
        return {}

    async def take_in(self, tell: Tell) -> None:
        """Bring the index up to what is on disk, vectors included; ``tell`` hears how far it is.

        Raises VaultMissing, or WorkerUnavailable if the model cannot be used.
        """
        if not self._place.root.is_dir():
            raise VaultMissing(f"there is no vault at {self._place.root}: no such folder; say --vault FOLDER")
        await self._in_writer(self._read_notes, tell)
        told = 0.0
        while await self._step():
            if time.monotonic() - told > limits.PROGRESS_SECONDS:
                told = time.monotonic()
                tell("embedding", self.ledger.counts())
        tell("done", self.ledger.counts())

    async def close(self) -> None:
        """Close every file."""
        await asyncio.to_thread(self._writer.shutdown)
        self._keyword.index.close()
        self.ledger.close()
        self._lock.close()

    def _read_notes(self, tell: Tell) -> None:
        for path, aliases in self.ledger.link_targets():
            self._names.add(path, aliases)
        self._keyword.catch_up(self.ledger)
        ignore = Ignore(self._place.root, self._place.exclude)
        changes = reconcile.everything(self._place.root, ignore, self.ledger)
        self._intake.take(changes, lambda done, total: tell(f"reading {done}/{total}", self.ledger.counts()))
        while self._keyword.index.merge_step():
            pass
        self._intake.build_graph()

    async def _step(self) -> bool:
        for pause in limits.WORKER_BACKOFF_SECONDS[:3]:
            with contextlib.suppress(WorkerUnavailable):
                return await self._embedding.step()
            await asyncio.sleep(pause)
        return await self._embedding.step()

    async def _in_writer(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._writer, work, *arguments)


@contextlib.asynccontextmanager
async def measured_vault(
    place: MeasuredPlace, cache: Path, model: LocalModel, tell: Tell
) -> AsyncIterator[MeasuredVault]:
    """The vault at ``place``, all taken in; its index is kept in ``cache``."""
    worker = SemanticWorker(model, log=paths.private_directory(cache) / "worker.log")
    vault = MeasuredVault(place, cache, worker, model)
    try:
        await vault.take_in(tell)
        yield vault
    finally:
        await worker.stop()
        await vault.close()


def cache_directory(root: Path, base: Path | None = None) -> Path:
    """Where the index of the vault at ``root`` is kept: in ``base``, else among vaultseek's data."""
    real = Path(os.path.realpath(root))
    name = paths.vault_data_directory(real).name
    return (base or paths.data_directory() / "evaluate") / name
