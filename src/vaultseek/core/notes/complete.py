"""Complete the names of notes, headings, blocks, tags, properties, property values and other files.

The headings, blocks and paths of all notes are read when they are first requested.
"""

import json
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Literal

from vaultseek.base.limits import LINE_CHARS
from vaultseek.base.model import JSON
from vaultseek.base.text import fold
from vaultseek.content.markdown.resolve import NOTE_SUFFIX, link_key
from vaultseek.content.markdown.title import file_stem
from vaultseek.core.notes.completer import Completer, Entry, Match, NoteName
from vaultseek.core.notes.links import lines_at
from vaultseek.core.notes.vocabulary import SyncedNames, Vocabulary
from vaultseek.store.ledger import Ledger

INSIDE = 3
"""Number of match grades without fuzzy matches: the name contains the typed text as written."""
Kind = Literal["note", "heading", "tag", "property", "value"]
"""Kinds of completions read from the ledger; for blocks, see ``complete_blocks``."""
PartKind = Literal["heading", "block", "file"]
PATH_GRADES = 3
"""Number of match grades used for paths. A path must contain the text as typed, because fuzzy matches would
find too many paths."""


class VaultCompleter:
    """Completion for one vault. Results always match the ledger's current revision."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._names = SyncedNames(ledger, "id, path, title, aliases", _names)
        self._lock = threading.Lock()
        self._vocabulary = Vocabulary()
        self._lists: dict[tuple[Kind, str], Completer] = {}
        self._lists_version = self._vocabulary.version
        columns = "id, path, title, "
        self._all_headings = SyncedNames(ledger, columns + "headings", _headings_of, "headings != '[]'")
        self._blocks = SyncedNames(ledger, columns + "blocks", _blocks_of, "blocks != '[]'")
        # A bound method would keep this object, and the ledger, alive until garbage collection.
        words = partial(_words_of, ledger)
        self._block_words = SyncedNames(ledger, columns + "blocks", words, "blocks != '[]'", INSIDE)
        self._paths = SyncedNames(ledger, "id, path, title", _path_of, grades=PATH_GRADES)
        self._files = self._file_paths = Completer(())
        self._files_version: object = None
        self._places = Completer(()), Completer(())
        self._places_revision = -1

    @property
    def crowded(self) -> bool:
        """True if so many notes have changed that ``prepare`` should be called."""
        return self._names.crowded

    def prepare(self) -> None:
        """Read the data for completion if necessary, and rank the names of changed notes if there are many.

        This is slow in a large vault; completion requests are answered while it runs.
        """
        self._names.rank_recent()
        with self._synced():
            pass

    def complete(
        self, kind: Kind, typed: str, limit: int, *, note: int | None = None, name: str | None = None
    ) -> list[JSON]:
        """Return completions of one kind. ``note`` is the note whose headings are completed, ``name`` the
        property whose values are completed.
        """
        if kind == "heading":
            matches = Completer(self._headings(note)).complete(typed, limit)
        elif kind == "note":
            matches = self._names.complete(typed, limit)
        else:
            start = "" if kind == "value" else "#"
            with self._synced() as vocabulary:
                completer = self._listed(vocabulary, kind, name or "")
                matches = completer.complete(typed.removeprefix(start), limit)
        return [_as_json(match) for match in matches]

    def tags(self) -> list[JSON]:
        """Return every tag with two counts: of notes with the tag, and of notes with the tag or a tag nested
        under it.
        """
        with self._synced() as vocabulary:
            return vocabulary.tags()

    def properties(self) -> list[JSON]:
        """Return every property with the number of notes that have it, its types and its most common
        values.
        """
        with self._synced() as vocabulary:
            return vocabulary.properties()

    def values(self, name: str) -> list[JSON]:
        """Return every value of a property with the number of notes that have it."""
        with self._synced() as vocabulary:
            return vocabulary.values(name)

    @contextmanager
    def _synced(self) -> Iterator[Vocabulary]:
        with self._lock:
            self._vocabulary.sync(self._ledger)
            yield self._vocabulary

    def complete_parts(self, kind: PartKind, typed: str, limit: int) -> list[JSON]:
        """Return completions for the headings of all notes, the blocks of all notes, or the names of other
        files.
        """
        if kind == "file":
            matches = self._completers_of_files()[0].complete(typed, limit)
        else:
            names = self._all_headings if kind == "heading" else self._blocks
            names.rank_recent()
            matches = names.complete(typed.removeprefix("^") if kind == "block" else typed, limit)
        if kind != "block":
            return [_as_json(match) for match in matches]
        chunks = self._ledger.chunks.by_note([match.entry.note for match in matches])
        items = [(_as_json(match), chunks.get(match.entry.note, [])) for match in matches]
        by_id = [{**item, "of": lines_at(own, [item["line"]]).get(item["line"])} for item, own in items]
        exact = [item for item in by_id if item["match"] != "fuzzy"]
        known = {(item["path"], item["text"]) for item in exact}
        self._block_words.rank_recent()
        words = []
        for item in map(_as_json, self._block_words.complete(typed, limit)):
            block = item.pop("is")
            words.append({**item, "text": block, "of": item["text"][:LINE_CHARS]})
        exact += [item for item in words if (item["path"], item["text"]) not in known]
        return exact[:limit] or by_id

    def complete_paths(self, kind: Literal["note", "file"], typed: str, limit: int) -> list[JSON]:
        """Return the notes or other files whose paths best match a partly typed path."""
        if kind == "file":
            matches = self._completers_of_files()[1].complete(typed, limit, grades=PATH_GRADES)
        else:
            self._paths.rank_recent()
            matches = self._paths.complete(typed, limit)
        return [_as_json(match) for match in matches]

    def complete_folders(self, typed: str, limit: int) -> list[JSON]:
        """Return the folders, with a final ``/``, whose paths contain the typed text."""
        matches = self._completers_of_paths()[0].complete(typed, limit, grades=PATH_GRADES)
        return [_as_json(match) for match in matches]

    def complete_extensions(self, typed: str, limit: int) -> list[JSON]:
        """Return the extensions of indexed files that begin with the typed text."""
        matches = self._completers_of_paths()[1].complete(typed.removeprefix("."), limit, grades=1)
        return [_as_json(match) for match in matches]

    def _completers_of_paths(self) -> tuple[Completer, Completer]:
        revision = self._ledger.revision
        with self._lock:
            if self._places_revision != revision:
                self._places_revision = revision
                paths = self._ledger.notes.file_states()
                folders = Counter(folder for path in paths for folder in _folders_of(path))
                extensions = Counter(path.rpartition(".")[2].lower() for path in paths)
                self._places = _counted(folders), _counted(extensions)
            return self._places

    def _completers_of_files(self) -> tuple[Completer, Completer]:
        attachments = self._ledger.attachments
        with self._lock:
            if self._files_version != attachments.version:
                self._files_version = attachments.version
                paths = sorted(attachments.paths())
                self._files = Completer(Entry(path.rpartition("/")[2], 0.0, {"path": path}) for path in paths)
                self._file_paths = Completer(Entry(path, 0.0, {"path": path}) for path in paths)
            return self._files, self._file_paths

    def missing(self, typed: str, limit: int) -> list[JSON]:
        """Return names of missing notes that begin with the typed text: names that links use but no note
        has.
        """
        found = self._ledger.links.missing(link_key(typed), limit) if typed.strip() else []
        return [{"text": target, "match": "missing", "count": notes} for target, notes in found]

    def beginning(self, typed: str, limit: int) -> list[int]:
        """Return the ids of notes with a name that begins with the typed text, shorter names first.

        Checks up to ``limit`` names. Typing one more letter does not change the order of the notes that still
        match.
        """
        if not fold(typed):
            return []
        matches = self._names.complete(typed, limit, grades=1)
        return list(dict.fromkeys(match.entry.note for match in matches))

    def _headings(self, note: int | None) -> Iterator[Entry]:
        row = self._ledger.notes.by_id([note or 0]).get(note or 0)
        if row is None:
            return
        headings = [(heading.text, heading.line, heading.level) for heading in row.headings]
        if row.kind in _WITH_PLACES:  # parts, such as ``page=3``, can be link targets, like headings
            chunks = self._ledger.chunks.by_note([row.id])[row.id]
            first = {chunk.place: chunk.start_line for chunk in reversed(chunks) if chunk.place}
            headings = [(place, line, 1) for place, line in first.items()]
        for text, line, level in headings:
            yield Entry(text, -line, {"level": level, "line": line})

    def _listed(self, vocabulary: Vocabulary, kind: Kind, name: str) -> Completer:
        if self._lists_version != vocabulary.version:
            self._lists.clear()
            self._lists_version = vocabulary.version
        if (kind, name) not in self._lists:
            if kind == "value":
                counts = [(item["value"], item["count"]) for item in vocabulary.values(name)]
            elif kind == "tag":
                counts = [(item["tag"], item["total"]) for item in vocabulary.tags()]
            else:
                counts = list(vocabulary.names())
            self._lists[kind, name] = Completer(
                Entry(text, count, {"count": count}) for text, count in counts
            )
        return self._lists[kind, name]


def complete_blocks(blocks: Iterable[JSON], typed: str, limit: int) -> list[JSON]:
    """Return completions for block ids, then for words in blocks.

    Each completion has the block's line number in ``line``, and the block's text in ``of``.
    """
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
"""Kinds of files whose parts have readable names. The parts of canvases have only numbers."""
_GRADES = ("prefix", "word", "inside", "fuzzy")


def _names(note: int, path: str, title: str, aliases: str) -> Iterator[NoteName]:
    file_name = path.rpartition("/")[2].removesuffix(".md")
    yield NoteName(file_name, path, title, note, "name")
    if fold(title) not in (fold(file_name), fold(file_stem(path))):
        yield NoteName(title, path, title, note, "title")
    if aliases != "[]":
        for alias in json.loads(aliases):
            yield NoteName(alias, path, title, note, "alias")


def _headings_of(note: int, path: str, title: str, headings: str) -> Iterator[NoteName]:
    for level, written, line, *rendered in json.loads(headings):
        if shown := (*rendered, written)[0]:
            yield NoteName(shown, path, title, note, line=line, level=level)


def _words_of(ledger: Ledger, note: int, path: str, title: str, blocks: str) -> Iterator[NoteName]:
    placed = json.loads(blocks)
    own = lines_at(ledger.chunks.by_note([note])[note], [line for _, line in placed])
    for block, line in placed:
        if words := own.get(line):
            yield NoteName(words, path, title, note, block, line)


def _blocks_of(note: int, path: str, title: str, blocks: str) -> Iterator[NoteName]:
    for block, line in json.loads(blocks):
        yield NoteName(block, path, title, note, line=line)


def _counted(counts: Counter[str]) -> Completer:
    return Completer(Entry(text, count, {"count": count}) for text, count in counts.items())


def _folders_of(path: str) -> Iterator[str]:
    """Yield ``a/`` and ``a/b/`` for ``a/b/c.md``."""
    return (path[: match.end()] for match in re.finditer("/", path))


def _path_of(note: int, path: str, title: str) -> Iterator[NoteName]:
    yield NoteName(path.removesuffix(NOTE_SUFFIX), path, title, note, "path")
