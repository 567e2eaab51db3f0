"""SQLite connections, one per thread, and the few kinds of statement that the tables use."""

import contextlib
import shutil
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

from vaultseek.base.limits import LEDGER_CLOSE_SECONDS, SQL_VARIABLES
from vaultseek.base.paths import check_files

K = TypeVar("K")
V = TypeVar("V")


class RowCache(Generic[V]):
    """Thread-safe cache of up to ``capacity`` values by key.

    Each commit clears the cache. A value read before a commit is not stored after it, so that no reader sees
    an outdated row.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._values: dict[Any, V] = {}
        self._generation = 0
        self._lock = threading.Lock()

    def get_or_read(self, keys: Sequence[K], read: Callable[[Sequence[K]], Mapping[K, V]]) -> dict[K, V]:
        """Return the values of ``keys`` in order; ``read`` is called for the keys that are not cached.

        Keys that ``read`` does not return are left out.
        """
        with self._lock:
            generation = self._generation
            values = {key: self._values[key] for key in keys if key in self._values}
        if len(values) == len(keys):
            return values
        rows = read([key for key in keys if key not in values])
        self._keep(rows, generation)
        values.update(rows)
        return {key: values[key] for key in keys if key in values}

    def clear(self) -> None:
        """Remove all values; called after each commit."""
        with self._lock:
            self._generation += 1
            self._values.clear()

    def _keep(self, rows: Mapping[Any, V], generation: int) -> None:
        with self._lock:
            if generation != self._generation:
                return
            if len(self._values) + len(rows) > self._capacity:
                self._values.clear()
            if len(rows) <= self._capacity:
                self._values.update(rows)


class Database:
    """One SQLite file. One thread writes; any thread reads, each through its own connection."""

    def __init__(self, file: Path) -> None:
        self.file = file
        identities: list[tuple[int, int] | None] = []
        self._connections = Connections(partial(connect_same, file, identities))
        self.is_suspect = False
        """True once an error suggests that the file is damaged."""
        self._caches: list[RowCache[Any]] = []
        self._identities = identities
        self._sizes = threading.Lock()
        self._size = self._size_to_be = 0

    def close(self) -> None:
        """Close the connections of all threads."""
        self._connections.close()

    def cache(self, capacity: int) -> RowCache[Any]:
        """Return a new cache of decoded rows that every commit clears."""
        cache: RowCache[Any] = RowCache(capacity)
        self._caches.append(cache)
        return cache

    def clear_caches(self) -> None:
        """Clear all caches, because a commit may have outdated their rows."""
        for cache in self._caches:
            cache.clear()

    def record_files(self) -> None:
        """Record the identity of the database's files once all of them exist."""
        self._identities[:] = [_identity(file) for file in self._files()]

    def is_sound(self) -> bool:
        """Return true unless an error suggested damage, or the files are missing, replaced or truncated.

        SQLite keeps using files that were removed, and notices damage only where it reads. This method checks
        only the status of the files: opening and closing the file here would drop SQLite's own locks on it.
        """
        if self._sizes.acquire(blocking=False):  # otherwise ``shrink`` is truncating the file
            try:
                size = _size(self.file)
                same = [_identity(file) for file in self._files()] == self._identities
                self.is_suspect |= not same or size < self._size
                self._size = min(size, self._size_to_be or size)
            finally:
                self._sizes.release()
        return not self.is_suspect

    def _files(self) -> list[Path]:
        return [self.file.with_name(self.file.name + suffix) for suffix in ("", "-wal", "-shm")]

    def connection(self) -> sqlite3.Connection:
        """Return the calling thread's connection, which is opened on first use."""
        return self._own()[0]

    def _own(self) -> tuple[sqlite3.Connection, threading.RLock]:
        return self._connections.own()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Run the ``with`` block in one transaction; roll it back on any error, including an error in the
        commit itself."""
        with self._statement() as connection:
            if connection.in_transaction:  # a disk error can prevent even a rollback
                connection.execute("ROLLBACK")
            connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            with self._statement() as connection:
                connection.execute("COMMIT")
        except BaseException:
            with self._statement() as connection:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            raise

    def run(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """Execute one statement."""
        with self._statement() as connection:
            return connection.execute(sql, values)

    def run_many(self, sql: str, rows: Iterable[Sequence[Any] | Mapping[str, Any]]) -> None:
        """Execute one statement once per row of values."""
        with self._statement() as connection:
            connection.executemany(sql, rows)

    def one(self, sql: str, *values: Any) -> Any:
        """Return the first row of a query's result, or None."""
        with self._statement() as connection:
            return connection.execute(sql, values).fetchone()

    def all(self, sql: str, *values: Any) -> list[Any]:
        """Return all rows of a query's result."""
        with self._statement() as connection:
            return connection.execute(sql, values).fetchall()

    def all_in(self, sql: str, values: Sequence[Any], mark: str = "?") -> Iterator[Any]:
        """Yield the rows of ``sql``, with a ``mark`` for each of ``values`` put into its ``IN ({})``. Many
        values are split among several statements."""
        for start in range(0, len(values), SQL_VARIABLES):
            batch = values[start : start + SQL_VARIABLES]
            marks = ", ".join([mark] * len(batch))
            with self._statement() as connection:
                rows = connection.execute(sql.format(marks), batch).fetchall()
            yield from rows

    def all_below(self, sql: str, folder: str) -> list[Any]:
        """Return the rows of ``sql`` whose ``path`` is inside ``folder``; "" stands for the whole vault."""
        if not folder:
            return self.all(sql)
        # "0" is the character after "/", so this range is the folder's whole subtree and nothing else.
        return self.all(f"{sql} WHERE path >= ? AND path < ?", folder + "/", folder + "0")

    def shrink(self, rewritten: str = "") -> bool:
        """Remove free pages from the file and empty the log. Return False if a reader keeps the log from
        being emptied.

        Deleted text is overwritten in the file, but not in the log. If ``rewritten`` is given and the disk
        has room, first rewrite the file with full pages, and store the value of ``rewritten`` under that name
        in the table ``meta``.
        """
        with self._sizes:
            if rewritten and self._rewrite():
                self.set_meta("rewritten", rewritten)
            with self._statement() as connection:
                connection.executescript("PRAGMA incremental_vacuum")  # ``execute`` would free only one page
            # While the log is read, the file keeps its size; SQLite truncates the file later.
            self._size = self._size_to_be = self.one("PRAGMA page_count")[0] * self.one("PRAGMA page_size")[0]
            is_read = self.one("PRAGMA wal_checkpoint(TRUNCATE)")[0]
            if not is_read:
                self._size_to_be = 0
        return not is_read

    def _rewrite(self) -> bool:
        """Rewrite the file; return False, with the file unchanged, if that fails. Meanwhile, other threads
        can read the file."""
        # During the rewrite, the disk also has a temporary copy of the file, and another copy in the log.
        size = self.one("PRAGMA page_count")[0] * self.one("PRAGMA page_size")[0]
        if shutil.disk_usage(self.file.parent).free < 2 * size + _ROOM_BYTES:
            return False
        with self._statement() as connection, contextlib.suppress(sqlite3.OperationalError):
            connection.execute("VACUUM")
            return True
        return False

    def meta(self, name: str) -> str:
        """Return the value stored under ``name``; "" if it was never set."""
        row = self.one("SELECT value FROM meta WHERE name = ?", name)
        return "" if row is None else str(row[0])

    def set_meta(self, name: str, value: str) -> None:
        """Store a value under a name."""
        self.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", name, value)

    @contextmanager
    def _statement(self) -> Iterator[sqlite3.Connection]:
        try:
            connection, lock = self._own()
            with lock:
                yield connection
        except _VALUE_ERRORS:
            raise
        except sqlite3.DatabaseError as error:
            check_files()
            self.is_suspect |= not is_no_damage(error, self.file)
            raise


