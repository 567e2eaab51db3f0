"""Storage of indexes in an engine, whether written by this daemon or by another one."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vaultseek.core.indexing.engine import Engine
from vaultseek.core.indexing.storage import Storage
from vaultseek.store.ledger import Ledger
from vaultseek_server.settings import ENGINE_FOLDER, EngineOptions


@dataclass(frozen=True)
class IndexedStorage(Storage):
    """A shard that this daemon writes from its ledger, which is on the local disk."""

    options: EngineOptions

    def open_engine(self, name: str, directory: Path, ledger: Ledger, language: str | None) -> Engine:
        """Return the engine for the vault called ``name``."""
        from vaultseek_server.engines.engine import IndexedShard

        return IndexedShard(self.options, name, directory / ENGINE_FOLDER, ledger, language)


def options_of(storage: Storage) -> EngineOptions | None:
    """Return the options of the engine that stores a vault; None for the embedded engine."""
    return storage.options if isinstance(storage, IndexedStorage | SearchedStorage) else None


@dataclass(frozen=True)
class SearchedStorage(Storage):
    """A shard that another daemon writes; its tables serve as the ledger."""

    has_folder: ClassVar[bool] = False
    options: EngineOptions

    def open_ledger(self, directory: Path) -> Ledger:
        """Return the ledger stored in the shard. Raises Unavailable if there is no such shard."""
        from vaultseek_server.engines.engine import open_ledger

        return open_ledger(self.options)

    def open_engine(self, name: str, directory: Path, ledger: Ledger, language: str | None) -> Engine:
        """Return the engine that searches the shard."""
        from vaultseek_server.engines.engine import SearchedShard
        from vaultseek_server.engines.postgres.database import ShardLedger

        assert isinstance(ledger, ShardLedger)
        return SearchedShard(ledger, language)
