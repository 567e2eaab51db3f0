"""The rows of an engine as facts of notes: what decides a filter where there is no ledger."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol

from vaultseek.base.model import Task
from vaultseek.content.query.facts import Scope, pieces


class RowSource(Protocol):
    """An engine, as far as facts need it."""

    def passage_rows(self, notes: Sequence[int]) -> dict[int, list[Any]]:
        """Return the passages of notes."""

    def sources_of(self, path: str) -> list[str]:
        """Return the rows of the notes that link to a path."""


class RowFacts:
    """The facts of a note, from its row; its text and what links to it are asked for when they are needed."""

    def __init__(self, row: Mapping[str, Any], source: RowSource) -> None:
        self._note: int = row["note"]
        self._source = source
        self._values = json.loads(row["row"])
        self.links: Collection[str] = list(row["links"])

    @property
    def path(self) -> str:
        """See ``NoteFacts``, as for all of the following."""
        return str(self._values["path"])

    @property
    def title(self) -> str:
        return str(self._values["title"])

    @property
    def aliases(self) -> Collection[str]:
        return list(self._values.get("aliases", ()))

    @property
    def tags(self) -> Collection[str]:
        return list(self._values.get("tags", ()))

    @property
    def headings(self) -> Collection[str]:
        return [text for _, text, _ in self._values.get("headings", ())]

    @property
    def tasks(self) -> Sequence[Task]:
        return [Task(*task) for task in self._values.get("tasks", ())]

    @property
    def properties(self) -> Mapping[str, Any]:
        return dict(self._values.get("properties", {}))

    @property
    def created(self) -> float | None:
        return _seconds(self._values.get("created"))

    @property
    def modified(self) -> float | None:
        return _seconds(self._values.get("modified"))

    @cached_property
    def backlinks(self) -> Collection[str]:
        return [json.loads(row)["path"] for row in self._source.sources_of(self.path)]

    def passages(self, scope: Scope) -> Iterable[str]:
        rows = self._source.passage_rows([self._note])[self._note]
        return pieces([(tuple(json.loads(row["row"])["heading_path"]), row["text"]) for row in rows], scope)


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
