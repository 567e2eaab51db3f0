"""Migrate to a new vector store when the model, the chunking or the embedding text changes, or after damage.

Until the new store is full, the previous one answers with its own model.
"""

import asyncio
import contextlib
import hashlib
import shutil
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import QUERY_EMBED_SECONDS, WORKER_BACKOFF_SECONDS
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.indexing.writer import InWriter
from vaultseek.errors import VaultseekError, WorkerUnavailable
from vaultseek.semantic.models.catalogue import LocalModel, find_model
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.store.ledger.vectors import SpaceTable

SOON_SECONDS = 60.0
"""Minimum seconds between two rebuilds of a store."""


class PreviousStore(NamedTuple):
    """Vector store of the previous spec, and the model that computed its vectors."""

    path: Path
    fingerprint: str
    model: str


class StoreMigration:
    """Migration from a previous spec's store to ``store``, the store for ``spec`` in the same folder."""

    def __init__(
        self,
        space: SpaceTable,
        store: Path,
        spec: EmbeddingSpec,
        in_writer: InWriter,
        pool: WorkerPool | None,
    ) -> None:
        """Create the migration without starting it.

        ``pool`` has the previous model's worker. Without ``pool``, a store for a different model cannot
        answer.
        """
        self.previous: PreviousStore | None = None
        """The previous store, which answers until the new one is full; None if there is no migration."""
        self._store = store
        self._spec = spec
        self._space = space
        self._in_writer = in_writer
        self._pool = pool
        self._model: LocalModel | None = None

    @property
    def is_same_model(self) -> bool:
        """True if the store that answers queries was filled by the model of ``spec``."""
        return self.previous is None or not self._is_foreign(self.previous)

    def begin(self) -> None:
        """If the existing store has a different spec, let it answer until the new store is full.

        Runs in the writer thread.
        """
        space = self._space
        name = space.store().rpartition(":")[0]
        folder = store_folder(name)
        if name and name != self._spec.name and (self._store.parent / folder).is_dir():
            fingerprint = name.split("/")[0]
            space.set_previous_store(
                {"folder": folder, "fingerprint": fingerprint, "model": space.store_model()}
            )
        space.set_store_model(self._spec.model)

    async def resume(self) -> None:
        """Reopen the previous store, if there is one, and remove unused stores."""
        kept = await self._in_writer(self._space.previous_store)
        previous = None
        if kept is not None and kept["folder"] != self._store.name:
            path = self._store.parent / kept["folder"]
            previous = PreviousStore(path, kept["fingerprint"], kept.get("model", ""))
        in_use = {self._store.name, previous.path.name} if previous else {self._store.name}
        await asyncio.to_thread(sweep, self._store.parent, in_use)
        if previous is not None and self._is_foreign(previous):
            await self._keep_model(previous)
        self.previous = previous

    async def end(self, drop: Callable[[Path], Awaitable[None]]) -> None:
        """Drop the previous store once the new one is full."""
        previous, self.previous = self.previous, None
        if previous is None:
            return
        failpoint("store.swapped")
        await self._in_writer(self._space.set_previous_store, None)
        await drop(previous.path)
        self.release_model()

    def release_model(self) -> None:
        """Release the worker of the previous model, which is no longer needed."""
        model, self._model = self._model, None
        if model is not None and self._pool is not None:
            self._pool.release(model)

    async def question(self, previous: PreviousStore, text: str) -> Any:
        """Return the query to send to the previous store: the text itself, or its vector from the previous
        model.

        Raises WorkerUnavailable.
        """
        if not self._is_foreign(previous):
            return text
        if self._model is None or self._pool is None:
            raise WorkerUnavailable(
                "the vectors are being rebuilt for a different model; try again when all are done"
            )
        worker = self._pool.worker(self._model)
        return (await worker.embed([text], urgent=True, deadline=QUERY_EMBED_SECONDS))[0]

    async def _keep_model(self, previous: PreviousStore) -> None:
        if self._pool is None or self._model is not None:
            return
        with contextlib.suppress(VaultseekError, OSError):
            model = await asyncio.to_thread(find_model, previous.model)
            if model.fingerprint == previous.fingerprint:
                await self._pool.keep(model)
                self._model = model

    def _is_foreign(self, previous: PreviousStore) -> bool:
        return previous.fingerprint != self._spec.fingerprint


def store_folder(spec_name: str) -> str:
    """Return the folder name for a spec's store."""
    return hashlib.sha256(spec_name.encode()).hexdigest()[:12]


def sweep(directory: Path, in_use: set[str]) -> None:
    """Remove all stores in ``directory`` except those ``in_use``."""
    for path in directory.iterdir() if directory.is_dir() else ():
        if path.name not in in_use:
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)


class StoreRebuilds:
    """Schedule of rebuilds for one store. The first rebuild starts at once; later rebuilds are delayed like
    restarts of a worker.
    """

    def __init__(self) -> None:
        self.damage: str | None = None
        """Description of the damage that requires a rebuild, or None."""
        self._due = 0.0
        self._last: float | None = None
        self._repeated = 0

    def request(self, damage: str) -> None:
        """Request a rebuild of the store because of ``damage``."""
        if self.damage is not None:
            return
        now = time.monotonic()
        soon = self._last is not None and now - self._last < SOON_SECONDS
        self._repeated = self._repeated + 1 if soon else 0
        pause = WORKER_BACKOFF_SECONDS[min(self._repeated, len(WORKER_BACKOFF_SECONDS) - 1)] if soon else 0.0
        self.damage, self._due = damage, now + pause

    def is_due(self) -> bool:
        """True if a rebuild was requested and its delay is over."""
        return self.damage is not None and time.monotonic() >= self._due

    def begin(self) -> None:
        """Record that a rebuild begins: a new store replaces the damaged one."""
        self.damage, self._last = None, time.monotonic()

    def check(self) -> None:
        """Raise `WorkerUnavailable` while a requested rebuild has to wait."""
        if self.damage is not None and not self.is_due():
            text = f"the vector index was rebuilt and is damaged again; rebuilding it later: {self.damage}"
            raise WorkerUnavailable(text, "failing")
