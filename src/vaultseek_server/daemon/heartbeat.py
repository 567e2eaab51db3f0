"""The heartbeat that an indexer writes for the searchers that use its shard."""

import asyncio
import logging
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace

from vaultseek.base.failpoints import seconds_of
from vaultseek.base.model import Reason
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.errors import VaultseekError
from vaultseek_server.engines.engine import IndexedShard
from vaultseek_server.engines.heartbeat import BEAT_SECONDS, STOPPED, Heartbeat

STOP_SECONDS = 2.0
"""Maximum number of seconds to wait for an engine when a vault is closed."""

CHECK_SECONDS = 1.0
"""Number of seconds between checks of the vault's state."""

log = logging.getLogger(__name__)
_threads = ThreadPoolExecutor(2, thread_name_prefix="heartbeat")
"""Separate threads for heartbeats, because an engine may be slow to answer."""


class HeartbeatWriter:
    """A task that reports to searchers how far a vault's shard is behind the vault's folder."""

    def __init__(self, vault: OpenVault, engine: IndexedShard) -> None:
        self._vault = vault
        self._engine = engine
        self._synced_at: float | None = None
        self._reached = False

    async def run(self) -> None:
        """Write a heartbeat at each interval and soon after changes; at the end, write that the indexer is
        stopping.

        Ends only when it is cancelled.
        """
        written, due = None, 0.0
        try:
            while True:
                beat = self._beat()
                if time.monotonic() >= due or _urgent_part(beat) != written:
                    await self._write(beat)
                    due = time.monotonic() + seconds_of("indexer.beat", BEAT_SECONDS)
                    written = _urgent_part(beat)
                await asyncio.sleep(CHECK_SECONDS)
        except asyncio.CancelledError:
            await self._write_stopped()
            raise

    async def _write_stopped(self) -> None:
        """Write that the indexer is stopping, if the engine has answered before."""
        if self._reached:
            beat = replace(self._beat(), state=STOPPED, reason=None)
            with suppress(TimeoutError):
                async with asyncio.timeout(STOP_SECONDS):
                    await self._write(beat)

    async def _write(self, beat: Heartbeat) -> None:
        try:
            await asyncio.get_running_loop().run_in_executor(_threads, self._engine.publish, beat)
            self._reached = True
        except (VaultseekError, OSError) as error:
            self._reached = False
            log.debug("the heartbeat of %s could not be written: %s", self._vault.name, error)

    def _beat(self) -> Heartbeat:
        vault, now = self._vault, time.monotonic()
        activity, counts = vault.activity, vault.ledger.counts()
        reason = activity.full_reason(counts) or vault.keyword_reason()
        if reason is None and activity.notes_left:
            progress = f"{activity.notes_left:,} of {activity.notes_total:,} notes remain to be read"
            reason = Reason("being_read", progress)
        if reason is None and activity.state == "indexing":
            reason = Reason("being_read", "the folder is being compared with the index")
        if self._engine.is_synced and (reason is None or activity.state == "polling"):
            self._synced_at = now
        shown = None if activity.state == "polling" else reason
        lag = None if self._synced_at is None else now - self._synced_at
        return Heartbeat(socket.gethostname(), activity.state, lag, shown)


def _urgent_part(beat: Heartbeat) -> tuple[str, str | None]:
    return beat.state, beat.reason.code if beat.reason else None
