"""Convert a file's extracted text to and from JSON, for passing it between processes and for the cache."""

import json
from collections.abc import Mapping
from dataclasses import astuple, fields
from typing import Any

from vaultseek.base.model import (
    BlockId,
    Callout,
    CodeBlock,
    Edit,
    Heading,
    Link,
    Note,
    Part,
    Problem,
    Span,
    Task,
)

_PARTS: Mapping[str, Any] = {
    "headings": Heading,
    "code_blocks": CodeBlock,
    "blocks": BlockId,
    "tasks": Task,
    "callouts": Callout,
    "spans": Span,
    "problems": Problem,
    "places": Part,
}
_WRITTEN = 7
"""Number of link fields to store. The other fields hold columns for edits, and links in these files are never
edited."""
_LISTS = ("lines", "tags", "aliases")


def encode(note: Note) -> bytes:
    """Encode a note as JSON."""
    values = {field.name: getattr(note, field.name) for field in fields(note)}
    for name in _PARTS:
        values[name] = [part if isinstance(part, Span) else astuple(part) for part in values[name]]
    values["links"] = [astuple(link)[:_WRITTEN] for link in note.links]
    del values["placed_tags"]
    values["edits"] = list(note.edits.items())
    return json.dumps(values, separators=(",", ":")).encode()


def decode(data: bytes) -> Note:
    """Decode a note from the JSON that ``encode`` returns. Raises ValueError or TypeError for other data."""
    values = json.loads(data)
    for name, part in _PARTS.items():
        values[name] = tuple(part(*each) for each in values[name])
    values["links"] = tuple(Link(*each) for each in values["links"])
    for name in _LISTS:
        values[name] = tuple(values[name])
    values["edits"] = {int(line): [Edit(*edit) for edit in edits] for line, edits in values["edits"]}
    return Note(**values)
