"""The facts about notes that filters ask for, read from the ledger."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any

from vaultseek.base.model import Chunk, Task
from vaultseek.content.query.facts import Scope, pieces
from vaultseek.store.ledger import Ledger

COLUMNS = "id, path, title, aliases, tags, headings, tasks, properties, modified, created"
"""The columns of a row that ``LedgerFacts`` are made of."""


def _headings(value: str) -> list[str]:
    return [text for _, text, _ in json.loads(value)]


def _tasks(value: str) -> list[Task]:
    return [Task(*task) for task in json.loads(value)]


READ: Mapping[str, Any] = {
    "aliases": json.loads,
    "headings": _headings,
    "tasks": _tasks,
    "properties": json.loads,
}
"""Functions that read a fact from its column, where that is no plain text or number."""


class LedgerFacts:
    """Facts about one note for its filters, read from the ledger on demand."""

    def __init__(self, ledger: Ledger, row: Any, chunks: Sequence[Chunk] | None = None) -> None:
        self._ledger = ledger
        self._row = row
        self._chunks = chunks
        self.path: str = row[1]
        self.title: str = row[2]
        self.modified: float | None = row[8]
        self.created: float | None = row[9]

    @cached_property
    def aliases(self) -> Collection[str]:
        return list(json.loads(self._row[3]))

    @cached_property
    def tags(self) -> Collection[str]:
        return list(json.loads(self._row[4]))

    @cached_property
    def headings(self) -> Collection[str]:
        return _headings(self._row[5])

    @cached_property
    def tasks(self) -> Sequence[Task]:
        return _tasks(self._row[6])

    @cached_property
    def properties(self) -> Mapping[str, Any]:
        return dict(json.loads(self._row[7]))

    @cached_property
    def links(self) -> Collection[str]:
        return [row.resolved or row.link.target for row in self._ledger.links.from_notes([self._row[0]])]

    @cached_property
    def backlinks(self) -> Collection[str]:
        return [row.source for row in self._ledger.links.to_paths([self.path])]

    def passages(self, scope: Scope) -> Iterable[str]:
        number: int = self._row[0]
        chunks = self._ledger.chunks.by_note([number])[number] if self._chunks is None else self._chunks
        return pieces([(chunk.heading_path, chunk.text) for chunk in chunks], scope)


class SingleFact:
    """A single fact about a note, for conditions on one column; made for thousands of notes."""

    path = ""
    title = ""
    aliases: Collection[str] = ()
    tags: Collection[str] = ()
    properties: Mapping[str, Any] = MappingProxyType({})
    created: float | None = None
    modified: float | None = None
    links: Collection[str] = ()
    backlinks: Collection[str] = ()
    headings: Collection[str] = ()
    tasks: Sequence[Task] = ()

    def __init__(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def passages(self, scope: Scope) -> Iterable[str]:
        return ()
