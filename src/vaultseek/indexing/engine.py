"""The engine of one open vault, and what stands in for the parts of the embedded one."""

from __future__ import annotations

from pathlib import Path

from vaultseek.index.backend.opening import open_backend
from vaultseek.index.ledger import Ledger
from vaultseek.indexing.engine_keyword import EngineSync
from vaultseek.indexing.engine_vectors import EngineVectors
from vaultseek.settings.engine import MilvusOptions
from vaultseek.worker import SemanticWorker


class OpenEngine:
    """An engine that keeps notes and vectors of a vault; ``folder`` has what is kept beside it."""

    def __init__(self, options: MilvusOptions, name: str, folder: Path, ledger: Ledger) -> None:
        self.backend = open_backend(options, name, folder)
        self._folder = folder
        self._ledger = ledger

    def sync(self, language: str | None) -> EngineSync:
        """Return what keeps the notes of the engine up to the ledger."""
        return EngineSync(self._folder, language, self.backend, self._ledger)

    def keeper(self, worker: SemanticWorker) -> EngineVectors:
        """Return what keeps the vectors that a worker computes."""
        return EngineVectors(worker, self.backend, self._ledger)

    def close(self) -> None:
        """Close the connection."""
        self.backend.close()
