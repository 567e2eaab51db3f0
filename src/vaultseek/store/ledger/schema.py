"""The ledger's tables, and the opening of its file. A file that is damaged or from a different version is
replaced."""

import contextlib
import logging
import os
import re
import sqlite3
import time
import uuid
from collections.abc import Collection
from pathlib import Path

from vaultseek.base.paths import check_files, checksum, remove, remove_unless_file, write_atomically
from vaultseek.store.ledger.database import Database, connect, is_no_damage

log = logging.getLogger(__name__)

SCHEMA_VERSION = 13
"""Version of the tables below, stored as SQLite's ``user_version``."""

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE notes (
  id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, revision INTEGER NOT NULL,
  size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL,
  racy INTEGER NOT NULL, hash BLOB NOT NULL, title TEXT NOT NULL, title_source TEXT NOT NULL,
  aliases TEXT NOT NULL, tags TEXT NOT NULL, headings TEXT NOT NULL, tasks TEXT NOT NULL,
  properties TEXT NOT NULL, modified REAL NOT NULL, created REAL NOT NULL, created_kind TEXT NOT NULL,
  language TEXT NOT NULL, blocks TEXT NOT NULL, turn INTEGER NOT NULL,
  currency TEXT NOT NULL, name_day TEXT NOT NULL, day_first INTEGER
);
CREATE INDEX notes_by_revision ON notes (revision);
CREATE INDEX notes_with_blocks ON notes (id) WHERE blocks != '[]';
CREATE INDEX notes_with_currency ON notes (id) WHERE currency != '[]';
CREATE TABLE chunks (
  number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, note INTEGER NOT NULL, ordinal INTEGER NOT NULL,
  heading_path TEXT NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, text TEXT NOT NULL,
  code TEXT NOT NULL, place TEXT, edits TEXT NOT NULL
);
CREATE INDEX chunks_by_note ON chunks (note, ordinal);
CREATE TABLE tags (tag TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (tag, note)) WITHOUT ROWID;
CREATE INDEX tags_by_note ON tags (note);
CREATE TABLE names (name TEXT NOT NULL, note INTEGER NOT NULL, PRIMARY KEY (name, note)) WITHOUT ROWID;
CREATE INDEX names_by_note ON names (note);
CREATE TABLE links (
  note INTEGER NOT NULL, ordinal INTEGER NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, heading TEXT,
  block TEXT, alias TEXT, line INTEGER NOT NULL, property TEXT, first INTEGER, last INTEGER,
  key TEXT NOT NULL, resolved TEXT,
  PRIMARY KEY (note, ordinal)
) WITHOUT ROWID;
CREATE INDEX links_by_key ON links (key);
CREATE INDEX links_by_resolved ON links (resolved);
CREATE INDEX links_to_parts ON links (note) WHERE heading IS NOT NULL OR block IS NOT NULL;
CREATE TABLE successions (
  note INTEGER NOT NULL, ordinal INTEGER NOT NULL, target TEXT NOT NULL, is_successor INTEGER NOT NULL,
  key TEXT NOT NULL, resolved TEXT,
  PRIMARY KEY (note, ordinal)
) WITHOUT ROWID;
CREATE INDEX successions_by_key ON successions (key);
CREATE INDEX successions_by_resolved ON successions (resolved);
CREATE TABLE forms (note INTEGER NOT NULL, form TEXT NOT NULL, PRIMARY KEY (note, form)) WITHOUT ROWID;
CREATE INDEX forms_by_form ON forms (form, note);
CREATE TABLE lines (
  note INTEGER NOT NULL, label INTEGER NOT NULL, value INTEGER NOT NULL, PRIMARY KEY (note, label, value)
) WITHOUT ROWID;
CREATE INDEX lines_by_label ON lines (label);
CREATE TABLE attachments (path TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE problems (
  path TEXT NOT NULL, code TEXT NOT NULL, message TEXT NOT NULL, line INTEGER, of_scan INTEGER NOT NULL
);
CREATE INDEX problems_by_path ON problems (path);
CREATE TABLE removed (note INTEGER PRIMARY KEY, revision INTEGER NOT NULL);
CREATE TABLE spaces (
  space INTEGER PRIMARY KEY, pending_chunks INTEGER NOT NULL, pending_notes INTEGER NOT NULL
);
INSERT INTO spaces VALUES (1, 0, 0);
CREATE TABLE unsynced (
  space INTEGER NOT NULL, gone INTEGER NOT NULL, of_note INTEGER NOT NULL, number INTEGER NOT NULL,
  note INTEGER NOT NULL, PRIMARY KEY (space, gone, of_note, number)
) WITHOUT ROWID;
CREATE TABLE vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL);
CREATE TABLE languages (language TEXT PRIMARY KEY, notes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TRIGGER language_added AFTER INSERT ON notes BEGIN
  INSERT INTO languages VALUES (new.language, 1) ON CONFLICT DO UPDATE SET notes = notes + 1; END;
CREATE TRIGGER language_removed AFTER DELETE ON notes BEGIN
  UPDATE languages SET notes = notes - 1 WHERE language = old.language; END;
CREATE TRIGGER language_changed AFTER UPDATE OF language ON notes WHEN old.language != new.language BEGIN
  UPDATE languages SET notes = notes - 1 WHERE language = old.language;
  INSERT INTO languages VALUES (new.language, 1) ON CONFLICT DO UPDATE SET notes = notes + 1; END;
"""
"""Statements that create the tables. ``languages`` counts the notes in each language; "" stands for an
unclear language. ``vectors`` has row ids: without them, a vector of 384 numbers would take a whole page,
three times its size."""

_COUNTED = """
CREATE TABLE row_counts (notes INTEGER, chunks INTEGER);
INSERT INTO row_counts VALUES (0, 0);
CREATE TRIGGER unsynced_added AFTER INSERT ON unsynced WHEN new.gone = 0 BEGIN UPDATE spaces
  SET pending_chunks = pending_chunks + (NOT new.of_note), pending_notes = pending_notes + new.of_note
  WHERE space = new.space; END;
CREATE TRIGGER unsynced_removed AFTER DELETE ON unsynced WHEN old.gone = 0 BEGIN UPDATE spaces
  SET pending_chunks = pending_chunks - (NOT old.of_note), pending_notes = pending_notes - old.of_note
  WHERE space = old.space; END;
CREATE TRIGGER chunks_renumbered AFTER UPDATE OF number ON chunks WHEN old.number != new.number BEGIN
  UPDATE unsynced SET number = new.number WHERE space IN (SELECT space FROM spaces)
    AND gone = 0 AND of_note = 0 AND number = old.number; END;
"""
_FOLLOWED = """
CREATE TRIGGER {table}_added AFTER INSERT ON {table} BEGIN
  UPDATE row_counts SET {table} = {table} + 1;
  INSERT OR IGNORE INTO unsynced SELECT space, 0, {of_note}, new.{number}, new.{note} FROM spaces; END;
CREATE TRIGGER {table}_removed AFTER DELETE ON {table} BEGIN
  UPDATE row_counts SET {table} = {table} - 1;
  DELETE FROM unsynced WHERE space IN (SELECT space FROM spaces)
    AND gone = 0 AND of_note = {of_note} AND number = old.{number};
  INSERT OR IGNORE INTO unsynced SELECT space, 1, {of_note}, old.{number}, old.{note} FROM spaces; END;
"""
_TRIGGERS = (
    _COUNTED
    + _FOLLOWED.format(table="chunks", of_note=0, number="number", note="note")
    + _FOLLOWED.format(table="notes", of_note=1, number="id", note="id")
)
"""Triggers that fill ``unsynced`` and count rows. For each vector space, ``unsynced`` lists the texts whose
vectors the store lacks, and the numbers that the store no longer needs. Every search and save needs the row
counts, and counting is slow in a large vault."""


def read_tables(names: Collection[str]) -> list[str]:
    """Return the statements that create the tables with the given ``names``, and their indexes, but not their
    triggers."""
    statements = (statement.strip() for statement in (_TABLES + _COUNTED).split(";"))
    wanted = re.compile(rf"CREATE (TABLE|INDEX \w+ ON) ({'|'.join(names)})\b")
    return [statement for statement in statements if wanted.match(statement)]


_HISTORY = """
CREATE TABLE IF NOT EXISTS opens (
  number INTEGER PRIMARY KEY AUTOINCREMENT, words TEXT NOT NULL, query TEXT NOT NULL, path TEXT NOT NULL,
  position INTEGER NOT NULL, time REAL NOT NULL, client TEXT NOT NULL, model TEXT NOT NULL,
  vector BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS opens_by_words ON opens (words);
CREATE INDEX IF NOT EXISTS opens_by_path ON opens (path);
CREATE INDEX IF NOT EXISTS opens_by_query ON opens (query COLLATE NOCASE);
CREATE TRIGGER IF NOT EXISTS opens_renamed AFTER UPDATE OF path ON notes WHEN old.path != new.path BEGIN
  UPDATE opens SET path = new.path WHERE path = old.path; END;
CREATE TABLE IF NOT EXISTS given (
  number INTEGER PRIMARY KEY AUTOINCREMENT, time REAL NOT NULL, agent TEXT NOT NULL, tool TEXT NOT NULL,
  question TEXT NOT NULL, tokens INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS given_notes (
  answer INTEGER NOT NULL, path TEXT NOT NULL, start_line INTEGER, end_line INTEGER
);
CREATE INDEX IF NOT EXISTS given_notes_by_answer ON given_notes (answer);
CREATE INDEX IF NOT EXISTS given_notes_by_path ON given_notes (path);
CREATE TRIGGER IF NOT EXISTS given_deleted AFTER DELETE ON given BEGIN
  DELETE FROM given_notes WHERE answer = old.number; END;
CREATE TRIGGER IF NOT EXISTS given_renamed AFTER UPDATE OF path ON notes WHEN old.path != new.path BEGIN
  UPDATE given_notes SET path = new.path WHERE path = old.path; END;
"""
"""Tables that are also created in an existing ledger of this version, so that it need not be rebuilt."""

_CRC = "crc32"
_NAMES = ("", "-wal", "-shm", ".closed", ".bad", ".bad-wal", ".bad-shm")
"""Suffixes of the ledger's file names."""


def open_database(file: Path) -> Database:
    """Open or create the ledger at ``file``.

    A damaged file, or one with a different schema version, is replaced; the new file inherits the vectors. A
    file that ``close_database`` sealed must be unchanged; in other files, only the structure of pages is
    checked. If the file is locked or the disk is full, raises sqlite3.OperationalError and does not replace
    the file.
    """
    for name in _NAMES:
        remove_unless_file(file.with_name(file.name + name))
    unchanged = _break_seal(file)
    if unchanged is False or not _is_usable(file, check_pages=unchanged is None):
        log.warning("%s is damaged or from another version; rebuilding it from the notes", file)
        _move_aside(file)
    database = Database(file)
    try:
        _create_tables(database)
        _inherit_vectors(database)
        database.record_files()
    except BaseException:
        database.close()
        raise
    return database


def close_database(database: Database) -> None:
    """Close the database and seal its file with a checksum, which reveals any change made before the next
    start."""
    database.close()
    if not database.is_suspect and not _log(database.file).exists():
        with contextlib.suppress(OSError):
            write_atomically(_seal(database.file), checksum(database.file))


def _break_seal(file: Path) -> bool | None:
    """Remove the seal, because it must not survive a crash. Return True if the file is unchanged since it was
    closed, False if it has changed, and None if that is unknown."""
    seal = _seal(file)
    try:
        sealed = seal.read_text()
        seal.unlink()
        if _log(file).exists() or not sealed.startswith(_CRC):
            return None
        return sealed == checksum(file)
    except (OSError, UnicodeDecodeError):
        return None


def _seal(file: Path) -> Path:
    return file.with_name(f"{file.name}.closed")


def _log(file: Path) -> Path:
    return file.with_name(f"{file.name}-wal")


def _is_usable(file: Path, *, check_pages: bool) -> bool:
    if not file.exists():
        return True
    try:
        with contextlib.closing(connect(file)) as connection:
            connection.execute("BEGIN IMMEDIATE")  # fails on a read-only file
            connection.execute("ROLLBACK")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            sound = not check_pages or connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok"
    except UnicodeDecodeError:  # the file is damaged
        return False
    except sqlite3.DatabaseError as error:
        check_files()
        if is_no_damage(error, file):
            raise
        return False
    return bool(sound and version in (0, SCHEMA_VERSION))


def _move_aside(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        part, aside = file.with_name(file.name + suffix), file.with_name(f"{file.name}.bad{suffix}")
        if part.exists():
            os.replace(part, aside)  # noqa: PTH105


def _create_tables(database: Database) -> None:
    connection = database.connection()
    database.file.chmod(0o600)
    if connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION:
        connection.executescript(_HISTORY)
        return
    meta = {"generation": uuid.uuid4().hex, "revision": "0", "embeddings_computed": "0", "store": ""}
    meta["made"] = str(time.time())
    tables = _TABLES + _TRIGGERS + _HISTORY
    connection.executescript("BEGIN IMMEDIATE;" + tables + f"PRAGMA user_version = {SCHEMA_VERSION};")
    connection.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
    connection.execute("COMMIT")


def _inherit_vectors(database: Database) -> None:
    """Copy the vectors and the history from a ledger that was moved aside, then delete that ledger.

    Vectors are expensive to compute, and the history exists nowhere else. The rest may contain the text of
    notes that have been deleted since.
    """
    old = database.file.with_name(f"{database.file.name}.bad")
    if not old.exists():
        return
    connection = database.connection()
    damage = (sqlite3.DatabaseError, UnicodeDecodeError)
    with contextlib.suppress(*damage):
        connection.execute("ATTACH ? AS old", (str(old),))
    with contextlib.suppress(*damage):
        connection.execute("INSERT OR IGNORE INTO vectors SELECT key, vector FROM old.vectors")
    for table in ("opens", "given", "given_notes"):
        with contextlib.suppress(*damage):  # by name, because a newer version may have more columns
            columns = ", ".join(row[1] for row in connection.execute(f"PRAGMA main.table_info({table})"))
            connection.execute(f"INSERT INTO {table} ({columns}) SELECT {columns} FROM old.{table}")
    with contextlib.suppress(*damage):
        connection.execute("DETACH old")
    for suffix in ("", "-wal", "-shm"):
        remove(old.with_name(old.name + suffix))
