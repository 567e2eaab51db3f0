"""The collections of Milvus: their fields, and notes, passages and vectors as rows of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from vaultseek.base.model import JSON, Task
from vaultseek.engines.milvus.facts import ARRAY_TEXTS, PATH_BYTES, TEXT_BYTES, FilterFacts, facts_of
from vaultseek.engines.port import NoteEntry
from vaultseek.store.ledger import ChunkRow, NoteRow

VERSION = 2
"""Part of the names of the collections: another version fills others, and an older one keeps its own."""
ID_BITS = 40
"""Low bits of a key that hold the id of a note or the number of a passage; above them is the shard."""
ID_MASK = (1 << ID_BITS) - 1
ROW_BYTES = 60_000
"""Longest text of a passage and longest row of a note, a little less than Milvus takes."""
LINKS = 1000
ANCHOR = 1 << 31
"""Number of the term that every note has, with next to no weight: a vector without any is not allowed."""
ANCHOR_WEIGHT = 1e-9
FACTS = (
    "path", "extension", "kind", "modified", "created", "folders", "tags", "properties", "bounds", "cut",
)  # fmt: skip

Field = tuple[str, str, Mapping[str, Any]]
"""Name, name of the type, and its parameters."""

_TEXTS: Mapping[str, Any] = {"element_type": "VARCHAR", "max_capacity": ARRAY_TEXTS, "max_length": TEXT_BYTES}
_KEYS: tuple[Field, ...] = (
    ("id", "INT64", {"is_primary": True}),
    ("shard", "INT64", {}),
    ("note", "INT64", {}),
)
_FACTS: tuple[Field, ...] = (
    ("path", "VARCHAR", {"max_length": PATH_BYTES}),
    ("extension", "VARCHAR", {"max_length": TEXT_BYTES}),
    ("kind", "VARCHAR", {"max_length": 100}),
    ("modified", "DOUBLE", {}),
    ("created", "DOUBLE", {}),
    ("folders", "ARRAY", _TEXTS),
    ("tags", "ARRAY", _TEXTS),
    ("properties", "ARRAY", _TEXTS),
    ("bounds", "JSON", {}),
    ("cut", "BOOL", {}),
)
NOTES: tuple[Field, ...] = (
    *_KEYS,
    *_FACTS,
    ("links", "ARRAY", {**_TEXTS, "max_capacity": LINKS}),
    ("row", "VARCHAR", {"max_length": 65_535}),
    ("terms", "SPARSE_FLOAT_VECTOR", {}),
)
PASSAGES: tuple[Field, ...] = (
    *_KEYS,
    ("ordinal", "INT64", {}),
    ("text", "VARCHAR", {"max_length": 65_535}),
    ("row", "VARCHAR", {"max_length": 65_535}),
    ("anchor", "SPARSE_FLOAT_VECTOR", {}),
)
COPIES: tuple[Field, ...] = (
    *_KEYS,
    ("part", "INT64", {}),
    ("parts", "INT64", {}),
    ("revision", "INT64", {}),
    ("text", "VARCHAR", {"max_length": 65_535}),
    ("anchor", "SPARSE_FLOAT_VECTOR", {}),
)
PART_BITS = 12
"""Low bits of the number of a part of a copy; above them is the note's id."""
STATE: tuple[Field, ...] = (
    ("name", "VARCHAR", {"is_primary": True, "max_length": 1000}),
    ("shard", "INT64", {}),
    ("position", "VARCHAR", {"max_length": 1000}),
    ("facts", "VARCHAR", {"max_length": 65_535}),
    ("anchor", "SPARSE_FLOAT_VECTOR", {}),
)


def vector_fields(dimension: int) -> tuple[Field, ...]:
    """Return the fields of a collection of vectors."""
    return (*_KEYS, *_FACTS, ("vector", "FLOAT_VECTOR", {"dim": dimension}))


def fact_values(facts: FilterFacts) -> JSON:
    """Return the fields by which a row is filtered."""
    return {name: getattr(facts, name) for name in FACTS}


def note_values(shard: int, entry: NoteEntry) -> JSON:
    """Return the row of a note."""
    row = entry.row
    links = [link for link in entry.links if len(link.encode()) <= TEXT_BYTES]
    return {
        **_key_values(shard, row.id, row.id),
        **fact_values(facts_of(row)),
        "links": links[:LINKS],
        "row": note_text(row, entry.tasks),
        "terms": {ANCHOR: ANCHOR_WEIGHT, **entry.terms},
    }


def passage_values(shard: int, ordinal: int, chunk: ChunkRow) -> JSON:
    """Return the row of a passage."""
    own = chunk.chunk
    about = {
        "id": own.id,
        "heading_path": own.heading_path,
        "start_line": own.start_line,
        "end_line": own.end_line,
        "code": own.code,
        "place": own.place,
    }
    return {
        **_key_values(shard, chunk.number, chunk.note),
        "ordinal": ordinal,
        "text": shortened(own.text),
        "row": shortened(json.dumps(about, ensure_ascii=False, default=str)),
        "anchor": {ANCHOR: 1.0},
    }


def copy_values(shard: int, entry: NoteEntry) -> list[JSON]:
    """Return the rows of a note's copy, which may be too long for one."""
    note, text = entry.row.id, entry.copy
    parts = [text[start : start + ROW_BYTES] for start in range(0, len(text), ROW_BYTES)]
    return [
        {
            **_key_values(shard, note << PART_BITS | number, note),
            "part": number,
            "parts": len(parts),
            "revision": entry.revision,
            "text": part,
            "anchor": {ANCHOR: 1.0},
        }
        for number, part in enumerate(parts)
    ]


def vector_values(shard: int, number: int, row: NoteRow, vector: Any) -> JSON:
    """Return the row of a vector."""
    return {**_key_values(shard, number, row.id), **fact_values(facts_of(row)), "vector": vector}


def note_text(row: NoteRow, tasks: Sequence[Task] = ()) -> str:
    """Return all of a note's row as JSON; of one that is too long what a result shows."""
    value = {
        "path": row.path,
        "title": row.title,
        "title_is_name": row.title_is_name,
        "aliases": row.aliases,
        "tags": row.tags,
        "headings": [(each.level, each.text, each.line) for each in row.headings],
        "tasks": [(each.mark, each.text, each.line) for each in tasks],
        "properties": row.properties,
        "modified": row.modified,
        "created": row.created,
        "language": row.language,
        "blocks": [(each.id, each.line) for each in row.blocks],
    }
    for name in ("", "blocks", "tasks", "headings", "properties", "aliases", "tags"):
        if name:
            value[name] = {} if name == "properties" else []
        text = json.dumps(value, ensure_ascii=False, default=str)
        if len(text.encode()) <= ROW_BYTES:
            return text
    return json.dumps({"path": shortened(row.path, PATH_BYTES // 2), "title": shortened(row.title, 1000)})


def shortened(text: str, size: int = ROW_BYTES) -> str:
    """Return the beginning of a text that takes at most ``size`` bytes."""
    data = text.encode(errors="replace")
    return data.decode() if len(data) <= size else data[:size].decode(errors="ignore")


def _key_values(shard: int, number: int, note: int) -> JSON:
    return {"id": shard << ID_BITS | number, "shard": shard, "note": note}


def missing_fields(described: Sequence[Mapping[str, Any]], fields: Sequence[Field]) -> list[str]:
    """Return the names of the fields that a collection should have and has not."""
    names = {each["name"] for each in described}
    return [name for name, _, _ in fields if name not in names]
