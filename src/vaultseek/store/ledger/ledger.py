"""The ledger of one vault: everything known about its notes.

A change is recorded once the ledger's transaction is committed. The keyword index, the vector store and the
graph are caches with a revision of their own, and can be rebuilt from the ledger. The source of truth is the
vault: a ledger that is unreadable or has a different schema is moved aside and rebuilt.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from heapq import nsmallest
from pathlib import Path
from typing import Any

from vaultseek.content.markdown.resolve import Names, link_key, name_keys
from vaultseek.store.ledger.chunks import ChunkTable
from vaultseek.store.ledger.database import Database, RowCache
from vaultseek.store.ledger.files import AttachmentTable, ProblemTable
from vaultseek.store.ledger.forms import FormTable
from vaultseek.store.ledger.given import GivenTable
from vaultseek.store.ledger.lines import LineTable
from vaultseek.store.ledger.links import LinkTable
from vaultseek.store.ledger.notes import NoteTable
from vaultseek.store.ledger.opens import OpenTable
from vaultseek.store.ledger.rows import Counts, LinkTarget
from vaultseek.store.ledger.schema import close_database, open_database
from vaultseek.store.ledger.scoped import Folders, Scope, ScopedConnections, ScopedDatabase
from vaultseek.store.ledger.successions import SuccessionTable
from vaultseek.store.ledger.vectors import FIRST, SECOND, SpaceTable, VectorTable

REWRITTEN_SHARE = 0.1
"""Share of changed notes above which the file is rewritten. Up to about this share of the file may be
unused."""


class Ledger:
    """The ledger of one vault, with one attribute per table. One thread writes; any thread reads."""

    keeps_opens = True
    """False for a ledger without the tables ``opens`` and ``given``."""
    is_read_only = False
    """True for a ledger whose vector stores are created and filled by another process."""

    def __init__(self, file: Path) -> None:
        """Open or create the ledger at ``file``. A ledger that is damaged or has a different schema is
        replaced."""
        self._begin(open_database(file))

    def _begin(self, database: Database) -> None:
        self._database = database
        self._scoped = ScopedConnections(database.file)
        self._counts: Counts | None = None
        self._languages: RowCache[list[tuple[str, int]]] = database.cache(1)
        self.relinked: tuple[tuple[int, int, str], ...] = ()
        """In a part of a ledger, the links that resolve differently than in the whole ledger: note id,
        ordinal, path."""
        self.chunks = ChunkTable(self._database)
        self.links = LinkTable(self._database)
        self.attachments = AttachmentTable(self._database)
        self.problems = ProblemTable(self._database)
        self.successions = SuccessionTable(self._database)
        self.forms = FormTable(self._database)
        self.lines = LineTable(self._database)
        self.notes = NoteTable(
            self._database,
            self.chunks,
            self.links,
            self.successions,
            self.forms,
            self.lines,
            self.problems,
        )
        self.opens = OpenTable(self._database)
        self.given = GivenTable(self._database)
        self.vectors = VectorTable(self._database)
        self.space = SpaceTable(self._database, FIRST)
        self.second_space = SpaceTable(self._database, SECOND)
        self.generation: str = self._database.meta("generation")
        """A name that is unique to this ledger."""
        self._revision = int(self._database.meta("revision"))

    def close(self) -> None:
        """Close all connections; the ledger cannot be used afterwards."""
        self._scoped.close()
        close_database(self._database)

    def within(self, folders: Folders, hidden: frozenset[str] = frozenset()) -> Ledger:
        """Return the part of the ledger about the notes in ``folders``, at the current revision.

        Files whose paths are in ``hidden`` are left out. The part contains nothing about other notes. It is
        read-only, and valid until the next commit.
        """
        part = object.__new__(Ledger)
        database = self._visible(Scope(folders, hidden))
        part._begin(database)
        part.relinked = _relinked(database.links_outside(), part)
        database.scope = Scope(folders, hidden, part.relinked)
        pending_chunks, pending_notes = self._pending_in(part)
        notes, chunks = (part.select(f"SELECT count(*) FROM {table}")[0][0] for table in ("notes", "chunks"))
        part._counts = Counts(notes, chunks, chunks - pending_chunks, pending_chunks + pending_notes)
        return part

    def _pending_in(self, part: Ledger) -> tuple[int, int]:
        """Return the number of chunks and the number of notes in ``part`` whose vectors are waiting to be
        stored."""
        sql = "SELECT count(*) FROM unsynced WHERE space = ? AND gone = 0 AND of_note = ?"
        chunks, notes = (part.select(sql, FIRST, of_note)[0][0] for of_note in (0, 1))
        return chunks, notes

    def _visible(self, scope: Scope) -> ScopedDatabase:
        return ScopedDatabase(self._database, self._scoped, scope)

    def is_sound(self) -> bool:
        """Return true unless the file shows damage. A damaged file is replaced when it is opened again."""
        return self._database.is_sound()

    @contextmanager
    def commit(self) -> Iterator[int]:
        """Run the ``with`` block in one transaction and yield the new revision; roll back on an error."""
        revision = self._revision + 1
        with self._database.transaction():
            self._database.set_meta("revision", str(revision))
            yield revision
        self._database.clear_caches()  # first, so that readers of the new revision see the new rows
        self._revision = revision

    def compact(self, now: float) -> bool:
        """Overwrite deleted text, free its space, and record the time. Return False if a reader keeps deleted
        text in the log.

        The history of deleted notes is also removed. If many notes have changed, the file is also rewritten,
        because its pages are then partly empty.
        """
        self.opens.forget_deleted()
        self.given.forget_deleted()
        state = f"{self._revision} {self.counts().notes}"
        if not self._database.meta("compacted"):  # the pages of a new file are full
            self._database.set_meta("rewritten", state)
        self._database.set_meta("compacted", f"{now:.0f} {self._revision}")
        return self._database.shrink(state if self._changed_share() > REWRITTEN_SHARE else "")

    def _changed_share(self) -> float:
        """Return the number of notes changed since the file was last rewritten, as a share of all notes."""
        revision, before = map(int, (self._database.meta("rewritten") or "0 0").split())
        changed = self._database.one("SELECT count(*) FROM notes WHERE revision > ?", revision)[0]
        notes = self.counts().notes
        return float((changed + max(0, before - notes)) / max(1, notes))

    def compacted(self) -> tuple[float, int]:
        """Return the time when the ledger was last compacted, in seconds since the epoch, and the ledger's
        revision at that time."""
        seconds, revision = (self._database.meta("compacted") or "0 0").split()
        return float(seconds), int(revision)

    @property
    def revision(self) -> int:
        """The revision of the last commit."""
        return self._revision

    def counts(self) -> Counts:
        """Return the counts of the ledger's rows, in constant time, because triggers maintain the counts."""
        if self._counts is not None:
            return self._counts
        sql = "SELECT notes, chunks, pending_notes, pending_chunks FROM row_counts, spaces WHERE space = ?"
        notes, chunks, pending_notes, pending_chunks = self._database.one(sql, FIRST)
        return Counts(notes, chunks, chunks - pending_chunks, pending_chunks + pending_notes)

    def shared_lines(self, texts: Iterable[str]) -> frozenset[str]:
        """Return the lines of ``texts`` that many notes in the vault share, such as a footer."""
        return self.lines.shared_in(texts, lambda: self.counts().notes)

    def languages(self) -> dict[str, int]:
        """Return the number of notes in each language, in constant time; "" stands for an unclear
        language."""
        sql = "SELECT language, notes FROM languages WHERE notes > 0"
        return dict(self._languages.get_or_read([sql], lambda _: {sql: self._database.all(sql)})[sql])

    def link_targets(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the possible link targets: the path and aliases of each note, then the path of each
        attachment."""
        yield from self.notes.aliases()
        for path in self.attachments.paths():
            yield path, ()

    def latest_notes(self, ids: Sequence[int], most: int) -> list[int]:
        """Return the ids of up to ``most`` of the given notes, last modified first; ties are sorted by
        path."""
        rows = self._database.all_in("SELECT id, modified, path FROM notes WHERE id IN ({})", ids)
        return [id for id, _, _ in nsmallest(most, rows, key=lambda row: (-row[1], row[2]))]

    def paths_of(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the paths of notes by id; ids that no longer exist are left out."""
        return dict(self._database.all_in("SELECT id, path FROM notes WHERE id IN ({})", ids))

    def set_chunking_version(self, version: str) -> bool:
        """Record the version of parsing and chunking; if it has changed, mark every note for reading again.

        Returns True if the version has changed, False if it is the same or was never recorded.
        """
        old = self._database.meta("reading")
        if old == version:
            return False
        with self.commit():
            self._database.set_meta("reading", version)
            self._database.run("UPDATE notes SET racy = 1, hash = x''")
        return bool(old)

    def mark_changed(self, ids: Sequence[int], revision: int) -> None:
        """Mark notes as changed at ``revision``, so that indexes that follow the ledger read them again."""
        self._database.run_many("UPDATE notes SET revision = ? WHERE id = ?", ((revision, id) for id in ids))

    def select(self, sql: str, *values: Any) -> list[Any]:
        """Return the rows of a query; ``sql`` must never contain untrusted text."""
        return self._database.all(sql, *values)

    def select_in(self, sql: str, values: Sequence[Any]) -> Iterator[Any]:
        """Yield the rows of a query, with ``values`` put into its ``IN ({})``. The number of values is not
        limited."""
        return self._database.all_in(sql, values)


def _relinked(links: Sequence[LinkTarget], part: Ledger) -> tuple[tuple[int, int, str], ...]:
    """Resolve links to hidden notes as in ``part``, in which these notes do not exist. Links without a target
    are left out."""
    keys = {link_key(target) for _, _, _, target in links}
    targets = part.link_targets() if keys else ()
    names = Names.of(target for target in targets if not keys.isdisjoint(name_keys(*target)))
    found = ((note, ordinal, names.resolve(target, source).path) for note, ordinal, source, target in links)
    return tuple((note, ordinal, path) for note, ordinal, path in found if path is not None)
