"""Collections of older formats of vaultseek, which stay in Milvus after an update until they are dropped."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass

from vaultseek.core.indexing.heartbeat import STOPPED, Heartbeat
from vaultseek.engines.milvus import schema
from vaultseek.engines.milvus.milvus_client import MilvusClient
from vaultseek.errors import Unavailable
from vaultseek.settings.engine import MilvusOptions

BUSY_SECONDS = 3600.0
"""Silence of the indexers of a format after which it may be dropped: not all machines are updated at once."""
_OURS = re.compile(r"notes|passages|copies|state|[0-9a-f]{12}_(passages|notes)")
"""Names of collections, which keep those of another prefix that goes on with a number apart."""
_FIELDS = {"name", "shard", "position", "facts"}
"""Fields of the collection that tells the shards of a format."""


@dataclass(frozen=True, slots=True)
class OldFormat:
    """A format with its collections, by short names, and the shards that were written in it.

    ``busy`` is the machine of an indexer that still writes in it; "" if none was heard of lately.
    """

    version: int
    collections: tuple[str, ...]
    shards: tuple[str, ...]
    notes: int
    busy: str = ""


def old_formats(options: MilvusOptions) -> list[OldFormat]:
    """Return the formats before this one that an engine has. Raises Unavailable."""
    with closing(MilvusClient(options, only_looks=True)) as client:
        versions = [version for version in client.other_versions() if version < schema.VERSION]
        formats = [_look(options, version) for version in versions]
    return [each for each in formats if each is not None]


def drop_format(options: MilvusOptions, old: OldFormat) -> None:
    """Delete the collections of a format, that of the shards last. Raises Unavailable if it is in use."""
    if old.busy:
        raise Unavailable(
            f"an indexer on {old.busy} still writes in format {old.version}; update vaultseek there first"
        )
    with closing(MilvusClient(options, only_looks=True, version=old.version)) as client:
        for name in sorted(old.collections, key=lambda name: name == "state"):
            client.drop(name)


def _look(options: MilvusOptions, version: int) -> OldFormat | None:
    with closing(MilvusClient(options, only_looks=True, version=version)) as client:
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
