"""An index in this process, to compare with a fresh one of the same folder."""

import asyncio
from pathlib import Path
from typing import Any

from near import Near
from semantic_here import WorkerHere
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.spaces import Patience
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.library import index_vault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.settings.search import SearchSettings

QUERIES = ("pump", "valve seal", "rust on the anchor", "tag:boat", "quartz")
MODES = ("keyword", "semantic", "hybrid")
PATIENCE = Patience(30.0, second_seconds=30.0, rerank_seconds=30.0, complete=True)


class IndexHere:
    """The index of a vault with the hashing model; ``worker`` holds its vectors."""

    def __init__(self, root: Path, directory: Path, worker: WorkerHere | None = None) -> None:
        model = find_model("hashing")
        spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window)
        self.worker = worker or WorkerHere()
        options = VaultOptions("here", root, language="en")
        self.vault = OpenVault.open(options, directory, self.worker, spec, patience=PATIENCE)  # type: ignore[arg-type]

    def update(self) -> None:
        """Update every index from the disk."""
        asyncio.run(index_vault(self.vault))

    def answers(self, queries: tuple[str, ...] = QUERIES, modes: tuple[str, ...] = MODES) -> list[Any]:
        """Return what searches of these modes see, with scores rounded to six places for comparison."""
        return asyncio.run(self._answers(queries, modes))

    def close(self) -> None:
        """Close the files."""
        self.vault.close()

    async def _answers(self, queries: tuple[str, ...], modes: tuple[str, ...]) -> list[Any]:
        searcher = Searcher(self.vault)
        rows: list[Any] = []
        for mode in modes:
            for query in queries:
                request = SearchRequest(query, SearchSettings(), limit=50, mode=mode)  # type: ignore[arg-type]
                answer = await searcher.search(request)
                found = [(each["path"], Near(each["score"])) for each in answer["results"]]
                rows.append((mode, query, answer["partial"], sorted(found)))
        return rows


def fresh_answers(
    root: Path, directory: Path, queries: tuple[str, ...] = QUERIES, modes: tuple[str, ...] = MODES
) -> list[Any]:
    """Return the answers of a new index in ``directory``."""
    directory.mkdir()
    index = IndexHere(root, directory)
    try:
        index.update()
        return index.answers(queries, modes)
    finally:
        index.close()
