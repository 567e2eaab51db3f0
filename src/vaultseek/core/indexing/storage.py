"""Storage of a vault's index: opens the ledger and the engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vaultseek.core.indexing.engine import Engine
from vaultseek.core.indexing.keyword_sync import KeywordSync
from vaultseek.store.ledger import Ledger


@dataclass(frozen=True)
class Storage:
    """Storage on the local disk, for a vault on this machine. Other packages add subclasses for other
    storage.
    """

    has_folder: ClassVar[bool] = True
    """False if the notes are on another machine, which also writes the index."""

    def open_ledger(self, directory: Path) -> Ledger:
        """Open the ledger in the index folder. Raises OSError or Unavailable."""
        return Ledger(directory / "ledger.sqlite")

    def open_engine(self, name: str, directory: Path, ledger: Ledger, language: str | None) -> Engine:
        """Open the engine for the vault with this name."""
        return KeywordSync(directory / "keyword", language)


LOCAL = Storage()
