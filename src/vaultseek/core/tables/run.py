"""Evaluate tables over the index: the tables in a base file or a note, or a table of the notes found by a
query.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path

from vaultseek.base.limits import BASES_IN_NOTE, LISTED_ITEMS_MOST
from vaultseek.base.model import JSON, CodeBlock, Link, Problem
from vaultseek.base.text import fold, printable, quote
from vaultseek.content.markdown.parse import parse
from vaultseek.core.notes.read import lines_of
from vaultseek.core.tables.base import Base, Group, Sort, View, read_base
from vaultseek.core.tables.dates import local_present
from vaultseek.core.tables.expression import Language
from vaultseek.core.tables.files import File, VaultFiles
from vaultseek.core.tables.methods import FILE_FIELDS
from vaultseek.core.tables.narrow import narrowings
from vaultseek.core.tables.place import has_base
from vaultseek.core.tables.scope import Budget, Compiled, Scope, Surroundings, has_property
from vaultseek.core.tables.syntax import BadExpression, split_expressions
from vaultseek.core.tables.table import evaluate
from vaultseek.core.tables.values import Value
from vaultseek.errors import NotFound, UsageError
from vaultseek.store.ledger import Ledger

NAMES_LISTED = 10
"""Maximum number of view names that a message lists."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A base with its location: its own file, or a line in a note.

    ``view`` is the view that the note names, if any.
    """

    base: Base
    path: str
    line: int | None = None
    view: str | None = None


def tables_of(
    path: str,
    ledger: Ledger,
    root: Path,
    view: str | None = None,
    this: str | None = None,
    *,
    most: int = LISTED_ITEMS_MOST,
    budget: Budget | None = None,
) -> list[JSON]:
    """Return the tables in the file at ``path``.

    For a base, there is one table: the view named ``view`` or, without a name, the first view. For a note,
    there is a table for each base that the note contains.

    ``this`` is the path of the note that formulas call ``this``, by default the file itself. Raises NotFound,
    Unavailable if a file cannot be read, or UsageError for an unusable base.
    """
    vault = VaultFiles(ledger, root)
    around = Surroundings(local_present(), budget or Budget(), vault.at(this or path))
    bases = list(_bases(path, vault))
    if not bases:
        raise NotFound(f"{printable(path)} has no base; write one in a block that begins with ```base")
    chosen = [(placed, _view(placed, view)) for placed in bases]
    shown = [
        (placed, each) for placed, each in chosen if each is not None or view is None or not placed.base.views
    ]
    if not shown:
        raise UsageError(f"no view is called {quote(view, 40)}; use one of {_names(bases)}")
    alone = len(shown) == 1
    return [_table(placed, each, vault, around, most, alone=alone) for placed, each in shown]


def _table(
    placed: Placed,
    view: View | None,
    vault: VaultFiles,
    around: Surroundings,
    most: int,
    *,
    alone: bool,
) -> JSON:
    try:
        if view is None:
            unread = next((problem.message for problem in placed.base.problems), None)
            wanted = f"no view is called {quote(placed.view, 40)}; use one of {_names([placed])}"
            raise UsageError(f"{printable(placed.path)}: {wanted if placed.base.views else unread}")
        filters = Group("and", tuple(filter(None, (placed.base.filter, view.filter))))
        narrowed = narrowings(filters, partial(has_property, vault, around.budget))
        table = evaluate(placed.base, view, vault.all(narrowed), vault, around, most=most)
    except UsageError as error:
        if alone:
            raise
        table = {
            "name": view.name if view else "",
            "type": "table",
            "columns": [],
            "rows": [],
            "group": None,
            "groups": [],
            "summaries": [],
            "count": 0,
            "total": 0,
            "problems": [str(error)],
        }
    views = [{"name": each.name, "type": each.type} for each in placed.base.views]
    return {**table, "path": placed.path, "line": placed.line, "views": views}


def _view(placed: Placed, wanted: str | None) -> View | None:
    name = wanted or placed.view
    if name is None:
        return next(iter(placed.base.views), None)
    return next((view for view in placed.base.views if fold(view.name) == fold(name)), None)


def _names(bases: Sequence[Placed]) -> str:
    names = list(dict.fromkeys(view.name for placed in bases for view in placed.base.views))
    more = ", …" if len(names) > NAMES_LISTED else ""
    return ", ".join(quote(name, 40) for name in names[:NAMES_LISTED]) + more


# -- reading


def _bases(path: str, vault: VaultFiles) -> Iterator[Placed]:
    text = "\n".join(lines_of(path, vault.root))
    if has_base(path):
        yield Placed(read_base(text), path)
        return
    note = parse(text, path)
    blocks: list[CodeBlock | Link] = [
        block for block in note.code_blocks if (block.lang or "").lower() == "base"
    ]
    blocks += [link for link in note.links if link.kind == "embed" and has_base(link.target)]
    for block in sorted(blocks, key=lambda each: each.line)[:BASES_IN_NOTE]:
        if isinstance(block, CodeBlock):
            yield Placed(read_base(block.text(note.lines)), path, block.line)
        else:
            target = vault.resolve(block.target, path)
            if target is not None and has_base(target):
                text = "\n".join(lines_of(target, vault.root))
                yield Placed(read_base(text), target, block.line, block.heading)


COMMON_PROPERTIES = 5
"""Maximum number of properties in the default columns; the most common properties are chosen."""
COMMON_SHARE = 0.2
"""Minimum share of notes with a property at which the property becomes a default column."""
EXAMINED_NOTES = 2_000
"""Maximum number of notes whose properties are counted to choose the default columns."""

_FACTS = {
    **{name: name for name in ("title", "path", "folder", "name", "size", "links", "backlinks", "tags")},
    "modified": "mtime",
    "created": "ctime",
}
"""Map from the name of a column to the fact about a note that the column shows. A property with the same name
takes precedence, except for tags."""
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
    summaries: Mapping[str, str | Sequence[str]] | None = None,
    ranked: bool = False,
    remarks: Iterable[str] = (),
    most: int,
    budget: Budget | None = None,
) -> JSON:
    """Return a table of notes, in the order of ``ids`` if ``ranked``, otherwise sorted by path.

    A minus before a column in ``sort`` or ``group`` means descending. Raises UsageError for an invalid
    column, or if the table takes too long.
    """
    vault = VaultFiles(ledger, root)
    files = vault.notes(ids, by_path=not ranked)
    shown = tuple(dict.fromkeys(_each(columns, vault))) or _common(files)
    view = View(
        name="",
        columns=shown,
        sort=tuple(map(_sort, _each(sort, vault))),
        group=_sort(group) if group else None,
        summaries=tuple(
            (column, name)
            for column, names in (summaries or {}).items()
            for name in ([names] if isinstance(names, str) else names)
        ),
    )
    base = Base(problems=tuple(Problem("query", remark) for remark in remarks))
    around = Surroundings(local_present(), budget or Budget())
    table = evaluate(base, view, files, vault, around, partial(_column, vault, files), most)
    return {**table, "path": None, "line": None, "views": []}


def _each(lists: Iterable[str], vault: VaultFiles) -> Iterator[str]:
    """Yield the columns named in comma-separated lists.

    A property name may contain commas, and characters that are invalid in expressions.
    """
    for columns in map(str.strip, lists):
        if vault.has_property(columns.removeprefix("-")):
            yield columns
            continue
        try:
            yield from split_expressions(columns)
        except BadExpression:  # the characters belong to a name, or `_column` reports which column is wrong
            yield from filter(None, map(str.strip, columns.split(",")))


def _sort(column: str) -> Sort:
    return Sort(column.strip().removeprefix("-").strip(), column.strip().startswith("-"))


def _common(files: Sequence[File]) -> tuple[str, ...]:
    """Return the default columns: the title and the most common properties."""
    counts: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for file in files[:EXAMINED_NOTES]:
        for name in file.properties:
            counts[fold(name)] += 1
            spelled.setdefault(fold(name), name)
    least = COMMON_SHARE * min(len(files), EXAMINED_NOTES)
    common = [name for name, number in counts.most_common() if number >= least and name not in _NAMES_OF_NOTE]
    return ("title", *(spelled[name] for name in common[:COMMON_PROPERTIES]))


def _column(vault: VaultFiles, files: Sequence[File], id: str, language: Language) -> Compiled:
    """Return a function that computes a column: a fact about the file, a property, or an expression.

    Raises BadExpression for a property that no note has, or UsageError for an invalid expression.
    """
    own = id.removeprefix("note.")
    if own == id and fold(id) in _FACTS:
        return _fact(_FACTS[fold(id)], id)
    if vault.has_property(own):
        return lambda scope: scope.file.properties.get(own)
    if _WORDS.fullmatch(own):
        known = {fold(each): each for file in files[:EXAMINED_NOTES] for each in file.properties}
        known |= {each: each for each in _FACTS}
        near = get_close_matches(fold(own), list(known), 1)
        advice = f"; did you mean {known[near[0]]}?" if near else ""
        raise BadExpression(f"no note has this property{advice}")
    try:
        return language.compiled(id)
    except BadExpression as error:
        raise UsageError(f"the column {quote(id)} cannot be used: {error}") from None


def _fact(field: str, name: str) -> Compiled:
    read = FILE_FIELDS[field]

    def value(scope: Scope) -> Value:
        own = None if field in ("tags", "title") else scope.file.properties.get(name)
        return read(scope.file) if own is None else own

    return value
