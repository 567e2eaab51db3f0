"""Completion of titles, aliases, headings, tags, property names and values."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator
from typing import Literal

from vaultseek.base.limits import LINE_CHARS
from vaultseek.base.model import JSON
from vaultseek.base.text import fold
from vaultseek.content.markdown.title import file_stem
from vaultseek.core.notes.completer import Completer, Entry, Match, NoteName
from vaultseek.core.notes.links import line_of
from vaultseek.core.notes.parts import PartKind, VaultParts
from vaultseek.core.notes.synced_names import SyncedNames
from vaultseek.core.notes.vocabulary import Vocabulary
from vaultseek.store.ledger import Ledger

INSIDE = 3
"""Grades of names that contain what was typed."""
Kind = Literal["note", "heading", "tag", "property", "value"]
"""Kinds that are completed from the ledger; for blocks see ``complete_blocks``."""


class VaultCompleter:
    """Completes in one vault, always from the ledger's current revision."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._names = SyncedNames(ledger, "id, path, title, aliases", _names)
        self._lock = threading.Lock()
        self._vocabulary = Vocabulary()
        self._lists: dict[tuple[Kind, str], Completer] = {}
        self._lists_version = self._vocabulary.version
        self._parts = VaultParts(ledger)

    @property
    def crowded(self) -> bool:
        """True if so many notes changed that ``prepare`` should be called."""
        return self._names.crowded

    def prepare(self) -> None:
        """Read what is completed, if it has not been read; rank the names of changed notes, if they are many.

        This takes long in a large vault; completions are answered meanwhile.
        """
        self._names.rank_recent()
        with self._lock:
            self._vocabulary.sync(self._ledger)

    def complete(
        self, kind: Kind, typed: str, limit: int, *, note: int | None = None, name: str | None = None
    ) -> list[JSON]:
        """Return completions of a kind: headings of ``note``, values of the property ``name``."""
        if kind == "heading":
            matches = Completer(self._headings(note)).complete(typed, limit)
        elif kind == "note":
            matches = self._names.complete(typed, limit)
        else:
            start = "" if kind == "value" else "#"
            with self._lock:
                self._vocabulary.sync(self._ledger)
                matches = self._listed(kind, name or "").complete(typed.removeprefix(start), limit)
        return [_as_json(match) for match in matches]

    def complete_parts(self, kind: PartKind, typed: str, limit: int) -> list[JSON]:
        """Return completions of the headings or blocks of all notes, or of the names of other files."""
        matches = self._parts.complete(kind, typed, limit)
        if kind != "block":
            return [_as_json(match) for match in matches]
        chunks = self._ledger.chunks.by_note([match.entry.note for match in matches])
        items = [(_as_json(match), chunks.get(match.entry.note, [])) for match in matches]
        return [{**item, "of": line_of(own, item["line"])} for item, own in items]

    def complete_paths(self, kind: Literal["note", "file"], typed: str, limit: int) -> list[JSON]:
        """Return the notes or the other files whose path in the vault best matches a part of one."""
        return [_as_json(match) for match in self._parts.complete_paths(kind, typed, limit)]

    def beginning(self, typed: str, limit: int) -> list[int]:
        """Return the ids of the notes with a name that begins with the typed text, shorter names first.

        At most ``limit`` names are looked at. Of one letter more, the notes that are left keep their order.
        """
        if not fold(typed):
            return []
        matches = self._names.complete(typed, limit, grades=1)
        return list(dict.fromkeys(match.entry.note for match in matches))

    def _headings(self, note: int | None) -> Iterator[Entry]:
        row = self._ledger.notes.by_id([note or 0]).get(note or 0)
        if row is not None and row.kind in _WITH_PLACES:
            yield from self._places(row.id)
            return
        for heading in row.headings if row else ():
            yield Entry(heading.text, -heading.line, {"level": heading.level, "line": heading.line})

    def _places(self, note: int) -> Iterator[Entry]:
        """Yield the parts of a file that are linked to as headings are, such as ``page=3``."""
        first: dict[str, int] = {}
        for chunk in self._ledger.chunks.by_note([note])[note]:
            first.setdefault(chunk.place or "", chunk.start_line)
        for place, line in first.items():
            if place:
                yield Entry(place, -line, {"level": 1, "line": line})

    def _listed(self, kind: Kind, name: str) -> Completer:
        """Return the completer of tags, properties or values; it is made again after one of them changed."""
        vocabulary = self._vocabulary
        if self._lists_version != vocabulary.version:
            self._lists.clear()
            self._lists_version = vocabulary.version
        if (kind, name) not in self._lists:
            counts = (
                vocabulary.tags()
                if kind == "tag"
                else vocabulary.properties()
                if kind == "property"
                else vocabulary.values(name)
            )
            self._lists[kind, name] = Completer(
                Entry(text, count, {"count": count}) for text, count in counts
            )
        return self._lists[kind, name]


def complete_blocks(blocks: Iterable[JSON], typed: str, limit: int) -> list[JSON]:
    """Return completions of the ids of blocks, then of words in them, with ``line`` and text ``of`` each."""
    entries = [
        Entry(block["id"], -block["line"], {"line": block["line"], "of": block["of"][:LINE_CHARS]})
        for block in blocks
    ]
    wanted = typed.removeprefix("^")
    matches = Completer(entries).complete(wanted, limit, grades=INSIDE)
    by_id = {match.entry.text for match in matches}
    words = (
        Match(INSIDE - 1, entry)
        for entry in entries
        if entry.text not in by_id and fold(wanted) in fold(entry.more["of"])
    )
    matches = [*matches, *words][:limit] or Completer(entries).complete(wanted, limit)
    return [_as_json(match) for match in matches]


def _as_json(match: Match) -> JSON:
    return {"text": match.entry.text, "match": _GRADES[match.grade], **match.entry.more}


_WITH_PLACES = ("pdf", "base")
"""Kinds whose parts have names that people know; those of canvases are numbers."""
_GRADES = ("prefix", "word", "inside", "fuzzy")


def _names(note: int, path: str, title: str, aliases: str) -> Iterator[NoteName]:
    file_name = path.rpartition("/")[2].removesuffix(".md")
    yield NoteName(file_name, path, title, "name", note)
    if fold(title) not in (fold(file_name), fold(file_stem(path))):
        yield NoteName(title, path, title, "title", note)
    if aliases != "[]":
        for alias in json.loads(aliases):
            yield NoteName(alias, path, title, "alias", note)
