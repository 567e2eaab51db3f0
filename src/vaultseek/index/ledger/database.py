"""SQLite connections, one per thread, and the few forms of statement that the tables use."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vaultseek.limits import SQL_VARIABLES


class Database:
    """One SQLite file. One thread writes; any thread reads, each through its own connection."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self.is_suspect = False
        """True once an error hinted at damage of the file."""

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()

    def connection(self) -> sqlite3.Connection:
        """Return the calling thread's connection; open it on first use."""
        connection: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = connect(self.file)
            self._local.connection = connection
            with self._lock:
                self._connections.append(connection)
        return connection

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the body in one transaction; roll it back on any error."""
        connection = self.connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    def run(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """Execute one statement."""
        with self._noting_damage():
            return self.connection().execute(sql, values)

    def run_many(self, sql: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Execute one statement once per row of values."""
        with self._noting_damage():
            self.connection().executemany(sql, rows)

    def one(self, sql: str, *values: Any) -> Any:
        """Return the first row, or None."""
        with self._noting_damage():
            return self.connection().execute(sql, values).fetchone()

    def all(self, sql: str, *values: Any) -> list[Any]:
        """Return all rows."""
        with self._noting_damage():
            return self.connection().execute(sql, values).fetchall()

    def all_in(self, sql: str, values: Sequence[Any]) -> Iterator[Any]:
        """Yield the rows of ``sql`` whose ``IN ({})`` lists ``values``, a bounded number per statement."""
        for start in range(0, len(values), SQL_VARIABLES):
            batch = values[start : start + SQL_VARIABLES]
            marks = ", ".join("?" * len(batch))
            with self._noting_damage():
                rows = self.connection().execute(sql.format(marks), batch).fetchall()
            yield from rows

    def all_below(self, sql: str, folder: str) -> list[Any]:
        """Return the rows of ``sql`` whose column ``path`` is inside ``folder``; "" is the whole vault."""
        if not folder:
            return self.all(sql)
        # "0" is the character after "/", so this range is the folder's whole subtree and nothing else.
        return self.all(f"{sql} WHERE path >= ? AND path < ?", folder + "/", folder + "0")

    def empty_log(self) -> bool:
        """Write what the write-ahead log has into the file, and empty it; false if it is being read.

        Deleted text is overwritten in the file, but not in the log.
        """
        return not self.one("PRAGMA wal_checkpoint(TRUNCATE)")[0]

    def meta(self, name: str) -> str:
        """Return a single stored value; "" if it was never set."""
        row = self.one("SELECT value FROM meta WHERE name = ?", name)
        return "" if row is None else str(row[0])

    def set_meta(self, name: str, value: str) -> None:
        """Store a single value by name."""
        self.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", name, value)

    @contextmanager
    def _noting_damage(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
            self.is_suspect |= code & _PRIMARY_CODE not in _HARMLESS
            raise


_PRIMARY_CODE = 0xFF
_HARMLESS = (
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_CONSTRAINT,
)  # fmt: skip
"""Errors that say nothing about the file."""


def connect(file: Path) -> sqlite3.Connection:
    """Open a connection with durable commits; deleted text is overwritten in the file."""
    connection = sqlite3.connect(file, timeout=10.0, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA secure_delete = ON")
    return connection
