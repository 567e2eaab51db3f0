"""A table of notes that a query found: columns are properties, facts of the file, or expressions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

from vaultseek.base.model import JSON, Problem
from vaultseek.base.text import fold, quote
from vaultseek.core.tables.base import Base, Sort, View
from vaultseek.core.tables.dates import present
from vaultseek.core.tables.expression import Language
from vaultseek.core.tables.files import File, VaultFiles
from vaultseek.core.tables.methods import FILE_FIELDS
from vaultseek.core.tables.scope import Budget, Compiled, Scope, Surroundings
from vaultseek.core.tables.syntax import BadExpression, split_expressions
from vaultseek.core.tables.table import Extras, evaluate
from vaultseek.core.tables.values import Value
from vaultseek.errors import UsageError
from vaultseek.store.ledger import Ledger

COMMON_PROPERTIES = 5
"""Properties that are columns where none are named: those that most of the notes have."""
COMMON_SHARE = 0.2
"""Least share of the notes that have such a property."""
EXAMINED_NOTES = 2_000
"""Notes whose properties are counted for that."""

_FACTS = {
    **{name: name for name in ("title", "path", "folder", "name", "size", "links", "backlinks", "tags")},
    "modified": "mtime",
    "created": "ctime",
}
"""Facts about a note under plain names; a property of the same name goes first, except for tags."""
_WORDS = re.compile(r"[^\W\d][\w$]*(?:-[\w$]+)*")
_NAMES_OF_NOTE = frozenset({"title", "tags", "tag", "aliases", "alias", "cssclasses", "cssclass"})


def table_of_notes(
    ids: Sequence[int],
    ledger: Ledger,
    root: Path,
    *,
    columns: Sequence[str] = (),
    sort: Sequence[str] = (),
    group: str | None = None,
    summaries: Mapping[str, str] | None = None,
    ranked: bool = False,
    remarks: Iterable[str] = (),
    most: int,
    budget: Budget | None = None,
) -> JSON:
    """Return a table of notes, in the order of ``ids`` if they are ``ranked``, else by path.

    A minus before a column of ``sort`` or ``group`` means descending. Raises UsageError.
    """
    vault = VaultFiles(ledger, root)
    files = vault.notes(ids, by_path=not ranked)
    shown = tuple(dict.fromkeys(each for column in columns for each in _split(column))) or _common(files)
    view = View(
        name="",
        columns=shown,
        sort=tuple(_sort(each) for column in sort for each in _split(column)),
        group=_sort(group) if group else None,
        summaries=tuple((summaries or {}).items()),
    )
    base = Base(problems=tuple(Problem("query", remark) for remark in remarks))
    around = Surroundings(present(), budget or Budget())
    table = evaluate(base, view, files, vault, around, Extras(_Columns(vault, files).column, most))
    return {**table, "path": None, "line": None, "views": []}


def _split(columns: str) -> list[str]:
    try:
        return split_expressions(columns)
    except BadExpression as error:
        raise UsageError(f"the columns {quote(columns)} cannot be used: {error}") from None


def _sort(column: str) -> Sort:
    return Sort(column.strip().removeprefix("-").strip(), column.strip().startswith("-"))


def _common(files: Sequence[File]) -> tuple[str, ...]:
    """Return the columns where none are named: the title, and the properties of most of the notes."""
    counts: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for file in files[:EXAMINED_NOTES]:
        for name in file.properties:
            counts[fold(name)] += 1
            spelled.setdefault(fold(name), name)
    least = COMMON_SHARE * min(len(files), EXAMINED_NOTES)
    common = [name for name, number in counts.most_common() if number >= least and name not in _NAMES_OF_NOTE]
    return ("title", *(spelled[name] for name in common[:COMMON_PROPERTIES]))


class _Columns:
    """Compiles the columns of one table."""

    def __init__(self, vault: VaultFiles, files: Sequence[File]) -> None:
        self._vault = vault
        self._files = files

    def column(self, id: str, language: Language) -> Compiled:
        """Return a column: a fact of the file, a property, or an expression.

        Raises BadExpression for a property that no note has, and UsageError for a wrong expression.
        """
        own = id.removeprefix("note.")
        if own == id and fold(id) in _FACTS:
            return _fact(_FACTS[fold(id)], id)
        if self._vault.has_property(own):
            return lambda scope: scope.file.properties.get(own)
        if _WORDS.fullmatch(own):
            raise BadExpression(f"no note has this property{self._near(own)}")
        try:
            return language.compiled(id)
        except BadExpression as error:
            raise UsageError(f"the column {quote(id)} cannot be used: {error}") from None

    def _near(self, name: str) -> str:
        known = {fold(each): each for file in self._files[:EXAMINED_NOTES] for each in file.properties}
        known |= {each: each for each in _FACTS}
        near = get_close_matches(fold(name), list(known), 1)
        return f"; did you mean {known[near[0]]}?" if near else ""


def _fact(field: str, name: str) -> Compiled:
    read = FILE_FIELDS[field]

    def value(scope: Scope) -> Value:
        own = None if field in ("tags", "title") else scope.file.properties.get(name)
        return read(scope.file) if own is None else own

    return value
