"""Look up a note by path, path suffix, title, alias or file name, and find the most similar names."""

import posixpath
import re
from collections.abc import Iterator
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Literal

from vaultseek.base.limits import CANDIDATES_NAMED, NAME_CHARS, PATH_BYTES
from vaultseek.base.model import JSON
from vaultseek.base.text import fold, printable, quote
from vaultseek.content.kinds import file_type, is_markdown
from vaultseek.content.query.compare import is_file_name, is_named
from vaultseek.content.query.filters import (
    Filter,
    PropertyFilter,
    Tag,
    leaves,
)
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.errors import BadPath, NotFound, UsageError, advise
from vaultseek.store.ledger import Ledger, NoteRow
from vaultseek.store.ledger.prefilter import prefilter

NOTE_SUFFIXES = ("", ".md")
_NEVER_IN_PATHS = re.compile("[\0\ud800-\udfff]")
"""Characters that never occur in paths. Line breaks, tabs and direction marks are not among them."""


def resolve_note(name: str, ledger: Ledger, root: Path) -> NoteRow:
    """Return the note to which ``name`` refers, using only the ledger.

    Raises BadPath for a path outside the vault, NotFound if no note matches, or UsageError with the
    candidates if the name is ambiguous.
    """
    path = vault_path(name, root)
    for suffix in NOTE_SUFFIXES:
        exact = ledger.notes.by_path(path + suffix)
        if exact is not None:
            return exact
    candidates = sorted(_candidates(path, ledger), key=lambda row: (row.path.count("/"), row.path))
    best = [row for row in candidates if fold(row.path) in (fold(path), fold(path + ".md"))]
    best = best or [row for row in candidates if is_file_name(row.path, name)]
    if len(best or candidates) > 1:
        # Prefer a note to a canvas or PDF with the same name, which must be given with its extension.
        best = [row for row in best or candidates if is_markdown(row.path)] or best
    if len(candidates) > 1 and len(best) != 1:
        paths = ", ".join(printable(row.path) for row in candidates[:CANDIDATES_NAMED])
        more = ", …" if len(candidates) > CANDIDATES_NAMED else ""
        raise UsageError(f"{quote(name)} matches {len(candidates)} notes: {paths}{more}; use the full path")
    if not candidates:
        raise NotFound(f"no note matches {quote(name)}; search for these words", advise("search"))
    return (best or candidates)[0]


def vault_path(name: str, root: Path) -> str:
    """Return ``name`` as a path inside the vault, without checking the disk. Raises BadPath if it is
    outside.
    """
    if not name.strip() or _NEVER_IN_PATHS.search(name) or len(name.encode(errors="replace")) > PATH_BYTES:
        raise BadPath(f"{quote(name)} is neither a path in the vault nor a note name; use a path or a name")
    if name.startswith("/"):
        absolute = posixpath.normpath(name)
        if not absolute.startswith(f"{root}/"):
            raise BadPath(f"{quote(name)} is not inside the vault {root}; use a path relative to it")
        return absolute.removeprefix(f"{root}/")
    parts = [part for part in name.split("/") if part not in ("", ".")]
    if ".." in parts or not parts:
        raise BadPath(f"{quote(name)} is not inside the vault; use a path relative to it")
    return "/".join(parts)


def _candidates(name: str, ledger: Ledger) -> list[NoteRow]:
    ids = ledger.notes.ids_by_name(name)
    condition = prefilter(name.removesuffix(".md"))
    where, values = ("1", ()) if condition is None else (condition.sql("path"), condition.values)
    rows = ledger.select(f"SELECT id, path FROM notes WHERE {where}", *values)
    ids |= {number for number, path in rows if is_named(path, name)}
    return list(ledger.notes.by_id(sorted(ids)).values())


SIMILAR_NAMES = 3
"""Number of similar names that a message suggests."""
SIMILAR_CANDIDATES = 30
"""Number of completions whose similarity to the unknown name is computed."""
LEAST_LIKENESS = 0.5
"""Minimum similarity of a suggested name, from 0 to 1; one common word is not enough to reach it."""
LEAST_SPELLING = 0.7
"""Minimum similarity of a suggested tag or property, from 0 to 1."""
NAMES_COMPARED = 5000
"""Maximum number of tags or properties compared with an unknown one."""
_LEAST_CHARS = 3


def similar_names(name: str, completer: VaultCompleter) -> list[str]:
    """Return the note names most similar to ``name``, which may be misspelt or a path."""
    return [item["text"] for item in similar_files(name, completer, notes=True)]


def similar_files(name: str, completer: VaultCompleter, *, notes: bool = False) -> list[JSON]:
    """Return the files whose names are most similar to ``name`` or, if no name is similar, to a word in
    ``name``.

    The files are notes or, if ``name`` has an extension and ``notes`` is false, files with that extension.
    """
    typed = posixpath.basename(name.strip().rstrip("/")).removesuffix(".md")[:NAME_CHARS]
    kind = None if notes else file_type(typed)
    if kind is not None:
        typed = typed.rpartition(".")[0]
    for part in _parts(typed):
        items = completer.complete("note", part, SIMILAR_CANDIDATES)
        if kind is not None:
            items = [*completer.complete_parts("file", part, SIMILAR_CANDIDATES), *items]
            items = [item for item in items if file_type(item["text"]) == kind]
        found = {item["text"]: item for item in reversed(items)}
        like = {text: max(_likeness(typed, text), _likeness(part, text)) for text in found}
        near = [text for text in sorted(like, key=lambda text: -like[text]) if like[text] >= LEAST_LIKENESS]
        if near:
            return [found[text] for text in near[:SIMILAR_NAMES]]
    return []


def _parts(typed: str) -> Iterator[str]:
    words = typed.replace("-", " ").replace("_", " ").split()
    for part in dict.fromkeys((typed, *sorted(words, key=len, reverse=True))):
        if len(part) >= _LEAST_CHARS:
            yield part


def _likeness(typed: str, name: str) -> float:
    stem = name.rpartition(".")[0] if file_type(name) else name
    return SequenceMatcher(None, fold(typed), fold(stem)).ratio()


def unknown_names(condition: Filter | None, completer: VaultCompleter) -> Iterator[str]:
    """Yield a sentence for each unknown tag or property in a filter, suggesting the most similar known
    one.
    """
    for leaf in dict.fromkeys(leaves(condition)):
        if isinstance(leaf, Tag):
            yield from _unknown("tag", leaf.name.strip("#/"), completer)
        elif isinstance(leaf, PropertyFilter):
            yield from _unknown("property", leaf.name, completer)


def _unknown(kind: Literal["tag", "property"], name: str, completer: VaultCompleter) -> Iterator[str]:
    known = {fold(item["text"]): item["text"] for item in completer.complete(kind, "", NAMES_COMPARED)}
    if not known or fold(name) in known or len(known) == NAMES_COMPARED:
        return
    close = get_close_matches(fold(name), known, 1, LEAST_SPELLING)
    meant = f"; did you mean {quote(known[close[0]])}?" if close else ""
    yield f"no note has the {kind} {quote(name)}{meant}"
