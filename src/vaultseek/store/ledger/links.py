"""Links between notes. Each link has a resolved path, and a key: the name that determines how the link
resolves."""

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vaultseek.base.text import fold
from vaultseek.store.ledger.database import Database, RowCache
from vaultseek.store.ledger.rows import LINK_COLUMNS, LinkRow, LinkTarget, link_row

CACHED_CONTEXTS = 2000
"""Number of notes whose link contexts are cached between two commits."""
MISSING_READ = 5000
"""Maximum number of links that are read to find missing link targets."""
CONTEXTS_TO_NOTE = 1000
"""Maximum number of links to one note for which contexts are read. A note may have any number of
backlinks."""

_RESOLVED = ("links", "successions")
"""The tables whose targets resolve like links. Ordinals in ``successions`` are negative."""
_TARGETS = (
    "SELECT l.note, l.ordinal, n.path, l.target FROM {} l JOIN notes n ON n.id = l.note WHERE l.{} IN ({{}})"
)
_LINKS_TO = (
    "SELECT l.note, l.line, c.start_line, c.text FROM"
    " (SELECT DISTINCT note, line FROM links WHERE resolved = ? LIMIT ?) l"
    " JOIN chunks c ON c.note = l.note AND c.start_line <= l.line + 1 AND c.end_line >= l.line - 1"
)
_MISSING = (
    "SELECT min(target), count(DISTINCT note) AS notes FROM"
    " (SELECT target, note, key, resolved FROM links WHERE key >= ? AND key < ? LIMIT ?)"
    " WHERE resolved IS NULL GROUP BY key ORDER BY notes DESC, key LIMIT ?"
)
_ROWS = f"SELECT {LINK_COLUMNS} FROM links l JOIN notes n ON n.id = l.note"


class LinkContext(NamedTuple):
    """The resolved path of a link, and the folded text of its line and the adjacent lines."""

    resolved: str
    text: str


class Mention(NamedTuple):
    """The id of a note that contains a link, and the folded text of the link's line and the adjacent
    lines."""

    note: int
    text: str


