"""Read, parse and chunk changed notes, commit them to the ledger, and update the keyword index and graph.

Everything here runs in the one thread that writes to a vault's ledger. A note is searchable by word, link,
tag and property when ``Indexer.apply`` returns; its vectors follow in ``embed``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vaultseek.failpoints import failpoint
from vaultseek.index.graph import Graph
from vaultseek.index.ledger import IndexedNote, Ledger, UnchangedNote
from vaultseek.indexing import reconcile
from vaultseek.indexing.crash_marker import CRASHED, CrashMarker
from vaultseek.indexing.keyword_sync import CATCH_UP_NOTES, KeywordSync
from vaultseek.limits import NOTE_PARSE_BYTES
from vaultseek.markdown.chunk import chunk
from vaultseek.markdown.dates import created_time
from vaultseek.markdown.decode import decode
from vaultseek.markdown.parse import parse
from vaultseek.markdown.resolve import Names, link_key, name_keys
from vaultseek.model import Chunk, Note, TokenCount
from vaultseek.vault.diff import Changes
from vaultseek.vault.ignore import Ignore
from vaultseek.vault.read import NoteBytes, read_note, too_large

BATCH_NOTES = 256
"""Notes in one commit of the ledger."""

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class NoteReader:
    """The parser and chunker of one vault; ``count`` and ``window`` are those of the embedding model."""

    root: Path
    count: TokenCount
    window: int
    max_bytes: int = NOTE_PARSE_BYTES

    def read(self, path: str, content: NoteBytes) -> tuple[Note, tuple[Chunk, ...]]:
        """Parse and chunk a note; one that could not be read has only its name and the problem."""
        problem = content.problem
        if len(content.data) > self.max_bytes or (problem is not None and problem.code == "too_large"):
            problem = too_large(self.max_bytes)
        text, problems = decode(content.data) if problem is None else ("", (problem,))
        note = parse(text, path, problems)
        return note, chunk(note, self.count, self.window)


class Indexer:
    """The writer of one vault's ledger, keyword index and graph."""

    def __init__(
        self,
        reader: NoteReader,
        ledger: Ledger,
        keyword: KeywordSync,
        crash_marker: CrashMarker,
        exclude: Sequence[str] = (),
    ) -> None:
        self.graph: Graph | None = None
        self._reader = reader
        self._ledger = ledger
        self._keyword = keyword
        self._crash_marker = crash_marker
        self._exclude = tuple(exclude)
        self._ignore = Ignore(reader.root, self._exclude)
        self._names = Names()

    def load(self) -> None:
        """Read the names from the ledger, catch the keyword index up with it, and build the graph."""
        for path, aliases in self._ledger.link_targets():
            self._names.add(path, aliases)
        self._keyword.catch_up(self._ledger)
        self.build_graph()

    def build_graph(self) -> None:
        """Build the graph from the ledger."""
        ledger = self._ledger
        self.graph = Graph(ledger.notes.ids(), ledger.links.edges(), ledger.revision)

    def reconcile(self, paths: Iterable[str] | None = None) -> Changes:
        """Compare the disk with the ledger at ``paths``, or the whole vault with its ignore rules read again.

        Raises VaultMissing if the whole vault is compared and its folder is missing.
        """
        root = self._reader.root
        if paths is not None:
            return reconcile.compare_paths(root, self._ignore, self._ledger, paths)
        self._ignore = Ignore(root, self._exclude)
        return reconcile.compare_vault(root, self._ignore, self._ledger)

    def apply(self, changes: Changes, on_progress: OnProgress = lambda done, total: None) -> list[str]:
        """Index ``changes`` in batches that each leave the vault searchable; return the changed paths."""
        total = len(changes.read) + len(changes.moved)
        done = 0
        changed: list[str] = []
        on_progress(0, total)
        if not changes:
            self._ledger.problems.replace_scanned(changes.problems, changes.scope)
        for batch in _batches(changes) if changes else ():
            changed += self._apply_batch(batch)
            done += len(batch.read) + len(batch.moved)
            if self._keyword.behind(self._ledger) >= CATCH_UP_NOTES:
                self._keyword.catch_up(self._ledger)
            on_progress(done, total)
        self._keyword.catch_up(self._ledger)
        self._ledger.notes.prune_removed(self._ledger.revision)
        return changed

    def _apply_batch(self, batch: Changes) -> list[str]:
        targets = {new for _, new in batch.moved}
        notes = [self._read(path, path in targets) for path in (*sorted(targets), *batch.read)]
        failpoint("ingest.read")
        indexed = [note for note in notes if isinstance(note, IndexedNote)]
        gone = set(batch.removed) | {old for old, _ in batch.moved}
        with self._ledger.commit() as revision:
            self._ledger.notes.touch(note for note in notes if isinstance(note, UnchangedNote))
            keys = self._remove(batch, revision)
            for old, new in batch.moved:
                self._ledger.notes.move(old, new)
            ids = [self._ledger.notes.put(note, revision) for note in indexed]
            keys |= self._add_names(indexed, batch)
            self._ledger.attachments.update(batch.attachments_added, batch.attachments_removed)
            self._ledger.problems.replace_scanned(batch.problems, batch.scope)
            relinked = self._relink(keys, ids)
            failpoint("ledger.commit")
        failpoint("ledger.committed")
        self._update_graph(ids, relinked, revision)
        return sorted(gone | {note.note.path for note in indexed})

    def _read(self, path: str, moved: bool) -> IndexedNote | UnchangedNote | None:
        """Read one note; UnchangedNote if its content is the same, None if it is gone again."""
        content = read_note(self._reader.root, path)
        if content is None:
            return None
        digest = hashlib.blake2b(content.data, digest_size=16).digest()
        modified = content.stat.mtime_ns / 1e9
        if not moved and content.problem is None and self._ledger.notes.content_hash(path) == digest:
            return UnchangedNote(path, content.stat, content.racy, modified)
        note, chunks = self._parse(path, content, digest)
        keys = tuple(link_key(link.target) for link in note.links)
        created = created_time(note, modified)
        return IndexedNote(note, chunks, keys, content.stat, content.racy, digest, modified, created)

    def _parse(self, path: str, content: NoteBytes, digest: bytes) -> tuple[Note, tuple[Chunk, ...]]:
        """Parse and chunk a note, unless this content has crashed the process before."""
        if self._crash_marker.is_blocked(path, digest):
            return self._reader.read(path, replace(content, problem=CRASHED))
        with self._crash_marker.parsing(path, digest):
            failpoint(f"note.read {path}")
            return self._reader.read(path, content)

    def _remove(self, batch: Changes, revision: int) -> set[str]:
        """Remove what is gone from the ledger; return the name keys that now resolve differently."""
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

    def _add_names(self, indexed: Sequence[IndexedNote], batch: Changes) -> set[str]:
        """Register the names of new and changed files; return the name keys that now resolve differently."""
        keys: set[str] = set()
        for path in batch.attachments_added:
            keys |= name_keys(path, ())
            self._names.add(path)
        for item in indexed:
            path, aliases = item.note.path, item.note.aliases
            previous = self._names.keys_of(path)
            self._names.add(path, aliases)
            keys |= previous ^ name_keys(path, aliases)
        return keys

    def _relink(self, keys: set[str], ids: Sequence[int]) -> set[int]:
        """Resolve the links of changed notes and every link to a changed name; return the linking notes."""
        links = self._ledger.links.targets_by_key(keys) + self._ledger.links.targets_of(ids)
        resolved = [
            (note, ordinal, self._names.resolve(target, source, kind).path)
            for note, ordinal, source, target, kind in links
        ]
        self._ledger.links.resolve(resolved)
        return {note for note, _, _ in resolved}

    def _update_graph(self, ids: Sequence[int], relinked: set[int], revision: int) -> None:
        if self.graph is None:
            return
        sources = sorted(relinked | set(ids))
        removed = self._ledger.notes.removed_since(revision - 1) or ()
        self.graph.apply(removed, sources, self._ledger.links.edges(sources), revision)


def _batches(changes: Changes) -> Iterator[Changes]:
    """Yield removals, attachments and a first note, then notes in batches: one save is one batch."""
    yield replace(changes, read=changes.read[:1], moved=changes.moved[:BATCH_NOTES])
    for start in range(BATCH_NOTES, len(changes.moved), BATCH_NOTES):
        yield Changes(moved=changes.moved[start : start + BATCH_NOTES])
    for start in range(1, len(changes.read), BATCH_NOTES):
        yield Changes(read=changes.read[start : start + BATCH_NOTES])
