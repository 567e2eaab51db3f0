"""Taking notes in: read, parse, chunk, commit to the ledger, bring the keyword index and the graph up to it.

Everything here runs in the one thread that writes to a vault's ledger. A note is searchable by word, link,
tag and property when ``take`` returns; vectors follow in ``embedding``.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vaultseek.errors import IndexDamaged
from vaultseek.failpoints import failpoint
from vaultseek.index.graph import Graph
from vaultseek.index.keyword.analysis import LANGUAGES, detect_language
from vaultseek.index.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex
from vaultseek.index.ledger import IndexedNote, Ledger, NoteRow, UnchangedNote
from vaultseek.indexing.crash_marker import POISON, Breadcrumb
from vaultseek.limits import NOTE_PARSE_BYTES, OPENING_CHARS
from vaultseek.markdown.chunk import chunk
from vaultseek.markdown.dates import created_time
from vaultseek.markdown.decode import decode
from vaultseek.markdown.parse import parse
from vaultseek.markdown.resolve import Names, link_key, name_keys
from vaultseek.model import Chunk, Note
from vaultseek.vault.diff import Changes
from vaultseek.vault.read import NoteBytes, read_note, too_large

BATCH_NOTES = 256
CATCH_UP_NOTES = 1024
"""The keyword index is brought up to the ledger whenever this many notes have changed."""
LANGUAGE_NOTES = 200
"""Notes whose openings tell the language of a vault."""
LANGUAGE_GROWTH = 4
"""A vault that has grown this many times is judged again."""

Progress = Callable[[int, int], None]
TokenCount = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Reading:
    """How a note's bytes become chunks: where the vault is, and what the embedding model can read."""

    root: Path
    count: TokenCount
    window: int
    max_bytes: int = NOTE_PARSE_BYTES

    def note(self, path: str, found: NoteBytes) -> tuple[Note, tuple[Chunk, ...]]:
        """Parse and chunk; a note that could not be read is known by its name and its problem."""
        problem = found.problem
        if len(found.data) > self.max_bytes or (problem is not None and problem.code == "too_large"):
            problem = too_large(self.max_bytes)
        text, problems = decode(found.data) if problem is None else ("", (problem,))
        note = parse(text, path, problems)
        return note, chunk(note, self.count, self.window)


