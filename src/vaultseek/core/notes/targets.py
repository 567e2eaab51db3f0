"""Where links lead: to which file, at which line, and what is wrong with them."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from vaultseek.base.model import JSON, Link
from vaultseek.base.text import quote
from vaultseek.content.markdown.resolve import NOTE_SUFFIX, Names
from vaultseek.core.notes.anchors import find_block, find_heading
from vaultseek.store.ledger import Ledger, NoteRow

LinkProblem = Literal["missing_note", "missing_heading", "missing_block", "ambiguous"]


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """The file that a link leads to, and the line of its heading or block in that; None if it leads nowhere.

    ``candidates`` are the other files that the link may mean, ``problem`` is the worst that is wrong with it.
    """

    path: str | None
    title: str | None = None
    line: int | None = None
    candidates: tuple[str, ...] = ()
    by_alias: bool = False
    problem: LinkProblem | None = None

    def as_json(self) -> JSON:
        """Return the object of answers."""
        return {
            "resolved": self.path,
            "title": self.title,
            "target_line": self.line,
            "candidates": list(self.candidates),
            "by_alias": self.by_alias,
            "problem": self.problem,
        }


def link_target(link: Link, source: str, names: Names, ledger: Ledger) -> LinkTarget:
    """Return where a link in the note ``source`` leads."""
    resolution = names.resolve_link(link, source)
    path = resolution.path
    if path is None:
        return LinkTarget(None, problem="missing_note")
    row = ledger.notes.by_path(path)
    ambiguous = bool(resolution.candidates) and not link.target.startswith(("/", "./", "../"))
    line, problem = (None, None) if row is None else _part(link, row)
    if problem is None and ambiguous:
        problem = "ambiguous"
    return LinkTarget(
        path, row.title if row else None, line, resolution.candidates, resolution.by_alias, problem
    )


def _part(link: Link, row: NoteRow) -> tuple[int | None, LinkProblem | None]:
    """Return the line of the heading or block that a link to a note names."""
    if not row.path.endswith(NOTE_SUFFIX):
        return None, None
    if link.block is not None:
        block = find_block(link.block, row.blocks)
        return (block.line, None) if block else (None, "missing_block")
    if link.heading is not None:
        heading = find_heading(link.heading, row.headings)
        return (heading.line, None) if heading else (None, "missing_heading")
    return None, None


def problem_message(problem: LinkProblem, link: Link, candidates: Sequence[str]) -> str:
    """Return what is wrong with a link, in words."""
    if problem == "missing_note":
        name = quote(posixpath.basename(link.target) or link.target)
        return f"no note or file is called {name}; create it, or link to another"
    if problem == "missing_heading":
        return f"the note has no heading {quote(link.heading or '')}; choose one that it has"
    if problem == "missing_block":
        return f"the note has no block {quote('^' + (link.block or ''))}; choose one that it has"
    more = f" and {len(candidates) - 1} more" if len(candidates) > 1 else ""
    return f"{quote(candidates[0])}{more} could be meant, too; write more of the path"
