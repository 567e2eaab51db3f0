"""The tables beside notes and vectors: copies of notes, for searchers, and the states of shards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vaultseek.engines.milvus.client import MilvusClient
from vaultseek.engines.milvus.schema import VERSION

COPIES, STATES = "copies", "state"
NOTES_IN_FILTER = 4000
"""Ids in one expression."""


class CopyTable:
    """The copies of one shard, given by its number. Every method raises ``Unavailable``."""

    def __init__(self, client: MilvusClient, shard: int) -> None:
        self._client = client
        self._shard = shard

    def other_version(self) -> str:
        """Return, in words, that the engine has shards of another version of vaultseek; "" if it has not."""
        versions = self._client.other_versions()
        if not versions:
            return ""
        names = ", ".join(map(str, versions))
        return (
            f"the engine has shards in format {names}, and this vaultseek reads {VERSION}: "
            "run the same version on all machines"
        )

    def notes(self) -> list[int]:
        """Return the ids of all notes."""
        return [row["note"] for row in self._rows("part == 0", ["note"])]

    def count(self) -> int:
        """Return the number of notes."""
        return self._client.count(COPIES, self._condition("part == 0"))

    def changed_since(self, revision: int) -> list[int]:
        """Return the ids of the notes written after a revision of the indexer's ledger, oldest first."""
        rows = self._rows(f"part == 0 and revision > {revision}", ["note", "revision"])
        return [note for _, note in sorted((row["revision"], row["note"]) for row in rows)]

    def texts(self, notes: Sequence[int]) -> list[str]:
        """Return the copies of these notes that are whole: another may be written at the moment."""
        parts: dict[int, list[Any]] = {note: [] for note in notes}
        fields = ["note", "part", "parts", "revision", "text"]
        for start in range(0, len(notes), NOTES_IN_FILTER):
            for row in self._rows(f"note in {list(notes[start : start + NOTES_IN_FILTER])}", fields):
                parts[row["note"]].append(row)
        wholes = []
        for rows in parts.values():
            rows.sort(key=lambda row: row["part"])
            if rows and len(rows) == rows[0]["parts"] and len({row["revision"] for row in rows}) == 1:
                wholes.append("".join(row["text"] for row in rows))
        return wholes

    def _rows(self, condition: str, fields: Sequence[str]) -> Iterator[Any]:
        return self._client.rows(COPIES, self._condition(condition), fields)

    def _condition(self, condition: str) -> str:
        return f"shard == {self._shard} and {condition}"


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
