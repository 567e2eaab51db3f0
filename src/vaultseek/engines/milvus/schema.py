"""The collections of Milvus: their fields, and notes and vectors as rows of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vaultseek.base.model import JSON
from vaultseek.engines.port import NoteEntry

VERSION = 4
"""Part of the names of the collections: another version fills others, and an older one keeps its own."""
ID_BITS = 40
"""Low bits of a key that hold the id of a note or the number of a passage; above them is the shard."""
ID_MASK = (1 << ID_BITS) - 1
ANCHOR = 1 << 31
"""Number of the term that every note has, with next to no weight: a vector without any is not allowed."""
ANCHOR_WEIGHT = 1e-9

Field = tuple[str, str, Mapping[str, Any]]
"""Name, name of the type, and its parameters."""

_KEYS: tuple[Field, ...] = (
    ("id", "INT64", {"is_primary": True}),
    ("shard", "INT64", {}),
    ("note", "INT64", {}),
)
NOTES: tuple[Field, ...] = (*_KEYS, ("passages", "INT64", {}), ("terms", "SPARSE_FLOAT_VECTOR", {}))
STATE: tuple[Field, ...] = (
    ("name", "VARCHAR", {"is_primary": True, "max_length": 1000}),
    ("shard", "INT64", {}),
    ("position", "VARCHAR", {"max_length": 1000}),
    ("facts", "VARCHAR", {"max_length": 65_535}),
    ("anchor", "SPARSE_FLOAT_VECTOR", {}),
)


def vector_fields(dimension: int) -> tuple[Field, ...]:
    """Return the fields of a collection of vectors."""
    return (*_KEYS, ("vector", "FLOAT_VECTOR", {"dim": dimension}))


def note_values(shard: int, entry: NoteEntry) -> JSON:
    """Return the row of a note."""
    return {
        **_key_values(shard, entry.note, entry.note),
        "passages": entry.passages,
        "terms": {ANCHOR: ANCHOR_WEIGHT, **entry.terms},
    }


def vector_values(shard: int, number: int, note: int, vector: Any) -> JSON:
    """Return the row of a vector."""
    return {**_key_values(shard, number, note), "vector": vector}


def _key_values(shard: int, number: int, note: int) -> JSON:
    return {"id": shard << ID_BITS | number, "shard": shard, "note": note}


def missing_fields(described: Sequence[Mapping[str, Any]], fields: Sequence[Field]) -> list[str]:
    """Return the names of the fields that a collection should have and has not."""
    names = {each["name"] for each in described}
    return [name for name, _, _ in fields if name not in names]