class Intake:
    """Takes changes of one vault into its ledger, its keyword index and its graph."""

    def __init__(
        self,
        reading: Reading,
        ledger: Ledger,
        names: Names,
        keyword: Keyword,
        breadcrumb: Breadcrumb | None = None,
    ) -> None:
        self.graph: Graph | None = None
        self._breadcrumb = breadcrumb
        self._reading = reading
        self._ledger = ledger
        self._names = names
        self._keyword = keyword

    def take(self, changes: Changes, progress: Progress = lambda done, total: None) -> list[str]:
        """Take everything in, in batches that each leave the vault searchable. Returns the changed paths."""
        total = len(changes.read) + len(changes.moved)
        done = 0
        changed: list[str] = []
        progress(0, total)
        if not changes:
            self._ledger.problems.replace_scanned(changes.problems, changes.looked)
        for batch in _batches(changes) if changes else ():
            changed += self._take_batch(batch)
            done += len(batch.read) + len(batch.moved)
            if self._keyword.behind(self._ledger) >= CATCH_UP_NOTES:
                self._keyword.catch_up(self._ledger)
            progress(done, total)
        self._keyword.catch_up(self._ledger)
        self._ledger.notes.prune_removed(self._ledger.revision)
        return changed

    def build_graph(self) -> None:
        """Make the graph from the ledger, from nothing."""
        ledger = self._ledger
        self.graph = Graph(ledger.notes.ids(), ledger.links.edges(), ledger.revision)

    def _take_batch(self, batch: Changes) -> list[str]:
        arrived = {new for _, new in batch.moved}
        found = [self._read(path, path in arrived) for path in (*sorted(arrived), *batch.read)]
        failpoint("ingest.read")
        taken = [item for item in found if isinstance(item, IndexedNote)]
        gone = set(batch.removed) | {old for old, _ in batch.moved}
        with self._ledger.commit() as revision:
            self._ledger.notes.touch(item for item in found if isinstance(item, UnchangedNote))
            keys = self._forget(batch, revision)
            for old, new in batch.moved:
                self._ledger.notes.move(old, new)
            ids = [self._ledger.notes.put(note, revision) for note in taken]
            keys |= self._name(taken, batch)
            self._ledger.attachments.update(batch.attachments_added, batch.attachments_removed)
            self._ledger.problems.replace_scanned(batch.problems, batch.looked)
            relinked = self._relink(keys, ids)
            failpoint("ledger.commit")
        failpoint("ledger.committed")
        self._draw(batch, ids, relinked, revision)
        return sorted(gone | {note.note.path for note in taken})

    def _read(self, path: str, moved: bool) -> IndexedNote | UnchangedNote | None:
        """Read one note: only its stamp is new if it says what it said before; None if it is gone again."""
        found = read_note(self._reading.root, path)
        if found is None:
            return None
        digest = hashlib.blake2b(found.data, digest_size=16).digest()
        modified = found.stamp.mtime_ns / 1e9
        if not moved and found.problem is None and self._ledger.notes.content_hash(path) == digest:
            return UnchangedNote(path, found.stamp, found.racy, modified)
        note, chunks = self._understand(path, found, digest)
        keys = tuple(link_key(link.target) for link in note.links)
        created = created_time(note, modified)
        return IndexedNote(note, chunks, keys, found.stamp, found.racy, digest, modified, created)

    def _understand(self, path: str, found: NoteBytes, digest: bytes) -> tuple[Note, tuple[Chunk, ...]]:
        """Parse and chunk, unless that has ended the daemon before."""
        if self._breadcrumb is None:
            return self._reading.note(path, found)
        if self._breadcrumb.is_poison(path, digest):
            return self._reading.note(path, replace(found, problem=POISON))
        with self._breadcrumb.reading(path, digest):
            failpoint(f"note.read {path}")
            return self._reading.note(path, found)

    def _forget(self, batch: Changes, revision: int) -> set[str]:
        """Remove what is gone; returns the names that point somewhere else from now on."""
        keys: set[str] = set()
        for path in (*batch.removed, *(old for old, _ in batch.moved)):
            row = self._ledger.notes.by_path(path)
            if row is not None:
                keys |= name_keys(path, row.aliases)
            self._names.remove(path)
        for path in batch.removed:
            self._ledger.notes.remove(path, revision)
        for path in batch.attachments_removed:
            keys |= name_keys(path, ())
            self._names.remove(path)
        return keys

    def _name(self, taken: Sequence[IndexedNote], batch: Changes) -> set[str]:
        """Make names of new and changed notes known; returns the names that are different now."""
        keys: set[str] = set()
        for path in batch.attachments_added:
            keys |= name_keys(path, ())
            self._names.add(path)
        for item in taken:
            path, aliases = item.note.path, item.note.aliases
            before = self._names.keys_of(path)
            self._names.add(path, aliases)
            keys |= before ^ name_keys(path, aliases)
        return keys

    def _relink(self, keys: set[str], ids: Sequence[int]) -> set[int]:
        """Resolve the links of changed notes and every link that listens to a changed name."""
        listening = self._ledger.links.targets_by_key(keys) + self._ledger.links.targets_of(ids)
        found = [
            (note, ordinal, self._names.resolve(target, source, kind).path)
            for note, ordinal, source, target, kind in listening
        ]
        self._ledger.links.resolve(found)
        return {note for note, _, _ in found}

    def _draw(self, batch: Changes, ids: Sequence[int], relinked: set[int], revision: int) -> None:
        if self.graph is None:
            return
        sources = sorted(relinked | set(ids))
        removed = self._ledger.notes.removed_since(revision - 1) or ()
        self.graph.apply(removed, sources, self._ledger.links.edges(sources), revision)


