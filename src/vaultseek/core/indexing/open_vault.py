"""An open vault: its ledger, indexes, link graph and concept vocabulary, and the methods that query them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import numpy as np

from vaultseek.base import paths
from vaultseek.base.limits import NOTE_PARSE_BYTES, RESCAN_SECONDS, STALLED_SECONDS
from vaultseek.base.model import JSON, Reason
from vaultseek.content.extractors.reader import FileReader, reading_version
from vaultseek.content.kinds import DEFAULT_SWITCHES
from vaultseek.core.indexing.concepts import Concepts
from vaultseek.core.indexing.crash_marker import CrashMarker
from vaultseek.core.indexing.embed import Embedding
from vaultseek.core.indexing.engine import Engine
from vaultseek.core.indexing.ingest import Indexer
from vaultseek.core.indexing.reader_pool import merge_step
from vaultseek.core.indexing.reading import NoteReader
from vaultseek.core.indexing.renamed_folder import FILE, note_folder
from vaultseek.core.indexing.second_space import SecondSpace
from vaultseek.core.indexing.spaces import EmbeddingSpaces, Patience
from vaultseek.core.indexing.status import Activity
from vaultseek.core.indexing.storage import LOCAL, Storage
from vaultseek.core.indexing.unembedded import EmbeddingSpec, forget_outdated, forget_unused_models
from vaultseek.core.indexing.writer import WriterThread
from vaultseek.errors import Unavailable, WorkerUnavailable, advise
from vaultseek.semantic.models.catalogue import LocalModel
from vaultseek.semantic.models.choice import VaultModels
from vaultseek.semantic.worker import SemanticWorker
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.store.concept_vocabulary import FILE_NAME, Concept
from vaultseek.store.graph import Graph
from vaultseek.store.keyword.lane import KeywordLane
from vaultseek.store.ledger import Ledger, NoteRow

_FILES = (FILE, "reading", "reading.json", "foreign-share.json", FILE_NAME)


def open_folder(directory: Path, root: Path) -> IO[bytes]:
    """Lock the index folder of the vault at ``root``, and remove links and other entries that do not belong
    there. Return the lock.

    Raises OSError, or AlreadyRunning if another process uses the folder.
    """
    lock = paths.lock_directory(paths.private_directory(directory))
    try:
        _remove_links(directory)
        for name in _FILES:
            paths.remove_unless_file(directory / name)
        note_folder(directory, root)
    except BaseException:
        lock.close()
        raise
    return lock


def _remove_links(directory: Path) -> None:
    """Remove all symbolic links in ``directory``, because writing through a link would change its target."""
    for folder, folders, files in os.walk(directory):
        for name in (*folders, *files):
            path = Path(folder) / name
            if path.is_symlink():
                log.warning("removed the symbolic link %s; its content will be rebuilt", path)
                paths.remove(path)


T = TypeVar("T")
log = logging.getLogger(__name__)
SECOND_FOLDER = "semantic-2"
"""Name of the second vector space's folder within the index folder."""


@dataclass(frozen=True, slots=True)
class VaultOptions:
    """A vault's display name, real path, and settings."""

    name: str
    root: Path
    exclude: tuple[str, ...] = ()
    language: str | None = None
    rescan_seconds: float = RESCAN_SECONDS
    max_note_bytes: int = NOTE_PARSE_BYTES
    kinds: tuple[str, ...] = DEFAULT_SWITCHES
    """Kinds of files that are indexed in addition to notes."""
    paused: bool = False
    """True to answer from the existing index without following the vault."""
    expansion: bool = False
    """True to maintain the concept vocabulary from the start, because queries are expanded by default."""
    storage: Storage = LOCAL
    """Storage that holds the vault's index; by default, the local disk."""

    @property
    def folder(self) -> Path | None:
        """Folder that contains the notes; None if the notes are on another machine."""
        return self.root if self.storage.has_folder else None

    @property
    def paused_reason(self) -> Reason:
        """Reason that a paused vault reports for functions that are unavailable."""
        text = f"the vault {self.name} is paused; resume it"
        return Reason("paused", text, advise("resume", self.name))


