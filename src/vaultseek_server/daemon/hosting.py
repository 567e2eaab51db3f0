"""Vaults of a daemon that writes indexes to an engine, or searches indexes that other daemons wrote there."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Literal

from vaultseek.base.limits import RETRY_SECONDS
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.storage import LOCAL, Storage
from vaultseek.daemon.activity import ActivityReporter
from vaultseek.daemon.hosting import Hosting
from vaultseek.daemon.known_vaults import KnownVaults
from vaultseek.daemon.scans import Scans
from vaultseek.daemon.sources import Source
from vaultseek.daemon.tasks import Work
from vaultseek.errors import ConfigError, UsageError, VaultseekError
from vaultseek.settings.model import Settings
from vaultseek_server.daemon.shards import KnownShards, forget_shard, shard_options, with_shards
from vaultseek_server.engines.storage import IndexedStorage, SearchedStorage
from vaultseek_server.settings import EngineOptions, engine_of

Role = Literal["index", "search", "all"]
"""The role of a daemon: ``index`` writes vaults to an engine, ``search`` searches vaults that other daemons
have written there, and ``all`` does both for its own vaults."""
SHARD_SECONDS = 30.0
"""Number of seconds between listings of the shards."""


def hosting(settings: Settings, role: Role = "all") -> Hosting:
    """Return the ``Hosting`` for a role. Raises ConfigError if a searcher has no engine."""
    if role != "search":
        return Indexer(role)
    if engine_of(settings) is None:
        raise ConfigError(
            f'a searcher needs index.backend = "{EngineOptions.kind}" and the same index.uri as its indexers'
        )
    return Searcher()


class Indexer(Hosting):
    """Hosting of vaults in folders on this machine; their indexes are in an engine if the settings name
    one."""

    def __init__(self, role: Role = "all") -> None:
        self.role = role

    def storage(self, settings: Settings, root: Path) -> Storage:
        """Return where the index of the vault at ``root`` is stored."""
        engine = engine_of(settings)
        return LOCAL if engine is None else IndexedStorage(engine)

    def tasks(self, vault: OpenVault) -> Iterator[tuple[Work, str]]:
        """Yield the tasks that keep an engine in sync and report its state to searchers."""
        if isinstance(vault.options.storage, IndexedStorage):
            from vaultseek_server.daemon.heartbeat import HeartbeatWriter
            from vaultseek_server.engines.engine import IndexedShard

            assert isinstance(vault.engine, IndexedShard)
            yield partial(_sync, vault), "engine"
            yield HeartbeatWriter(vault, vault.engine).run, "heartbeat"

    def check_deletable(self, settings: Settings, directory: Path) -> None:
        """Raise Unavailable if the engine does not answer."""
        if (engine := engine_of(settings)) is not None:
            from vaultseek_server.engines.administration import check_reachable

            check_reachable(engine, directory)

    def delete(self, settings: Settings, directory: Path) -> None:
        """Delete the shard that belongs to an index folder. The folder contains the shard's name."""
        if (engine := engine_of(settings)) is not None:
            from vaultseek_server.engines.administration import drop_shard

            drop_shard(engine, directory)


async def _sync(vault: OpenVault) -> None:
    """Keep retrying to sync an engine that did not answer, until it contains everything that is in the
    ledger."""
    while True:
        await asyncio.sleep(RETRY_SECONDS)
        await vault.in_writer(vault.indexer.sync_again)


class Searcher(Hosting):
    """Hosting of an engine's shards; other daemons write them."""

    role: Role = "search"
    has_folders = False

    def listed(self, settings: Settings) -> Settings:
        """Return the settings with the engine's shards as vaults, including shards that have disappeared from
        the engine."""
        settings, self.problem = with_shards(settings)
        return settings

    async def follow(self, list_again: Callable[[], Awaitable[None]]) -> None:
        """List the shards again at intervals. Never returns."""
        while True:
            await asyncio.sleep(SHARD_SECONDS)
            with suppress(VaultseekError):
                await list_again()

    def known(
        self, settings: Settings, opened: Sequence[VaultOptions], paused: frozenset[Path]
    ) -> KnownVaults:
        """Return the shards that requests can name. The returned object also chooses the shard for a
        request."""
        return KnownShards(settings, opened, paused, self.storage)

    def storage(self, settings: Settings, root: Path) -> Storage:
        """Return where the shard of the vault at ``root`` is stored."""
        engine = engine_of(settings)
        return LOCAL if engine is None else SearchedStorage(shard_options(engine, root))

    def source(self, vault: OpenVault, scans: Scans, reporter: ActivityReporter) -> Source | None:
        """Return the source that follows the shard of an open vault."""
        from vaultseek_server.daemon.source import ShardSource
        from vaultseek_server.engines.engine import SearchedShard

        shard = vault.engine
        return ShardSource(vault, shard, scans, reporter) if isinstance(shard, SearchedShard) else None

    def check_change(self) -> None:
        """Raise UsageError, because a searcher has no folders whose vaults could change."""
        raise UsageError(
            "this daemon only searches and has no folders; run the command where the vault is indexed"
        )

    def forget(self, settings: Settings, root: Path, vault: OpenVault | None, *, drop: bool) -> bool:
        """Forget a shard; with ``drop``, also delete it.

        Raises Unavailable, or UsageError if an indexer maintains the shard.
        """
        engine = engine_of(settings)
        if engine is None:
            return False
        from vaultseek_server.engines.engine import SearchedShard

        shard = None if vault is None else vault.engine
        is_abandoned = not isinstance(shard, SearchedShard) or shard.is_abandoned()
        forget_shard(engine, root, drop=drop, is_abandoned=is_abandoned)
        return True
