"""Which notes satisfy a filter: decided from the ledger alone, exactly, before any lane makes its cut."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from vaultseek.index.ledger import Ledger
from vaultseek.model import Task
from vaultseek.query.compare import fold
from vaultseek.query.facts import Scope
from vaultseek.query.filters import (
    Contains,
    Dated,
    Extension,
    FileContains,
    Filter,
    InFolder,
    PathContains,
    Tag,
    conjuncts,
    matches,
    needs_text,
    posix,
)

NoteIds = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Allowed:
    """The notes that satisfy a filter, sorted by id, and how many each of its conditions left over."""

    ids: NoteIds
    steps: tuple[tuple[str, int], ...]


def allowed(condition: Filter | None, ledger: Ledger) -> Allowed | None:
    """The notes that ``condition`` admits; None means every note."""
    if condition is None:
        return None
    left: set[int] | None = None
    steps: list[tuple[str, int]] = []
    for part in sorted(conjuncts(condition), key=_cost):
        left = _narrowed(part, ledger, left)
        steps.append((str(part), len(left)))
    return Allowed(np.array(sorted(left or ()), np.int64), tuple(steps))


_OF_PATH = (PathContains, InFolder, FileContains, Extension)
_COLUMNS = "id, path, title, aliases, tags, headings, tasks, properties, modified, created"


class LedgerFacts:
    """What filters ask about one note, read from the ledger when it is asked for."""

    def __init__(self, ledger: Ledger, row: Any) -> None:
        self._ledger = ledger
        self._row = row
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
        return [text for _, text, _ in json.loads(self._row[5])]

    @cached_property
    def tasks(self) -> Sequence[Task]:
        return [Task(*task) for task in json.loads(self._row[6])]

    @cached_property
    def properties(self) -> Mapping[str, Any]:
        return dict(json.loads(self._row[7]))

    @cached_property
    def links(self) -> Collection[str]:
        return [row.resolved or row.link.target for row in self._ledger.links_from([self._row[0]])]

    @cached_property
    def backlinks(self) -> Collection[str]:
        return [row.source for row in self._ledger.links_to([self.path])]

    def passages(self, scope: Scope) -> Iterable[str]:
        chunks = self._ledger.chunks_of([self._row[0]])[self._row[0]]
        if scope == "content":
            return ["\n".join(chunk.text for chunk in chunks)]
        if scope == "section":
            return _sections([(chunk.heading_path, chunk.text) for chunk in chunks])
        if scope == "line":
            return [line for chunk in chunks for line in chunk.text.split("\n")]
        return [block for chunk in chunks for block in _blocks(chunk.text)]


def _cost(part: Filter) -> int:
    """Conditions that the ledger answers from an index go first, those that read text last."""
    if isinstance(part, Tag | Dated):
        return 0
    if isinstance(part, _OF_PATH):
        return 1
    return 3 if needs_text(part) else 2


def _narrowed(part: Filter, ledger: Ledger, left: set[int] | None) -> set[int]:
    found = _by_table(part, ledger)
    if found is not None:
        return found if left is None else found & left
    if isinstance(part, _OF_PATH):
        rows = ledger.select("SELECT id, path FROM notes")
        return {
            row[0] for row in rows if (left is None or row[0] in left) and part.matches(_OnlyPath(row[1]))
        }
    if isinstance(part, Contains):
        named = _could_contain(part, ledger)
        left = named if left is None or named is None else named & left
    rows = ledger.select(f"SELECT {_COLUMNS} FROM notes")
    return {
        row[0] for row in rows if (left is None or row[0] in left) and matches(part, LedgerFacts(ledger, row))
    }


def _by_table(part: Filter, ledger: Ledger) -> set[int] | None:
    if isinstance(part, Tag):
        name = fold(part.name).removeprefix("#").strip("/")
        if not name or name.isdigit():
            return set()
        # "0" follows "/", so the range holds everything nested under the tag.
        sql = "SELECT note FROM tags WHERE tag = ? OR (tag >= ? AND tag < ?)"
        return {row[0] for row in ledger.select(sql, name, name + "/", name + "0")}
    if isinstance(part, Dated):
        start = posix(part.start) if part.start else float("-inf")
        end = posix(part.end) if part.end else float("inf")
        column = "created" if part.field == "created" else "modified"
        sql = f"SELECT id FROM notes WHERE {column} >= ? AND {column} < ?"
        return {row[0] for row in ledger.select(sql, start, end)}
    return None


def _could_contain(part: Contains, ledger: Ledger) -> set[int] | None:
    """Notes that hold the longest plain word of a text somewhere: a superset, found without reading notes."""
    words = re.findall(r"[a-z0-9]{3,}", fold(part.text))
    if not words:
        return None
    # Other letters fold to "s" and "k" (the long s, the Kelvin sign): let these two be any character.
    pattern = "%" + re.sub("[sk]", "_", max(words, key=len)) + "%"
    sql = (
        "SELECT note FROM chunks WHERE text LIKE ?1 UNION"
        " SELECT id FROM notes WHERE path LIKE ?1 OR title LIKE ?1 OR aliases LIKE ?1"
    )
    return {row[0] for row in ledger.select(sql, pattern)}


def _sections(chunks: Iterable[tuple[tuple[str, ...], str]]) -> list[str]:
    """What stands between two headings: chunks put together again, and cut where a heading begins."""
    parts: list[list[str]] = []
    before: tuple[str, ...] | None = None
    for heading_path, text in chunks:
        for index, piece in enumerate(re.split(r"(?m)^(?=#{1,6}\s)", text)):
            if index or before != heading_path or not parts:
                parts.append([])
            parts[-1].append(piece)
            before = heading_path
    return ["\n".join(part) for part in parts]


def _blocks(text: str) -> list[str]:
    """Paragraphs, list items and quotes."""
    return [block for block in re.split(r"\n\s*\n|\n(?=\s*(?:[-*+>]|\d+[.)])\s)", text) if block.strip()]


class _OnlyPath:
    """Facts for the filters that look at the path and nothing else."""

    title = ""
    aliases: Collection[str] = ()
    tags: Collection[str] = ()
    properties: Mapping[str, Any] = {}
    created: float | None = None
    modified: float | None = None
    links: Collection[str] = ()
    backlinks: Collection[str] = ()
    headings: Collection[str] = ()
    tasks: Sequence[Task] = ()

    def __init__(self, path: str) -> None:
        self.path = path

    def passages(self, scope: Scope) -> Iterable[str]:
        return ()
