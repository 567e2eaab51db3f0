"""Requests to a PostgreSQL server, each on its own connection, and the server's errors as messages."""

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from vaultseek.errors import ConfigError, Unavailable
from vaultseek_server.engines.postgres.connections import IdleConnections, idle_connections
from vaultseek_server.settings import EngineOptions

PAUSE_SECONDS = 2.0
"""Number of seconds after a failure during which requests fail at once, so that further searches need not
wait."""
SLACK_SECONDS = 1.0
"""Number of seconds by which a statement may exceed its timeout before its connection is abandoned. A frozen
server does not enforce timeouts."""
EXTENSION_SCHEMAS = ("public", "extensions")
"""Schemas that may contain pgvector; some providers put extensions into a separate schema."""

_REFUSAL = re.compile(r"(?:FATAL|fe_sendauth|SSL error): *(.+)")
"""Pattern that finds the reason for a refused connection in libpq's message."""

log = logging.getLogger(__name__)


class Server:
    """A server as used for one vault. Connections are opened on demand, and reopened when they are lost.

    Each request or transaction has a connection to itself; afterwards the connection is reused, even for
    other vaults. Statements use the tables of ``schema``. If connections are not shared with other vaults,
    ``prepare`` may set up each new connection.
    """

    def __init__(self, options: EngineOptions, schema: str, *, is_shared: bool = True) -> None:
        self.options = options
        self.schema = schema
        self.outage: Unavailable | None = None
        """The reason why the server did not answer the last request, or None."""
        self.is_indexing = False
        """True while an approximate index of vectors is being built."""
        self.prepare: Callable[[Any], None] = lambda connection: None
        """Function that is called with each new connection."""
        self._local = threading.local()
        self._idle = idle_connections(options) if is_shared else IdleConnections()
        self._used: set[Any] = set()
        self._lock = threading.RLock()
        self._lost_at = -PAUSE_SECONDS
        self._is_closed = False

    def close(self) -> None:
        """Close the connections permanently."""
        self._is_closed = True
        self.reset()

    def reset(self) -> None:
        """Close all connections of this vault, whether in use or not; new connections are opened on
        demand."""
        with self._lock:
            used = list(self._used)
        for connection in used:
            connection.close()
        self._idle.close()

    @contextmanager
    def connection(self) -> Iterator[Any]:
        """Yield a connection for one statement; within a transaction, yield the transaction's connection.
        Raises Unavailable."""
        import psycopg

        with self._held() as connection:
            seconds = self._local.limit if self._depth else self.options.seconds
            connection.seconds = seconds + SLACK_SECONDS
            try:
                yield connection
            except psycopg.Error as error:
                raise self._unavailable(error, connection) from error
            else:
                self.outage = None

    @contextmanager
    def _held(self) -> Iterator[Any]:
        """Yield the calling thread's connection, or a temporary one."""
        connection = getattr(self._local, "connection", None)
        if connection is not None:
            if connection.closed:  # earlier writes are lost with it
                raise self._no_answer()
            yield connection
            return
        connection = self._local.connection = self._take()
        try:
            self._choose_schema(connection)
            yield connection
        finally:
            self._local.connection = None
            with self._lock:
                self._used.discard(connection)
            self._idle.put(connection)

    def rows(self, sql: str, *values: Any) -> list[Any]:
        """Return the rows that a statement yields; none if the table does not exist. Raises Unavailable."""
        import psycopg

        with self.connection() as connection:
            try:
                with psycopg.Cursor(connection) as cursor:
                    cursor.execute(sql, values or None, binary=True)
                    return cursor.fetchall() if cursor.description else []
            except psycopg.errors.UndefinedTable:
                if self._depth:
                    raise
                return []

    def run(self, sql: str, *values: Any) -> int:
        """Run a statement, and return the number of changed rows. Raises Unavailable."""
        with self.connection() as connection:
            count: int = connection.execute(sql, values or None).rowcount
            return count

    def copy(self, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        """Add rows to a table; ``columns`` names the table and its columns. Raises Unavailable."""
        with self._copying(f"{columns} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(storable(row))

    def copy_binary(self, columns: str, rows: bytes) -> None:
        """Add rows, in the binary format of COPY, to a table; ``columns`` names the table and its columns.
        Raises Unavailable."""
        with self._copying(f"{columns} FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8) + rows + b"\xff\xff")

    @contextmanager
    def _copying(self, what: str) -> Iterator[Any]:
        with self.connection() as connection, connection.cursor().copy(f"COPY {what}") as copy:
            yield copy

    def has_table(self, name: str) -> bool:
        """Return true if the schema contains the table ``name``. Raises Unavailable."""
        sql = "SELECT 1 FROM pg_tables WHERE schemaname = %s AND tablename = %s"
        return bool(self.rows(sql, self.schema, name))

    @contextmanager
    def transaction(self, seconds: float | None = None) -> Iterator[None]:
        """Run the ``with`` block in a transaction, joining one that is already running. Raises Unavailable.

        ``seconds`` is the time limit for each statement; by default, the limit for writes.
        """
        if self._depth:
            yield
            return
        limit = self._local.limit = seconds or self.options.write_seconds
        with self._held():
            with self.connection() as connection:
                connection.execute(f"BEGIN; SET LOCAL statement_timeout = {1000 * limit:.0f}")
            self._local.depth = 1
            try:
                yield
                with self.connection() as connection:
                    connection.execute("COMMIT")
            except BaseException:
                with suppress(Exception), self.connection() as connection:
                    connection.execute("ROLLBACK")
                raise
            finally:
                self._local.depth = 0

    @property
    def _depth(self) -> int:
        return getattr(self._local, "depth", 0)

    def _take(self) -> Any:
        if self._is_closed:
            raise self._no_answer()
        connection = self._idle.take(self.schema)
        if connection is None:
            connection = self._connect()
        with self._lock:
            self._used.add(connection)
        if self._is_closed:
            connection.close()
        return connection

    def _no_answer(self) -> Unavailable:
        reason = self.outage or f"PostgreSQL at {self.options.place} does not answer"
        return Unavailable(str(reason), "unavailable")

    def _choose_schema(self, connection: Any) -> None:
        import psycopg

        if connection.schema == self.schema:
            return
        connection.seconds = self.options.seconds + SLACK_SECONDS
        try:
            connection.execute(f"SET search_path = {self._path()}")
        except psycopg.Error as error:
            raise self._unavailable(error, connection) from error
        connection.schema = self.schema

    def _path(self) -> str:
        """Return the schemas in which the tables and the extension are looked up."""
        return ",".join((self.schema, *EXTENSION_SCHEMAS))

    def _connect(self) -> Any:
        import psycopg
        from psycopg.types.numeric import IntLoader

        if time.monotonic() < self._lost_at + PAUSE_SECONDS:
            raise self._no_answer()
        options = self.options
        try:
            user, _, password = options.token().partition(":")
        except ConfigError as error:  # another program may be replacing the file
            raise Unavailable(str(error), "unavailable") from error
        more: dict[str, Any] = {"user": user, "password": password} if user else {}
        if options.certificate:
            more |= {"sslmode": "verify-full", "sslrootcert": str(Path(options.certificate).expanduser())}
        try:
            connection: Any = _limited_connection().connect(
                options.uri,
                autocommit=True,
                cursor_factory=psycopg.ClientCursor,
                connect_timeout=max(2, round(options.seconds)),
                options=(
                    f"-c search_path={self._path()}"
                    f" -c statement_timeout={1000 * options.seconds:.0f}"
                    " -c hnsw.ef_search=400 -c hnsw.iterative_scan=relaxed_order"
                ),
                **more,
            )
            connection.adapters.register_loader("numeric", IntLoader)
            connection.schema = self.schema
            connection.seconds = options.seconds + SLACK_SECONDS
            try:
                self.prepare(connection)
            except BaseException:
                connection.close()
                raise
        except psycopg.Error as error:
            raise self._unavailable(error, None) from error
        return connection

    def _unavailable(self, error: Any, connection: Any) -> Unavailable:
        import psycopg

        place = self.options.place
        first, *more = str(error).splitlines() or [type(error).__name__]
        level = logging.INFO if self.outage is None else logging.DEBUG  # the caller reports more
        log.log(level, "PostgreSQL at %s: %s", place, " ".join([first, *more])[:300])
        if isinstance(error, psycopg.errors.DiskFull):
            return Unavailable(f"the disk of PostgreSQL at {place} is full", "disk_full")
        # An error of class 57 means that the server ended the statement or the connection; the request is not
        # at fault.
        is_open = connection is not None and not connection.closed
        is_answer = is_open and error.sqlstate is not None and not error.sqlstate.startswith("57")
        if is_answer or not isinstance(error, psycopg.OperationalError):
            return Unavailable(f"PostgreSQL at {place} refused a request: {first}", "unavailable")
        if not is_open or not isinstance(error, psycopg.errors.QueryCanceled):
            self._lost_at = time.monotonic()
            if connection is not None:
                connection.close()
        refusal = _REFUSAL.search(str(error)) if connection is None else None
        if connection is not None or refusal is None:  # a server that refuses new connections keeps old ones
            self._idle.close()
        what = f"refuses the connection: {refusal[1]}" if refusal else "does not answer"
        self.outage = Unavailable(f"PostgreSQL at {place} {what}", "unavailable")
        return self.outage


def storable(values: Sequence[Any]) -> list[Any]:
    """Return values that PostgreSQL can store: text without NUL."""
    return [each.replace("\0", "\ufffd") if isinstance(each, str) else each for each in values]


@cache
def _limited_connection() -> Any:
    """Return a connection class that fails if the server does not answer within the time limit."""
    import psycopg

    class LimitedConnection(psycopg.Connection[Any]):
        seconds = 0.0
        schema = ""

        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            return super().wait(gen, interval, timeout or self.seconds or None)

    return LimitedConnection
