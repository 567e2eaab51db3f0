"""The succession of a vault's vector stores: another model, another chunking or another embedding text begins
another store. Until that one is full, the previous one answers, with its own model.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import QUERY_EMBED_SECONDS
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.indexing.writer import InWriter
from vaultseek.errors import VaultseekError, WorkerUnavailable
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.worker import SemanticWorker
from vaultseek.store.ledger import Ledger


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


class PreviousStore(NamedTuple):
    """The store of the spec before, and the model that its vectors are of."""

    path: Path
    fingerprint: str
    model: str


class StoreMigration:
    """The change from the store of a previous spec to ``store``, that of ``spec``, in the same folder."""

    def __init__(
        self, ledger: Ledger, store: Path, spec: EmbeddingSpec, in_writer: InWriter, old_models: OldModels
    ) -> None:
        self.previous: PreviousStore | None = None
        """The store that answers while the new one is not full; None if none does."""
        self._store = store
        self._spec = spec
        self._ledger = ledger
        self._in_writer = in_writer
        self._old_models = old_models

    @property
    def is_same_model(self) -> bool:
        """True if what answers is of the model of ``spec``."""
        return self.previous is None or not self._is_foreign(self.previous)

    def begin(self) -> None:
        """Let a store of another spec answer until this one is full, if the marks refer to one.

        Runs in the writer thread.
        """
        vectors = self._ledger.vectors
        name = vectors.store().rpartition(":")[0]
        folder = store_folder(name)
        if name and name != self._spec.name and (self._store.parent / folder).is_dir():
            fingerprint = name.split("/")[0]
            vectors.set_previous_store(
                {"folder": folder, "fingerprint": fingerprint, "model": vectors.store_model()}
            )
        vectors.set_store_model(self._spec.model)

    async def resume(self) -> None:
        """Open the previous store, if there is one, and remove those that are not in use."""
        kept = await self._in_writer(self._ledger.vectors.previous_store)
        previous = None
        if kept is not None and kept["folder"] != self._store.name:
            path = self._store.parent / kept["folder"]
            previous = PreviousStore(path, kept["fingerprint"], kept.get("model", ""))
        in_use = {self._store.name, previous.path.name} if previous else {self._store.name}
        await asyncio.to_thread(sweep, self._store.parent, in_use)
        if previous is not None and self._is_foreign(previous):
            await self._old_models.borrow(previous.model, previous.fingerprint)
        self.previous = previous

    async def end(self, drop: Callable[[Path], Awaitable[None]]) -> None:
        """Drop the previous store, because this one is full."""
        previous, self.previous = self.previous, None
        if previous is None:
            return
        failpoint("store.swapped")
        await self._in_writer(self._ledger.vectors.set_previous_store, None)
        await drop(previous.path)
        if self._is_foreign(previous):
            await self._old_models.give_back(previous.model)

    async def question(self, previous: PreviousStore, text: str) -> Any:
        """Return what to ask a previous store: the text, or its vector by another model.

        Raises WorkerUnavailable.
        """
        return await self._old_models.vector(previous.model, text) if self._is_foreign(previous) else text

    def _is_foreign(self, previous: PreviousStore) -> bool:
        return previous.fingerprint != self._spec.fingerprint


def store_folder(spec_name: str) -> str:
    """Return the name of the folder of the store for a spec."""
    return hashlib.sha256(spec_name.encode()).hexdigest()[:12]


def sweep(directory: Path, in_use: set[str]) -> None:
    """Remove the stores that are not in use."""
    for path in directory.iterdir() if directory.is_dir() else ():
        if path.name not in in_use:
            shutil.rmtree(path, ignore_errors=True)
            path.unlink(missing_ok=True)
