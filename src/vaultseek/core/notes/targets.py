"""Resolve links to a file and a line, and find problems in links and frontmatter."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from vaultseek.base.model import JSON, Link, Problem
from vaultseek.base.text import quote
from vaultseek.content.kinds import is_markdown
from vaultseek.content.markdown.resolve import Names
from vaultseek.core.notes.anchors import Anchors
from vaultseek.store.ledger import Ledger, LinkRow, NoteRow

LinkProblem = Literal["missing_note", "missing_heading", "missing_block", "ambiguous"]


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """The file to which a link resolves, and the line of the heading or block that the link names.

    A missing file or line is None. ``candidates`` are other files that the link could also mean; ``problem``
    is the most serious problem with the link.
    """

    path: str | None
    title: str | None = None
    line: int | None = None
    candidates: tuple[str, ...] = ()
    by_alias: bool = False
    problem: LinkProblem | None = None

    def as_json(self) -> JSON:
        """Return the target as JSON for an answer."""
        return {
            "resolved": self.path,
            "title": self.title,
            "target_line": self.line,
            "candidates": list(self.candidates),
            "by_alias": self.by_alias,
            "problem": self.problem,
        }


class LinkTargets:
    """Resolver for links; it reads each target note only once, however many links there are."""

    def __init__(self, names: Names, ledger: Ledger) -> None:
        self._names = names
        self._ledger = ledger
        self._notes: dict[str, _Linked | None] = {}

    def of(self, link: Link, source: str) -> LinkTarget:
        """Return the target of a link in the note ``source``."""
        resolution = self._names.resolve_link(link, source)
        path = resolution.path
        if path is None:
            return LinkTarget(None, problem="missing_note")
        note = self._note(path)
        ambiguous = bool(resolution.candidates) and not link.target.startswith(("/", "./", "../"))
        line, problem = (None, None) if note is None else note.part(link)
        if problem is None and ambiguous:
            problem = "ambiguous"
        return LinkTarget(
            path, note.title if note else None, line, resolution.candidates, resolution.by_alias, problem
        )

    def _note(self, path: str) -> _Linked | None:
        if path not in self._notes:
            row = self._ledger.notes.by_path(path)
            self._notes[path] = _Linked(row) if row else None
        return self._notes[path]


class _Linked:
    """A note to which links point."""

    def __init__(self, row: NoteRow) -> None:
        self.title = row.title
        self._anchors = Anchors(row.headings, row.blocks) if is_markdown(row.path) else None

    def part(self, link: Link) -> tuple[int | None, LinkProblem | None]:
        """Return the line of the heading or block that a link names, and the problem if it cannot be
        found.
        """
        if self._anchors is None:
            return None, None
        if link.block is not None:
            block = self._anchors.block(link.block)
            return (block.line, None) if block else (None, "missing_block")
        if link.heading is not None:
            heading = self._anchors.heading(link.heading)
            return (heading.line, None) if heading else (None, "missing_heading")
        return None, None


def problem_message(problem: LinkProblem, link: Link, candidates: Sequence[str]) -> str:
    """Return a message that describes the problem with a link."""
    if problem == "missing_note":
        name = quote(posixpath.basename(link.target) or link.target)
        return f"no note or file is called {name}; create one, or link to an existing one"
    if problem == "missing_heading":
        return f"the note has no heading {quote(link.heading or '')}; choose an existing one"
    if problem == "missing_block":
        return f"the note has no block {quote('^' + (link.block or ''))}; choose an existing one"
    more = f" and {len(candidates) - 1} more" if len(candidates) > 1 else ""
    return f"{quote(candidates[0])}{more} also matches; use a longer path"


BROKEN = "resolved IS NULL"
TO_PARTS = "heading IS NOT NULL OR block IS NOT NULL"


def problems(ledger: Ledger, names: Names, row: NoteRow | None = None) -> list[JSON]:
    """Return the problems in one note or in all notes, sorted by path and line."""
    links = ledger.links.from_notes([row.id]) if row else _suspects(ledger, names)
    items = [*_of_links(links, ledger, names), *_of_files(ledger, row)]
    return sorted(items, key=lambda item: (item["path"], item["line"] or 0, item["column"] or 0))


def _suspects(ledger: Ledger, names: Names) -> Iterable[LinkRow]:
    """Return the links that may have a problem; most links are excluded by a quick check."""
    broken = {note for (note,) in ledger.select(f"SELECT DISTINCT note FROM links WHERE {BROKEN}")}
    partial = {note for (note,) in ledger.select(f"SELECT DISTINCT note FROM links WHERE {TO_PARTS}")}
    shared = names.shared_keys()
    seen = set()
    for link in ledger.links.from_notes(sorted(broken | partial)):
        if link.resolved is None or link.link.heading is not None or link.link.block is not None:
            seen.add((link.note, link.link.line, link.link.place))
            yield link
    for link in ledger.links.by_keys(sorted(shared)):
        if (link.note, link.link.line, link.link.place) not in seen:
            yield link


def _of_links(links: Iterable[LinkRow], ledger: Ledger, names: Names) -> Iterator[JSON]:
    # Sort by target, so that only one note's headings are in memory at a time.
    by_target = sorted(links, key=lambda row: row.resolved or "")
    for _, rows in groupby(by_target, key=lambda row: row.resolved):
        targets = LinkTargets(names, ledger)
        for row in rows:
            link = row.link
            target = targets.of(link, row.source)
            if target.problem is not None:
                place = link.place
                yield {
                    "path": row.source,
                    "line": link.line,
                    "column": place and place.start + 1,
                    "end_column": place and place.end + 1,
                    "code": target.problem,
                    "message": problem_message(target.problem, link, target.candidates),
                    "target": link.target,
                }


def _of_files(ledger: Ledger, row: NoteRow | None) -> Iterator[JSON]:
    found: Iterable[tuple[str, Problem]] = (
        ledger.problems.all() if row is None else ledger.problems.of(row.path)
    )
    for path, problem in found:
        yield {
            "path": path,
            "line": problem.line,
            "column": None,
            "end_column": None,
            "code": problem.code,
            "message": problem.message,
            "target": None,
        }
