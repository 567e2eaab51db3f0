"""The ledger as a searcher sees it: a shard's tables on the server, read with the ledger's own statements."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from vaultseek.errors import Unavailable
from vaultseek.store.ledger.database import Database
from vaultseek.store.ledger.ledger import Ledger
from vaultseek.store.ledger.rows import Counts, LinkTarget
from vaultseek.store.ledger.scoped import (
    LINKS_OUTSIDE,
    TABLES,
    Scope,
    ScopedDatabase,
    rows_of_visible,
)
from vaultseek.store.ledger.vectors import FIRST, SECOND, SpaceTable
from vaultseek_server.engines.postgres.backend import PostgresBackend
from vaultseek_server.engines.postgres.schema import LEDGER_TABLES, LEDGER_VIEWS, in_postgres, missing
from vaultseek_server.engines.postgres.server import Server, storable
from vaultseek_server.settings import EngineOptions

_PATTERN = re.compile(r" LIKE (\?|'[^']*')(?! ESCAPE)")
_GLOB = "~ ('^' || replace(replace(?, '*', '.*'), chr(63), '.') || '$')"
"""The equivalent of ``GLOB ?`` in PostgreSQL."""


class Statements:
    """A connection that runs statements written for SQLite."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Execute a statement and return its cursor."""
        return self._connection.execute(translated(sql), storable(values) or None)


@lru_cache(maxsize=1000)
def translated(sql: str) -> str:
    """Translate a statement from SQLite to PostgreSQL."""
    if "?" in sql:
        sql = sql.replace("%", "%%")
    sql = sql.replace("instr(", "strpos(")
    sql = _PATTERN.sub(r" ILIKE \1 ESCAPE ''", sql).replace(" LIKE ", " ILIKE ").replace("GLOB ?", _GLOB)
    return sql.replace(" IN ()", " IN (NULL)").replace("?", "%s")


