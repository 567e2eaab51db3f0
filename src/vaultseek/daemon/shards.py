"""The vaults of a searcher: the shards that indexers elsewhere keep in an engine."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Literal

from vaultseek import paths
from vaultseek.errors import ConfigError, Unavailable, UsageError
from vaultseek.settings.engine import MilvusOptions
from vaultseek.settings.model import Settings, VaultSettings

Role = Literal["index", "search", "all"]
"""The work of a daemon: keep indexes, answer from what others keep in an engine, or both for its vaults."""
SHARD_SECONDS = 30.0
"""Time between two looks for shards."""
_changing = threading.Lock()
_OWN_NAME = re.compile(r"(.+)-[0-9a-f]{12}")

log = logging.getLogger(__name__)


def check_role(role: Role, settings: Settings) -> None:
    """Raise ConfigError if a searcher has no engine that indexers can use as well."""
    engine = settings.index.engine
    if role != "search":
        return
    if engine is None:
        raise ConfigError('a searcher needs index.backend = "milvus", and the address that the indexers have')
    if engine.is_lite:
        raise ConfigError(f"{engine.place} is a file, which one daemon can open; a searcher needs a server")


def with_shards(settings: Settings) -> Settings:
    """Return the settings with the shards of the engine for vaults, also those known from before."""
    engine = settings.index.engine
    known = [] if engine is None else _known(engine)
    shared = Counter(_plain(shard).casefold() for shard in known)
    names = {shard: _plain(shard) if shared[_plain(shard).casefold()] == 1 else shard for shard in known}
    vaults = tuple(VaultSettings(name=names[shard], path=_folder() / shard) for shard in known)
    return settings.model_copy(update={"vaults": vaults})


def engine_of(engine: MilvusOptions | None, root: Path) -> MilvusOptions | None:
    """Return the way to the shard that stands for the vault at ``root``; it is the folder's name."""
    return None if engine is None else replace(engine, shard=root.name)


def forget_shard(engine: MilvusOptions, root: Path, *, drop: bool, is_left: bool) -> None:
    """Forget a shard that the engine has no longer; with ``drop`` delete one there that its indexer has left.

    Raises UsageError, or Unavailable.
    """
    from vaultseek.index.backend.milvus import MilvusBackend

    name = _plain(root.name)
    with _changing, closing(MilvusBackend(replace(engine, shard=root.name))) as backend:
        if backend.position() is not None and not (drop and is_left):
            if drop:
                raise UsageError(
                    f"an indexer keeps {name}; run `vaultseek vault remove` there, or stop it first"
                )
            raise UsageError(
                f"the engine has {name}; remove it where its indexer runs, or, if that is gone for good, "
                "delete its text from the engine by --delete-index"
            )
        if drop:
            backend.drop()
            backend.states.forget()
        known = _before(engine)
        if root.name in known:
            known.remove(root.name)
            _remember(engine, known)


def _known(engine: MilvusOptions) -> list[str]:
    """Return the shards of the engine, and those that it had before: a search says that they are missing."""
    with _changing:
        return _known_now(engine)


def _before(engine: MilvusOptions) -> list[str]:
    try:
        return [str(shard) for shard in paths.read_json(_folder() / "known.json").get(engine.place, ())]
    except (OSError, ValueError, AttributeError, TypeError):
        return []


def _remember(engine: MilvusOptions, known: list[str]) -> None:
    paths.private_directory(_folder())
    paths.write_atomically(_folder() / "known.json", json.dumps({engine.place: known}))


def _known_now(engine: MilvusOptions) -> list[str]:
    before = _before(engine)
    try:
        from vaultseek.index.backend.milvus import MilvusBackend

        with closing(MilvusBackend(replace(engine, shard="-"))) as backend:
            now = backend.shards()
            if not now and (other := backend.copies.other_version()):
                log.warning("%s", other)
    except Unavailable as error:
        log.warning("the shards of the engine cannot be listed: %s", error)
        return before
    known = sorted({*before, *now})
    if known != before:
        _remember(engine, known)
    return known


def _folder() -> Path:
    return paths.data_directory() / "shards"


def _plain(shard: str) -> str:
    """Return the name of the vault in the name of a shard."""
    match = _OWN_NAME.fullmatch(shard)
    return match[1] if match else shard
