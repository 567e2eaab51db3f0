"""Sources of an open vault's notes. ``folder_source`` contains the source for a folder."""

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
    """The source of an open vault's notes, chosen when the vault is opened.

    By default, a source has no folder that could be missing, and nothing to stop.
    """

    def tasks(self) -> Iterator[tuple[Work, str]]:
        """Yield the tasks that keep the vault in sync with the source, with their names."""
        raise NotImplementedError

    async def rescan(self, *, accept_loss: bool = False, extent: Extent = Extent.ALL) -> None:
        """Wait until the source's current content is indexed. Raises VaultMissing or Unavailable."""
        raise NotImplementedError

    def degraded_reason(self) -> Reason | None:
        """Return the reason why an answer might not reflect the latest changes to notes, or None."""
        return None

    def missing_seconds(self) -> float:
        """Return the number of seconds for which the vault's folder has been missing."""
        return 0.0

    async def stop(self) -> None:
        """Stop watching the source."""


class PausedSource(Source):
    """The source of a paused vault: searches use the existing index. If the engine was changed, the vectors
    are still copied to the new engine."""

    def __init__(self, vault: OpenVault) -> None:
        self._vault = vault

    def tasks(self) -> Iterator[tuple[Work, str]]:
        """Set the vault's activity to paused, and yield its maintenance tasks with their names."""
        self._vault.activity = Activity("paused", self._vault.options.paused_reason)
        yield self._serve, "serve"

    def degraded_reason(self) -> Reason | None:
        """Return the reason why the vault is paused."""
        return self._vault.options.paused_reason

    async def rescan(self, *, accept_loss: bool = False, extent: Extent = Extent.ALL) -> None:
        """Raise Unavailable, because a paused vault is not scanned."""
        raise self._vault.options.paused_reason.error()

    async def _serve(self) -> None:
        embedding = self._vault.embedding
        await self._vault.in_writer(self._vault.indexer.load)
        while True:
            embedding.wake.clear()  # first, so that damage found meanwhile is not missed
            try:
                try:
                    await embedding.copy()
                    await embedding.rest()
                except IndexDamaged as error:
                    await embedding.discard_store(str(error))
            except WorkerUnavailable:
                await asyncio.sleep(RETRY_SECONDS)
