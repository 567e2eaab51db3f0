"""Administration of an engine from outside an open vault: checks, lists, deletion of shards and old formats.

Collections of older formats of vaultseek stay in Milvus after an update until they are dropped.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import disk_usage

from vaultseek.base.extras import require_extra
from vaultseek.base.limits import MIB
from vaultseek.engines.engine import backend_of
from vaultseek.engines.heartbeat import STOPPED, Heartbeat
from vaultseek.engines.milvus import schema
from vaultseek.engines.milvus.client import MilvusClient
from vaultseek.engines.milvus.connection import LEAST_FREE, check_installed, existing_folder
from vaultseek.engines.port import ENGINE_FOLDER
from vaultseek.engines.writer import own_runs, writer_name
from vaultseek.errors import ConfigError, Unavailable
from vaultseek.settings.engine import POSTGRES, EngineOptions

BUSY_SECONDS = 3600.0
"""Silence of the indexers of a format after which it may be dropped: not all machines are updated at once."""
_OURS = re.compile(r"notes|passages|copies|state|[0-9a-f]{12}_(passages|notes)")
"""Names of our collections. Another program's prefix may begin with ours and a number."""
_FIELDS = {"name", "shard", "position", "facts"}
"""Fields of the collection that lists the shards of a format."""


@dataclass(frozen=True, slots=True)
class OldFormat:
    """A format with its collections, by short names, and the shards that were written in it.

    ``busy`` is the machine of an indexer that still writes in it; "" if there was no recent heartbeat.
    """

    version: int
    collections: tuple[str, ...]
    shards: tuple[str, ...]
    notes: int
    busy: str = ""


def old_formats(options: EngineOptions) -> list[OldFormat]:
    """Return the formats before this one that an engine has. Raises Unavailable."""
    with closing(MilvusClient(options, read_only=True)) as client:
        versions = [version for version in client.other_versions() if version < schema.VERSION]
        formats = [_format_of(options, version) for version in versions]
    return [each for each in formats if each is not None]


def drop_format(options: EngineOptions, old: OldFormat) -> None:
    """Delete the collections of a format, that of the shards last. Raises Unavailable if it is in use."""
    if old.busy:
        raise Unavailable(
            f"an indexer on {old.busy} still writes in format {old.version}; update vaultseek there first"
        )
    with closing(MilvusClient(options, read_only=True, version=old.version)) as client:
        for name in sorted(old.collections, key=lambda name: name == "state"):
            client.drop(name)


def check_reachable(options: EngineOptions, index: Path) -> None:
    """Raise Unavailable if the engine that has the notes of the index in a folder does not answer."""
    if shard := shard_of(index):
        try:
            with closing(backend_of(replace(options, shard=shard))) as backend:
                backend.position()
        except Unavailable as error:
            raise Unavailable(
                f"nothing was removed, as the engine has the notes: {error}", error.cause
            ) from error


def drop_shard(options: EngineOptions, index: Path) -> None:
    """Delete from the engine what the index in a folder has there, unless another indexer has taken it over.

    Raises Unavailable.
    """
    shard = shard_of(index)
    if not shard:
        return
    folder = index / ENGINE_FOLDER
    with closing(backend_of(replace(options, shard=shard))) as backend:
        owner = backend.state(writer_name(shard)).get("position")
        if not owner or owner in own_runs(folder):
            backend.delete()


def shard_of(index: Path) -> str:
    """Return the name of the shard that the index in a folder is in an engine; "" if it is in none."""
    try:
        return (index / ENGINE_FOLDER / "shard").read_text().strip()
    except OSError:
        return ""


def names_of_shards(options: EngineOptions) -> dict[str, str]:
    """Return the names of the vaults by the shards of an engine, "" where an indexer has given none.

    Raises Unavailable.
    """
    with closing(backend_of(replace(options, shard="-"))) as backend:
        return backend.shards()


def delete_shard(options: EngineOptions, shard: str, check: Callable[[bool], None], *, drop: bool) -> None:
    """Delete a shard, if ``drop``, after ``check`` was told whether it is there. Raises what that does."""
    with closing(backend_of(replace(options, shard=shard))) as backend:
        check(backend.position() is not None)
        if drop:
            backend.delete()


def check_usable(options: EngineOptions) -> None:
    """Raise ConfigError for settings that cannot work; asks no server."""
    require_extra(options.kind, options.title)
    options.check()
    options.token()


def probe_engine(options: EngineOptions, vaults: Mapping[str, Path], *, tries: bool = False) -> str:
    """Return the version of an engine that can be used; nothing is created or changed.

    With ``tries`` a collection is written, searched and deleted again there.

    Raises ConfigError or Unavailable, one line each: an address where nobody answers, a server that is too
    old or refuses the token, collections of others, a file that cannot be written or is in a vault.
    """
    check_usable(options)
    if options.is_lite:
        probe_file(options, vaults)
        if not options.file.exists():
            return "Milvus Lite"
    if tries or options.kind == POSTGRES:
        with closing(backend_of(options)) as backend:
            return backend.check()
    with closing(MilvusClient(options, read_only=True)) as client:
        return client.version


def probe_file(options: EngineOptions, vaults: Mapping[str, Path]) -> None:
    """Raise ConfigError or Unavailable if a file of Milvus Lite cannot be where it is to be."""
    check_installed()
    options.check()
    options.refuse_vaults(vaults)
    file = Path(os.path.realpath(options.file))
    folder = existing_folder(file.parent)
    place = file if file.exists() else folder
    if not os.access(place, os.W_OK):
        raise ConfigError(f"index.uri: {place} cannot be written; choose another place or `chmod u+w` it")
    free = disk_usage(folder).free
    if free < LEAST_FREE:
        raise Unavailable(
            f"the disk of {folder} is full: {free // MIB} MiB are free, it needs {LEAST_FREE // MIB}"
        )


def _format_of(options: EngineOptions, version: int) -> OldFormat | None:
    with closing(MilvusClient(options, read_only=True, version=version)) as client:
        names = [name for name in client.names() if _OURS.fullmatch(name)]
        if "state" not in names or not client.fields("state") >= _FIELDS:
            return None  # it is of another program
        client.has("state")
        rows = list(client.rows("state", "", ["name", "position", "facts"]))
        notes = client.count("notes", "") if client.has("notes") else 0
    shards = sorted(row["name"] for row in rows if row["position"] and "/" not in row["name"])
    beats = [Heartbeat.of_text(row["facts"]) for row in rows if row["name"].endswith("/heartbeat")]
    return OldFormat(version, tuple(sorted(names)), tuple(shards), notes, _busy(beats))


def _busy(beats: Sequence[Heartbeat | None]) -> str:
    now = time.time()
    hosts = (
        beat.host
        for beat in beats
        if beat is not None and beat.state != STOPPED and now - beat.at < BUSY_SECONDS
    )
    return next(hosts, "")