class Keyword:
    """The keyword index and how far behind the ledger it is; refilled whenever it cannot be trusted.

    Without a ``language`` the notes decide: by their stop words, and again when the vault has grown much.
    """

    def __init__(self, directory: Path, language: str | None) -> None:
        self._directory = directory
        self._memory = directory.with_name(directory.name + ".language")
        self._given = language
        self._language, self._judged = (language, 0) if language else self._remembered()
        self.filling = False
        self.index = self._open()

    def behind(self, ledger: Ledger) -> int:
        """How many notes have changed since the revision that the index stands at (counted to a bound)."""
        return len(ledger.notes.changed_since(self._revision(ledger), CATCH_UP_NOTES))

    def catch_up(self, ledger: Ledger) -> None:
        """Bring the index to the ledger's revision; a damaged one is made again from the ledger."""
        try:
            self._catch_up(ledger)
        except (IndexDamaged, FileNotFoundError, NotADirectoryError):
            self.refill(ledger)

    def refill(self, ledger: Ledger) -> None:
        """Throw the index away and fill another one from the ledger."""
        self.filling = True
        try:
            self.remake()
            self._catch_up(ledger)
        finally:
            self.filling = False

    def tidy(self) -> bool:
        """One bounded step of merging segments; false if there was nothing to merge. For any thread."""
        return self.index.merge_step()

    def remake(self) -> None:
        """Throw the index away and begin an empty one."""
        self.index.close()
        failpoint("keyword.remake")
        self.index = self._create()

    def _create(self) -> KeywordIndex:
        shutil.rmtree(self._directory, ignore_errors=True)
        return KeywordIndex.create(self._directory, language=self._language)

    def _open(self) -> KeywordIndex:
        try:
            return KeywordIndex.open(self._directory, language=self._language)
        except IndexDamaged:
            return self._create()

    def _catch_up(self, ledger: Ledger) -> None:
        changed = self._judge_language(ledger)
        at = self._revision(ledger)
        removed = ledger.notes.removed_since(at)
        if at < 0 or changed or removed is None:
            self.remake()
            at, removed = 0, []
        while True:
            now = ledger.revision
            rows = ledger.notes.changed_since(at, CATCH_UP_NOTES + 1)
            if not rows and not removed:
                return
            page = rows[:CATCH_UP_NOTES]
            at = rows[CATCH_UP_NOTES][1] - 1 if len(rows) > CATCH_UP_NOTES else now
            self.index.apply(_documents(ledger, [note for note, _ in page]), removed, _stamp(ledger, at))
            failpoint("keyword.applied")
            removed = []

    def _judge_language(self, ledger: Ledger) -> bool:
        """Whether the notes turn out to be in another language than the index was made for."""
        if self._given or ledger.counts().notes < max(1, LANGUAGE_GROWTH * self._judged):
            return False
        ids = ledger.notes.ids()
        chosen = ids[:: max(1, len(ids) // LANGUAGE_NOTES)][:LANGUAGE_NOTES]
        before, self._judged = self._language, len(ids)
        self._language = detect_language(
            "\n".join(ledger.chunks.opening(note, OPENING_CHARS) for note in chosen)
        )
        self._memory.write_text(f"{self._language} {self._judged}")
        return self._language != before

    def _remembered(self) -> tuple[str, int]:
        try:
            language, _, judged = self._memory.read_text().partition(" ")
        except (OSError, UnicodeDecodeError):
            return "en", 0
        return (language, int(judged)) if language in LANGUAGES and judged.isdigit() else ("en", 0)

    def _revision(self, ledger: Ledger) -> int:
        generation, _, revision = (self.index.stamp or "").partition(":")
        return int(revision) if generation == ledger.generation and revision.isdigit() else -1


def _stamp(ledger: Ledger, revision: int) -> str:
    return f"{ledger.generation}:{revision}"


def _documents(ledger: Ledger, ids: Sequence[int]) -> list[KeywordDocument]:
    notes = ledger.notes.by_id(ids)
    chunks = ledger.chunks.by_note(ids)
    return [_document(row, chunks[number]) for number, row in notes.items()]


def _document(row: NoteRow, chunks: Iterable[Chunk]) -> KeywordDocument:
    return KeywordDocument(
        note=row.id,
        path=row.path,
        title=row.title,
        aliases=row.aliases,
        headings=tuple(heading.text for heading in row.headings),
        tags=row.tags,
        chunks=(
            *(KeywordChunk(c.id, c.prose_text(), c.code_text()) for c in chunks),
            *(KeywordChunk("properties", text, "") for text in [_property_text(row.properties)] if text),
        ),
    )


def _property_text(value: Any) -> str:
    """The values of properties, one a line: a part number may stand nowhere else."""
    if isinstance(value, dict):
        return "\n".join(filter(None, map(_property_text, value.values())))
    if isinstance(value, list):
        return "\n".join(filter(None, map(_property_text, value)))
    return "" if value is None or isinstance(value, bool) else str(value)


def _batches(changes: Changes) -> Iterator[Changes]:
    """Removals, attachments and a first note, then notes a batch at a time: one save is one batch."""
    yield replace(changes, read=changes.read[:1], moved=changes.moved[:BATCH_NOTES])
    for start in range(BATCH_NOTES, len(changes.moved), BATCH_NOTES):
        yield Changes(moved=changes.moved[start : start + BATCH_NOTES])
    for start in range(1, len(changes.read), BATCH_NOTES):
        yield Changes(read=changes.read[start : start + BATCH_NOTES])
