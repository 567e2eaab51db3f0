"""Exact copies of the ledger's rows about notes, for an engine with the same tables.

Ids, numbers, and links with their lines and resolved targets are all identical, so a search in the engine
gives the same answer as a search in the ledger.
"""

from collections.abc import Sequence
from typing import Any

from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.rows import NOTE_VALUES

_OF_NOTE = {
    "notes": (f"id, {NOTE_VALUES}", "id"),
    "chunks": (
        "note, number, ordinal, id, heading_path, start_line, end_line, text, code, place, edits",
        "note",
    ),
    "links": (
        "note, ordinal, key, resolved, kind, target, heading, block, alias, line, property, first, last",
        "note",
    ),
    "successions": ("note, ordinal, target, is_successor, key, resolved", "note"),
    "forms": ("note, form", "note"),
    "lines": ("note, label, value", "note"),
    "tags": ("note, tag", "note"),
    "names": ("note, name", "note"),
}
"""Tables with rows about notes; for each table, its columns and the column that contains the note's id."""
_PROBLEMS = "path, code, message, line, of_scan"


def rows_of_notes(ledger: Ledger, ids: Sequence[int]) -> dict[str, list[Sequence[Any]]]:
    """Return the rows about the notes with ``ids``, by table and columns; ids that no longer exist are left
    out."""
    read = ledger.select_in
    copies: dict[str, list[Sequence[Any]]] = {
        f"{table} ({columns})": list(read(f"SELECT {columns} FROM {table} WHERE {key} IN ({{}})", ids))
        for table, (columns, key) in _OF_NOTE.items()
    }
    paths = [path for (path,) in read("SELECT path FROM notes WHERE id IN ({})", ids)]
    sql = f"SELECT {_PROBLEMS} FROM problems WHERE of_scan = 0 AND path IN ({{}})"
    copies[f"problems ({_PROBLEMS})"] = list(read(sql, paths))
    return copies


def times_of_notes(ledger: Ledger, paths: Sequence[str]) -> dict[str, tuple[int, float]]:
    """Return a dict from each path to the id and modification time of its note."""
    sql = "SELECT path, id, modified FROM notes WHERE path IN ({})"
    return {path: (id, time) for path, id, time in ledger.select_in(sql, paths)}
