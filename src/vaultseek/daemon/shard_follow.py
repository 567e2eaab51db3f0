"""Keep a searcher's copy of a shard up to the engine, which may be away for a while."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace

from vaultseek.base.model import Reason
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.indexing.shard_copy import ShardCopy
from vaultseek.daemon.activity import ActivityReporter
from vaultseek.daemon.scans import Scans
from vaultseek.errors import IndexDamaged, Unavailable, WorkerUnavailable

COPY_SECONDS = 2.0
"""Time between two questions of a searcher whether a shard has changed."""


class ShardFollower:
    """The following of a shard in place of a folder: each look at the engine counts as a scan."""

    def __init__(self, vault: OpenVault, shard: ShardCopy, scans: Scans, reporter: ActivityReporter) -> None:
        self._vault = vault
        self._shard = shard
        self._scans = scans
        self._reporter = reporter

    async def follow(self) -> None:
        """Copy what is new in the shard, for ever."""
        embedding = self._vault.embedding
        while True:
            await self.copy()
            if not embedding.ready:
                with contextlib.suppress(WorkerUnavailable, IndexDamaged):
                    await embedding.open()
            await asyncio.sleep(COPY_SECONDS)

    async def copy(self) -> None:
        """Copy what is new in the shard, or report why it cannot be copied."""
        vault, shard, reporter = self._vault, self._shard, self._reporter
        try:
            behind = await vault.in_writer(shard.is_behind)
            if behind and vault.activity.state == "ready":
                reporter.set_state("ready", Reason("behind", "newer notes of this shard are being copied"))
            changed = await vault.in_writer(shard.step)
            if changed or not self._scans.is_first_done:
                await vault.in_writer(vault.indexer.load)
            reporter.set_state("ready", shard.reason())
        except Unavailable as error:
            reporter.set_state("shard_missing", Reason("behind", f"its shard is missing: {error}"))
        except Exception as error:  # such as a full disk, of which the ledger has an error of its own
            reporter.report_failure(error)
        else:
            if changed:
                vault.activity = replace(vault.activity, last_change=time.time())
                reporter.notify([])
        self._scans.begin()
        await self._scans.finish()
