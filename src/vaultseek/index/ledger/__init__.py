"""The ledger: all facts about one vault's notes, in one SQLite file; import its public names from here."""

from vaultseek.index.ledger.copies import NoteCopy
from vaultseek.index.ledger.examine import examine, examine_stored
from vaultseek.index.ledger.ledger import Ledger
from vaultseek.index.ledger.rows import (
    ChunkRow,
    Counts,
    IndexedNote,
    LinkRow,
    LinkTarget,
    NoteRow,
    NoteRows,
    UnchangedNote,
    note_of_vector,
    note_rows,
    note_vector_id,
)

__all__ = [
    "ChunkRow",
    "Counts",
    "IndexedNote",
    "Ledger",
    "LinkRow",
    "LinkTarget",
    "NoteCopy",
    "NoteRow",
    "NoteRows",
    "UnchangedNote",
    "examine",
    "examine_stored",
    "note_of_vector",
    "note_rows",
    "note_vector_id",
]
