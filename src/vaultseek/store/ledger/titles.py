"""Titles that distinguish notes from each other."""

from collections.abc import Iterable
from dataclasses import replace

from vaultseek.base.text import fold
from vaultseek.content.markdown.title import note_name
from vaultseek.store.ledger.ledger import Ledger
from vaultseek.store.ledger.rows import NoteRow

SHARED_TITLE_NOTES = 10
"""Minimum number of notes with the same first heading for which the file name replaces it as the title."""


def with_own_title(row: NoteRow, ledger: Ledger) -> NoteRow:
    """Return the row of a note. If many notes share the note's first heading, the file name becomes its
    title.

    ``# Context`` in each of ten decisions is a section of a template and does not distinguish the notes.
    """
    if row.title_is_name or any(name.casefold() == "title" for name in row.properties):
        return row
    found = "SELECT COUNT(*) FROM (SELECT 1 FROM names WHERE name = ? LIMIT ?)"
    ((count,),) = ledger.select(found, fold(row.title), SHARED_TITLE_NOTES)
    return row if count < SHARED_TITLE_NOTES else replace(row, title=note_name(row.path), title_is_name=True)


def own_titles(rows: Iterable[NoteRow], ledger: Ledger) -> dict[str, str]:
    """Return, by path, the file names that serve as titles of notes whose first heading many notes share."""
    titled = (with_own_title(row, ledger) for row in rows if not row.title_is_name)
    return {row.path: row.title for row in titled if row.title_is_name}
