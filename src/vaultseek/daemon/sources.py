"""Sources of an open vault other than a folder. For folders, see ``folder_source``."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from vaultseek.base.limits import RETRY_SECONDS
from vaultseek.base.model import Reason
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.indexing.status import Activity
from vaultseek.daemon.scans import Extent
from vaultseek.daemon.tasks import Work
from vaultseek.errors import IndexDamaged, WorkerUnavailable


class Source:
    """The source of an open vault's notes, chosen when it is opened.

    By default it has no folder that could be missing, and nothing to stop.
    """

    def tasks(self) -> Iterator[tuple[Work, str]]:
        """Yield the tasks that follow the source, with their names."""
        raise NotImplementedError

    async def rescan(self, *, accept_loss: bool = False, extent: Extent = Extent.ALL) -> None:
        """Wait until the current content of the source is indexed. Raises VaultMissing or Unavailable."""
        raise NotImplementedError

    def degraded_reason(self) -> Reason | None:
        """Return the reason why an answer may miss changes of notes, or None."""
        return None

    def missing_seconds(self) -> float:
        """Return how long the vault's folder has been missing."""
        return 0.0

    async def stop(self) -> None:
        """Stop watching the folder."""


class PausedSource(Source):
    """A paused source: searches use the existing index. If the engine was changed, the new engine still gets
    the vectors."""

    def __init__(self, vault: OpenVault) -> None:
        self._vault = vault

    def tasks(self) -> Iterator[tuple[Work, str]]:
        """Set the activity of the vault, and yield its maintenance tasks with their names."""
        self._vault.activity = Activity("paused", self._vault.options.paused_reason)
        yield self._serve, "serve"

    def degraded_reason(self) -> Reason | None:
        """Return the reason that the vault is paused."""
        return self._vault.options.paused_reason

    async def rescan(self, *, accept_loss: bool = False, extent: Extent = Extent.ALL) -> None:
        """Raise Unavailable."""
        raise self._vault.options.paused_reason.error()

    async def _serve(self) -> None:
        embedding = self._vault.embedding
        await self._vault.in_writer(self._vault.indexer.load)
        while True:
            embedding.wake.clear()  # first, so that damage found by a search in the meantime is not missed
            try:
                try:
                    await embedding.copy()
                    await embedding.rest()
                except IndexDamaged as error:
                    await embedding.discard_store(str(error))
            except WorkerUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