class LinkTable:
    """The table ``links``, with the links in notes and their resolved targets."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._contexts: RowCache[Sequence[LinkContext]] = database.cache(CACHED_CONTEXTS)
        self._mentions: RowCache[Sequence[Mention]] = database.cache(CACHED_CONTEXTS)

    def add(self, notes: Iterable[tuple[int, Sequence[Sequence[Any]]]]) -> None:
        """Write the links of notes that have no links in the table yet, given as pairs of a note id and links
        in the form of ``NoteRows``.

        The links are unresolved until ``resolve`` is called.
        """
        rows = ((note, i, *link) for note, links in notes for i, link in enumerate(links))
        self._database.run_many("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, NULL)", rows)

    def remove(self, note: int) -> None:
        """Delete a note's links."""
        self._database.run("DELETE FROM links WHERE note = ?", note)

    def resolve(self, links: Iterable[tuple[int, int, str | None]]) -> None:
        """Store the resolved targets of links, given as (note id, ordinal, path or None)."""
        found = list(links)
        for table in _RESOLVED:
            sql = f"UPDATE {table} SET resolved = ?3 WHERE note = ?1 AND ordinal = ?2 AND resolved IS NOT ?3"
            self._database.run_many(sql, (each for each in found if (each[1] < 0) == (table != "links")))

    def resolved(self, notes: Sequence[int]) -> dict[tuple[int, int], str | None]:
        """Return the resolved targets of the links in ``notes``, by note id and ordinal."""
        sql = "SELECT note, ordinal, resolved FROM {} WHERE note IN ({{}})"
        read = (self._database.all_in(sql.format(table), notes) for table in _RESOLVED)
        return {(note, ordinal): path for rows in read for note, ordinal, path in rows}

    def targets_by_key(self, keys: Iterable[str]) -> list[LinkTarget]:
        """Return the targets of all links, and of all statements that name a successor, whose key is in
        ``keys``."""
        return self._targets("key", sorted(keys))

    def targets_of(self, notes: Sequence[int]) -> list[LinkTarget]:
        """Return the targets of all links, and of all statements that name a successor, in ``notes``."""
        return self._targets("note", notes)

    def _targets(self, column: str, values: Sequence[Any]) -> list[LinkTarget]:
        statements = (_TARGETS.format(table, column) for table in _RESOLVED)
        return [row for sql in statements for row in self._database.all_in(sql, values)]

    def from_notes(self, notes: Sequence[int]) -> list[LinkRow]:
        """Return the links in ``notes``."""
        sql = _ROWS + " WHERE l.note IN ({}) ORDER BY l.note, l.ordinal"
        return [link_row(row) for row in self._database.all_in(sql, notes)]

    def to_paths(self, paths: Sequence[str]) -> list[LinkRow]:
        """Return the links that resolve to one of the ``paths``."""
        sql = _ROWS + " WHERE l.resolved IN ({}) ORDER BY n.path, l.ordinal"
        return [link_row(row) for row in self._database.all_in(sql, paths)]

    def by_keys(self, keys: Sequence[str]) -> list[LinkRow]:
        """Return the links that have one of the ``keys``."""
        sql = _ROWS + " WHERE l.key IN ({}) ORDER BY n.path, l.ordinal"
        return [link_row(row) for row in self._database.all_in(sql, keys)]

    def contexts(self, notes: Sequence[int]) -> dict[int, Sequence[LinkContext]]:
        """Return, by note id, the resolved links in the text of each note, with the context of each link."""
        return self._contexts.get_or_read(notes, self._read_contexts)

    def contexts_to(self, paths: Mapping[int, str]) -> dict[int, Sequence[Mention]]:
        """Return, by note id, the links that resolve to each of the given notes, with their context."""
        return self._mentions.get_or_read(
            list(paths), lambda notes: {note: self._read_mentions(paths[note]) for note in notes}
        )

    def missing(self, prefix: str, limit: int) -> list[tuple[str, int]]:
        """Return missing link targets whose key begins with ``prefix``, with the number of notes that link to
        each.

        Reads only the first ``MISSING_READ`` links with such keys.
        """
        return self._database.all(_MISSING, prefix, prefix + chr(sys.maxunicode), MISSING_READ, limit)

    def edges(self, notes: Sequence[int] | None = None) -> list[tuple[int, int]]:
        """Return the pairs of source id and target id of all links between different notes; with ``notes``,
        only of links from these notes."""
        sql = "SELECT DISTINCT l.note, t.id FROM links l JOIN notes t ON t.path = l.resolved"
        sql += " WHERE t.id != l.note"
        if notes is None:
            return self._database.all(sql)
        return list(self._database.all_in(sql + " AND l.note IN ({})", notes))

    def _read_contexts(self, notes: Sequence[int]) -> dict[int, Sequence[LinkContext]]:
        sql = "SELECT note, line, resolved FROM links WHERE note IN ({}) AND resolved IS NOT NULL"
        links: dict[int, list[tuple[int, str]]] = {}
        for note, line, resolved in self._database.all_in(sql, notes):
            links.setdefault(note, []).append((line, resolved))
        lines: dict[int, dict[int, str]] = {note: {} for note in links}
        sql = "SELECT note, start_line, text FROM chunks WHERE note IN ({}) ORDER BY note, ordinal"
        for note, start, text in self._database.all_in(sql, list(links)):
            lines[note].update(enumerate(text.split("\n"), start))
        contexts: dict[int, Sequence[LinkContext]] = {note: () for note in notes}
        for note, of_note in links.items():
            contexts[note] = list(_contexts(of_note, lines[note]))
        return contexts

    def _read_mentions(self, path: str) -> Sequence[Mention]:
        beside: dict[tuple[int, int], dict[int, str]] = {}
        for note, line, start, text in self._database.all(_LINKS_TO, path, CONTEXTS_TO_NOTE):
            first, last = (max(0, number - start) for number in (line - 1, line + 2))
            lines = text.split("\n")[first:last]
            beside.setdefault((note, line), {}).update(enumerate(lines, start + first))
        return [
            Mention(note, fold(" ".join(near[number] for number in sorted(near))))
            for (note, _), near in beside.items()
        ]


def _contexts(links: Iterable[tuple[int, str]], lines: Mapping[int, str]) -> Iterator[LinkContext]:
    for line, resolved in links:
        text = fold(" ".join(lines.get(line + step, "") for step in (-1, 0, 1)))
        if text:
            yield LinkContext(resolved, text)
