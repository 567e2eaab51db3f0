"""The ledger: everything that is known of a vault, in one SQLite file.

One transaction is the commit point. The keyword index, the vector store and the graph are caches that carry
the revision they stand at; each can be refilled from here. The vault itself is the truth: a ledger that
cannot be read, or that has another schema, is moved aside and made again.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from vaultseek.errors import IndexDamaged
from vaultseek.limits import SQL_VARIABLES
from vaultseek.model import JSON, Chunk, Heading, Link, LinkKind, Note, Problem
from vaultseek.query.compare import fold
from vaultseek.vault.diff import Known
from vaultseek.vault.scan import Stamp

SCHEMA_VERSION = 3

_SCHEMA = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE notes (
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
  racy INTEGER NOT NULL, hash BLOB NOT NULL, title TEXT NOT NULL, title_source TEXT NOT NULL,
  aliases TEXT NOT NULL, tags TEXT NOT NULL, headings TEXT NOT NULL, tasks TEXT NOT NULL,
  properties TEXT NOT NULL, modified REAL NOT NULL, created REAL NOT NULL, stored INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX notes_by_revision ON notes (revision);
CREATE INDEX notes_to_store ON notes (modified) WHERE stored = 0;
CREATE TABLE chunks (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, note INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  heading_path TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, text TEXT NOT NULL,
  code TEXT NOT NULL, stored INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX chunks_by_note ON chunks (note, ordinal);
CREATE INDEX chunks_to_store ON chunks (note) WHERE stored = 0;
CREATE TABLE tags (tag TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (tag, note)) WITHOUT ROWID;
CREATE INDEX tags_by_note ON tags (note);
CREATE TABLE names (name TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (name, note)) WITHOUT ROWID;
CREATE INDEX names_by_note ON names (note);
CREATE TABLE links (
  note INTEGER NOT NULL, ordinal INTEGER NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, heading TEXT,
  block TEXT, alias TEXT, line INTEGER NOT NULL, property TEXT, key TEXT NOT NULL, resolved TEXT,
  PRIMARY KEY (note, ordinal)
) WITHOUT ROWID;
CREATE INDEX links_by_key ON links (key);
CREATE INDEX links_by_resolved ON links (resolved);
CREATE TABLE attachments (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE problems (
  path TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL, line INTEGER, of_scan INTEGER NOT NULL
);
CREATE INDEX problems_by_path ON problems (path);
CREATE TABLE removed (note INTEGER PRIMARY KEY, revision INTEGER NOT NULL);
CREATE TABLE orphans (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class TakenIn:
    """A note as it goes into the ledger. ``modified`` and ``created`` are seconds since the epoch."""

    note: Note
    chunks: tuple[Chunk, ...]
    link_keys: tuple[str, ...]
    stamp: Stamp
    racy: bool
    hash: bytes
    modified: float
    created: float


@dataclass(frozen=True, slots=True)
class Touched:
    """A note whose content is what it was, with its new stamp."""

    path: str
    stamp: Stamp
    racy: bool
    modified: float


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A note as the ledger remembers it."""

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
    """A chunk as the ledger remembers it, with the note it belongs to.

    ``number`` stays the same as long as the text does, wherever the note moves; vectors are stored under it.
    """

    note: int
    chunk: Chunk
    number: int


@dataclass(frozen=True, slots=True)
class LinkRow:
    """A link with its source note and what it resolves to now."""

    note: int
    source: str
    link: Link
    resolved: str | None


@dataclass(frozen=True, slots=True)
class Counts:
    """How many notes and chunks there are, and how many of their vectors wait to be stored."""

    notes: int
    chunks: int
    embedded: int
    pending: int


