"""The table ``opens``, which records which notes were opened from which queries."""

import sys
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

import numpy as np

from vaultseek.store.ledger.database import Database

KEPT_OPENS = 5000
"""Maximum number of rows in the table; the oldest are deleted."""
READ_OPENS = 500
"""Maximum number of rows that one search reads, the newest first."""


class Open(NamedTuple):
    """A note opened from a query: its path, its rank in the results (from 1), the time and the client."""

    query: str
    path: str
    position: int
    time: float
    client: str


class Meaning(NamedTuple):
    """The unit vector of a query, and the model that computed it. Cosines from different models are not
    comparable."""

    model: str
    vector: Any


class OpenTable:
    """The table ``opens``. Notes are identified by path, so that rows can follow a rename and survive a
    rebuild.

    Writing creates no revision, because no index depends on these rows. ``words`` are a query's words in
    alphabetical order.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._vectors: dict[tuple[str, int], tuple[list[str], Any]] = {}

    def add(self, words: str, opened: Open, meaning: Meaning | None = None) -> None:
        """Add a row, deleting the oldest if there are too many."""
        model = meaning.model if meaning else ""
        vector = np.asarray(meaning.vector, "<f2").tobytes() if meaning else b""
        with self._database.transaction():
            self._database.run(
                "INSERT INTO opens (words, query, path, position, time, client, model, vector)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                words, *opened, model, vector,
            )  # fmt: skip
            oldest = "(SELECT max(number) FROM opens) - ?"
            self._database.run(f"DELETE FROM opens WHERE number <= {oldest}", KEPT_OPENS)
        self._vectors.clear()

    def matching(self, words: Collection[str], beginning: str = "") -> list[Open]:
        """Return the latest rows of queries whose sorted words are in ``words`` or whose text begins with
        ``beginning``."""
        marks = ", ".join("?" * len(words))
        selected = f"SELECT number, {_COLUMNS} FROM opens WHERE words IN ({marks})"
        values: list[object] = [*words]
        if beginning:
            selected += f" UNION SELECT number, {_COLUMNS} FROM opens WHERE query >= ? COLLATE NOCASE"
            selected += " AND query < ? COLLATE NOCASE"
            values += [beginning, beginning + chr(sys.maxunicode)]
        return self._read(f"({selected})", READ_OPENS, *values)

    def near(self, meaning: Meaning, least: float) -> list[str]:
        """Return the words of the queries whose vectors have a cosine of at least ``least`` with the vector
        in ``meaning``."""
        key = meaning.model, len(meaning.vector)
        known = self._vectors.get(key)
        if known is None:
            sql = "SELECT words, vector, max(number) FROM opens WHERE model = ? AND length(vector) = ?"
            sql += " GROUP BY words"
            rows = self._database.all(sql, key[0], 2 * key[1])
            vectors = np.frombuffer(b"".join(row[1] for row in rows), "<f2").astype(np.float32)
            known = self._vectors[key] = [row[0] for row in rows], vectors.reshape(len(rows), key[1])
        words, matrix = known
        return [words[place] for place in np.flatnonzero(matrix @ meaning.vector >= least)]

    def counts(self, notes: Sequence[int]) -> dict[int, int]:
        """Return, by note id, the number of times that each of the given notes was opened from a query;
        counts of 0 are left out."""
        sql = "SELECT notes.id, count(*) FROM opens JOIN notes USING (path) WHERE notes.id IN ({}) GROUP BY 1"
        return dict(self._database.all_in(sql, notes))

    def latest(self, most: int) -> list[Open]:
        """Return up to ``most`` rows, newest first."""
        return self._read("opens", most)

    def forget(self, words: str = "", path: str = "") -> int:
        """Delete the rows of a query or of a note, or all rows; return the number of deleted rows."""
        with self._database.transaction():
            sql = "DELETE FROM opens WHERE (?1 = '' OR words = ?1) AND (?2 = '' OR path = ?2)"
            deleted = self._database.run(sql, words, path).rowcount
        self._vectors.clear()
        self._database.shrink()
        return deleted

    def forget_deleted(self) -> None:
        """Delete the rows of notes that no longer exist."""
        with self._database.transaction():
            self._database.run("DELETE FROM opens WHERE path NOT IN (SELECT path FROM notes)")
        self._vectors.clear()

    def _read(self, table: str, most: int, *values: object) -> list[Open]:
        sql = f"SELECT {_COLUMNS} FROM {table} ORDER BY number DESC LIMIT ?"
        return [Open(*row) for row in self._database.all(sql, *values, most)]


_COLUMNS = ", ".join(Open._fields)
