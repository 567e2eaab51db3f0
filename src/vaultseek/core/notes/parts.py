"""Completion of headings, blocks, attachments and paths of a whole vault.

They are read when they are first asked for, kept in memory, and follow the ledger by its changes.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Literal

from vaultseek.content.markdown.plain import shown_heading
from vaultseek.content.markdown.resolve import NOTE_SUFFIX
from vaultseek.core.notes.completer import GRADES, Completer, Entry, Match, NoteName, PartName
from vaultseek.store.ledger import Ledger

RECENT_PARTS = 500
"""Changed notes whose parts are completed beside the others; of more, they are ranked among them."""
PartKind = Literal["heading", "block", "file"]
PATH_GRADES = 3
"""Grades of a match of a path: one that is not in it as typed would be found in too many."""
Part = PartName | NoteName


class VaultParts:
    """Completes the parts of all notes, always from the ledger's current revision."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._headings = _Kind("headings")
        self._blocks = _Kind("blocks")
        self._paths = _Kind("path", PATH_GRADES)
        self._files = Completer(())
        self._file_paths = Completer(())
        self._files_version: object = None

    def complete(self, kind: PartKind, typed: str, limit: int) -> list[Match]:
        """Return the best completions of a kind."""
        with self._lock:
            if kind == "file":
                return self._completer_of_files().complete(typed, limit)
            parts = self._headings if kind == "heading" else self._blocks
            parts.follow(self._ledger)
            return parts.complete(typed.removeprefix("^") if kind == "block" else typed, limit)

    def complete_paths(self, kind: Literal["note", "file"], typed: str, limit: int) -> list[Match]:
        """Return the notes or the other files whose path in the vault best matches a part of one."""
        with self._lock:
            if kind == "file":
                self._completer_of_files()
                return self._file_paths.complete(typed, limit, grades=PATH_GRADES)
            self._paths.follow(self._ledger)
            return self._paths.complete(typed, limit)

    def _completer_of_files(self) -> Completer:
        attachments = self._ledger.attachments
        if self._files_version != attachments.version:
            self._files_version = attachments.version
            paths = sorted(attachments.paths())
            self._files = Completer(Entry(path.rpartition("/")[2], 0.0, {"path": path}) for path in paths)
            self._file_paths = Completer(Entry(path, 0.0, {"path": path}) for path in paths)
        return self._files


class _Kind:
    """The parts of one kind: those that are ranked, and beside them those of notes that changed since."""

    def __init__(self, column: Literal["headings", "blocks", "path"], grades: int = GRADES) -> None:
        self._column = column
        self._grades = grades
        self._revision = -1
        self._ranked = Completer(())
        self._changed: dict[int, list[Part]] = {}
        self._recent = Completer(())

    def complete(self, typed: str, limit: int) -> list[Match]:
        ranked = self._ranked.complete(typed, limit, without=self._changed, grades=self._grades)
        recent = self._recent.complete(typed, limit, grades=self._grades)
        return sorted((*ranked, *recent), key=lambda match: (match.grade, len(match.entry.text)))[:limit]

    def follow(self, ledger: Ledger) -> None:
        revision = ledger.revision
        if revision == self._revision:
            return
        removed = ledger.notes.removed_since(self._revision) if self._revision >= 0 else None
        if removed is None:
            self._ranked = Completer(part for parts in self._read(ledger, 0).values() for part in parts)
            self._changed = {}
        else:
            self._changed |= {note: [] for note in removed} | self._read(ledger, self._revision)
        self._revision = revision
        recent = [part for parts in self._changed.values() for part in parts]
        if len(self._changed) > RECENT_PARTS:
            self._ranked = self._ranked.merged(recent, without=self._changed.keys())
            self._changed, recent = {}, []
        self._recent = Completer(recent)

    def _read(self, ledger: Ledger, revision: int) -> dict[int, list[Part]]:
        """Return the parts of the notes that changed after ``revision``; at first only of those with any."""
        sql = f"SELECT id, path, title, {self._column} FROM notes WHERE revision > ?"
        if not revision:
            sql += f" AND {self._column} != '[]'"
        parts = self._parts
        return {
            id: list(parts(id, path, title, text)) for id, path, title, text in ledger.select(sql, revision)
        }

    def _parts(self, note: int, path: str, title: str, text: str) -> Iterator[Part]:
        if self._column == "path":
            yield NoteName(path.removesuffix(NOTE_SUFFIX), path, title, "path", note)
            return
        for item in json.loads(text):
            if self._column == "headings":
                level, heading, line = item
                if shown := shown_heading(heading):
                    yield PartName(shown, path, title, level, line, note)
            else:
                yield PartName(item[0], path, title, None, item[1], note)
