"""Completion of headings, blocks, attachments and paths of a whole vault.

They are read when they are first asked for.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Literal

from vaultseek.content.markdown.plain import shown_heading
from vaultseek.content.markdown.resolve import NOTE_SUFFIX
from vaultseek.core.notes.completer import Completer, Entry, Match, NoteName, PartName
from vaultseek.core.notes.synced_names import SyncedNames
from vaultseek.store.ledger import Ledger

PartKind = Literal["heading", "block", "file"]
PATH_GRADES = 3
"""Grades of a match of a path: one that is not in it as typed would be found in too many."""


class VaultParts:
    """Completes the parts of all notes, always from the ledger's current revision."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        columns = "id, path, title, "
        self._headings = SyncedNames(ledger, columns + "headings", _headings, "headings != '[]'")
        self._blocks = SyncedNames(ledger, columns + "blocks", _blocks, "blocks != '[]'")
        self._paths = SyncedNames(ledger, "id, path, title", _path, grades=PATH_GRADES)
        self._files = Completer(())
        self._file_paths = Completer(())
        self._files_version: object = None

    def complete(self, kind: PartKind, typed: str, limit: int) -> list[Match]:
        """Return the best completions of a kind."""
        if kind == "file":
            with self._lock:
                return self._completer_of_files().complete(typed, limit)
        names = self._headings if kind == "heading" else self._blocks
        names.rank_recent()
        return names.complete(typed.removeprefix("^") if kind == "block" else typed, limit)

    def complete_paths(self, kind: Literal["note", "file"], typed: str, limit: int) -> list[Match]:
        """Return the notes or the other files whose path in the vault best matches a part of one."""
        if kind == "file":
            with self._lock:
                self._completer_of_files()
                return self._file_paths.complete(typed, limit, grades=PATH_GRADES)
        self._paths.rank_recent()
        return self._paths.complete(typed, limit)

    def _completer_of_files(self) -> Completer:
        attachments = self._ledger.attachments
        if self._files_version != attachments.version:
            self._files_version = attachments.version
            paths = sorted(attachments.paths())
            self._files = Completer(Entry(path.rpartition("/")[2], 0.0, {"path": path}) for path in paths)
            self._file_paths = Completer(Entry(path, 0.0, {"path": path}) for path in paths)
        return self._files


def _headings(note: int, path: str, title: str, headings: str) -> Iterator[PartName]:
    for level, heading, line in json.loads(headings):
        if shown := shown_heading(heading):
            yield PartName(shown, path, title, level, line, note)


def _blocks(note: int, path: str, title: str, blocks: str) -> Iterator[PartName]:
    for block, line in json.loads(blocks):
        yield PartName(block, path, title, None, line, note)


def _path(note: int, path: str, title: str) -> Iterator[NoteName]:
    yield NoteName(path.removesuffix(NOTE_SUFFIX), path, title, "path", note)
