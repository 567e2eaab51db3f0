"""Use a vault without a daemon: open, index and search it.

The library runs the daemon's code without following the folder. The index is kept in a separate folder; the
next run indexes only changes, and no text is embedded twice.
"""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from vaultseek.base import limits, paths
from vaultseek.base.model import JSON
from vaultseek.core.indexing.model_source import ModelSource
from vaultseek.core.indexing.open_vault import Advance, OpenVault, VaultOptions
from vaultseek.core.indexing.spaces import Patience
from vaultseek.core.indexing.unembedded import Unembedded
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.errors import VaultMissing, WorkerUnavailable
from vaultseek.semantic.models.catalogue import LocalModel
from vaultseek.semantic.models.choice import AUTO, VaultModels, choose_models
from vaultseek.semantic.models.service import Service
from vaultseek.semantic.worker import SemanticWorker, WorkerSettings
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.settings.search import SearchSettings
from vaultseek.store.ledger import Counts, Ledger
from vaultseek.store.ledger.examine import read_vectors

OnIndexing = Callable[[str, Counts], None]
PATIENCE = Patience(
    limits.CALL_SECONDS,
    second_seconds=limits.CALL_SECONDS,
    rerank_seconds=limits.CALL_SECONDS,
    complete=True,
)
"""Time limits for use in a program, longer than for interactive use."""


def _ignore_progress(phase: str, counts: Counts) -> None:
    """Do nothing; the default for ``on_indexing``."""


@contextlib.asynccontextmanager
async def indexed_vault(
    options: VaultOptions,
    cache: Path,
    model: LocalModel | VaultModels | None = None,
    on_indexing: OnIndexing = _ignore_progress,
    questions: Sequence[str] = (),
    reranker: Service | None = None,
    vectors_in: Path | None = None,
) -> AsyncIterator[OpenVault]:
    """Open the vault, index the changes since the last run, and close the vault at the end.

    The index is kept in the folder ``cache``. Without a ``model``, the model in the default settings is used.
    A second vector space is filled if any of the ``questions`` needs it. ``reranker`` is the reranking
    server, if the settings have one. Vectors in the ledger ``vectors_in`` are not computed again. Raises the
    errors of ``index_vault``, and AlreadyRunning.
    """
    log = paths.private_directory(cache) / "worker.log"
    of_worker = WorkerSettings(reranker=reranker)
    pool = WorkerPool(lambda model: SemanticWorker(model, log=log, settings=of_worker))
    choice = VaultModels(model) if isinstance(model, LocalModel) else model or choose_models(AUTO)
    source = ModelSource(choice, pool)
    models = await asyncio.to_thread(source.of_vault, options, cache)
    vault = _open(options, cache, source, models)
    try:
        await index_vault(vault, on_indexing, questions, vectors_in)
        present = source.of_notes(vault.ledger, cache) if choice.automatic else models
        if present is not None and present.main != models.main:
            vault.close()
            vault = _open(options, cache, source, present)
            await index_vault(vault, on_indexing, questions, vectors_in)
        yield vault
    finally:
        await pool.stop()
        vault.close()


async def search(vault: OpenVault, query: str, **options: Any) -> JSON:
    """Return the answer that ``vaultseek search --json`` prints.

    ``options`` are fields of `SearchRequest`, such as ``limit`` and ``mode``. Raises BadQuery for an invalid
    query, or Unavailable if no kind of search can answer.
    """
    return await Searcher(vault).search(SearchRequest(query, **{"settings": SearchSettings(), **options}))


def _open(options: VaultOptions, cache: Path, source: ModelSource, models: VaultModels) -> OpenVault:
    worker, spec = source.pool.worker(models.main), source.spec(models.main)
    return OpenVault.open(options, cache, worker, spec, patience=PATIENCE, models=models, pool=source.pool)


async def index_vault(
    vault: OpenVault,
    on_indexing: OnIndexing = _ignore_progress,
    questions: Sequence[str] = (),
    vectors_in: Path | None = None,
) -> None:
    """Sync the index with the disk, including vectors. Fill a second vector space only if any of the
    ``questions`` needs it.

    Vectors are copied from the ledger ``vectors_in``, which is only read. Raises VaultMissing, or
    WorkerUnavailable if the model cannot be used.
    """
    root = vault.options.root
    if not paths.is_folder(root):
        raise VaultMissing(f"no vault at {root}: {paths.no_folder_reason(root)}; use the folder of a vault")
    await vault.in_writer(_index_notes, vault, on_indexing)
    last_report = 0.0
    second = vault.spaces.second if vault.spaces.wants_second(questions) else None
    for space in [vault.embedding, *([second] if second is not None else [])]:
        if vectors_in is not None:
            await vault.in_writer(_copy_vectors, vault.ledger, space.unembedded, vectors_in)
        while await _embed_batch(vault, space.step, on_indexing):
            if time.monotonic() - last_report > limits.PROGRESS_SECONDS:
                last_report = time.monotonic()
                on_indexing("embedding", vault.ledger.counts())
    on_indexing("done", vault.ledger.counts())


def _index_notes(vault: OpenVault, on_indexing: OnIndexing) -> None:
    def on_progress(done: int, total: int) -> None:
        on_indexing(f"reading {done}/{total}", vault.ledger.counts())

    vault.indexer.load()
    vault.indexer.apply(vault.indexer.reconcile(), on_progress)
    while vault.engine.merge_step():
        pass


def _copy_vectors(ledger: Ledger, unembedded: Unembedded, file: Path) -> None:
    for items in unembedded.pages_without_vectors():
        try:
            vectors = read_vectors(file, [unembedded.key(item) for item in items])
        except sqlite3.Error:
            return  # the file is missing or damaged, so the other vectors are computed
        ledger.vectors.put_copied(vectors)


async def _embed_batch(
    vault: OpenVault, step: Callable[[], Awaitable[bool]], on_indexing: OnIndexing
) -> bool:
    """Embed one batch with ``step``, retrying while the worker fails.

    Raises WorkerUnavailable after a long time without progress; vectors stored by then are kept.
    """
    advance: Advance | None = None
    while True:
        try:
            return await step()
        except WorkerUnavailable as error:
            if error.cause == "model_unusable":
                raise
            advance = advance or Advance(vault)
            advance.check(f"{error}; try again later (passages embedded so far are kept)")
            on_indexing(f"waiting: {error}", vault.ledger.counts())
        await asyncio.sleep(limits.RETRY_SECONDS)
