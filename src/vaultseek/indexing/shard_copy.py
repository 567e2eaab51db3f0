"""The ledger of a searcher: a copy of what an engine has of a shard, which an indexer elsewhere writes.

The engine tells by its position that something has changed. Then the notes that differ are copied. Nothing is
ever written to the engine.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence
from typing import Any

from vaultseek.errors import Unavailable
from vaultseek.index.backend.milvus import MilvusBackend
from vaultseek.index.ledger import IndexedNote, Ledger, NoteCopy, note_rows
from vaultseek.model import BlockId, Chunk, Heading, Link, Note, Task
from vaultseek.text import fold
from vaultseek.vault.scan import FileStat

PAGE_NOTES = 256
"""Notes copied in one commit."""

log = logging.getLogger(__name__)


class ReadOnlyEngine:
    """An engine that nothing is written to: whoever keeps it true is elsewhere."""

    def __init__(self, backend: MilvusBackend) -> None:
        self._backend = backend

    def __getattr__(self, name: str) -> Any:
        """Return what the engine has under this name."""
        return getattr(self._backend, name)

    def apply(self, batch: object) -> None:
        """Do nothing."""

    def drop(self, *parts: str) -> None:
        """Do nothing."""

    def set_state(self, name: str, position: str, facts: str = "{}") -> None:
        """Do nothing."""


class ShardCopy:
    """A shard of an engine, copied into a ledger. ``space`` names its vectors."""

    def __init__(self, backend: MilvusBackend, ledger: Ledger, space: str) -> None:
        self._backend = backend
        self._ledger = ledger
        self._space = space

    def is_behind(self) -> bool:
        """True if the engine has changed since the last copy. Raises Unavailable as ``step`` does."""
        return self._position() != self._ledger.copies.source()

    def step(self) -> bool:
        """Copy what has changed; true if anything has. Runs in the writer thread.

        Raises Unavailable if the engine does not answer, or has no such shard any more.
        """
        changed = False
        position = self._position()
        if position != self._ledger.copies.source():
            self._copy()
            with self._ledger.commit():
                self._ledger.copies.set_source(position)
            changed = True
        return self._mark_vectors() or changed

    def _position(self) -> str:
        position = self._backend.position()
        if position is None:
            raise Unavailable(f"the engine has no shard {self._backend.options.shard}", "vault_missing")
        return position

    def _copy(self) -> None:
        ledger = self._ledger
        rows = {row["note"]: row for row in self._backend.all_note_rows()}
        digests = {note: _digest(row) for note, row in rows.items()}
        own = {note: (path, bytes(digest)) for note, path, digest in ledger.select(_OWN)}
        gone = [path for note, (path, _) in own.items() if note not in rows]
        changed = [note for note, digest in digests.items() if own.get(note, ("", b""))[1] != digest]
        for start in range(0, len(gone), PAGE_NOTES):
            with ledger.commit() as revision:
                for path in gone[start : start + PAGE_NOTES]:
                    ledger.notes.remove(path, revision)
        for start in range(0, len(changed), PAGE_NOTES):
            page = changed[start : start + PAGE_NOTES]
            passages = self._backend.passage_rows(page)
            copies = [_copied(rows[note], passages[note], digests[note]) for note in page]
            with ledger.commit() as revision:
                ledger.copies.put(copies, revision)
        log.info("%s: %d notes copied, %d removed", self._backend.options.shard, len(changed), len(gone))

    def _mark_vectors(self) -> bool:
        """Mark the chunks and notes whose vectors the engine has; true if any are new."""
        ledger, backend = self._ledger, self._backend
        version = backend.state(f"{backend.options.shard}/{self._space}/passages").get("position")
        if not version:
            return False
        if version != ledger.vectors.store():
            ledger.vectors.begin_store(version)
        before = ledger.counts().pending
        if not before:
            return False
        for notes in _pages([note for (note,) in ledger.select(_PENDING)]):
            chunks = backend.numbers(self._space, "passages", notes)
            whole = backend.numbers(self._space, "notes", notes)
            ledger.vectors.mark_stored(chunks, whole, [])
        return ledger.counts().pending != before


_OWN = "SELECT id, path, hash FROM notes"
_PENDING = "SELECT note FROM chunks WHERE stored = 0 UNION SELECT id FROM notes WHERE stored = 0"


def _pages(notes: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(notes), PAGE_NOTES):
        yield notes[start : start + PAGE_NOTES]


def _digest(row: Any) -> bytes:
    text = json.dumps([row["row"], list(row["links"])], ensure_ascii=False)
    return hashlib.blake2b(text.encode(errors="replace"), digest_size=16).digest()


def _copied(row: Any, passages: Sequence[Any], digest: bytes) -> NoteCopy:
    """Return the note of an engine's rows."""
    values = json.loads(row["row"])
    links = [str(path) for path in row["links"]]
    note = Note(
        path=values["path"],
        title=values["title"],
        title_source="name" if values.get("title_is_name") else "heading",
        frontmatter=values.get("properties", {}),
        tags=tuple(values.get("tags", ())),
        aliases=tuple(values.get("aliases", ())),
        links=tuple(Link("wikilink", path, None, None, None, 1) for path in links),
        headings=tuple(Heading(*each) for each in values.get("headings", ())),
        blocks=tuple(BlockId(*each) for each in values.get("blocks", ())),
        tasks=tuple(Task(*each) for each in values.get("tasks", ())),
    )
    chunks = [_chunk(passage) for passage in passages]
    indexed = IndexedNote(
        note,
        tuple(chunks),
        tuple(fold(path) for path in links),
        FileStat(0, 0, 0, 0),
        False,
        digest,
        float(values.get("modified") or 0.0),
        float(values.get("created") or 0.0),
        values.get("language", ""),
    )
    numbers = [passage["id"] & _NUMBER for passage in passages]
    return NoteCopy(row["note"], note_rows(indexed), numbers, links)


_NUMBER = (1 << 40) - 1


def _chunk(passage: Any) -> Chunk:
    about = json.loads(passage["row"])
    return Chunk(
        about["id"],
        tuple(about["heading_path"]),
        about["start_line"],
        about["end_line"],
        passage["text"],
        tuple((start, end) for start, end in about.get("code") or ()),
        about.get("place"),
    )
