"""Open and index a vault for a measurement: the daemon's own index code, without following the folder.

The index is kept in a folder of its own. The next run indexes only what has changed, and no text is embedded
twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from vaultseek import limits, paths
from vaultseek.errors import VaultMissing, WorkerUnavailable
from vaultseek.index.ledger import Counts
from vaultseek.indexing.embed import EmbeddingSpec
from vaultseek.indexing.open_vault import OpenVault, Patience, VaultOptions
from vaultseek.models.catalogue import LocalModel
from vaultseek.worker import SemanticWorker

OnIndexing = Callable[[str, Counts], None]
PATIENCE = Patience(limits.CALL_SECONDS, rerank_seconds=limits.CALL_SECONDS, complete=True)
"""A measurement waits for what a person would not wait for."""


@contextlib.asynccontextmanager
async def measured_vault(
    options: VaultOptions, cache: Path, model: LocalModel, on_indexing: OnIndexing
) -> AsyncIterator[OpenVault]:
    """Open the vault and bring its index, kept in ``cache``, up to what is on disk."""
    worker = SemanticWorker(model, log=paths.private_directory(cache) / "worker.log")
    vault = open_measured(options, cache, worker, model)
    try:
        await index_vault(vault, on_indexing)
        yield vault
    finally:
        await worker.stop()
        vault.close()


def open_measured(options: VaultOptions, cache: Path, worker: SemanticWorker, model: LocalModel) -> OpenVault:
    """Open the vault's index in ``cache``; ``index_vault`` has to follow."""
    spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window)
    return OpenVault.open(options, cache, worker, spec, patience=PATIENCE)


async def index_vault(vault: OpenVault, on_indexing: OnIndexing = lambda phase, counts: None) -> None:
    """Bring the index up to what is on disk, vectors included.

    Raises VaultMissing, or WorkerUnavailable if the model cannot be used.
    """
    root = vault.options.root
    if not root.is_dir():
        raise VaultMissing(f"no vault at {root}: no such folder; use --vault DIR")
    await vault.in_writer(_index_notes, vault, on_indexing)
    last_report = 0.0
    while await _embed_batch(vault):
        if time.monotonic() - last_report > limits.PROGRESS_SECONDS:
            last_report = time.monotonic()
            on_indexing("embedding", vault.ledger.counts())
    on_indexing("done", vault.ledger.counts())


def cache_directory(root: Path, base: Path | None = None) -> Path:
    """Return the folder for the index of the vault at ``root``: in ``base``, else in vaultseek's data."""
    real = Path(os.path.realpath(root))
    name = paths.vault_data_directory(real).name
    return (base or paths.data_directory() / "evaluate") / name


def _index_notes(vault: OpenVault, on_indexing: OnIndexing) -> None:
    def on_progress(done: int, total: int) -> None:
        on_indexing(f"reading {done}/{total}", vault.ledger.counts())

    vault.indexer.load()
    vault.indexer.apply(vault.indexer.reconcile(), on_progress)
    while vault.keyword_index.merge_step():
        pass
    vault.indexer.build_graph()


async def _embed_batch(vault: OpenVault) -> bool:
    for pause in limits.WORKER_BACKOFF_SECONDS[:3]:
        with contextlib.suppress(WorkerUnavailable):
            return await vault.embedding.step()
        await asyncio.sleep(pause)
    return await vault.embedding.step()
