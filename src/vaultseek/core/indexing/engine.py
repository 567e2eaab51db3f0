"""The engine of one open vault, and what stands in for the parts of the embedded one."""

from __future__ import annotations

import asyncio
import logging
import time
from pathlib import Path

from vaultseek.core.indexing.engine_sync import EngineSync
from vaultseek.core.indexing.engine_thread import EngineThread
from vaultseek.core.indexing.engine_vectors import EngineVectors
from vaultseek.core.indexing.heartbeat import Heartbeat
from vaultseek.core.indexing.shard_copy import ShardCopy, heartbeat_name
from vaultseek.core.indexing.shard_writer import ShardWriter
from vaultseek.engines.milvus.opening import open_backend
from vaultseek.errors import Unavailable, VaultseekError
from vaultseek.semantic.worker import SemanticWorker
from vaultseek.settings.engine import MilvusOptions
from vaultseek.store.ledger import Ledger

LEVEL_SECONDS = 0.02
"""Time between two looks whether the engine has all notes."""

log = logging.getLogger(__name__)


class OpenEngine:
    """An engine that keeps notes and vectors of a vault; ``folder`` has what is kept beside it."""

    def __init__(
        self, options: MilvusOptions, name: str, folder: Path, ledger: Ledger, *, is_copied: bool = False
    ) -> None:
        """``is_copied``: another daemon writes to the engine, and the ledger is a copy of what is there."""
        self.engine = open_backend(options, name, folder)
        try:
            self._writer = None if is_copied else ShardWriter(self.engine, folder, name)
        except Unavailable:
            self.engine.close()
            raise
        self._sync: EngineSync | None = None
        self._looking: EngineThread | None = None
        self._is_copied = is_copied
        self._folder = folder
        self._ledger = ledger

    def sync(self, language: str | None) -> EngineSync:
        """Return what keeps the notes of the engine up to the ledger."""
        self._sync = EngineSync(self._folder, language, self.engine, writer=self._writer)
        if self._writer is not None:
            self._writer.on_doubt = self._sync.doubt
        return self._sync

    def write_apart(self) -> None:
        """Write notes in a thread of their own from now on; see ``EngineSync``."""
        if self._sync is not None:
            self._sync.write_apart(self.engine.options.shard, self._ledger)

    @property
    def outage(self) -> Unavailable | None:
        """The reason why the engine did not answer when it was asked last; None if it did. Asks nothing."""
        return self.engine.connection.outage

    def look(self) -> None:
        """Ask the engine something small in a thread of its own, so that ``outage`` is of now.

        Returns at once; a question that is still unanswered is not asked twice.
        """
        if self._looking is None:
            self._looking = EngineThread(f"look {self.engine.options.shard}", self._look)
        if self._looking.is_idle:
            self._looking.wake()

    def _look(self) -> None:
        try:
            self.engine.position()
        except (VaultseekError, OSError):
            pass  # the connection keeps what is wrong
        except Exception as error:
            log.warning("looking at the engine failed", exc_info=error)

    @property
    def is_level(self) -> bool:
        """True if the notes of the ledger are in the engine, or it is known why not."""
        return self._sync is None or self._sync.is_level

    @property
    def level(self) -> int:
        """The revision of the ledger that the engine has."""
        return 0 if self._sync is None else self._sync.synced_revision(self._ledger)

    async def become_level(self, seconds: float) -> None:
        """Return when it is, or later than that. Raises what kept notes here, such as a full disk."""
        end = time.monotonic() + seconds
        while not self.is_level and time.monotonic() < end:
            await asyncio.sleep(LEVEL_SECONDS)
        if self._sync is not None:
            self._sync.tell_failure()

    def keeper(self, worker: SemanticWorker) -> EngineVectors:
        """Return what keeps the vectors that a worker computes."""
        return EngineVectors(worker, self.engine, self._ledger, writer=self._writer)

    def copy(self, space: str, keyword: EngineSync) -> ShardCopy:
        """Return what keeps the ledger a copy of the engine; ``space`` names the vectors."""
        return ShardCopy(self.engine, self._ledger, space, keyword.set_language)

    @property
    def name(self) -> str:
        """The engine, and the vault's part of it."""
        options = self.engine.options
        return f"{options.place} {options.database} {options.prefix} {options.shard}"

    @property
    def is_shared(self) -> bool:
        """True if searchers can read it: a file belongs to one daemon."""
        return not self._is_copied and not self.engine.options.is_lite

    def publish(self, beat: Heartbeat) -> None:
        """Tell searchers how the shard is. Raises Unavailable, also if another indexer has the shard."""
        name = heartbeat_name(self.engine.options.shard)
        if self._writer is not None:
            self._writer.set_state(name, f"{beat.at:.0f}", beat.as_text())

    def close(self) -> None:
        """Close the connection."""
        if self._looking is not None:
            self._looking.close(0.0)
        (self._writer or self.engine).close()
