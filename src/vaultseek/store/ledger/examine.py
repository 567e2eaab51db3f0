"""Read-only checks of a ledger file, safe while the daemon uses it."""

import contextlib
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from vaultseek.base.model import NOT_EMBEDDED
from vaultseek.errors import IndexDamaged
from vaultseek.store.ledger.rows import Counts
from vaultseek.store.ledger.schema import SCHEMA_VERSION
from vaultseek.store.ledger.vectors import FIRST

_PENDING = f"FROM unsynced WHERE space = {FIRST} AND gone = 0"
_REFUSED = f"FROM notes n JOIN problems p ON p.path = n.path WHERE p.code = '{NOT_EMBEDDED}'"


def examine(file: Path) -> Counts:
    """Check the ledger at ``file`` and return its counts.

    Raises IndexDamaged if the ledger is unreadable or was written by a different version.
    """
    try:
        with contextlib.closing(_connect_read_only(file)) as connection:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version != SCHEMA_VERSION:
                raise IndexDamaged(f"ledger: version {version}, expected {SCHEMA_VERSION}")
            check = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if check != "ok":
                raise IndexDamaged("ledger: the pages are inconsistent; the ledger has to be rebuilt")
            return count(connection)
    except sqlite3.DatabaseError as error:
        raise IndexDamaged(f"ledger: {error}") from None


def examine_stored(file: Path) -> tuple[str, int, int]:
    """Return three values: the name of the ledger's vector store, the minimum number of passages in a
    complete store, and the number of notes with text that could not be embedded.

    The name is empty if there is no store yet. Raises sqlite3.DatabaseError.
    """
    with contextlib.closing(_connect_read_only(file)) as connection:
        name = connection.execute("SELECT value FROM meta WHERE name = 'store'").fetchone()
        # Passages that could not be embedded count as stored; otherwise they would be retried forever.
        least = connection.execute(
            "SELECT count(*) FROM chunks WHERE note NOT IN"
            f" (SELECT n.id {_REFUSED})"
            f" AND number NOT IN (SELECT number {_PENDING} AND of_note = 0)"
        ).fetchone()
        refused = connection.execute(f"SELECT count(*) {_REFUSED}").fetchone()
    return (str(name[0]) if name else ""), int(least[0]), int(refused[0])


def read_vectors(file: Path, keys: Sequence[str]) -> dict[str, bytes]:
    """Return the vectors stored under ``keys`` in the ledger at ``file``; {} if a different version wrote it.

    Raises sqlite3.DatabaseError.
    """
    with contextlib.closing(_connect_read_only(file)) as connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
            return {}
        sql = "SELECT key, vector FROM vectors WHERE key IN (SELECT value FROM json_each(?))"
        return dict(connection.execute(sql, (json.dumps(keys),)))


def count(connection: sqlite3.Connection) -> Counts:
    """Count the rows of a ledger."""
    tables = ("FROM notes", "FROM chunks", f"{_PENDING} AND of_note = 0", f"{_PENDING} AND of_note = 1")
    numbers = [connection.execute(f"SELECT count(*) {table}").fetchone()[0] for table in tables]
    notes, chunks, pending_chunks, pending_notes = numbers
    return Counts(notes, chunks, chunks - pending_chunks, pending_chunks + pending_notes)


def _connect_read_only(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{quote(os.fsencode(file))}?mode=ro", uri=True, timeout=10.0)
