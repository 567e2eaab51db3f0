"""The engine that vaultseek has itself, behind the port of engines: it always answers and is synced."""

from __future__ import annotations

from pathlib import Path

from vaultseek.core.indexing.keyword_sync import KeywordSync
from vaultseek.engines.heartbeat import Heartbeat
from vaultseek.engines.port import ShardSource
from vaultseek.errors import Unavailable
from vaultseek.semantic.worker import SemanticWorker
from vaultseek.semantic.worker.port import VectorKeeper


class EmbeddedEngine:
    """The keyword index in a folder, which the writer of the ledger keeps, and the store of the worker."""

    name = ""
    is_remote = False
    is_shared = False
    outage: Unavailable | None = None
    is_synced = True
    synced_revision = 0

    def __init__(self, directory: Path, language: str | None) -> None:
        self.keyword = KeywordSync(directory, language)

    def vector_store(self, worker: SemanticWorker) -> VectorKeeper:
        """Return the worker, which keeps what it computes."""
        return worker

    def replica(self, space: str) -> ShardSource | None:
        """Return None: no other daemon writes to it."""

    def start_background_writer(self) -> None:
        """Do nothing, as writing waits for nobody."""

    def probe(self) -> None:
        """Do nothing, as it always answers."""

    async def wait_until_synced(self, seconds: float) -> None:
        """Return at once: it is synced when the ledger is committed."""

    def publish(self, beat: Heartbeat) -> None:
        """Do nothing, as there are no searchers."""

    def close(self) -> None:
        """Close the keyword index."""
        self.keyword.close()
