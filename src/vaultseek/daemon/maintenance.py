"""Maintenance of a vault's index files, to keep them small, undamaged and free of deleted text."""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable

from vaultseek.base.precedence import give_way
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.daemon import folder_watch
from vaultseek.errors import Busy, IndexDamaged

COMPACT_SECONDS = 86_400.0
"""Seconds between removals of deleted text from the index files."""
COMPACT_POLL_SECONDS = 600.0

log = logging.getLogger(__name__)


class Maintenance:
    """Merging, compaction and checks of an open vault's index while notes are searched and saved.

    ``changed`` is set after each change of the keyword index, whose segments may then need merging.
    """

    def __init__(self, vault: OpenVault) -> None:
        self._vault = vault
        self.changed = asyncio.Event()

    async def merge_segments(self) -> None:
        """Merge segments of the keyword index whenever the index has changed. Never returns."""
        while True:
            await self.changed.wait()
            self.changed.clear()
            try:
                while await asyncio.to_thread(self._merge):
                    await asyncio.sleep(0)
            except (IndexDamaged, Busy, OSError) as error:
                log.warning("merging the keyword index of %s: %s", self._vault.name, error)

    def _merge(self, *, purge: bool = False) -> bool:
        give_way()
        return self._vault.merge_keyword_segments(purge=purge)

    async def compact(self) -> None:
        """Remove deleted text from the keyword index and the ledger, and remove outdated vectors.

        Raises IndexDamaged, OSError, or Busy if another program reads the ledger for a long time.
        """
        vault = self._vault
        while await asyncio.to_thread(self._merge, purge=True):
            await asyncio.sleep(0)
        now = time.time()
        await vault.forget_outdated_vectors(now)
        await vault.in_writer(vault.indexer.prune_texts)
        if not await vault.in_writer(vault.ledger.compact, now):
            raise Busy(f"another program is reading the index of {vault.name}; try again later")

    async def compact_daily(self, has_time: Callable[[], bool]) -> None:
        """Compact the index once a day if there is anything to remove and ``has_time`` returns True. Never
        returns."""
        while True:
            if not await asyncio.to_thread(self._is_due):
                await asyncio.sleep(COMPACT_POLL_SECONDS)
            elif not has_time():
                await asyncio.sleep(folder_watch.LIVENESS_SECONDS)
            else:
                try:
                    await self.compact()
                except (IndexDamaged, Busy, OSError, sqlite3.Error) as error:
                    log.warning("compacting the index of %s: %s", self._vault.name, error)
                    await asyncio.sleep(COMPACT_POLL_SECONDS)

    def _is_due(self) -> bool:
        """Return true if the index was not compacted today, and has changed since or has vectors of former
        models."""
        compacted, revision = self._vault.ledger.compacted()
        if abs(time.time() - compacted) < COMPACT_SECONDS:  # the clock may have been ahead
            return False
        return self._vault.ledger.revision != revision or self._vault.has_former_models()

    async def wait_for_damage(self) -> None:
        """Return when the ledger is found to be damaged. A check is needed because SQLite might not notice
        that its file was removed or replaced."""
        while await asyncio.to_thread(self._vault.ledger.is_sound):
            await asyncio.sleep(folder_watch.LIVENESS_SECONDS)
