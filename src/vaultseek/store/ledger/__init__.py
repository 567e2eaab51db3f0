"""The ledger: everything known about one vault's notes, in one SQLite file. Import public names from here."""

from vaultseek.store.ledger.database import keep_temporary_files
from vaultseek.store.ledger.examine import examine, examine_stored
from vaultseek.store.ledger.ledger import Ledger
from vaultseek.store.ledger.rows import (
    Counts,
    IndexedNote,
    LinkRow,
    LinkTarget,
    NoteRow,
    NoteRows,
    PassageRow,
    UnchangedNote,
    heading_values,
    note_rows,
)

__all__ = [
    "Counts",
    "IndexedNote",
    "Ledger",
    "LinkRow",
    "LinkTarget",
    "NoteRow",
    "NoteRows",
    "PassageRow",
    "UnchangedNote",
    "examine",
    "examine_stored",
    "heading_values",
    "keep_temporary_files",
    "note_rows",
]
