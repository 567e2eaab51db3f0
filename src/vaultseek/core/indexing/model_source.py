"""The models of vaults: which each of them gets, and the workers that compute with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.indexing.vault_language import keep_share, kept_share, share_of_folder, share_of_ledger
from vaultseek.errors import ConfigError
from vaultseek.semantic.models.catalogue import LocalModel
from vaultseek.semantic.models.choice import ModelChoice, VaultModels, counter_of
from vaultseek.semantic.worker.pool import WorkerPool
from vaultseek.store.ledger import Ledger


class ModelSource:
    """Chooses the models of vaults by the settings' ``choice``, and has their workers in ``pool``."""

    def __init__(self, choice: ModelChoice, pool: WorkerPool) -> None:
        self.choice = choice
        self.pool = pool

    async def start(self, directories: Iterable[Path]) -> None:
        """Start the workers that the vaults with these index folders had last; without any the usual one.

        Models take long to load, so this comes before the vaults are opened.
        """
        shares = [kept_share(directory) or 0.0 for directory in directories] or [0.0]
        for share in shares:
            await self.pool.worker(self.choice.of_vault(share).main).start()

    def of_vault(self, options: VaultOptions, directory: Path) -> VaultModels:
        """Return the models of a vault before it is open. It may read notes, so call it in a thread."""
        share = kept_share(directory) if self.choice.automatic else 0.0
        if share is None:
            count = self.spec(self.choice.main).count
            share = share_of_folder(options.root, options.exclude, count) if options.root.is_dir() else None
        return self._usable(share or 0.0)

    def of_notes(self, ledger: Ledger, directory: Path) -> VaultModels | None:
        """Return the models of a vault by its present notes, and keep the judgement; None without a note."""
        share = share_of_ledger(ledger, self.spec(self.choice.main).count)
        if share is None:
            return None
        if share != kept_share(directory):
            keep_share(directory, share)
        return self._usable(share)

    def spec(self, model: LocalModel) -> EmbeddingSpec:
        """Return what determines the vectors of the model, with its tokenizer loaded."""
        return EmbeddingSpec(model.fingerprint, counter_of(model), model.window, model.name)

    def _usable(self, share: float) -> VaultModels:
        """Return the models of a vault with this share; the usual ones if a tokenizer cannot be read."""
        models = self.choice.of_vault(share)
        try:
            counter_of(models.main)
        except ConfigError as error:
            return replace(self.choice, other=None, advice=str(error)).of_vault(share)
        return models
