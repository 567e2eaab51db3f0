"""Tables of attachments, which are files other than notes, and of problems with files and folders."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from vaultseek.base.model import Problem
from vaultseek.store.ledger.database import Database
from vaultseek.store.ledger.rows import to_json


class AttachmentTable:
    """The table ``attachments``, with the paths of files other than notes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.version = object()
        """Object that every change replaces with a new one, so that callers can detect changes."""

    def update(self, added: Iterable[str], removed: Iterable[str]) -> None:
        """Add and delete the paths of attachments."""
        added, removed = list(added), list(removed)
        if added or removed:
            self.version = object()
        self._database.run_many("INSERT OR IGNORE INTO attachments VALUES (?)", ((path,) for path in added))
        self._database.run_many("DELETE FROM attachments WHERE path = ?", ((path,) for path in removed))

    def paths(self, folder: str = "") -> frozenset[str]:
        """Return the paths of all attachments, or of those inside ``folder``."""
        rows = self._database.all_below("SELECT path FROM attachments", folder)
        return frozenset(row[0] for row in rows)

    def contains(self, path: str) -> bool:
        """Return true if there is an attachment at ``path``."""
        return self._database.one("SELECT 1 FROM attachments WHERE path = ?", path) is not None


class ProblemTable:
    """The table ``problems``: problems in a note's content, and problems found by a scan (``of_scan``)."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[tuple[str, Problem]]:
        """Return every problem with the path of its file, sorted by path and line."""
        return self._read("ORDER BY path, line")

    def of(self, path: str) -> list[tuple[str, Problem]]:
        """Return the problems with the file or folder at a path, sorted by line."""
        return self._read("WHERE path = ? ORDER BY line", path)

    def paths(self, code: str) -> list[str]:
        """Return the paths of files and folders that have a problem with this code."""
        rows = self._database.all("SELECT DISTINCT path FROM problems WHERE code = ? ORDER BY path", code)
        return [row[0] for row in rows]

    def has(self, path: str, code: str) -> bool:
        """Return true if the file or folder at ``path`` has a problem with this code."""
        sql = "SELECT 1 FROM problems WHERE path = ? AND code = ?"
        return self._database.one(sql, path, code) is not None

    def add(self, path: str, problem: Problem) -> None:
        """Add a problem found in a note."""
        self._insert([(path, problem.code, problem.message, problem.line, 0)])

    def replace(self, notes: Iterable[tuple[str, Sequence[Sequence[Any]]]]) -> None:
        """Replace all problems of notes, given as pairs of path and problems in the form of ``NoteRows``."""
        notes = list(notes)
        self._database.run_many("DELETE FROM problems WHERE path = ?", ((path,) for path, _ in notes))
        self._insert((path, *problem, 0) for path, problems in notes for problem in problems)

    def replace_scanned(self, problems: Iterable[tuple[str, Problem]], scanned: Sequence[str]) -> None:
        """Replace the problems that scans found earlier in ``scanned``, which are paths of files and
        folders."""
        for path in scanned:
            inside = "?1 = '' OR path = ?1 OR (path > ?1 || '/' AND path < ?1 || '0')"
            self._database.run(f"DELETE FROM problems WHERE of_scan = 1 AND ({inside})", path)
        self._insert((path, p.code, p.message, p.line, 1) for path, p in problems)

    def remove(self, path: str, code: str | None = None) -> None:
        """Delete the problems with a file or folder; with ``code``, only the problems with this code."""
        self._database.run("DELETE FROM problems WHERE path = ?1 AND coalesce(?2, code) = code", path, code)

    def tries(self) -> dict[str, int]:
        """Return, by path, the number of times that texts refused by the model have been retried."""
        return dict(json.loads(self._database.meta("tries") or "{}"))

    def set_tries(self, tries: Mapping[str, int]) -> None:
        """Store, by path, the number of times that texts refused by the model have been retried."""
        self._database.set_meta("tries", to_json(dict(tries)))

    def _read(self, selection: str, *values: str) -> list[tuple[str, Problem]]:
        rows = self._database.all(f"SELECT path, code, message, line FROM problems {selection}", *values)
        return [(path, Problem(*problem)) for path, *problem in rows]

    def _insert(self, rows: Iterable[Sequence[Any]]) -> None:
        self._database.run_many("INSERT INTO problems VALUES (?, ?, ?, ?, ?)", rows)
