"""Tables of notes with their names and tags, and of removed notes."""

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import Any

from vaultseek.base.model import NOT_EMBEDDED
from vaultseek.base.text import fold
from vaultseek.content.files.diff import FileState
from vaultseek.content.files.scan import FileStat
from vaultseek.content.markdown.title import file_stem
from vaultseek.store.ledger.chunks import ChunkTable
from vaultseek.store.ledger.database import Database, RowCache
from vaultseek.store.ledger.files import ProblemTable
from vaultseek.store.ledger.forms import FormTable
from vaultseek.store.ledger.lines import LineTable
from vaultseek.store.ledger.links import LinkTable
from vaultseek.store.ledger.rows import (
    NOTE_COLUMNS,
    NOTE_VALUES,
    IndexedNote,
    NoteRow,
    NoteRows,
    UnchangedNote,
    note_row,
    note_rows,
)
from vaultseek.store.ledger.successions import SuccessionTable

CACHED_NOTES = 4000
"""Number of notes whose decoded rows, about 2 kB each, are cached between two commits."""
LAST_NOTE = 2**62
"""A number greater than any note id."""
REMOVED_NOTES = 1000
"""Number of removals that are kept without pruning, so that an index slightly behind need not be rebuilt."""

_MARKS = ", ".join("?" for _ in NOTE_VALUES.split(","))
_INSERT = f"INSERT INTO notes (id, {NOTE_VALUES}) VALUES (?, {_MARKS})"
_UPDATE = f"UPDATE notes SET ({NOTE_VALUES}) = ({_MARKS}) WHERE id = ?"
_OUTDATE = (
    "INSERT OR IGNORE INTO unsynced SELECT s.space, 0, 1, n.id, n.id FROM spaces s, notes n WHERE n.id = ?"
)
"""Statement that marks a note's vector as outdated in every vector space, so that it is computed again."""


