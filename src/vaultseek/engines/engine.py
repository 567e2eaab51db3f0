"""The engine of one open vault, and what stands in for the parts of the embedded one."""

import asyncio
import logging
import time
from dataclasses import replace
from pathlib import Path

from vaultseek.base.extras import require_extra
from vaultseek.engines.heartbeat import Heartbeat
from vaultseek.engines.port import Engine, ShardSource
from vaultseek.engines.postgres.backend import PostgresBackend
from vaultseek.engines.postgres.database import PostgresDatabase, ShardLedger
from vaultseek.engines.postgres.replica import LiveShard, missing
from vaultseek.engines.shard_file import ShardFile
from vaultseek.engines.sync import EngineSync, EngineThread
from vaultseek.engines.vectors import EngineVectors, version_name
from vaultseek.engines.writer import ShardWriter
from vaultseek.errors import Unavailable, VaultseekError
from vaultseek.semantic.worker import SemanticWorker
from vaultseek.settings.engine import EngineOptions
from vaultseek.store.ledger import Ledger

SYNC_POLL_SECONDS = 0.02
"""Interval at which ``wait_until_synced`` checks."""

log = logging.getLogger(__name__)


class OpenEngine(Engine):
    """An engine that keeps notes and vectors of a vault; ``folder`` has what is kept beside it."""

    keyword: EngineSync
    is_remote = True

    def __init__(
        self,
        options: EngineOptions,
        name: str,
        folder: Path,
        ledger: Ledger,
        language: str | None,
        *,
        is_replica: bool = False,
    ) -> None:
        """``is_replica``: another daemon writes to the engine, and the ledger is the one there."""
        shard = options.shard or ShardFile(folder).give_name(name)
        self.backend = backend_of(replace(options, shard=shard))
        self.keyword = EngineSync(self.backend, language)
        self._prober: EngineThread | None = None
        self._ledger = ledger
        if not is_replica:
            try:
                self.keyword.begin(ShardWriter(self.backend, folder, name, self.keyword.mark_unverified))
            except BaseException:
                self.backend.close()
                raise

    def start_background_writer(self) -> None:
        """Write notes in a thread of their own from now on; see ``EngineSync``."""
        self.keyword.start_background_writer(self.backend.options.shard, self._ledger)

    @property
    def outage(self) -> Unavailable | None:
        """The reason why the engine did not answer when it was asked last; None if it did. Asks nothing."""
        return self.backend.server.outage

    def probe(self) -> None:
        """Send the engine a small request from a thread of its own, so that ``outage`` is current.

        Returns at once; nothing is sent while the last request is unanswered.
        """
        if self._prober is None:
            self._prober = EngineThread(f"look {self.backend.options.shard}", self._probe)
        if self._prober.is_idle:
            self._prober.wake()

    def _probe(self) -> None:
        try:
            self.backend.position()
        except (VaultseekError, OSError):
            pass  # the connection keeps what is wrong
        except Exception as error:
            log.warning("probing the engine failed", exc_info=error)

    @property
    def is_synced(self) -> bool:
        """True if the notes of the ledger are in the engine, or it is known why not."""
        return self.keyword.is_synced

    async def wait_until_synced(self, seconds: float) -> None:
        """Return when it is, or later than that. Raises what kept notes here, such as a full disk."""
        end = time.monotonic() + seconds
        while not self.is_synced and time.monotonic() < end:
            await asyncio.sleep(SYNC_POLL_SECONDS)
        self.keyword.raise_pending_error()

    def vector_store(self, worker: SemanticWorker) -> EngineVectors:
        """Return what keeps the vectors that a worker computes."""
        return EngineVectors(worker, self.backend, self._ledger, writer=self.keyword.writer)

    def replica(self, space: str) -> ShardSource | None:
        """Return what keeps the ledger up to the engine, None if this daemon writes to it."""
        if isinstance(self._ledger, ShardLedger):
            return LiveShard(
                self.backend, self._ledger, version_name(space, "passages"), self.keyword.set_language
            )
        return None

    def publish(self, beat: Heartbeat) -> None:
        """Write the heartbeat of the shard. Raises Unavailable, also if another indexer has the shard."""
        if self.keyword.writer is not None:
            self.keyword.writer.publish(beat)

    def close(self) -> None:
        """Release the shard and close the connections; an engine that does not answer is not waited for."""
        self.keyword.close()
        if self._prober is not None:
            self._prober.close(0.0)
        if self.keyword.writer is not None:
            self.keyword.writer.close()
        self.backend.close()


def open_ledger(options: EngineOptions) -> ShardLedger:
    """Return the ledger of a shard. Raises Unavailable if there is none."""
    backend = PostgresBackend(options)
    if backend.position() is None:
        backend.close()
        raise Unavailable(missing(options), "vault_missing")
    return ShardLedger(PostgresDatabase(backend.server))


def backend_of(options: EngineOptions) -> PostgresBackend:
    """Return the engine of the settings, which connects when it is asked first.

    Raises ConfigError, one line, for settings that cannot work.
    """
    require_extra(options.kind, options.title)
    options.check()
    options.token()
    return PostgresBackend(options)
