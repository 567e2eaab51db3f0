"""The JSON form of a file's text, for passing between processes and for the cache."""

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
"""Number of fields that are stored of a link. The fields after these hold columns for edits, and links in
these files are never edited."""
_LISTS = ("lines", "tags", "aliases")


def encode(note: Note) -> bytes:
    """Return a note as JSON."""
    values = {field.name: getattr(note, field.name) for field in fields(note)}
    for name in _PARTS:
        values[name] = [astuple(part) for part in values[name]]
    values["links"] = [astuple(link)[:_WRITTEN] for link in note.links]
    del values["placed_tags"]
    values["edits"] = list(note.edits.items())
    return json.dumps(values, separators=(",", ":")).encode()


def decode(data: bytes) -> Note:
    """Return the note from the JSON of ``encode``. Raises ValueError or TypeError for other input."""
    values = json.loads(data)
    for name, part in _PARTS.items():
        values[name] = tuple(part(*each) for each in values[name])
    values["links"] = tuple(Link(*each) for each in values["links"])
    for name in _LISTS:
        values[name] = tuple(values[name])
    values["edits"] = {int(line): [Edit(*edit) for edit in edits] for line, edits in values["edits"]}
    return Note(**values)
