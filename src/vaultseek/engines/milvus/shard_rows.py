"""The rows of one shard in the collections of Milvus, the copies of its notes, and what is said of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vaultseek.engines.milvus import schema
from vaultseek.engines.milvus.client import MilvusClient
from vaultseek.engines.port import Kind

NOTES_IN_FILTER = 4000
"""Ids in one expression."""
STATES = "state"
KINDS: tuple[Kind, Kind] = ("passages", "notes")


class ShardRows:
    """The rows of the shard with a number. Every method that asks raises ``Unavailable``."""

    def __init__(self, client: MilvusClient, shard: int) -> None:
        self.client = client
        self.shard = shard

    def key(self, number: int) -> int:
        """Return the key of a note's or passage's row."""
        return self.shard << schema.ID_BITS | number

    def within(self, condition: str) -> str:
        """Return a condition that holds for rows of this shard alone."""
        own = f"shard == {self.shard}"
        return f"{own} and ({condition})" if condition else own

    def select(
        self, name: str, condition: str, fields: Sequence[str], *, in_search: bool = False
    ) -> Iterator[Any]:
        """Yield the shard's rows of a collection that satisfy a condition."""
        return self.client.rows(name, self.within(condition), fields, in_search=in_search)

    def of_notes(
        self, name: str, notes: Sequence[int], fields: Sequence[str], *, in_search: bool = False
    ) -> Iterator[Any]:
        """Yield the rows of these notes."""
        for part in parts(notes, NOTES_IN_FILTER):
            yield from self.select(name, f"note in {part}", fields, in_search=in_search)

    def count(self, name: str) -> int:
        """Return the number of the shard's rows in a collection, 0 if there is no such collection."""
        return self.client.count(name, self.within("")) if self.client.has(name) else 0

    def vectors(self, space: str, kind: Kind) -> str:
        """Return the name of the collection of the vectors of a space and kind."""
        return f"{space}_{kind}"

    def spaces(self) -> list[str]:
        """Return the spaces that there are vectors of."""
        names = [name.rpartition("_") for name in self.client.names()]
        return sorted({space for space, _, kind in names if space and kind in KINDS})

    def vector_collections(self) -> list[str]:
        """Return the names of all collections of vectors."""
        names = [self.vectors(space, kind) for space in self.spaces() for kind in KINDS]
        return [name for name in names if self.client.has(name)]


def parts(values: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yield the values in lists of at most ``size``."""
    for start in range(0, len(values), size):
        yield list(values[start : start + size])


class StateTable:
    """The rows of one shard, given by its number. Every method raises ``Unavailable``."""

    def __init__(self, client: MilvusClient, shard: int) -> None:
        self._client = client
        self._own = f"shard == {shard}"

    def of(self, names: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return ``position`` and ``facts`` under those of these names that there are."""
        rows = self._client.get(STATES, list(names), ["name", "position", "facts"])
        return {row["name"]: dict(row) for row in rows}

    def names(self) -> list[str]:
        """Return all names, also those of another shard with this number."""
        return [row["name"] for row in self._client.rows(STATES, self._own, ["name"])]

    def forget(self) -> None:
        """Delete everything under all of these names."""
        self._client.delete_where(STATES, self._own)
