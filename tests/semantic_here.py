"""An in-process semantic worker: hashed words, exact vectors, no child process."""

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.library import PATIENCE, index_vault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.inference.embed import HashingEncoder
from vaultseek.semantic.models.catalogue import LocalModel, find_model
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.matrix import VectorHits
from vaultseek.semantic.vectors.port import VectorBatch
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.semantic.worker.state import WorkerState
from vaultseek.settings.search import SearchSettings


class WorkerHere:
    """An in-process stand-in for `SemanticWorker`; its stores live as long as this object."""

    state = WorkerState("ready")
    counts_quickly = True

    def __init__(self, dimension: int | None = None) -> None:
        self._encoder = HashingEncoder() if dimension is None else HashingEncoder(dimension)
        self._stores: dict[tuple[str, str], VectorIndex] = {}

    memory_bytes = None

    async def start(self) -> None:
        return None

    async def stop(self) -> None:
        return None

    async def ready(self, deadline: float | None = None) -> None:
        return None

    async def embed(self, texts: Any, **_: Any) -> Any:
        return self._encoder.encode(list(texts))

    async def apply(
        self,
        store: Path,
        collection: str,
        *,
        numbers=(),
        notes=(),
        vectors=None,
        deletes=(),
        version=None,
        **_: Any,
    ) -> None:
        index = self._stores.setdefault((str(store), collection), VectorIndex(store, collection))
        matrix = np.zeros((0, 0), np.float32) if vectors is None else np.asarray(vectors, np.float32)
        rows = [np.asarray(each, np.int64) for each in (numbers, notes, deletes)]
        index.apply(VectorBatch(rows[0], rows[1], matrix), rows[2], version)

    async def version(self, store: Path, collection: str, **_: Any) -> str | None:
        index = self._stores.get((str(store), collection))
        return index.version if index else None

    def want(self) -> None: ...

    async def count(self, store: Path, collection: str, **_: Any) -> int:
        index = self._stores.get((str(store), collection))
        return len(index) if index else 0

    async def drop(self, store: Path, **_: Any) -> None:
        for key in [key for key in self._stores if key[0] == str(store)]:
            del self._stores[key]
        shutil.rmtree(store, ignore_errors=True)

    async def query(self, store: Path, text: Any, k: int, *, allowed=None, **_: Any) -> SemanticAnswer:
        vector = self._encoder.encode([text])[0] if isinstance(text, str) else text
        chunks, notes = (self._stores.get((str(store), name)) for name in ("chunks", "notes"))
        passages, whole = (
            each.search(vector, k, allowed) if each else VectorHits.none() for each in (chunks, notes)
        )
        return SemanticAnswer(*passages, whole.notes, whole.scores, vector)

    async def rerank(self, query: str, texts: Any, model: str, **_: Any) -> Any:
        if model != "shared words":
            raise WorkerUnavailable(f"there is no model {model}")
        wanted = set(query.lower().split())
        return np.array([len(wanted & set(text.lower().split())) / len(wanted) for text in texts])

    def keep_reranker(self, model: str | None) -> None:
        return None

    async def vectors(self, store: Path, notes: Any, **_: Any) -> Any:
        index = self._stores.get((str(store), "notes"))
        return dict(zip(*index.vectors(notes), strict=True)) if index else {}


def open_here(root: Path, directory: Path) -> OpenVault:
    """Open the vault at ``root`` with its index in ``directory``, loaded but not compared with the disk."""
    spec = EmbeddingSpec("test", lambda text: len(text) // 4 + 1, 254)
    vault = OpenVault.open(VaultOptions(root.name, root), directory, WorkerHere(), spec)
    vault.indexer.load()
    return vault


def index_here(root: Path, directory: Path) -> OpenVault:
    """Open the vault and index it by word, link and meaning."""
    vault = open_here(root, directory)
    vault.indexer.apply(vault.indexer.reconcile())

    async def embed() -> None:
        while await vault.embedding.step():
            pass

    asyncio.run(embed())
    return vault


@contextlib.contextmanager
def measured_here(root: Path, folder: Path) -> Iterator[Callable[..., Any]]:
    """Search the vault at ``root`` with query, settings, limit and mode; its index is kept in ``folder``."""
    with asyncio.Runner() as runner:
        options = VaultOptions(root.name, root)
        vault = open_vault(options, folder / "cache", WorkerHere(), find_model("hashing"))

        def ask(query: str, settings: SearchSettings, limit: int = 10, mode: Any = "hybrid") -> Any:
            return runner.run(Searcher(vault).search(SearchRequest(query, settings, limit=limit, mode=mode)))

        try:
            runner.run(index_vault(vault))
            yield ask
        finally:
            vault.close()


def open_vault(options: VaultOptions, cache: Path, worker: Any, model: LocalModel) -> OpenVault:
    """Open the vault's index in ``cache``; call ``index_vault`` afterwards."""
    spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window, model.name)
    return OpenVault.open(options, cache, worker, spec, patience=PATIENCE)