class OpenVault:
    """The stores of one vault, without background tasks. A ``VaultFollower`` keeps the stores in sync and
    sets ``activity``.
    """

    def __init__(
        self,
        options: VaultOptions,
        worker: SemanticWorker,
        ledger: Ledger,
        engine: Engine,
        indexer: Indexer,
        embedding: Embedding,
        spaces: EmbeddingSpaces,
        concepts: Concepts,
        writer: WriterThread,
        patience: Patience,
        files: contextlib.ExitStack,
    ) -> None:
        self.options = options
        self.ledger = ledger
        self.indexer = indexer
        self.embedding = embedding
        self.spaces = spaces
        self.concepts = concepts
        self.activity = Activity()
        self.engine = engine
        self._worker = worker
        self._writer = writer
        self._patience = patience
        self._files = files

    @classmethod
    def open(
        cls,
        options: VaultOptions,
        directory: Path,
        worker: SemanticWorker,
        spec: EmbeddingSpec,
        *,
        patience: Patience | None = None,
        models: VaultModels | None = None,
        pool: WorkerPool | None = None,
    ) -> OpenVault:
        """Open the index in ``directory``, or create an empty one. Call the indexer's ``load`` next.

        ``models`` are the vault's models; without models, only ``spec`` is used. ``pool`` has the workers for
        other models: the second space's model, and a former model whose store still answers. Raises OSError,
        or AlreadyRunning if another process uses the index.
        """
        with contextlib.ExitStack() as files:
            files.enter_context(open_folder(directory, options.root))
            ledger = options.storage.open_ledger(directory)
            files.callback(ledger.close)
            ledger.set_chunking_version(f"{spec.chunking} {reading_version(options.kinds)}")
            engine = options.storage.open_engine(options.name, directory, ledger, options.language)
            files.callback(engine.close)
            crash_marker = CrashMarker(directory / "reading")
            files.callback(crash_marker.close)
            writer = WriterThread(options.name)
            files.callback(writer.close)
            files_of_vault = FileReader(options.kinds, directory / "texts")
            files.callback(files_of_vault.process.close)
            reader = NoteReader(options.root, spec.count, spec.window, options.max_note_bytes, files_of_vault)
            models = models or VaultModels(LocalModel(spec.model, None, spec.fingerprint, spec.window))
            second = None
            if models.second is not None and pool is not None and options.folder is not None:
                second = SecondSpace(
                    ledger,
                    pool,
                    models.second,
                    directory / SECOND_FOLDER,
                    spec,
                    writer.run,
                    engine.vector_store,
                    is_remote=engine.stores_vectors,
                )
            else:
                ledger.second_space.end()
                shutil.rmtree(directory / SECOND_FOLDER, ignore_errors=True)
            embedding = Embedding(
                ledger, engine.vector_store(worker), directory / "semantic", spec, writer.run, pool
            )
            ledger.vectors.begin_use([spec.fingerprint, *([second.spec.fingerprint] if second else [])])
            engine.use_space(embedding.store.name)
            patience = patience or Patience()
            return cls(
                options,
                worker,
                ledger,
                engine,
                Indexer(reader, ledger, engine, crash_marker, options.exclude),
                embedding,
                EmbeddingSpaces(models, embedding, second, ledger, worker, patience),
                Concepts(directory, spec.fingerprint, ledger, lambda: engine.index, worker),
                writer,
                patience,
                files.pop_all(),
            )

    def close(self) -> None:
        """Finish the current batch and close all files."""
        self.indexer.stop()
        self._files.close()

    async def in_writer(self, work: Callable[..., T], *arguments: Any) -> T:
        """Run ``work`` in the writer thread and return its result."""
        return await self._writer.run(work, *arguments)

    @property
    def name(self) -> str:
        """The vault's display name."""
        return self.options.name

    @property
    def keyword_index(self) -> KeywordLane:
        """The current keyword index; a rebuild replaces it."""
        return self.engine.index

    @property
    def graph(self) -> Graph | None:
        """The link graph; None until it is built."""
        return self.indexer.graph

    def keyword_reason(self) -> Reason | None:
        """Return the reason why the keyword search does not cover every note, or None if it does."""
        if self.engine.problem is not None:
            return Reason("behind", f"some changes are not in the engine yet: {self.engine.problem}")
        if not self.engine.rebuilding:
            return None
        return Reason("being_built", "the keyword index is being rebuilt")

    def merge_keyword_segments(self, *, purge: bool = False) -> bool:
        """Merge keyword segments once, large ones in another process; return False if no merge is due.

        With ``purge``, a merge is due as long as any data of a deleted note remains.
        """
        return merge_step(self.engine, purge=purge)

    def has_former_models(self) -> bool:
        """Return true if the ledger has vectors of models that are no longer in use."""
        return not self._models().issuperset(self.ledger.vectors.models())

    async def forget_outdated_vectors(self, now: float) -> None:
        """Delete the vectors of texts that no longer occur in any note, if there are many, and the vectors of
        models that were not used for weeks."""
        models = self._models()
        await forget_outdated(self.ledger, self.embedding.spec, models, self.in_writer)
        await forget_unused_models(self.ledger, models, now, self.in_writer)
        former = set(self.ledger.vectors.models()) - models
        stores = {space.store.name for space in self._spaces()}
        await asyncio.to_thread(self.engine.drop_vectors, stores, former)

    def _spaces(self) -> list[Embedding]:
        second = self.spaces.second
        return [self.embedding, *([second] if second is not None else [])]

    def _models(self) -> set[str]:
        """Return the fingerprints of the models in use."""
        return set().union(*(space.models for space in self._spaces()))

    def rebuild_keyword_index(self) -> None:
        """Rebuild the keyword index from the ledger in the background."""
        if not self.engine.rebuilding:
            log.warning("rebuilding the keyword index of %s from the ledger", self.name)
            self.engine.rebuilding = True
            self._writer.submit(self.engine.rebuild, self.ledger)

    async def near_concepts(self, text: str, vector: Any, count: int, floor: float) -> list[Concept]:
        """Return the concepts nearest to ``vector``, the vector of ``text``. Raises Unavailable.

        Returns no concepts if ``text`` is searched for in the second space, because concepts have vectors
        only in the vault's own space.
        """
        if self.spaces.second_for(text) is not None:
            return []
        if self._patience.complete:
            await self.concepts.refresh()
        elif not self.embedding.is_current:
            message = "the vectors are being rebuilt for a different model; try again when that is done"
            raise Unavailable(message, "being_built")
        try:
            return await self.concepts.near(text, vector, count, floor)
        except Unavailable:
            if self.options.paused:
                raise self.options.paused_reason.error() from None
            raise

    async def rerank(
        self, query: str, texts: Sequence[str], model: str, seconds: float
    ) -> Sequence[float | None]:
        """Return, for each text, a score from 0 to 1 for how well it answers the query, or None if it was not
        scored in time.

        Raises WorkerUnavailable.
        """
        deadline = self._patience.rerank_seconds or seconds
        scores = await self._worker.rerank(query, texts, model, deadline=deadline)
        return [None if np.isnan(score) else float(score) for score in scores]

    def text_of_note(self, row: NoteRow, opening: str) -> str:
        """Return the text to embed for a whole note, given the opening of its body."""
        return self.embedding.spec.note(row, opening).text

    def index_state(self) -> JSON:
        """Return the ``index`` part of an answer."""
        return self.activity.index_json(self.ledger.counts(), self.ledger.revision)


class Advance:
    """Detector for a vault that no longer makes progress. Refilling the same store again does not count as
    progress.
    """

    def __init__(self, vault: OpenVault) -> None:
        self.vault = vault
        self._moved = time.monotonic()
        self._steps: tuple[int, ...] = ()
        self._least = 0

    def wait(self) -> None:
        """Restart the progress timeout, because the current work has its own time limit."""
        self._moved = time.monotonic()

    def check(self, problem: str) -> None:
        """Raise `WorkerUnavailable` with ``problem`` if there has been no progress for
        ``STALLED_SECONDS``.
        """
        ledger = self.vault.ledger
        pending, synced = ledger.counts().pending, self.vault.engine.synced_revision(ledger)
        steps = (ledger.revision, ledger.vectors.embeddings_computed(), synced)
        if steps != self._steps or pending < self._least:
            self._steps, self._least, self._moved = steps, pending, time.monotonic()
        elif time.monotonic() - self._moved > STALLED_SECONDS:
            raise WorkerUnavailable(f"no progress for {STALLED_SECONDS:.0f} s: {problem}")
