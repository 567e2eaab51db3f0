"""Faults of notes, from the index: links that lead nowhere or to several files, and frontmatter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vaultseek.base.model import JSON, Problem
from vaultseek.content.markdown.resolve import Names
from vaultseek.core.notes.targets import link_target, problem_message
from vaultseek.store.ledger import Ledger, LinkRow, NoteRow

BROKEN = "resolved IS NULL"
TO_PARTS = "heading IS NOT NULL OR block IS NOT NULL"


def problems(ledger: Ledger, names: Names, row: NoteRow | None = None) -> list[JSON]:
    """Return the problems of one note or of all, by path and line."""
    links = ledger.links.from_notes([row.id]) if row else _suspects(ledger, names)
    items = [*_of_links(links, ledger, names), *_of_files(ledger, row)]
    return sorted(items, key=lambda item: (item["path"], item["line"] or 0, item["column"] or 0))


def _suspects(ledger: Ledger, names: Names) -> Iterable[LinkRow]:
    """Return the links that may have a problem; most of a vault's cannot."""
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
    for row in links:
        link = row.link
        target = link_target(link, row.source, names, ledger)
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