class PostgresDatabase(Database):
    """The tables of one shard, read-only. Every method may raise ``Unavailable``."""

    def __init__(self, server: Server, values: dict[str, str]) -> None:
        """Open the shard's tables; ``values`` replaces the table ``meta``."""
        Database.__init__(self, Path(server.schema))
        self.server = server
        self.values = values

    def meta(self, name: str) -> str:
        """Return the value stored under ``name``; "" if it was never set."""
        return self.values.get(name, "")

    def is_sound(self) -> bool:
        """Return True, because the server is responsible for its files."""
        return True

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Raise Unavailable, because a searcher writes nothing."""
        raise Unavailable(
            "a searcher cannot write; run the command where the vault is indexed", "unavailable"
        )
        yield

    @contextmanager
    def _statement(self) -> Iterator[Any]:
        with self.server.connection() as connection:
            yield Statements(connection)


class _Scoped(PostgresDatabase, ScopedDatabase):
    """The tables of a shard, limited to the notes in some folders. Views with the tables' names enforce the
    limit."""

    def __init__(self, whole: PostgresDatabase, scope: Scope) -> None:
        server = Server(whole.server.options, whole.server.schema, is_shared=False)
        PostgresDatabase.__init__(self, server, dict(whole.values))
        self.scope = scope

    @property
    def scope(self) -> Scope:
        """The visible folders, and the links that resolve differently within them."""
        return self._scope

    @scope.setter
    def scope(self, scope: Scope) -> None:
        self._scope = scope
        # Must not refer to this object; otherwise only garbage collection would close it.
        self.server.prepare = partial(_create_views, self.server.options, self.server.schema, scope)
        self.server.reset()

    def links_outside(self) -> list[LinkTarget]:
        """Return the links and successions from visible notes to notes that are not visible."""
        return list(self.all(_named(LINKS_OUTSIDE, self.server.schema)))

    def __del__(self) -> None:
        self.server.close()


def _create_views(options: EngineOptions, schema: str, scope: Scope, connection: Any) -> None:
    """Create the views that limit a connection to a scope. Raises Unavailable if the shard is missing."""
    sql = (
        "SELECT table_name::text, array_agg(column_name::text ORDER BY ordinal_position)"
        " FROM information_schema.columns WHERE table_schema = %s GROUP BY table_name"
    )
    columns = dict(connection.execute(sql, [schema]).fetchall())
    if not columns:
        raise Unavailable(missing(options), "vault_missing")
    for statement in TABLES:
        connection.execute(in_postgres(statement))
    for statement, row in scope.entries():
        connection.execute(_named(translated(statement), schema), row)
    for table in (*LEDGER_TABLES, *LEDGER_VIEWS):
        visible = _named(rows_of_visible(table, columns[table]), schema)
        connection.execute(f"CREATE TEMP VIEW {table} AS {visible}")
    connection.execute("SET default_transaction_read_only = on")


def _named(sql: str, schema: str) -> str:
    """Return a statement with SQLite's schema names replaced by the shard's."""
    sql = sql.replace("main.", f"{schema}.").replace("temp.", "pg_temp.")
    return sql.replace("CROSS JOIN", "JOIN").replace("WHERE 0", "WHERE false")


class ShardLedger(Ledger):
    """The ledger of a searcher, which reads the ledger that an indexer stored on the server. Nothing is
    stored on the local disk."""

    keeps_opens = False
    is_read_only = True

    def __init__(self, backend: PostgresBackend, position: str) -> None:
        self.backend = backend
        self.database = PostgresDatabase(backend.server, {})
        self.vector_tables: tuple[str, ...] = ()
        """Names of the tables with the chunk vectors and the note vectors of this searcher's model."""
        self._show(position, "")
        self._shown = (position, "")
        self._mark = ""
        """The mark that the shard had when its contents were last counted."""
        self._is_replaced = False
        self._begin(self.database)
        self.space = self._lack = _Lack(self.database, FIRST)
        self.second_space = _Lack(self.database, SECOND)
        self._count()

    def close(self) -> None:
        """Do nothing, because the connections belong to the engine."""

    def is_sound(self) -> bool:
        """Return False once the indexer has a new ledger, because data read from the former ledger is then
        useless."""
        return not self._is_replaced

    def set_chunking_version(self, version: str) -> bool:
        """Return False, because it is the indexer that reads the notes."""
        return False

    def _visible(self, scope: Scope) -> ScopedDatabase:
        return _Scoped(self.database, scope)

    def refresh(self, position: str, store: str, mark: str) -> bool:
        """Show the data written up to ``position``; return True if notes have changed or a vector store was
        created.

        ``store`` is the name of the vector store. Each write leaves a new ``mark``, even if it writes only
        vectors.
        """
        changed = (position, store) != self._shown
        self._is_replaced |= position.partition(":")[0] != self.generation.partition(":")[0]
        if changed:
            self._show(position, store)
            self.generation, self._revision = (
                self.database.meta("generation"),
                int(self.database.meta("revision")),
            )
            self._database.clear_caches()
        if changed or mark != self._mark:
            self._count()
            self._mark = mark
        self._shown = (position, store)  # last, so that the next refresh repeats one that failed
        return changed

    def _show(self, position: str, store: str) -> None:
        generation, _, revision = position.rpartition(":")
        self.database.values |= {"generation": generation, "revision": revision, "store": store}

    def _count(self) -> None:
        """Count the contents after a write, and keep the counts, because they are requested often."""
        notes, chunks = self.database.one("SELECT notes, chunks FROM row_counts")
        stored = [self.backend.server.rows(f"SELECT count(*) FROM {table}") for table in self.vector_tables]
        there = [rows[0][0] if rows else 0 for rows in stored] or [0, 0]
        pending = max(0, chunks - there[0]), max(0, notes - there[1])
        self._lack.counts = pending
        self._counts = Counts(notes, chunks, chunks - pending[0], sum(pending))

    def _pending_in(self, part: Ledger) -> tuple[int, int]:
        columns = {"chunks": "number", "notes": "id"}
        chunks, notes = (
            self._without_vectors(part, f"SELECT count(*) FROM {of} AS t", f"t.{columns[of]}", each)
            for of, each in zip(columns, self.vector_tables, strict=True)
        )
        return chunks, notes

    def _without_vectors(self, part: Ledger, sql: str, number: str, table: str) -> int:
        if not any(self._lack.counts):
            return 0
        if self.backend.server.has_table(table):
            sql += f" WHERE NOT EXISTS (SELECT 1 FROM {table} AS v WHERE v.number = {number})"
        return int(part.select(sql)[0][0])


class _Lack(SpaceTable):
    """Counts of texts without a vector on the server, which does not have the indexer's list of missing
    vectors.

    The indexer handles the second space and deletes the vectors of removed texts.
    """

    counts = (0, 0)

    def pending_counts(self) -> tuple[int, int]:
        """Return the number of chunks and the number of notes that had no vector when the shard was
        counted."""
        return self.counts

    def orphans(self, limit: int) -> tuple[list[int], list[int]]:
        """Return two empty lists, because the indexer deletes the vectors of removed texts."""
        return [], []

    def end(self) -> None:
        """Do nothing, because the indexer records the changes."""
