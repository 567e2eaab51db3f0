"""Ingest changed notes: read, parse and chunk them, commit them to the ledger, and update the keyword index
and the link graph.

Everything here runs in the one thread that writes to a vault's ledger. A note is searchable by word, link,
tag and property when ``Indexer.apply`` returns; ``embed`` adds its vectors later.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from vaultseek.base.failpoints import failpoint
from vaultseek.base.limits import CATCH_UP_NOTES
from vaultseek.content.files.diff import Changes
from vaultseek.content.files.ignore import Ignore
from vaultseek.content.markdown.resolve import Names, name_keys
from vaultseek.core.indexing import reconcile
from vaultseek.core.indexing.batches import BatchReader
from vaultseek.core.indexing.crash_marker import CrashMarker
from vaultseek.core.indexing.reading import NoteReader, is_note_error, not_indexed, read_or_report
from vaultseek.core.indexing.reconcile import CLOSING, until_stopped
from vaultseek.errors import Cancelled
from vaultseek.store.graph import Graph, import_networkx
from vaultseek.store.ledger import IndexedNote, Ledger, NoteRows, UnchangedNote, note_rows

if TYPE_CHECKING:
    from vaultseek.core.indexing.engine import Engine

BATCH_NOTES = 256
"""Number of notes per ledger commit when this process reads the notes."""
POOL_NOTES = 400
"""Number of changed notes above which reader processes are used. Starting the processes takes half a
second."""

log = logging.getLogger(__name__)
OnProgress = Callable[[int, int], None]


class Indexer:
    """Writer of one vault's ledger, keyword index and link graph."""

    def __init__(
        self,
        reader: NoteReader,
        ledger: Ledger,
        engine: Engine,
        crash_marker: CrashMarker,
        exclude: Sequence[str] = (),
    ) -> None:
        self.graph: Graph | None = None
        self._reader = reader
        self._ledger = ledger
        self._engine = engine
        self._crash_marker = crash_marker
        self._exclude = tuple(exclude)
        self._ignore = self._rules()
        self.names = Names()
        """Names of the files that links can point to. Other threads may read these names, but not change
        them."""
        self._are_names_ahead = False
        """True if ``names`` already includes changes from a commit that is in progress or that failed."""
        self._stopped = engine.stopped

    def load(self, *, graph: bool = True) -> None:
        """Read the file names from the ledger and sync the keyword index; with ``graph``, also read the link
        graph.
        """
        self._load_names()
        if graph:
            self.load_graph()
        if self._engine.pending_count(self._ledger) >= CATCH_UP_NOTES:
            self._engine.rebuilding = True  # filling was interrupted, and answers must report it
        self._engine.sync(self._ledger)

    def _load_names(self) -> None:
        self.names = Names.of(until_stopped(self._ledger.link_targets(), self._stopped))
        self._are_names_ahead = False

    def load_graph(self) -> None:
        """Read the link graph from the ledger, or sync it if it was already read."""
        if self.graph is not None:
            self.graph.sync(self._ledger)
        elif not self._stopped.is_set():
            self.graph = Graph.of(self._ledger)

    def reconcile(self, paths: Iterable[str] | None = None) -> Changes:
        """Compare disk and ledger at ``paths``. Without ``paths``, reread the ignore rules and compare the
        whole vault.

        Raises VaultMissing if the whole vault is compared and its folder is missing, or Cancelled if ``stop``
        is called.
        """
        root = self._reader.root
        if paths is not None:
            return reconcile.compare_paths(root, self._ignore, self._ledger, paths)
        self._ignore = self._rules()
        return reconcile.compare_vault(root, self._ignore, self._ledger, self._stopped)

    def skips(self, path: str) -> bool:
        """True if the vault's ignore rules exclude the file at ``path``."""
        return self._ignore.skips(path)

    def _rules(self) -> Ignore:
        return Ignore(self._reader.root, self._exclude, self._reader.files.switches)

    def stop(self) -> None:
        """Stop all work after the current batch; the rest is done after the next start.

        If the process is killed during that batch, the kill is not counted as a crash caused by a note.
        """
        self._stopped.set()
        self._crash_marker.abandon()
        self._reader.files.process.stop()

    def prepare(self, paths: Iterable[str]) -> set[str]:
        """Extract the text of each file for ``apply``; return the paths that must be retried later. May run
        in any thread.
        """
        return self._reader.prepare(paths)

    def prune_texts(self) -> None:
        """Delete the cached texts of files that were removed or changed."""
        rows = self._ledger.select("SELECT hash FROM notes")
        self._reader.files.cache.prune({row[0] for row in rows})

    def apply(self, changes: Changes, on_progress: OnProgress = lambda done, total: None) -> list[str]:
        """Index ``changes`` in batches, each of which leaves the vault searchable; return the changed paths.

        If many notes changed, reader processes read them. The result does not depend on the order or number
        of batches. Raises Cancelled after ``stop``, with some batches already applied.
        """
        total = len(changes.read) + len(changes.moved)
        done = 0
        changed: list[str] = []
        on_progress(0, total)
        if not changes:
            self._ledger.problems.replace_scanned(changes.problems, changes.scope)
        for count, paths in self._batches(changes):
            changed += paths
            done += count
            on_progress(done, total)
            self._check_stopped()
        self._engine.sync(self._ledger)
        self._check_stopped()
        self._ledger.notes.prune_removed(self._engine.synced_revision(self._ledger))
        return changed

    def count_others(self, paths: Sequence[str]) -> int:
        """Return the number of notes in the ledger, without the notes at ``paths``."""
        return self._ledger.counts().notes - len(self._ledger.notes.hashes(paths))

    def sync_again(self) -> None:
        """Sync the engine if its last sync failed."""
        if self._engine.problem is not None:
            self._engine.sync(self._ledger)

    def _check_stopped(self) -> None:
        if self._stopped.is_set():
            raise Cancelled(CLOSING)

    def _batches(self, changes: Changes) -> Iterator[tuple[int, list[str]]]:
        """Apply the changes in batches; for each batch, yield the number of notes examined and the changed
        paths.
        """
        hello = self._reader.describe() if len(changes.read) > POOL_NOTES else None
        if hello is None:
            yield from self._batches_read_here(_split(changes, pooled=False) if changes else ())
            return
        with BatchReader(hello, self._reader, self._ledger, self._engine, self._crash_marker) as reader:
            yield from self._batches_read_here(_split(changes, pooled=True))
            if self.graph is None:  # imports NetworkX while the readers work; the graph needs it later
                threading.Thread(target=import_networkx, name="networkx", daemon=True).start()
            for notes in reader.read(changes.read[1:], self._stopped):
                ids, rows = [number for number, _ in notes.indexed], [row for _, row in notes.indexed]
                paths = self._commit(Changes(), rows, notes.unchanged, ids)
                reader.publish(notes)
                yield notes.done, paths

    def _batches_read_here(self, batches: Iterable[Changes]) -> Iterator[tuple[int, list[str]]]:
        for batch in batches:
            yield len(batch.read) + len(batch.moved), self._apply_batch(batch)
            if self._engine.pending_count(self._ledger) >= CATCH_UP_NOTES:
                self._engine.sync(self._ledger)

    def _apply_batch(self, batch: Changes) -> list[str]:
        targets = {new for _, new in batch.moved}
        paths = (*sorted(targets), *batch.read)
        hashes = self._ledger.notes.hashes(batch.read)
        notes = [read_or_report(self._reader, path, hashes.get(path), self._crash_marker) for path in paths]
        failpoint("ingest.read")
        rows = [note_rows(note) for note in notes if isinstance(note, IndexedNote)]
        unchanged = [note for note in notes if isinstance(note, UnchangedNote)]
        return self._commit(batch, rows, unchanged)

    def _commit(
        self,
        batch: Changes,
        rows: Sequence[NoteRows],
        unchanged: Sequence[UnchangedNote],
        ids: Sequence[int] = (),
    ) -> list[str]:
        """Commit the notes that were read and the rest of the batch; return the changed paths.

        If this fails because of one note, the other notes are stored, and a problem is recorded for the
        faulty note.
        """
        try:
            return self._commit_at_once(batch, rows, unchanged, ids)
        except Exception as error:
            if not is_note_error(error):
                raise
            log.warning(
                "storing %d notes failed (%s); trying smaller batches", len(rows), type(error).__name__
            )
            return self._commit_parts(batch, rows, unchanged, ids, error)

    def _commit_parts(
        self,
        batch: Changes,
        rows: Sequence[NoteRows],
        unchanged: Sequence[UnchangedNote],
        ids: Sequence[int],
        error: Exception,
    ) -> list[str]:
        if len(unchanged) + len(rows) > 1:
            middle, left = (len(rows) + 1) // 2, len(unchanged) // 2
            first = self._commit(batch, rows[:middle], unchanged[:left], ids[:middle])
            return first + self._commit(Changes(), rows[middle:], unchanged[left:], ids[middle:])
        if not rows:
            raise error
        path = rows[0].path
        problem = not_indexed(error)
        note = self._reader.read_name(path, problem)
        plain = [note_rows(note)] if note is not None else []
        try:
            return self._commit_at_once(batch, plain, [], ids[: len(plain)])
        except Exception as again:
            if not is_note_error(again):
                raise
        self._load_names()
        with self._ledger.commit():
            self._ledger.problems.replace([(path, [(problem.code, problem.message, problem.line)])])
        return [path]

    def _commit_at_once(
        self,
        batch: Changes,
        rows: Sequence[NoteRows],
        unchanged: Sequence[UnchangedNote],
        ids: Sequence[int] = (),
    ) -> list[str]:
        """Commit the notes that were read and the rest of the batch in one transaction; return the changed
        paths.

        ``ids`` holds the rows' ids if they were assigned before.
        """
        gone = set(batch.removed) | {old for old, _ in batch.moved}
        if self._are_names_ahead:
            self._load_names()
        self._are_names_ahead = True
        with self._ledger.commit() as revision:
            self._touch(unchanged, revision)
            keys = self._remove(batch, revision)
            for old, new in batch.moved:
                self._ledger.notes.move(old, new)
            if not ids:
                numbers = self._ledger.notes.numbers([note.path for note in rows])
                ids = [numbers[note.path] for note in rows]
            self._ledger.notes.put_all(list(zip(ids, rows, strict=True)), revision)
            keys |= self._add_names(rows, batch)
            self._ledger.attachments.update(batch.attachments_added, batch.attachments_removed)
            self._ledger.problems.replace_scanned(batch.problems, batch.scope)
            relinked = self._relink(keys, ids, revision)
            failpoint("ledger.commit")
        self._are_names_ahead = False
        failpoint("ledger.committed")
        if self.graph is not None:
            self.graph.sync(self._ledger, relinked)
        return sorted(gone | {note.path for note in rows})

    def _remove(self, batch: Changes, revision: int) -> set[str]:
        keys: set[str] = set()
        for path in (*batch.removed, *(old for old, _ in batch.moved)):
            row = self._ledger.notes.by_path(path)
            if row is not None:
                keys |= name_keys(path, row.aliases)
            self.names.remove(path)
        for path in batch.removed:
            self._ledger.notes.remove(path, revision)
        for path in batch.attachments_removed:
            keys |= name_keys(path, ())
            self.names.remove(path)
        return keys

    def _add_names(self, rows: Sequence[NoteRows], batch: Changes) -> set[str]:
        keys: set[str] = set()
        for path in batch.attachments_added:
            keys |= name_keys(path, ())
            self.names.add(path)
        for note in rows:
            path, aliases = note.path, json.loads(note.aliases)
            previous = self.names.keys_of(path)
            self.names.add(path, aliases)
            keys |= previous ^ name_keys(path, aliases)
        return keys

    def _touch(self, unchanged: Sequence[UnchangedNote], revision: int) -> None:
        """Store the new file times of unchanged notes in the ledger and the engine."""
        self._engine.before_touch(self._ledger, unchanged, revision)
        self._ledger.notes.touch(unchanged)

    def _relink(self, keys: set[str], ids: Sequence[int], revision: int) -> set[int]:
        links = self._ledger.links.targets_by_key(keys) + self._ledger.links.targets_of(ids)
        resolved = [
            (note, ordinal, self.names.resolve(target, source).path)
            for note, ordinal, source, target in links
        ]
        sources = {note for note, _, _ in resolved}
        self._engine.before_relink(self._ledger, resolved, ids, revision)
        self._ledger.links.resolve(resolved)
        return sources


def _split(changes: Changes, *, pooled: bool) -> Iterator[Changes]:
    """Yield a first batch with all removals, all attachments and one note, then batches of notes.

    A single save makes one batch. If reader processes read the notes (``pooled``), all notes but the first
    are left out.
    """
    yield replace(changes, read=changes.read[:1], moved=changes.moved[:BATCH_NOTES])
    for start in range(BATCH_NOTES, len(changes.moved), BATCH_NOTES):
        yield Changes(moved=changes.moved[start : start + BATCH_NOTES])
    if not pooled:
        for start in range(1, len(changes.read), BATCH_NOTES):
            yield Changes(read=changes.read[start : start + BATCH_NOTES])
