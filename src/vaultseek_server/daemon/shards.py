"""The vaults of a searcher, which are shards that indexers on other machines maintain in an engine."""

import json
import logging
import re
import threading
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from pydantic import ValidationError

from vaultseek.base import paths
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.daemon.known_vaults import KnownVaults
from vaultseek.errors import Unavailable, UsageError, VaultseekError, advise
from vaultseek.settings.model import Settings, VaultSettings
from vaultseek_server.settings import EngineOptions, engine_of

_changing = threading.Lock()
_SHARD = re.compile(r"[\w-][\w.-]{0,199}")
"""Pattern of the shard names that are valid folder names."""
_OWN_NAME = re.compile(r"(.+)-[0-9a-f]{12}")

log = logging.getLogger(__name__)


class KnownShards(KnownVaults):
    """The shards in an engine, and the choice of a shard for each request."""

    def around(self, folder: str | None) -> VaultOptions:
        """Return the only shard; a searcher has no folders from which to choose one. Raises UsageError unless
        there is exactly one shard."""
        return super().around(None)

    def new_at(self, root: Path) -> VaultOptions:
        """Raise UsageError."""
        problem = f"this searcher has no folders, so it has no vault {root};"
        raise self.unresolved(UsageError, problem)

    def unresolved(self, kind: type[VaultseekError], problem: str) -> VaultseekError:
        """Return the error for a request that names no known shard; the message lists the known shards."""
        if names := self.names().values():
            message = f"{problem} choose one (known: {', '.join(names)})"
            return kind(message, advice=advise("choose", *names))
        return kind(f"{problem} no indexer has written to the engine yet; start one")


def with_shards(settings: Settings) -> tuple[Settings, Unavailable | None]:
    """Return two values: the settings with the engine's shards as vaults, and a problem or None.

    Shards that have disappeared from the engine are included. If the engine does not answer, the problem says
    so, and the list may be incomplete.
    """
    engine = engine_of(settings)
    known, problem = ({}, None) if engine is None else _all_shards(engine)
    shared = Counter(name.casefold() for name in known.values())
    vaults = [_vault(name if shared[name.casefold()] == 1 else shard, shard) for shard, name in known.items()]
    return settings.model_copy(update={"vaults": tuple(vaults)}), problem


def shard_options(engine: EngineOptions, root: Path) -> EngineOptions:
    """Return the options for the shard of the vault at ``root``. The name of that folder is the shard's
    name."""
    return replace(engine, shard=root.name)


def forget_shard(engine: EngineOptions, root: Path, *, drop: bool, is_abandoned: bool) -> None:
    """Forget a shard that is no longer in the engine; with ``drop``, delete a shard that its indexer has
    abandoned.

    Raises UsageError or Unavailable.
    """
    from vaultseek_server.engines.administration import delete_shard

    def check(is_there: bool) -> None:
        if is_there and not (drop and is_abandoned):
            if drop:
                raise UsageError(
                    f"an indexer still has {name}; remove the vault there, or stop the indexer first"
                )
            raise UsageError(
                f"the engine still has {name}; remove the vault where its indexer runs or, "
                "if that machine is gone, also delete the vault's text from the engine (delete_index)"
            )

    with _changing:
        known = _remembered_shards(engine)
        name = known.get(root.name, root.name)
        delete_shard(engine, root.name, check, drop=drop)
        if known.pop(root.name, None) is not None:
            _remember(engine, known)


def _all_shards(engine: EngineOptions) -> tuple[dict[str, str], Unavailable | None]:
    """Return the vault names by shard, including shards that were in the engine before and are now
    missing."""
    with _changing:
        before = _remembered_shards(engine)
        try:
            known = dict(sorted({**before, **_current_shards(engine, before)}.items()))
        except Unavailable as error:
            log.warning("the engine's shards cannot be listed: %s", error)
            return before, error
        if known != before:
            _remember(engine, known)
        return known, None


def _current_shards(engine: EngineOptions, before: Mapping[str, str]) -> dict[str, str]:
    from vaultseek_server.engines.administration import names_of_shards

    names = names_of_shards(engine)
    return {
        shard: name or before.get(shard) or _name_without_digest(shard)
        for shard, name in names.items()
        if _SHARD.fullmatch(shard)
    }


def _remembered_shards(engine: EngineOptions) -> dict[str, str]:
    try:
        known = paths.read_json(_folder() / "known.json").get(engine.place, {})
        return {shard: str(name) for shard, name in known.items() if _SHARD.fullmatch(shard)}
    except (OSError, ValueError, AttributeError, TypeError):
        return {}


def _remember(engine: EngineOptions, known: Mapping[str, str]) -> None:
    paths.private_directory(_folder())
    paths.write_atomically(_folder() / "known.json", json.dumps({engine.place: dict(known)}))


def _folder() -> Path:
    return paths.data_directory() / "shards"


def _vault(name: str, shard: str) -> VaultSettings:
    """Return the settings for a shard as a vault; the shard's name in the engine might not be valid for a
    vault."""
    for each in (name, shard):
        with suppress(ValidationError):
            return VaultSettings(name=each, path=_folder() / shard)
    return VaultSettings(name=f"vault {shard}", path=_folder() / shard)


def _name_without_digest(shard: str) -> str:
    match = _OWN_NAME.fullmatch(shard)
    return match[1] if match else shard
