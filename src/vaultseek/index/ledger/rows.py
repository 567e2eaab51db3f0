"""The values that the ledger takes and returns, and their conversion to and from rows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import orjson

from vaultseek.model import JSON, Chunk, Heading, Link, LinkKind, Note
from vaultseek.vault.scan import FileStat

NOTE_COLUMNS = "id, path, title, title_source, aliases, tags, headings, properties, modified, created"
CHUNK_COLUMNS = "c.note, c.id, c.heading_path, c.start_line, c.end_line, c.text, c.code, c.number"
LINK_COLUMNS = "l.note, n.path, l.kind, l.target, l.heading, l.block, l.alias, l.line, l.property, l.resolved"

LinkTarget = tuple[int, int, str, str, LinkKind]
"""A link to be resolved: note id, ordinal in the note, path of the note, target, kind."""


@dataclass(frozen=True, slots=True)
class IndexedNote:
    """A parsed note to be stored. ``modified`` and ``created`` are seconds since the epoch.

    ``link_keys`` has one key per link of the note; ``hash`` is the hash of the note's bytes.
    """

    note: Note
    chunks: tuple[Chunk, ...]
    link_keys: tuple[str, ...]
    stat: FileStat
    racy: bool
    hash: bytes
    modified: float
    created: float


@dataclass(frozen=True, slots=True)
class UnchangedNote:
    """A note with the same content as before, and the new ``stat`` of its file."""

    path: str
    stat: FileStat
    racy: bool
    modified: float


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note as the ledger stores it. ``modified`` and ``created`` are seconds since the epoch."""

    id: int
    path: str
    title: str
    title_is_name: bool
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    headings: tuple[Heading, ...]
    properties: JSON
    modified: float
    created: float


@dataclass(frozen=True, slots=True)
class ChunkRow:
    """A chunk as the ledger stores it, with the id of its note.

    ``number`` stays the same as long as the text does, even if the note moves; vectors are stored under it.
    """

    note: int
    chunk: Chunk
    number: int


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link, the id and path of its note, and the path that it resolves to now."""

    note: int
    source: str
    link: Link
    resolved: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of notes, of chunks, of chunks with a stored vector, and of vectors still to be stored."""

    notes: int
    chunks: int
    embedded: int
    pending: int


def note_vector_id(note: int) -> str:
    """Return the id under which the vector store keeps a note's own vector."""
    return f"note:{note}"


def note_values(indexed: IndexedNote, revision: int) -> dict[str, Any]:
    """Return the columns of a note's row by name."""
    note = indexed.note
    size, mtime_ns, ctime_ns, inode = indexed.stat
    return {
        "path": note.path,
        "revision": revision,
        "size": size,
        "mtime_ns": mtime_ns,
        "ctime_ns": ctime_ns,
        "inode": inode,
        "racy": int(indexed.racy),
        "hash": indexed.hash,
        "title": note.title,
        "title_source": note.title_source,
        "aliases": to_json(note.aliases),
        "tags": to_json(note.tags),
        "headings": to_json([(h.level, h.text, h.line) for h in note.headings]),
        "tasks": to_json([(t.mark, t.text, t.line) for t in note.tasks]),
        "properties": to_json(note.frontmatter),
        "modified": indexed.modified,
        "created": indexed.created,
    }


def note_row(row: Any) -> NoteRow:
    """Return the note of a row of ``NOTE_COLUMNS``."""
    return NoteRow(
        id=row[0],
        path=row[1],
        title=row[2],
        title_is_name=row[3] == "name",
        aliases=tuple(_list(row[4])),
        tags=tuple(_list(row[5])),
        headings=tuple(Heading(*item) for item in _list(row[6])),
        # Not by orjson: properties may hold integers of any size, NaN and infinity.
        properties={} if row[7] == "{}" else json.loads(row[7]),
        modified=row[8],
        created=row[9],
    )


def chunk_values(note: int, ordinal: int, chunk: Chunk) -> tuple[Any, ...]:
    """Return the columns of a chunk's row, in the order of its table, without ``number`` and ``stored``."""
    path = to_json(chunk.heading_path)
    code = to_json(chunk.code)
    return chunk.id, note, ordinal, path, chunk.start_line, chunk.end_line, chunk.text, code


def chunk_row(row: Any) -> ChunkRow:
    """Return the chunk of a row of ``CHUNK_COLUMNS``."""
    code = tuple((start, end) for start, end in _list(row[6]))
    return ChunkRow(row[0], Chunk(row[1], tuple(_list(row[2])), row[3], row[4], row[5], code), row[7])


def link_row(row: Any) -> LinkRow:
    """Return the link of a row of ``LINK_COLUMNS``."""
    return LinkRow(row[0], row[1], Link(*row[2:9]), row[9])


def _list(text: str) -> Any:
    """Return a list of strings or of short tuples, as ``to_json`` wrote it; most are empty."""
    return () if text == "[]" else orjson.loads(text)


def to_json(value: Any) -> str:
    """Return compact JSON text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