class NoteTable:
    """The tables ``notes``, ``names``, ``tags`` and ``removed``. Writing a note also writes its rows in other
    tables."""

    def __init__(
        self,
        database: Database,
        chunks: ChunkTable,
        links: LinkTable,
        successions: SuccessionTable,
        forms: FormTable,
        lines: LineTable,
        problems: ProblemTable,
    ) -> None:
        self._database = database
        self._chunks = chunks
        self._links = links
        self._successions = successions
        self._forms = forms
        self._lines = lines
        self._problems = problems
        self._rows: RowCache[NoteRow] = database.cache(CACHED_NOTES)
        self._name_words: RowCache[str] = database.cache(CACHED_NOTES)

    # -- writing, inside a commit ----------------------------------------------------------------------

    def put(self, indexed: IndexedNote, revision: int) -> int:
        """Add or replace a note, writing only the chunks that differ; return the note's id."""
        rows = note_rows(indexed)
        number = self.numbers([rows.path])[rows.path]
        self.put_all([(number, rows)], revision)
        return number

    def put_all(self, notes: Sequence[tuple[int, NoteRows]], revision: int) -> None:
        """Add or replace notes, writing only the chunks that differ. The ids of the notes must come from
        ``numbers``."""
        sql = "SELECT id, hash, title, title_source, aliases FROM notes WHERE id IN ({})"
        stored = {row[0]: row for row in self._database.all_in(sql, [number for number, _ in notes])}
        self._add([(number, rows) for number, rows in notes if number not in stored], revision)
        for number, rows in notes:
            if number in stored:
                self._replace(number, rows, stored[number], revision)
        self._problems.replace((rows.path, rows.problems) for _, rows in notes)

    def numbers(self, paths: Sequence[str]) -> dict[str, int]:
        """Return the id for each path: the id of the existing note, or the next free id for a new note."""
        stored = dict(self._database.all_in("SELECT path, id FROM notes WHERE path IN ({})", paths))
        row = self._database.one("SELECT seq FROM sqlite_sequence WHERE name = 'notes'")
        free = count(row[0] + 1 if row else 1)
        return {path: stored[path] if path in stored else next(free) for path in paths}

    def hashes(self, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the content hash of the note at each path; paths without a note in the ledger are left
        out."""
        return dict(self._database.all_in("SELECT path, hash FROM notes WHERE path IN ({})", paths))

    def move(self, source: str, target: str) -> None:
        """Change the path of the note at ``source``; must be followed by ``put`` with the note's content."""
        self._database.run("UPDATE notes SET path = ? WHERE path = ?", target, source)
        is_renamed = file_stem(source) != file_stem(target)
        for (number,) in self._database.all("SELECT id FROM notes WHERE path = ?", target):
            if is_renamed:
                self._database.run(_OUTDATE, number)
            if is_renamed or self._problems.has(source, NOT_EMBEDDED):
                self._chunks.outdate_vectors(number)  # a vector whose key is unchanged is reused
        self._problems.remove(source)

    def remove(self, path: str, revision: int) -> int | None:
        """Remove the note at ``path`` with all its rows; return its former id."""
        row = self._database.one("SELECT id FROM notes WHERE path = ?", path)
        self._problems.remove(path)
        if row is None:
            return None
        number = int(row[0])
        self._chunks.remove(number)
        self._links.remove(number)
        self._successions.remove(number)
        self._remove_names_and_tags(number)
        run = self._database.run
        run("DELETE FROM notes WHERE id = ?", number)
        run("INSERT OR REPLACE INTO removed VALUES (?, ?)", number, revision)
        return number

    def touch(self, unchanged: Iterable[UnchangedNote]) -> None:
        """Store the new ``stat`` values of files whose content is unchanged.

        A note without a date of its own is as old as its file.
        """
        self._database.run_many(
            "UPDATE notes SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, racy = ?, modified = ?,"
            " created = CASE WHEN created_kind = 'moment' AND created = modified THEN ? ELSE created END"
            " WHERE path = ?",
            ((*note.stat, int(note.racy), note.modified, note.modified, note.path) for note in unchanged),
        )

    def prune_removed(self, revision: int) -> None:
        """Delete the records of removals up to ``revision`` if there are many. Every index must have reached
        this revision."""
        if self._database.one("SELECT count(*) FROM removed")[0] <= REMOVED_NOTES:
            return
        revision = max(revision, int(self._database.meta("removals_pruned") or 0))
        with self._database.transaction():
            self._database.run("DELETE FROM removed WHERE revision <= ?", revision)
            self._database.set_meta("removals_pruned", str(revision))

    # -- reading ---------------------------------------------------------------------------------------

    def ids(self) -> list[int]:
        """Return the ids of all notes."""
        return [row[0] for row in self._database.all("SELECT id FROM notes")]

    def by_id(self, ids: Sequence[int]) -> dict[int, NoteRow]:
        """Return notes by id; ids that no longer exist are left out."""
        return self._rows.get_or_read(ids, self._read_rows)

    def revisions(self, ids: Sequence[int]) -> dict[int, int]:
        """Return the revision at which each of the given notes was last written."""
        return dict(self._database.all_in("SELECT id, revision FROM notes WHERE id IN ({})", ids))

    def name_words(self, ids: Sequence[int]) -> dict[int, str]:
        """Return, by note id, the folded names and headings of the given notes, as one string per note."""
        return self._name_words.get_or_read(ids, self._read_name_words)

    def by_path(self, path: str) -> NoteRow | None:
        """Return the note at a path; None if there is no such note."""
        row = self._database.one(f"SELECT {NOTE_COLUMNS} FROM notes WHERE path = ?", path)
        return None if row is None else note_row(row)

    def ids_by_name(self, *names: str) -> set[int]:
        """Return the ids of the notes whose title, alias or file name is one of ``names``; case is
        ignored."""
        sql = "SELECT note FROM names WHERE name IN ({})"
        return {row[0] for row in self._database.all_in(sql, [*map(fold, names)])}

    def aliases(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the path and the aliases of every note."""
        for path, aliases in self._database.all("SELECT path, aliases FROM notes"):
            yield path, tuple(json.loads(aliases))

    def changed_since(self, revision: int, limit: int, note: int = LAST_NOTE) -> list[tuple[int, int]]:
        """Return the pairs of note id and revision for notes that changed after ``revision``, in order of
        change.

        With ``note``, also return notes changed at ``revision`` whose ids are above ``note``.
        """
        sql = "SELECT id, revision FROM notes WHERE (revision, id) > (?, ?) ORDER BY revision, id LIMIT ?"
        return self._database.all(sql, revision, note, limit)

    def removed_since(self, revision: int) -> list[int] | None:
        """Return the ids of notes removed after ``revision``.

        Return None if some of these removals were pruned; an index at ``revision`` must then be rebuilt.
        """
        rows = self._database.all("SELECT note FROM removed WHERE revision > ?", revision)
        # Read after the rows, because another thread may prune in between.
        pruned = int(self._database.meta("removals_pruned") or 0)
        return None if revision < pruned else [row[0] for row in rows]

    def file_states(self, folder: str = "") -> dict[str, FileState]:
        """Return the file states of all notes by path, or only of the notes in ``folder``."""
        sql = "SELECT path, size, mtime_ns, ctime_ns, inode, racy FROM notes"
        rows = self._database.all_below(sql, folder)
        return {row[0]: FileState(FileStat(*row[1:5]), bool(row[5])) for row in rows}

    def file_state(self, path: str) -> FileState | None:
        """Return the file state of the note at a path; None if there is no such note."""
        sql = "SELECT size, mtime_ns, ctime_ns, inode, racy FROM notes WHERE path = ?"
        row = self._database.one(sql, path)
        return None if row is None else FileState(FileStat(*row[:4]), bool(row[4]))

    # -- rows ------------------------------------------------------------------------------------------

    def _read_rows(self, ids: Sequence[int]) -> dict[int, NoteRow]:
        rows = self._database.all_in(f"SELECT {NOTE_COLUMNS} FROM notes WHERE id IN ({{}})", ids)
        return {row[0]: note_row(row) for row in rows}

    def _read_name_words(self, ids: Sequence[int]) -> dict[int, str]:
        return {
            id: fold(" ".join((*row.names, *(heading.shown for heading in row.headings))))
            for id, row in self.by_id(ids).items()
        }

    def _add(self, notes: Sequence[tuple[int, NoteRows]], revision: int) -> None:
        self._database.run_many(_INSERT, ((number, *rows.columns(revision)) for number, rows in notes))
        self._chunks.add((number, rows.chunks) for number, rows in notes)
        self._add_names_tags_links(notes)

    def _replace(self, number: int, rows: NoteRows, stored: Sequence[Any], revision: int) -> None:
        self._database.run(_UPDATE, *rows.columns(revision), number)
        if stored[1] != rows.hash:
            self._database.run(_OUTDATE, number)
        # If the model refused a passage, all passages are tried again; vectors that exist are reused.
        # Title and aliases may be part of every chunk's embedded text.
        is_renamed = tuple(stored[2:]) != (rows.title, rows.title_source, rows.aliases)
        is_refused = self._problems.has(rows.path, NOT_EMBEDDED)
        self._chunks.replace(number, rows.chunks, dirty=is_refused or is_renamed)
        self._remove_names_and_tags(number)
        self._links.remove(number)
        self._successions.remove(number)
        self._add_names_tags_links([(number, rows)])

    def _add_names_tags_links(self, notes: Sequence[tuple[int, NoteRows]]) -> None:
        tags = ((number, tag) for number, rows in notes for tag in rows.folded_tags)
        self._database.run_many("INSERT INTO tags (note, tag) VALUES (?, ?)", tags)
        names = ((number, name) for number, rows in notes for name in rows.names)
        self._database.run_many("INSERT INTO names (note, name) VALUES (?, ?)", names)
        self._links.add((number, rows.links) for number, rows in notes)
        self._forms.add((number, rows.forms) for number, rows in notes)
        self._lines.add((number, rows.lines) for number, rows in notes)
        self._successions.add((number, rows.successions) for number, rows in notes)

    def _remove_names_and_tags(self, number: int) -> None:
        self._forms.remove(number)
        self._lines.remove(number)
        self._database.run("DELETE FROM tags WHERE note = ?", number)
        self._database.run("DELETE FROM names WHERE note = ?", number)