def examine(file: Path) -> Counts:
    """How much the ledger at ``file`` holds, after it was checked. Changes nothing; the daemon may use it.

    Raises IndexDamaged if it cannot be read or was made by another version.
    """
    address = f"file:{quote(os.fsencode(file))}?mode=ro"
    try:
        with contextlib.closing(sqlite3.connect(address, uri=True, timeout=10.0)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != SCHEMA_VERSION:
                raise IndexDamaged(f"ledger: of version {version}, this is {SCHEMA_VERSION}")
            said = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if said != "ok":
                raise IndexDamaged("ledger: its pages contradict each other")
            return _counted(connection)
    except sqlite3.DatabaseError as error:
        raise IndexDamaged(f"ledger: {error}") from None


def examine_stored(file: Path) -> tuple[str, int]:
    """The vector store that the ledger at ``file`` speaks of, and how many passages it has to hold at least.

    The name is empty if there is none yet. Changes nothing. Raises sqlite3.DatabaseError.
    """
    address = f"file:{quote(os.fsencode(file))}?mode=ro"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=10.0)) as connection:
        name = connection.execute("SELECT value FROM meta WHERE name = 'store'").fetchone()
        # Passages that could not be embedded are marked as stored, or they would be tried for ever.
        least = connection.execute(
            "SELECT count(*) FROM chunks WHERE stored = 1 AND note NOT IN"
            " (SELECT n.id FROM notes n JOIN problems p ON p.path = n.path WHERE p.code = 'not_embedded')"
        ).fetchone()
    return (str(name[0]) if name else ""), int(least[0])


def _counted(connection: sqlite3.Connection) -> Counts:
    tables = ("notes", "chunks", "chunks WHERE stored = 0", "notes WHERE stored = 0")
    numbers = [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]
    notes, chunks, waiting, notes_waiting = numbers
    return Counts(notes, chunks, chunks - waiting, waiting + notes_waiting)


