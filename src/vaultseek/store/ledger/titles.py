"""Titles that distinguish notes from each other."""

from collections.abc import Iterable

from vaultseek.base.text import fold
from vaultseek.content.markdown.title import note_name
from vaultseek.store.ledger.ledger import Ledger
from vaultseek.store.ledger.rows import NoteRow

SHARED_TITLE_NOTES = 10
"""Minimum number of notes with the same first heading for which the file name replaces it as the title."""


def with_own_title(row: NoteRow, ledger: Ledger) -> NoteRow:
    """Return the row of a note. If many notes share the note's first heading, the file name becomes its
    title.
    """
    title = own_titles([row], ledger).get(row.path)
    return row if title is None else row._replace(title=title, title_is_name=True)


def own_titles(rows: Iterable[NoteRow], ledger: Ledger) -> dict[str, str]:
    """Return, by path, the file names that serve as titles of notes whose first heading many notes share.

    ``# Context`` in each of ten decisions is a section of a template and does not distinguish the notes.
    """
    titles = {
        row.path: fold(row.title)
        for row in rows
        if not (row.title_is_name or any(name.casefold() == "title" for name in row.properties))
    }
    if not titles:
        return {}
    shared = {name for (name,) in ledger.select(_select_shared(len(titles)), *titles.values())}
    return {path: note_name(path) for path, title in titles.items() if title in shared}


def _select_shared(names: int) -> str:
    """Return the statement, for SQLite and PostgreSQL, that selects the names that many notes have."""
    values = ", ".join(["(?)"] * names)
    return (
        f"SELECT column1 FROM (VALUES {values}) AS titles"
        f" WHERE EXISTS (SELECT 1 FROM names WHERE name = column1 LIMIT 1 OFFSET {SHARED_TITLE_NOTES - 1})"
    )
