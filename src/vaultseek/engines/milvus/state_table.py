"""Rows about a shard, under names: its position, its writer, and the word of its indexer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vaultseek.engines.milvus.client import MilvusClient

NAME = "state"


class StateTable:
    """The rows of one shard, given by its number. Every method raises ``Unavailable``."""

    def __init__(self, client: MilvusClient, shard: int) -> None:
        self._client = client
        self._own = f"shard == {shard}"

    def of(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return ``position`` and ``facts`` under those of these names that there are."""
        rows = self._client.get(NAME, list(names), ["name", "position", "facts"])
        return {row["name"]: dict(row) for row in rows}

    def names(self) -> list[str]:
        """Return all names, also those of another shard with this number."""
        return [row["name"] for row in self._client.rows(NAME, self._own, ["name"])]

    def forget(self) -> None:
        """Delete everything under all of these names."""
        self._client.delete_where(NAME, self._own)
