"""A part of the ledger that shows the notes in some folders, except hidden notes. It shows nothing about
other notes.

SQLite itself enforces the limit. Separate connections have temporary views with the names of the tables, so
that every statement in the program sees only rows about these notes. Tables unknown to this module appear
empty. Links to notes outside the scope, and successions by such notes, resolve as if these notes did not
exist.
"""

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from vaultseek.store.ledger.database import Connections, Database
from vaultseek.store.ledger.rows import LinkTarget

Folders = tuple[str, ...]
"""Folder paths relative to the vault's root, without trailing slashes; "" is the whole vault."""
EVERYWHERE: Folders = ("",)


class Scope(NamedTuple):
    """The visible folders, and the links (note id, ordinal, path) that resolve differently if only these are
    visible.

    Files whose paths are in ``hidden`` are invisible, even in the visible folders.
    """

    folders: Folders
    hidden: frozenset[str] = frozenset()
    relinked: tuple[tuple[int, int, str], ...] = ()

    def entries(self) -> Iterator[tuple[str, Sequence[Any]]]:
        """Yield the statements that write the scope to its tables, each with the values to bind."""
        for folder in self.folders:
            # "0" is the character after "/", so this range is the folder's whole subtree and nothing else.
            low, high = (f"{folder}/", f"{folder}0") if folder else ("", _LAST)
            yield "INSERT INTO temp.scope VALUES (?, ?)", (low, high)
        for path in self.hidden:
            yield "INSERT INTO temp.hidden VALUES (?)", (path,)
        for link in self.relinked:
            yield "INSERT INTO temp.relinked VALUES (?, ?, ?)", link


_WITHOUT_NOTES = frozenset(["meta"])
"""Tables that stay visible, because they contain no data about single notes."""
_LAST = "\U0010ffff"
"""A character that sorts after every character of a path."""
_OF_PATH = (
    "(EXISTS (SELECT 1 FROM temp.scope AS s WHERE {column} >= s.low AND {column} < s.high)"
    " AND NOT EXISTS (SELECT 1 FROM temp.hidden AS h WHERE h.path = {column}))"
)
_OF_NOTE = (
    "EXISTS (SELECT 1 FROM main.notes AS n WHERE n.id = t.note AND " + _OF_PATH.format(column="n.path") + ")"
)
LINKS_OUTSIDE = " UNION ALL ".join(
    "SELECT DISTINCT t.note, t.ordinal, n.path, t.target FROM temp.scope AS s"
    " CROSS JOIN main.notes AS n ON n.path >= s.low AND n.path < s.high"
    f" CROSS JOIN main.{table} AS t ON t.note = n.id"
    f" WHERE t.resolved IS NOT NULL AND {_OF_PATH.format(column='n.path')}"
    f" AND NOT {_OF_PATH.format(column='t.resolved')}"
    for table in ("links", "successions")
)


TABLES = (
    "CREATE TEMP TABLE scope (low TEXT NOT NULL, high TEXT NOT NULL)",
    "CREATE TEMP TABLE hidden (path TEXT PRIMARY KEY) WITHOUT ROWID",
    "CREATE TEMP TABLE relinked"
    " (note INTEGER, ordinal INTEGER, resolved TEXT, PRIMARY KEY (note, ordinal)) WITHOUT ROWID",
)
"""Statements that create temporary tables for the scope. The views use these tables."""


class ScopedConnections:
    """One connection per thread, with the views. Whenever the scope changes, each connection is updated."""

    def __init__(self, file: Path) -> None:
        self._connections = Connections(lambda: _connect(file))
        self._local = threading.local()

    def own(self, scope: Scope) -> tuple[sqlite3.Connection, threading.RLock]:
        """Return the calling thread's connection, limited to ``scope``, and the connection's lock."""
        connection, lock = self._connections.own()
        if getattr(self._local, "scope", None) != scope:
            self._local.scope = None
            with lock:
                _set_scope(connection, scope)
            self._local.scope = scope
        return connection, lock

    def close(self) -> None:
        """Close the connections of all threads."""
        self._connections.close()


class ScopedDatabase(Database):
    """A read-only database limited to the notes of a scope."""

    def __init__(self, whole: Database, connections: ScopedConnections, scope: Scope) -> None:
        super().__init__(whole.file)
        self._whole = whole
        self._scoped = connections
        self.scope = scope

    def links_outside(self) -> list[LinkTarget]:
        """Return the links and successions from visible notes to notes that are not visible."""
        return list(self.all(LINKS_OUTSIDE))

    def _own(self) -> tuple[sqlite3.Connection, threading.RLock]:
        return self._scoped.own(self.scope)

    @contextmanager
    def _statement(self) -> Iterator[sqlite3.Connection]:
        try:
            with super()._statement() as connection:
                yield connection
        finally:
            self._whole.is_suspect |= self.is_suspect


def _connect(file: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(file, timeout=10.0, isolation_level=None, check_same_thread=False)
    tables = [
        row[0] for row in connection.execute("SELECT name FROM main.sqlite_master WHERE type = 'table'")
    ]
    for statement in TABLES:
        connection.execute(statement)
    for table in tables:
        if table not in _WITHOUT_NOTES and not table.startswith("sqlite_"):
            columns = [row[1] for row in connection.execute(f'PRAGMA main.table_info("{table}")')]
            connection.execute(f'CREATE TEMP VIEW "{table}" AS {rows_of_visible(table, columns)}')
    connection.execute("PRAGMA query_only = ON")
    return connection


def rows_of_visible(table: str, columns: Sequence[str]) -> str:
    """Return the query for those rows of a table that are about visible notes."""
    if "note" in columns and "resolved" in columns:
        return _links(table, columns)
    condition = "0"
    if "path" in columns:
        condition = _OF_PATH.format(column="t.path")
    elif "note" in columns:
        condition = _OF_NOTE
    return f'SELECT * FROM main."{table}" AS t WHERE {condition}'


def _links(table: str, columns: Sequence[str]) -> str:
    """Return the query for links. It is a union whose first part can use the index on targets."""
    seen = _OF_PATH.format(column="t.resolved")

    def leading(to: str) -> str:
        return ", ".join(f"{to} AS resolved" if name == "resolved" else f't."{name}"' for name in columns)

    same_link = "r.note = t.note AND r.ordinal = t.ordinal"
    return (
        f'SELECT * FROM main."{table}" AS t WHERE {_OF_NOTE} AND (t.resolved IS NULL OR {seen})'
        f' UNION ALL SELECT {leading("NULL")} FROM main."{table}" AS t'
        f" WHERE {_OF_NOTE} AND t.resolved IS NOT NULL AND NOT {seen}"
        f" AND NOT EXISTS (SELECT 1 FROM temp.relinked AS r WHERE {same_link})"
        f" UNION ALL SELECT {leading('r.resolved')} FROM temp.relinked AS r"
        f' CROSS JOIN main."{table}" AS t ON {same_link}'
    )


def _set_scope(connection: sqlite3.Connection, scope: Scope) -> None:
    connection.execute("PRAGMA query_only = OFF")
    connection.execute("DELETE FROM temp.scope")
    connection.execute("DELETE FROM temp.hidden")
    connection.execute("DELETE FROM temp.relinked")
    for statement, row in scope.entries():
        connection.execute(statement, row)
    connection.execute("PRAGMA query_only = ON")
