"""Which note is meant: by path, by the end of it, by title, alias or file name."""

from __future__ import annotations

import posixpath
from pathlib import Path

from vaultseek.errors import BadPath, NotFound, UsageError
from vaultseek.index.ledger import Ledger, NoteRow
from vaultseek.limits import CANDIDATES_NAMED, PATH_BYTES
from vaultseek.query.compare import is_file_name, is_named
from vaultseek.search.prefilter import superset
from vaultseek.text import fold, printable, quote

NOTE_SUFFIXES = ("", ".md")


def note_called(name: str, ledger: Ledger, root: Path) -> NoteRow:
    """The note that ``name`` means; nothing is looked up on disk.

    Raises BadPath for a path that leads out of the vault, NotFound if there is no such note, UsageError that
    names the candidates if it could be several.
    """
    path = vault_path(name, root)
    for suffix in NOTE_SUFFIXES:
        exact = ledger.notes.by_path(path + suffix)
        if exact is not None:
            return exact
    found = sorted(_meant(path, ledger), key=lambda row: (row.path.count("/"), row.path))
    whole = [row for row in found if fold(row.path) in (fold(path), fold(path + ".md"))]
    whole = whole or [row for row in found if is_file_name(row.path, name)]
    if len(found) > 1 and len(whole) != 1:
        names = ", ".join(printable(row.path) for row in found[:CANDIDATES_NAMED])
        more = ", …" if len(found) > CANDIDATES_NAMED else ""
        raise UsageError(f"{quote(name)} could be {len(found)} notes; say which: {names}{more}")
    if not found:
        raise NotFound(
            f"there is no note {quote(name)} in this vault; `vaultseek complete` lists names that begin alike"
        )
    return (whole or found)[0]


def vault_path(name: str, root: Path) -> str:
    """``name`` as a path inside the vault, by its text alone. Raises BadPath if it cannot be one."""
    if not name.strip() or not name.isprintable() or len(name.encode(errors="replace")) > PATH_BYTES:
        raise BadPath(
            f"{quote(name)} is neither a path in the vault nor the name of a note; give one of them"
        )
    if name.startswith("/"):
        whole = posixpath.normpath(name)
        if not whole.startswith(f"{root}/"):
            raise BadPath(
                f"{quote(name)} is not inside the vault {root}; give a path from its root, or a name"
            )
        return whole.removeprefix(f"{root}/")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        raise BadPath(f"{quote(name)} is not inside the vault; give a path from its root, or a name")
    return "/".join(parts)


def _meant(name: str, ledger: Ledger) -> list[NoteRow]:
    ids = ledger.notes.ids_by_name(name)
    condition = superset(name.removesuffix(".md"))
    sql = "SELECT id, path FROM notes"
    values: tuple[str, ...] = ()
    if condition is not None:
        sql, values = f"{sql} WHERE {condition.sql('path')}", condition.values
    ids |= {number for number, path in ledger.select(sql, *values) if is_named(path, name)}
    return list(ledger.notes.by_id(sorted(ids)).values())
