"""One note must not keep the others out: what fails because of a note becomes a problem of that note."""

from __future__ import annotations

import logging
import sqlite3

from vaultseek.base.model import Problem
from vaultseek.core.indexing.reading import CrashGuard, NoteReader, ParsedText
from vaultseek.errors import VaultseekError
from vaultseek.store.ledger import IndexedNote, UnchangedNote

log = logging.getLogger(__name__)


def is_note_error(error: Exception) -> bool:
    """True if an error came from what is in a note, not from the disk, the ledger's file or the machine."""
    if isinstance(error, sqlite3.DatabaseError):
        return isinstance(error, sqlite3.ProgrammingError | sqlite3.DataError | sqlite3.IntegrityError)
    return not isinstance(error, OSError | MemoryError | VaultseekError)


def not_indexed(error: Exception) -> Problem:
    """Return the problem of a note that cannot be read or stored because of this error."""
    what = f"this note could not be indexed ({type(error).__name__})"
    return Problem("not_indexed", f"{what}; only its name is searched until it changes, so please report it")


def read_or_report(
    reader: NoteReader,
    path: str,
    stored_hash: bytes | None,
    guard: CrashGuard,
    elsewhere: ParsedText | None = None,
) -> IndexedNote | UnchangedNote | None:
    """Read a note; one that cannot be read has only its name and a problem."""
    try:
        return reader.read(path, stored_hash, guard, elsewhere)
    except Exception as error:
        if not is_note_error(error):
            raise
        log.warning("a note could not be read (%s)", type(error).__name__)
        return reader.read_name(path, not_indexed(error))
