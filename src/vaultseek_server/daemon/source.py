"""Source of a searcher's vault: a shard in an engine."""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace

from vaultseek.base.model import Reason
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.daemon.activity import ActivityReporter
from vaultseek.daemon.scans import Extent, Scans
from vaultseek.daemon.sources import Source
from vaultseek.daemon.tasks import Work
from vaultseek.errors import IndexDamaged, Unavailable, WorkerUnavailable
from vaultseek_server.engines.engine import SearchedShard

REFRESH_SECONDS = 2.0
"""Number of seconds between checks for changes in a shard."""


class ShardSource(Source):
    """A shard that another daemon writes, used instead of a folder; each refresh counts as a scan."""

    def __init__(
        self, vault: OpenVault, shard: SearchedShard, scans: Scans, reporter: ActivityReporter
    ) -> None:
        self._vault = vault
        self._shard = shard
        self._scans = scans
        self._reporter = reporter
        self._is_loaded = False
        """True while the loaded names and links match the ledger."""

    def tasks(self) -> Iterator[tuple[Work, str]]:
        """Yield the task that follows the shard, with the task's name."""
        yield self._follow, "shard"

    def degraded_reason(self) -> Reason | None:
        """Return the reason why the shard may be behind, or None."""
        return self._vault.activity.reason

    async def _follow(self) -> None:
        embedding = self._vault.embedding
        while True:
            await self.rescan()
            with contextlib.suppress(WorkerUnavailable, IndexDamaged):
                await embedding.open()
            await asyncio.sleep(REFRESH_SECONDS)

    async def rescan(self, *, accept_loss: bool = False, extent: Extent = Extent.ALL) -> None:
        """Read the shard's new data, or report the reason why that fails."""
        vault, shard, reporter = self._vault, self._shard, self._reporter
        try:
            changed = await vault.in_writer(shard.step)
            shard.missing = None
            if changed:
                self._is_loaded = False
                vault.activity = replace(vault.activity, last_change=time.time())
            if not self._is_loaded:
                await vault.in_writer(vault.indexer.load)
                self._is_loaded = True
            reporter.set_state("ready", shard.reason())
        except Unavailable as error:
            is_gone = error.cause == "vault_missing"
            text = f"the vault's shard is missing: {error}" if is_gone else str(error)
            shard.missing = Unavailable(text, "behind")
            reporter.set_state("shard_missing", Reason.of(shard.missing))
        except Exception as error:  # e.g. a full disk; the ledger reports that itself
            shard.missing = None
            reporter.report_failure(error)
        else:
            if changed:
                reporter.notify([])
        self._scans.begin()
        await self._scans.finish()