def is_no_damage(error: sqlite3.DatabaseError, file: Path) -> bool:
    """Return true if the error has a cause other than damage to ``file``, such as a lock or a full disk."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & _PRIMARY_CODE
    # On a full disk SQLite also reports I/O errors, and the existing content is still readable.
    return code in _HARMLESS or (code == sqlite3.SQLITE_IOERR and _disk_is_full(file))


def _disk_is_full(file: Path) -> bool:
    with contextlib.suppress(OSError):
        return shutil.disk_usage(file.parent).free < _ROOM_BYTES
    return False


def _identity(file: Path) -> tuple[int, int] | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return -1


_PRIMARY_CODE = 0xFF
_ROOM_BYTES = 1024 * 1024
_HARMLESS = (
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_MISUSE, sqlite3.SQLITE_CONSTRAINT,
)  # fmt: skip
"""Error codes that do not indicate damage."""
_VALUE_ERRORS = (sqlite3.ProgrammingError, sqlite3.InterfaceError, sqlite3.DataError, sqlite3.IntegrityError)
"""Errors caused by values that SQLite does not accept."""


def keep_temporary_files(folder: Path) -> None:
    """Make SQLite store its temporary files, which can contain text of notes, in ``folder``.

    Call this before the first thread is started.
    """
    name = str(folder).replace("'", "''")
    with contextlib.closing(sqlite3.connect(":memory:")) as connection, contextlib.suppress(sqlite3.Error):
        connection.execute(f"PRAGMA temp_store_directory = '{name}'")


def connect_same(file: Path, identities: Sequence[tuple[int, int] | None]) -> sqlite3.Connection:
    """Open a connection. Raises sqlite3.DatabaseError if the file no longer has the first of ``identities``:
    the other threads still read the former file."""
    connection, now = connect(file), _identity(file)
    if identities and None not in (now, identities[0]) and now != identities[0]:
        connection.close()
        raise sqlite3.DatabaseError("the ledger was replaced by another program")
    return connection


def connect(file: Path) -> sqlite3.Connection:
    """Open a connection with durable commits that overwrites deleted text in the file."""
    is_new = _size(file) <= 0
    connection = sqlite3.connect(file, timeout=10.0, isolation_level=None, check_same_thread=False)
    try:
        if is_new:  # must come first; an existing file already has this setting
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA secure_delete = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


class Connections:
    """Connections of all threads to one file; ``open`` opens a new connection."""

    def __init__(self, open: Callable[[], sqlite3.Connection]) -> None:
        self._open = open
        self._local = threading.local()
        self._all: list[tuple[sqlite3.Connection, threading.RLock]] = []
        self._lock = threading.Lock()
        self._closed = False

    def own(self) -> tuple[sqlite3.Connection, threading.RLock]:
        """Return the calling thread's connection, opened on first use, and the lock to hold while using the
        connection.

        Raises sqlite3.ProgrammingError once the connections are closed.
        """
        own: tuple[sqlite3.Connection, threading.RLock] | None = getattr(self._local, "own", None)
        if own is None:
            own = self._open(), threading.RLock()
            with self._lock:
                if self._closed:
                    own[0].close()
                    raise sqlite3.ProgrammingError("the ledger is closed")
                self._all.append(own)
            self._local.own = own
        return own

    def close(self) -> None:
        """Interrupt and close all connections.

        Closing a connection during a statement would crash the process, so a connection that is not
        interrupted in time stays open.
        """
        with self._lock:
            self._closed = True
            closing, self._all = self._all, []
        for connection, lock in closing:
            if lock.acquire(blocking=False) or _interrupt(connection, lock):
                try:
                    connection.close()
                finally:
                    lock.release()


def _interrupt(connection: sqlite3.Connection, lock: threading.RLock) -> bool:
    """Interrupt a connection's statement and take the connection's lock; return False if the statement does
    not end in time."""
    connection.interrupt()
    if not lock.acquire(timeout=LEDGER_CLOSE_SECONDS):
        return False
    with contextlib.suppress(sqlite3.Error):
        connection.execute("SELECT 1")  # otherwise the open snapshot would keep SQLite from emptying its log
    return True
