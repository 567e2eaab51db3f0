"""The vocabulary of a vault in a SQLite file beside its ledger, for an engine that keeps none."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vaultseek.engines.vocabulary import VocabularyTables

VERSION = 3
_TABLES = """
CREATE TABLE word_meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE word_notes (
  note INTEGER PRIMARY KEY, language INTEGER NOT NULL, sums BLOB NOT NULL, postings BLOB NOT NULL
);
CREATE TABLE word_languages (language INTEGER PRIMARY KEY, notes INTEGER NOT NULL);
CREATE TABLE word_terms (
  number INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, notes INTEGER NOT NULL, rows INTEGER NOT NULL
);
CREATE TABLE word_words (
  word TEXT NOT NULL, term INTEGER NOT NULL, backward TEXT NOT NULL, PRIMARY KEY (word, term)
) WITHOUT ROWID;
CREATE INDEX words_backward ON word_words (backward);
"""


class StoredVocabulary(VocabularyTables):
    """The vocabulary of one vault in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._open()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._local = threading.local()

    def _select(self, sql: str, *values: Any) -> list[Any]:
        return self._connection().execute(sql, values).fetchall()

    def _run(self, sql: str, *values: Any) -> None:
        self._connection().execute(sql, values)

    def _run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection().executemany(sql, rows)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise

    def _connection(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = sqlite3.connect(self._file, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA busy_timeout = 10000")
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    def _open(self) -> None:
        """Open the file; a damaged one, or one of another version, is begun anew."""
        try:
            version = self._connection().execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.DatabaseError:
            version = -1
        if version == VERSION:
            return
        self.close()
        for suffix in ("", "-wal", "-shm"):
            self._file.with_name(self._file.name + suffix).unlink(missing_ok=True)
        self._connection().executescript(f"BEGIN; {_TABLES} PRAGMA user_version = {VERSION}; COMMIT;")
        self._file.chmod(0o600)
