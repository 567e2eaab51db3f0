"""Sources of an open vault other than a folder, for which see ``folder_source``."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from vaultseek.base.limits import RETRY_SECONDS
from vaultseek.base.model import Reason
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.indexing.status import Activity
from vaultseek.daemon.activity import ActivityReporter
from vaultseek.daemon.scans import Extent, Scans
from vaultseek.daemon.tasks import Work
from vaultseek.errors import IndexDamaged, Unavailable, WorkerUnavailable

if TYPE_CHECKING:
    from vaultseek.engines.engine import SearchedShard

REFRESH_SECONDS = 2.0
"""Seconds between a searcher's checks for changes of a shard."""


class Source:
    """A source without a folder that could be missing and without anything to stop."""

    def degraded_reason(self) -> Reason | None:
        """Return why an answer may miss changes of notes, or None."""
        return None

    def missing_seconds(self) -> float:
        """Return how long the vault's folder has been missing."""
        return 0.0

    async def stop(self) -> None:
        """Stop watching the folder."""


class PausedSource(Source):
    """A paused source: searches use the existing index, and another engine gets its vectors."""

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


class ReplicaSource(Source):
    """A shard of an engine instead of a folder; each refresh counts as a scan."""

    def __init__(
        self, vault: OpenVault, replica: SearchedShard, scans: Scans, reporter: ActivityReporter
    ) -> None:
        self._vault = vault
        self._replica = replica
        self._scans = scans
        self._reporter = reporter
        self._is_loaded = False
        """True while names and links match the ledger."""

    def tasks(self) -> Iterator[tuple[Work, str]]:
        """Yield the task that follows the shard, with its name."""
        yield self._follow, "shard"

    def degraded_reason(self) -> Reason | None:
        """Return why the shard may be behind."""
        return self._vault.activity.reason

    async def _follow(self) -> None:
        embedding = self._vault.embedding
        while True:
            await self.rescan()
            with contextlib.suppress(WorkerUnavailable, IndexDamaged):
                await embedding.open()
            await asyncio.sleep(REFRESH_SECONDS)

    async def rescan(self, *, accept_loss: bool = False, extent: Extent = Extent.ALL) -> None:
        """Apply new changes of the shard, or raise the reason why that fails."""
        vault, replica, reporter = self._vault, self._replica, self._reporter
        try:
            changed = await vault.in_writer(replica.step)
            if changed:
                self._is_loaded = False
                vault.activity = replace(vault.activity, last_change=time.time())
            if not self._is_loaded:
                await vault.in_writer(vault.indexer.load)
                self._is_loaded = True
            reporter.set_state("ready", replica.reason())
        except Unavailable as error:
            is_gone = error.cause == "vault_missing"
            text = f"its shard is missing: {error}" if is_gone else str(error)
            reporter.set_state("shard_missing", Reason("behind", text))
        except Exception as error:  # e.g. a full disk; the ledger reports that itself
            reporter.report_failure(error)
        else:
            if changed:
                reporter.notify([])
        self._scans.begin()
        await self._scans.finish()
