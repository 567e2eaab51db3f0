"""The vaults of a searcher: shards that indexers elsewhere maintain in an engine."""

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
"""Shard names that are valid folder names."""
_OWN_NAME = re.compile(r"(.+)-[0-9a-f]{12}")

log = logging.getLogger(__name__)


class KnownShards(KnownVaults):
    """The shards of an engine, and the choice of the shard for a request."""

    def around(self, folder: str | None) -> VaultOptions:
        """Return the only shard, because a searcher has no folders. Raises UsageError."""
        return super().around(None)

    def new_at(self, root: Path) -> VaultOptions:
        """Raise UsageError."""
        problem = f"this searcher has no folders, so it has no vault {root};"
        raise self.unresolved(UsageError, problem)

    def unresolved(self, kind: type[VaultseekError], problem: str) -> VaultseekError:
        """Return an error for a request without a known shard, listing the shards that it can name."""
        if names := self.names().values():
            message = f"{problem} choose one (known: {', '.join(names)})"
            return kind(message, advice=advise("choose", *names))
        return kind(f"{problem} no indexer has written to the engine yet; start one")


def with_shards(settings: Settings) -> tuple[Settings, Unavailable | None]:
    """Return the settings with the engine's shards as vaults, including former ones.

    The second result is the reason why the list may be incomplete, if the engine does not answer, or None.
    """
    engine = engine_of(settings)
    known, problem = ({}, None) if engine is None else _all_shards(engine)
    shared = Counter(name.casefold() for name in known.values())
    vaults = [_vault(name if shared[name.casefold()] == 1 else shard, shard) for shard, name in known.items()]
    return settings.model_copy(update={"vaults": tuple(vaults)}), problem


def shard_options(engine: EngineOptions, root: Path) -> EngineOptions:
    """Return the options of the shard for the vault at ``root``. The folder has the shard's name."""
    return replace(engine, shard=root.name)


def forget_shard(engine: EngineOptions, root: Path, *, drop: bool, is_abandoned: bool) -> None:
    """Forget a shard that is no longer in the engine; with ``drop``, delete a shard that its indexer has
    abandoned.

    Raises UsageError, or Unavailable.
    """
    from vaultseek_server.engines.administration import delete_shard

    def check(is_there: bool) -> None:
        if is_there and not (drop and is_abandoned):
            if drop:
                raise UsageError(
                    f"an indexer still keeps {name}; remove the vault there, or stop the indexer first"
                )
            raise UsageError(
                f"the engine still has {name}; remove it where its indexer runs or, if that machine is gone, "
                "also delete its text from the engine (delete_index)"
            )

    with _changing:
        known = _remembered_shards(engine)
        name = known.get(root.name, root.name)
        delete_shard(engine, root.name, check, drop=drop)
        if known.pop(root.name, None) is not None:
            _remember(engine, known)


def _all_shards(engine: EngineOptions) -> tuple[dict[str, str], Unavailable | None]:
    """Return vault names by shard, including shards that the engine had before and that are now missing."""
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
    """Return the vault of a shard; its name in the engine may be invalid."""
    for each in (name, shard):
        with suppress(ValidationError):
            return VaultSettings(name=each, path=_folder() / shard)
    return VaultSettings(name=f"vault {shard}", path=_folder() / shard)


def _name_without_digest(shard: str) -> str:
    match = _OWN_NAME.fullmatch(shard)
    return match[1] if match else shard
