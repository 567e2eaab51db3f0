"""The place of a vault's index: its ledger and its engine."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from vaultseek.core.indexing.engine import Engine
from vaultseek.core.indexing.keyword_sync import KeywordSync
from vaultseek.store.ledger import Ledger


@dataclass(frozen=True)
class Storage:
    """An index on the local disk, of a folder on this machine. Other packages add other places."""

    has_folder: ClassVar[bool] = True
    """False if the notes are on another machine. That machine also writes the index."""

    def open_ledger(self, directory: Path) -> Ledger:
        """Return the ledger of the index folder. Raises OSError or Unavailable."""
        return Ledger(directory / "ledger.sqlite")

    def open_engine(self, name: str, directory: Path, ledger: Ledger, language: str | None) -> Engine:
        """Return the engine of the vault with this name."""
        return KeywordSync(directory / "keyword", language)


LOCAL = Storage()