class Ledger:
    """One vault's ledger. One thread writes; any thread reads, each through a connection of its own."""

    def __init__(self, file: Path) -> None:
        """Open or make the ledger at ``file``; one that is damaged or of another schema is moved aside."""
        self._file = file
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        if not self._usable():
            self._move_aside()
        self._create()
        self._inherit_vectors()
        self.generation: str = self._meta("generation")
        self._counts: tuple[int, Counts] | None = None

    def close(self) -> None:
        """Close every connection; the ledger cannot be used any more."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    # -- writing ---------------------------------------------------------------------------------------

    @contextmanager
    def commit(self) -> Iterator[int]:
        """One transaction; yields the revision that it makes. Any error leaves everything as it was."""
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            revision = int(self._meta("revision")) + 1
            self._set_meta("revision", str(revision))
            yield revision
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def put(self, taken: TakenIn, revision: int) -> int:
        """Add or replace a note; only the chunks that differ are written. Returns the note's id."""
        note = taken.note
        before = self._one(
            "SELECT id, hash, title, title_source, aliases FROM notes WHERE path = ?", note.path
        )
        values = _note_values(taken, revision)
        if before is None:
            names = ", ".join(values)
            marks = ", ".join("?" * len(values))
            cursor = self._run(f"INSERT INTO notes ({names}) VALUES ({marks})", *values.values())
            number = int(cursor.lastrowid or 0)
        else:
            number = int(before[0])
            pairs = ", ".join(f"{name} = ?" for name in values)
            if before[1] != taken.hash:
                pairs += ", stored = 0"
            self._run(f"UPDATE notes SET {pairs} WHERE id = ?", *values.values(), number)
        self._put_chunks(number, taken.chunks, dirty=before is not None and _renamed(before[2:], values))
        self._put_parts(number, taken)
        return number

    def move(self, source: str, target: str) -> None:
        """Give the note at ``source`` another path; ``put`` of its content has to follow."""
        self._run("UPDATE notes SET path = ? WHERE path = ?", target, source)
        self._run("DELETE FROM problems WHERE path = ?", source)

    def remove(self, path: str, revision: int) -> int | None:
        """Forget the note at ``path``; returns the id that it had."""
        row = self._one("SELECT id FROM notes WHERE path = ?", path)
        self._run("DELETE FROM problems WHERE path = ?", path)
        if row is None:
            return None
        number = int(row[0])
        self._drop_chunks(self._all("SELECT number, stored FROM chunks WHERE note = ?", number))
        self._run("INSERT OR REPLACE INTO orphans VALUES (?)", note_vector_id(number))
        for table in ("tags", "names", "links"):
            self._run(f"DELETE FROM {table} WHERE note = ?", number)
        self._run("DELETE FROM notes WHERE id = ?", number)
        self._run("INSERT OR REPLACE INTO removed VALUES (?, ?)", number, revision)
        return number

    def touch(self, touched: Iterable[Touched]) -> None:
        """Remember new stamps of notes whose content is what it was."""
        rows = ((*_stamp_values(t.stamp), int(t.racy), t.modified, t.path) for t in touched)
        self._connection().executemany(
            "UPDATE notes SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, racy = ?, modified = ?"
            " WHERE path = ?",
            rows,
        )

    def put_attachments(self, added: Iterable[str], removed: Iterable[str]) -> None:
        """Remember which other files there are; links may point at them."""
        connection = self._connection()
        connection.executemany("INSERT OR IGNORE INTO attachments VALUES (?)", ((path,) for path in added))
        connection.executemany("DELETE FROM attachments WHERE path = ?", ((path,) for path in removed))

    def put_scan_problems(self, problems: Iterable[tuple[str, Problem]], looked: Sequence[str]) -> None:
        """Replace the problems that an earlier walk met in the files and folders ``looked`` at."""
        for path in looked:
            everywhere = "?1 = '' OR path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')"
            self._run(f"DELETE FROM problems WHERE of_scan = 1 AND ({everywhere})", path)
        rows = [(path, p.code, p.message, p.line) for path, p in problems]
        self._connection().executemany("INSERT INTO problems VALUES (?, ?, ?, ?, 1)", rows)

    def put_problem(self, path: str, problem: Problem) -> None:
        """Name one more problem of a note."""
        values = (path, problem.code, problem.message, problem.line)
        self._run("INSERT INTO problems VALUES (?, ?, ?, ?, 0)", *values)

    def resolve_links(self, links: Iterable[tuple[int, int, str | None]]) -> None:
        """Set what links resolve to: (note id, ordinal, path or None)."""
        self._connection().executemany(
            "UPDATE links SET resolved = ?3 WHERE note = ?1 AND ordinal = ?2 AND resolved IS NOT ?3", links
        )

    def forget_removed(self, revision: int) -> None:
        """Drop the memory of removals up to ``revision``: every index has seen them."""
        self._run("DELETE FROM removed WHERE revision <= ?", revision)

    # -- vectors ---------------------------------------------------------------------------------------

    def keep_vectors(self, vectors: Mapping[str, bytes]) -> None:
        """Remember computed vectors by the key of their text."""
        connection = self._connection()
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", vectors.items())
            computed = int(self._meta("embeddings_computed")) + len(vectors)
            self._set_meta("embeddings_computed", str(computed))

    def vectors(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The remembered vectors of ``keys``, as float32 bytes."""
        return dict(self._in("SELECT key, vector FROM vectors WHERE key IN ({})", keys))

    def mark_stored(self, chunks: Sequence[int], notes: Sequence[int], orphans: Sequence[str]) -> None:
        """The vector store holds these vectors now, and holds those orphans no more.

        What was removed from the ledger while its vector was on the way becomes an orphan.
        """
        connection = self._connection()
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("DELETE FROM orphans WHERE id = ?", ((o,) for o in orphans))
            connection.executemany("UPDATE chunks SET stored = 1 WHERE number = ?", ((c,) for c in chunks))
            connection.executemany("UPDATE notes SET stored = 1 WHERE id = ?", ((n,) for n in notes))
            connection.executemany(
                "INSERT OR IGNORE INTO orphans SELECT ?1"
                " WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE number = ?2)",
                ((str(c), c) for c in chunks),
            )
            connection.executemany(
                "INSERT OR IGNORE INTO orphans SELECT ?1"
                " WHERE NOT EXISTS (SELECT 1 FROM notes WHERE id = ?2)",
                ((note_vector_id(n), n) for n in notes),
            )
        self._counts = None

    def nothing_stored(self, store: str) -> None:
        """The vector store is a new, empty one called ``store``: all vectors have to go there again."""
        connection = self._connection()
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("UPDATE chunks SET stored = 0 WHERE stored != 0")
            connection.execute("UPDATE notes SET stored = 0 WHERE stored != 0")
            connection.execute("DELETE FROM orphans")
            self._set_meta("store", store)
        self._counts = None

    def keep_previous_store(self, previous: JSON | None) -> None:
        """Remember the store that answers until the present one is full; None when it is."""
        self._set_meta("previous_store", "" if previous is None else _dump(previous))

    def previous_store(self) -> JSON | None:
        """The store that answers until the present one is full."""
        text = self._meta("previous_store")
        return dict(json.loads(text)) if text else None

    def name_store_model(self, model: str) -> None:
        """Remember the settings' name of the model that the present store is made with."""
        self._set_meta("store_model", model)

    def store_model(self) -> str:
        """The settings' name of the model that the present store is made with."""
        return self._meta("store_model")

    def read_as(self, reading: str) -> bool:
        """Say how notes are read and cut; if that was another way, every note will be read again."""
        before = self._meta("reading")
        if before == reading:
            return False
        with self.commit():
            self._set_meta("reading", reading)
            self._run("UPDATE notes SET racy = 1, hash = x''")
        return bool(before)

    def store(self) -> str:
        """The name of the vector store that the stored marks speak of; empty if there is none yet."""
        return self._meta("store")

    def chunks_to_store(self, limit: int) -> list[ChunkRow]:
        """Chunks whose vectors are not in the store, those of recently modified notes first."""
        rows = self._all(
            f"SELECT {_CHUNK} FROM chunks c JOIN notes n ON n.id = c.note WHERE c.stored = 0"
            " ORDER BY n.modified DESC, c.note, c.ordinal LIMIT ?",
            limit,
        )
        return [_chunk_row(row) for row in rows]

    def notes_to_store(self, limit: int) -> list[NoteRow]:
        """Notes whose note vector is not in the store, recently modified first."""
        rows = self._all(f"SELECT {_NOTE} FROM notes WHERE stored = 0 ORDER BY modified DESC LIMIT ?", limit)
        return [_note_row(row) for row in rows]

    def chunk_ids(self, numbers: Sequence[int]) -> dict[int, str]:
        """Ids of chunks by number; numbers that are not there any more are left out."""
        return dict(self._in("SELECT number, id FROM chunks WHERE number IN ({})", numbers))

    def orphans(self, limit: int) -> list[str]:
        """Ids in the vector store that belong to nothing any more."""
        return [row[0] for row in self._all("SELECT id FROM orphans LIMIT ?", limit)]

    def embeddings_computed(self) -> int:
        """Texts put through the model since this ledger was made."""
        return int(self._meta("embeddings_computed"))

    # -- reading ---------------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """The revision of the last commit."""
        return int(self._meta("revision"))

    def known(self, below: str = "") -> dict[str, Known]:
        """Stamps of all notes, or of those in the folder ``below``."""
        sql = "SELECT path, size, mtime_ns, ctime_ns, inode, racy FROM notes"
        rows = self._below(sql, below)
        return {row[0]: Known(Stamp(*row[1:5]), bool(row[5])) for row in rows}

    def attachments(self, below: str = "") -> frozenset[str]:
        """Paths of all other files, or of those in the folder ``below``."""
        return frozenset(row[0] for row in self._below("SELECT path FROM attachments", below))

    def known_at(self, path: str) -> Known | None:
        """The stamp of the note at one path."""
        row = self._one("SELECT size, mtime_ns, ctime_ns, inode, racy FROM notes WHERE path = ?", path)
        return None if row is None else Known(Stamp(*row[:4]), bool(row[4]))

    def is_attachment(self, path: str) -> bool:
        """Whether a file that is no note is known at this path."""
        return self._one("SELECT 1 FROM attachments WHERE path = ?", path) is not None

    def content_hash(self, path: str) -> bytes | None:
        """The hash of the bytes that the note at ``path`` was read from."""
        row = self._one("SELECT hash FROM notes WHERE path = ?", path)
        return None if row is None else row[0]

    def counts(self) -> Counts:
        """Sizes; cheap to ask again while nothing changes."""
        revision = self.revision
        if self._counts is not None and self._counts[0] == revision:
            return self._counts[1]
        counts = _counted(self._connection())
        self._counts = (revision, counts)
        return counts

    def notes(self, ids: Sequence[int]) -> dict[int, NoteRow]:
        """Notes by id; ids that are not there any more are left out."""
        rows = self._in(f"SELECT {_NOTE} FROM notes WHERE id IN ({{}})", ids)
        return {row[0]: _note_row(row) for row in rows}

    def note_at(self, path: str) -> NoteRow | None:
        """The note at a path."""
        row = self._one(f"SELECT {_NOTE} FROM notes WHERE path = ?", path)
        return None if row is None else _note_row(row)

    def named(self, name: str) -> set[int]:
        """Ids of the notes whose title, alias or file name is ``name``, whatever its case."""
        return {row[0] for row in self._all("SELECT note FROM names WHERE name = ?", fold(name))}

    def names(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Path and aliases of every note, then every attachment without any."""
        for path, aliases in self._all("SELECT path, aliases FROM notes"):
            yield path, tuple(json.loads(aliases))
        for (path,) in self._all("SELECT path FROM attachments"):
            yield path, ()

    def changed_since(self, revision: int, limit: int) -> list[tuple[int, int]]:
        """(note id, revision) of notes that changed after ``revision``, in order of change."""
        return self._all(
            "SELECT id, revision FROM notes WHERE revision > ? ORDER BY revision, id LIMIT ?", revision, limit
        )

    def removed_since(self, revision: int) -> list[int]:
        """Ids of notes that were removed after ``revision``."""
        return [row[0] for row in self._all("SELECT note FROM removed WHERE revision > ?", revision)]

    def chunks_of(self, ids: Sequence[int]) -> dict[int, list[Chunk]]:
        """Chunks by note id, in the order of the note."""
        found: dict[int, list[Chunk]] = {number: [] for number in ids}
        for row in self._in(f"SELECT {_CHUNK} FROM chunks c WHERE c.note IN ({{}}) ORDER BY c.ordinal", ids):
            found[row[0]].append(_chunk_row(row).chunk)
        return found

    def opening(self, note: int, limit: int) -> str:
        """The beginning of a note's text, about ``limit`` characters."""
        parts: list[str] = []
        length = 0
        for (text,) in self._all("SELECT text FROM chunks WHERE note = ? ORDER BY ordinal LIMIT 20", note):
            parts.append(text)
            length += len(text)
            if length >= limit:
                break
        return "\n\n".join(parts)[:limit]

    def links_listening(self, keys: Iterable[str]) -> list[tuple[int, int, str, str, LinkKind]]:
        """Links whose target answers to one of ``keys``: (note id, ordinal, source path, target, kind)."""
        return list(self._in(_LISTENING + " WHERE l.key IN ({})", sorted(keys)))

    def links_in(self, ids: Sequence[int]) -> list[tuple[int, int, str, str, LinkKind]]:
        """All links of these notes, in the form of ``links_listening``."""
        return list(self._in(_LISTENING + " WHERE l.note IN ({})", ids))

    def links_from(self, ids: Sequence[int]) -> list[LinkRow]:
        """Links that stand in these notes."""
        sql = f"SELECT {_LINK} FROM links l JOIN notes n ON n.id = l.note WHERE l.note IN ({{}})"
        return [_link_row(row) for row in self._in(sql + " ORDER BY l.note, l.ordinal", ids)]

    def links_to(self, paths: Sequence[str]) -> list[LinkRow]:
        """Links that resolve to these paths."""
        sql = f"SELECT {_LINK} FROM links l JOIN notes n ON n.id = l.note WHERE l.resolved IN ({{}})"
        return [_link_row(row) for row in self._in(sql + " ORDER BY l.note, l.ordinal", paths)]

    def edges(self, ids: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """(source id, target id) of links between different notes, of all notes or from ``ids``."""
        sql = "SELECT DISTINCT l.note, t.id FROM links l JOIN notes t ON t.path = l.resolved"
        sql += " WHERE t.id != l.note"
        if ids is None:
            return self._all(sql)
        return list(self._in(sql + " AND l.note IN ({})", ids))

    def note_ids(self) -> list[int]:
        """Ids of all notes."""
        return [row[0] for row in self._all("SELECT id FROM notes")]

    def problems(self) -> list[tuple[str, Problem]]:
        """Every problem with its path."""
        rows = self._all("SELECT path, code, message, line FROM problems ORDER BY path, line")
        return [(row[0], Problem(row[1], row[2], row[3])) for row in rows]

    def select(self, sql: str, *values: Any) -> list[Any]:
        """Rows of a filter's query; only code of ours writes ``sql``."""
        return self._all(sql, *values)

    # -- the file --------------------------------------------------------------------------------------

    def _usable(self) -> bool:
        if not self._file.exists():
            return True
        try:
            connection = self._connect()
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            sound = connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
            connection.close()
        except sqlite3.DatabaseError:
            return False
        return bool(sound and version in (0, SCHEMA_VERSION))

    def _move_aside(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            part = self._file.with_name(self._file.name + suffix)
            if part.exists():
                os.replace(part, self._file.with_name(f"{self._file.name}.bad{suffix}"))  # noqa: PTH105

    def _create(self) -> None:
        connection = self._connection()
        self._file.chmod(0o600)
        if connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION:
            return
        start = {"generation": uuid.uuid4().hex, "revision": "0", "embeddings_computed": "0", "store": ""}
        start["made"] = str(time.time())
        connection.executescript("BEGIN IMMEDIATE;" + _SCHEMA + f"PRAGMA user_version = {SCHEMA_VERSION};")
        connection.executemany("INSERT INTO meta VALUES (?, ?)", start.items())
        connection.execute("COMMIT")

    def _inherit_vectors(self) -> None:
        """Take over the vectors of a ledger that was moved aside, for they cost the most, and remove it: it
        holds the text of notes that may be deleted by now.
        """
        old = self._file.with_name(f"{self._file.name}.bad")
        connection = self._connection()
        if not old.exists():
            return
        with contextlib.suppress(sqlite3.DatabaseError):
            connection.execute("ATTACH ? AS old", (str(old),))
        with contextlib.suppress(sqlite3.DatabaseError):
            connection.execute("INSERT OR IGNORE INTO vectors SELECT key, vector FROM old.vectors")
        with contextlib.suppress(sqlite3.DatabaseError):
            connection.execute("DETACH old")
        for suffix in ("", "-wal", "-shm"):
            old.with_name(old.name + suffix).unlink(missing_ok=True)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._file, timeout=10.0, isolation_level=None, check_same_thread=False)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
        return connection

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._connect()
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    # -- statements ------------------------------------------------------------------------------------

    def _put_chunks(self, note: int, chunks: Sequence[Chunk], *, dirty: bool) -> None:
        """Write what differs. A chunk of the same text under the same headings keeps its row, and its vector.

        So a note that moves gets other chunk ids (they depend on its path) and no other vectors.
        """
        sql = "SELECT number, heading_path, text, stored FROM chunks WHERE note = ? ORDER BY ordinal"
        before: dict[tuple[str, str], deque[tuple[int, int]]] = defaultdict(deque)
        for number, heading_path, text, stored in self._all(sql, note):
            before[heading_path, text].append((number, stored))
        new, kept = [], []
        for ordinal, chunk in enumerate(chunks):
            values = _chunk_values(note, ordinal, chunk)
            same = before[values[3], values[6]]
            if same:
                kept.append((*values, same.popleft()[0]))
            else:
                new.append(values)
        self._drop_chunks([row for rows in before.values() for row in rows])
        connection = self._connection()
        connection.executemany(
            "INSERT INTO chunks (id, note, ordinal, heading_path, start_line, end_line, text, code)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            new,
        )
        connection.executemany(
            "UPDATE chunks SET id = ?1, ordinal = ?3, start_line = ?5, end_line = ?6, code = ?8"
            + (", stored = 0" if dirty else "")
            + " WHERE number = ?9",
            kept,
        )

    def _drop_chunks(self, rows: Sequence[tuple[int, int]]) -> None:
        orphans = ((str(number),) for number, stored in rows if stored)
        self._connection().executemany("INSERT OR REPLACE INTO orphans VALUES (?)", orphans)
        self._connection().executemany("DELETE FROM chunks WHERE number = ?", ((n,) for n, _ in rows))

    def _put_parts(self, number: int, taken: TakenIn) -> None:
        note = taken.note
        connection = self._connection()
        for table in ("tags", "names", "links"):
            self._run(f"DELETE FROM {table} WHERE note = ?", number)
        self._run("DELETE FROM problems WHERE path = ?", note.path)
        tags = ((number, folded) for folded in {fold(tag) for tag in note.tags})
        connection.executemany("INSERT INTO tags (note, tag) VALUES (?, ?)", tags)
        names = ((number, name) for name in _names(note))
        connection.executemany("INSERT INTO names (note, name) VALUES (?, ?)", names)
        links = (
            (number, i, k.kind, k.target, k.heading, k.block, k.alias, k.line, k.property, key)
            for i, (k, key) in enumerate(zip(note.links, taken.link_keys, strict=True))
        )
        connection.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", links)
        problems = ((note.path, p.code, p.message, p.line) for p in note.problems)
        connection.executemany("INSERT INTO problems VALUES (?, ?, ?, ?, 0)", problems)

    def _meta(self, name: str) -> str:
        row = self._one("SELECT value FROM meta WHERE name = ?", name)
        return "" if row is None else str(row[0])

    def _set_meta(self, name: str, value: str) -> None:
        self._run("INSERT OR REPLACE INTO meta VALUES (?, ?)", name, value)

    def _below(self, sql: str, folder: str) -> list[Any]:
        if not folder:
            return self._all(sql)
        # "0" follows "/" in every ordering of bytes, so this is the folder's whole subtree and nothing else.
        return self._all(f"{sql} WHERE path >= ? AND path < ?", folder + "/", folder + "0")

    def _in(self, sql: str, values: Sequence[Any]) -> Iterator[Any]:
        for start in range(0, len(values), SQL_VARIABLES):
            part = values[start : start + SQL_VARIABLES]
            yield from self._connection().execute(sql.format(", ".join("?" * len(part))), part).fetchall()

    def _run(self, sql: str, *values: Any) -> sqlite3.Cursor:
        return self._connection().execute(sql, values)

    def _one(self, sql: str, *values: Any) -> Any:
        return self._run(sql, *values).fetchone()

    def _all(self, sql: str, *values: Any) -> list[Any]:
        return self._run(sql, *values).fetchall()

    def _number(self, sql: str) -> int:
        return int(self._one(sql)[0])


def note_vector_id(note: int) -> str:
    """The id under which the vector store keeps a note's own vector."""
    return f"note:{note}"


_LISTENING = "SELECT l.note, l.ordinal, n.path, l.target, l.kind FROM links l JOIN notes n ON n.id = l.note"
_NOTE = "id, path, title, title_source, aliases, tags, headings, properties, modified, created"
_CHUNK = "c.note, c.id, c.heading_path, c.start_line, c.end_line, c.text, c.code, c.number"
_LINK = "l.note, n.path, l.kind, l.target, l.heading, l.block, l.alias, l.line, l.property, l.resolved"


def _note_values(taken: TakenIn, revision: int) -> dict[str, Any]:
    note = taken.note
    size, mtime_ns, ctime_ns, inode = _stamp_values(taken.stamp)
    return {
        "path": note.path,
        "revision": revision,
        "size": size,
        "mtime_ns": mtime_ns,
        "ctime_ns": ctime_ns,
        "inode": inode,
        "racy": int(taken.racy),
        "hash": taken.hash,
        "title": note.title,
        "title_source": note.title_source,
        "aliases": _dump(note.aliases),
        "tags": _dump(note.tags),
        "headings": _dump([(h.level, h.text, h.line) for h in note.headings]),
        "tasks": _dump([(t.mark, t.text, t.line) for t in note.tasks]),
        "properties": _dump(note.frontmatter),
        "modified": taken.modified,
        "created": taken.created,
    }


def _names(note: Note) -> set[str]:
    """What the note may be called: title, aliases, file name with and without its extension."""
    file_name = note.path.rpartition("/")[2]
    return {fold(name) for name in (note.title, *note.aliases, file_name, file_name[:-3])} - {""}


def _renamed(before: tuple[str, str, str], values: Mapping[str, Any]) -> bool:
    """Whether title or aliases changed, which are embedded with every chunk; file names do not count."""
    by_name = before[1] == values["title_source"] == "name"
    title = by_name or before[0] == values["title"]
    return not title or before[2] != values["aliases"]


def _stamp_values(stamp: Stamp) -> tuple[int, int, int, int]:
    # An inode may need all 64 bits; SQLite's integers are signed.
    return stamp.size, stamp.mtime_ns, stamp.ctime_ns, stamp.inode


def _chunk_values(note: int, ordinal: int, chunk: Chunk) -> tuple[Any, ...]:
    path = _dump(chunk.heading_path)
    code = _dump(chunk.code)
    return chunk.id, note, ordinal, path, chunk.start_line, chunk.end_line, chunk.text, code


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _note_row(row: Any) -> NoteRow:
    return NoteRow(
        id=row[0],
        path=row[1],
        title=row[2],
        title_is_name=row[3] == "name",
        aliases=tuple(json.loads(row[4])),
        tags=tuple(json.loads(row[5])),
        headings=tuple(Heading(*item) for item in json.loads(row[6])),
        properties=json.loads(row[7]),
        modified=row[8],
        created=row[9],
    )


def _chunk_row(row: Any) -> ChunkRow:
    code = tuple((start, end) for start, end in json.loads(row[6]))
    return ChunkRow(row[0], Chunk(row[1], tuple(json.loads(row[2])), row[3], row[4], row[5], code), row[7])


def _link_row(row: Any) -> LinkRow:
    return LinkRow(row[0], row[1], Link(*row[2:9]), row[9])
