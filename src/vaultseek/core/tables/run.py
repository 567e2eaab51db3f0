"""The tables of a base file and of a note: read from the vault's folder, evaluated over its index."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vaultseek.base.limits import BASES_IN_NOTE, LISTED_ITEMS_MOST
from vaultseek.base.model import JSON, CodeBlock, Link
from vaultseek.base.text import fold, printable, quote
from vaultseek.content.files.read import read_note
from vaultseek.content.markdown.decode import decode
from vaultseek.content.markdown.parse import parse
from vaultseek.core.tables.base import Base, Condition, Group, View, read_base
from vaultseek.core.tables.dates import present
from vaultseek.core.tables.files import VaultFiles
from vaultseek.core.tables.narrow import narrowings
from vaultseek.core.tables.place import has_base
from vaultseek.core.tables.scope import Budget, Surroundings
from vaultseek.core.tables.table import Extras, evaluate
from vaultseek.errors import NotFound, Unavailable, UsageError
from vaultseek.store.ledger import Ledger

NAMES_TOLD = 10
"""Names of views in a message."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A base, and where it stands: a file of its own or a line of a note; ``view`` if it names one itself."""

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
    """Return the tables of the file at ``path``: of a base its first view or ``view``, of a note each base.

    ``this`` is the path of the note that formulas call so, by default the file itself. Raises NotFound,
    Unavailable for a file that cannot be read, and UsageError for a base without an answer.
    """
    vault = VaultFiles(ledger, root)
    around = Surroundings(present(), budget or Budget(), vault.at(this or path))
    bases = list(_bases(path, vault))
    if not bases:
        raise NotFound(f"{printable(path)} has no base; write one in a block that begins with ```base")
    chosen = [(placed, _view(placed, view)) for placed in bases]
    if view is not None and not any(each for _, each in chosen):
        raise UsageError(f"no view is called {quote(view, 40)}; use one of {_names(bases)}")
    shown = [(placed, each) for placed, each in chosen if each is not None or view is None]
    alone = len(shown) == 1
    return [_table(placed, each, vault, around, Extras(most=most), alone=alone) for placed, each in shown]


def _table(
    placed: Placed,
    view: View | None,
    vault: VaultFiles,
    around: Surroundings,
    extras: Extras,
    *,
    alone: bool,
) -> JSON:
    """Return a table with its place; one of several that has no answer is empty and says why."""
    try:
        if view is None:
            problems = [problem.message for problem in placed.base.problems]
            wanted = f"no view is called {quote(placed.view, 40)}; use one of {_names([placed])}"
            raise UsageError(f"{printable(placed.path)}: {problems[0] if problems else wanted}")
        narrowed = narrowings(Group("and", tuple(_filters(placed.base, view))), vault.has_property)
        table = evaluate(placed.base, view, vault.all(narrowed), vault, around, extras)
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


def _filters(base: Base, view: View) -> Iterator[Condition]:
    yield from (each for each in (base.filter, view.filter) if each is not None)


def _view(placed: Placed, wanted: str | None) -> View | None:
    """Return the view that is wanted, or the base's own choice; None if there is none of that name."""
    name = wanted or placed.view
    if name is None:
        return next(iter(placed.base.views), None)
    return next((view for view in placed.base.views if fold(view.name) == fold(name)), None)


def _names(bases: Sequence[Placed]) -> str:
    names = list(dict.fromkeys(view.name for placed in bases for view in placed.base.views))
    more = ", …" if len(names) > NAMES_TOLD else ""
    return ", ".join(quote(name, 40) for name in names[:NAMES_TOLD]) + more


# -- reading


def _bases(path: str, vault: VaultFiles) -> Iterator[Placed]:
    text = _text(vault.root, path)
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
            yield Placed(read_base(_content(note.lines, block)), path, block.line)
        else:
            yield from _embedded(block, path, vault)


def _embedded(link: Link, path: str, vault: VaultFiles) -> Iterator[Placed]:
    """Yield the base that a note embeds, with the view after the hash; nothing if there is no such file."""
    target = vault.resolve(link.target, path)
    if target is not None and has_base(target):
        yield Placed(read_base(_text(vault.root, target)), target, link.line, link.heading)


def _content(lines: Sequence[str], block: CodeBlock) -> str:
    """Return what stands between the fences of a block."""
    first, last = block.line, block.end_line
    inner = list(lines[first:last])
    if inner and inner[-1].strip(" >\t").startswith(("```", "~~~")):
        inner.pop()
    quoted = lines[first - 1].lstrip().startswith(">")
    return textwrap.dedent("\n".join(line.lstrip().removeprefix(">") if quoted else line for line in inner))


def _text(root: Path, path: str) -> str:
    file = read_note(root, path)
    if file is None:
        raise NotFound(f"{printable(path)} no longer exists; check its path")
    if file.problem is not None:
        raise Unavailable(f"{printable(path)} cannot be read: {file.problem.message}")
    text, _ = decode(file.data)
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
