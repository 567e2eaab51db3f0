"""Exact filters on notes, evaluated in the ledger before any search cuts its results.

For each condition, an index or a pattern first finds all possible matches. Only these notes are read, and the
condition's method ``matches`` then checks each of them.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from vaultseek.base.currency import Rules, Stated
from vaultseek.base.limits import SQL_VARIABLES
from vaultseek.base.model import Task
from vaultseek.base.text import fold
from vaultseek.base.when import When, bounds
from vaultseek.base.zone import zone
from vaultseek.content.query.compare import is_named
from vaultseek.content.query.expression import in_time, literal_of
from vaultseek.content.query.facts import Scope, pieces
from vaultseek.content.query.filters import (
    And,
    Contains,
    Dated,
    Filter,
    HasName,
    HasProperty,
    IsOutdated,
    Linked,
    Matches,
    NameMatches,
    Not,
    OfOneFact,
    Or,
    PropertyMatches,
    Tag,
    Within,
    conjuncts,
    expressions_of,
    forms_of,
    needs_text,
)
from vaultseek.content.query.normal_forms import spelled
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.ledger.ledger import Ledger
from vaultseek.store.ledger.prefilter import prefilter
from vaultseek.store.ledger.rows import PassageText

Ids = set[int]

CACHED_FILTERS = 16
"""Number of filters whose results are cached until the next commit. A filter usually stays the same while
words are typed."""


@dataclass(frozen=True, slots=True)
class FilterResult:
    """Sorted ids of the notes that satisfy a filter, and the number of notes that remained after each
    condition."""

    ids: NoteIds
    steps: tuple[tuple[str, int], ...]


def filter_notes(condition: Filter | None, ledger: Ledger) -> FilterResult | None:
    """Return the notes that satisfy ``condition``; None stands for every note."""
    if condition is None:
        return None
    revision = ledger.revision
    known, results = _results.get(ledger, (-1, {}))
    if known != revision:
        results = {}
        _results[ledger] = revision, results
    key = condition, zone()
    result = results.get(key)
    if result is None:
        result = _decide(condition, ledger)
        if len(results) >= CACHED_FILTERS:
            results.clear()
        results[key] = result
    return result


_results: WeakKeyDictionary[Ledger, tuple[int, dict[tuple[Filter, tzinfo], FilterResult]]] = (
    WeakKeyDictionary()
)
"""The latest filter results for each ledger at its current revision; each result is for one time zone."""


def is_meant(term: str, condition: Filter, ledger: Ledger) -> bool:
    """Return true if a ``term`` that may be text is meant as a filter: the vault contains the property or
    extension that the condition names. A term with a condition ``Matches`` (``-xzf``) is meant as a filter if
    no passage that contains the term satisfies the condition.
    """
    if isinstance(condition, Matches):
        return not any(map(condition.holds, ledger.chunks.containing(term)))
    named = condition if isinstance(condition, HasName) else HasProperty(getattr(condition, "name", ""))
    found = filter_notes(named, ledger)
    return found is not None and len(found.ids) > 0


def _decide(condition: Filter, ledger: Ledger) -> FilterResult:
    remaining: Ids | None = None
    steps: list[tuple[str, int]] = []
    for part in sorted(conjuncts(condition), key=_cost):
        remaining = _narrow(part, ledger, remaining)
        steps.append((str(part), len(remaining)))
    ids = np.fromiter(remaining or (), np.int64, len(remaining or ()))
    ids.sort()
    return FilterResult(ids, tuple(steps))


def _cost(part: Filter) -> int:
    if isinstance(part, Tag | Dated) or (isinstance(part, OfOneFact) and part.stored()[0] == "path"):
        return 0
    return 2 if needs_text(part) else 1


def _narrow(part: Filter, ledger: Ledger, remaining: Ids | None) -> Ids:
    match part:
        case And(parts):
            for inner in sorted(parts, key=_cost):
                remaining = _narrow(inner, ledger, remaining)
            return remaining or set()
        case Or(parts):
            return set().union(*(_narrow(inner, ledger, remaining) for inner in parts))
        case Not(inner):
            everything = set(ledger.notes.ids()) if remaining is None else remaining
            return everything - _narrow(inner, ledger, remaining)
        case Contains() | Matches() | Within():
            return _by_text(part, ledger, remaining)
        case Tag():
            ids = _with_tag(part, ledger)
        case Dated():
            ids = _in_period(part, ledger)
        case IsOutdated():
            ids = _outdated(part, ledger)
        case Linked():
            ids = _linking_to(part, ledger) if part.by == "links" else _linked_from(part, ledger)
        case _:
            ids = _in_column(part, ledger)
    return ids if remaining is None else ids & remaining


def _with_tag(part: Tag, ledger: Ledger) -> Ids:
    name = fold(part.name).removeprefix("#").strip("/")
    if not name or name.isdigit():
        return set()
    # "0" follows "/", so the range holds everything nested under the tag.
    sql = "SELECT note FROM tags WHERE tag = ? OR (tag >= ? AND tag < ?)"
    return {row[0] for row in ledger.select(sql, name, name + "/", name + "0")}


def _in_period(part: Dated, ledger: Ledger) -> Ids:
    moments = bounds(part.start, part.end, of_moments=True)
    if part.field == "modified":
        rows = ledger.select("SELECT id FROM notes WHERE modified >= ? AND modified < ?", *moments)
    else:
        sql = (
            "SELECT id FROM notes WHERE (created_kind = 'moment' AND created >= ? AND created < ?)"
            " OR (created_kind != 'moment' AND created >= ? AND created < ?)"
        )
        rows = ledger.select(sql, *moments, *bounds(part.start, part.end, of_moments=False))
    return {row[0] for row in rows}


def outdated(rules: Rules, ledger: Ledger) -> set[int]:
    """Return the ids of all notes that may be outdated according to ``rules``."""
    replaced = set(ledger.successions.replaced())
    candidates = replaced | {row[0] for row in ledger.select("SELECT id FROM notes WHERE currency != '[]'")}
    for tag in rules.tags:
        candidates |= _with_tag(Tag(tag), ledger)
    for folder in rules.folders:
        candidates |= _in_column(HasName("folder", folder), ledger)
    return candidates


def _outdated(part: IsOutdated, ledger: Ledger) -> Ids:
    notes = _facts(sorted(outdated(part.rules, ledger)), ledger)
    return {number for number, facts in notes if part.matches(facts)}


def _linking_to(part: Linked, ledger: Ledger) -> Ids:
    resolved = "coalesce(resolved, target)"
    select = f"SELECT DISTINCT note, {resolved} FROM links"
    rows = _select_containing(ledger, select, resolved, _link_stem(part.note))
    if inside := ledger.paths_of(sorted(ledger.forms.having(()))):
        rows += ledger.select_in(f"{select} WHERE resolved IN ({{}})", sorted(inside.values()))
    return {note for note, path in rows if is_named(path, part.note)}


def _linked_from(part: Linked, ledger: Ledger) -> Ids:
    rows = _select_containing(ledger, "SELECT id, path FROM notes", "path", _link_stem(part.note))
    rows += ledger.paths_of(sorted(ledger.forms.having(()))).items()
    sql = "SELECT n.id FROM links l JOIN notes n ON n.path = l.resolved WHERE l.note = ?"
    sources = [note for note, path in rows if is_named(path, part.note)]
    return {row[0] for note in sources for row in ledger.select(sql, note)}


def _link_stem(name: str) -> str:
    """Return the part of a note's name that every link to the note contains; the extension is optional in
    links."""
    return fold(name).strip("[]").removesuffix(".md").removesuffix(".markdown")


def _in_column(part: OfOneFact, ledger: Ledger) -> Ids:
    column, texts = part.stored()
    select = f"SELECT id, {column}, name_day, day_first FROM notes WHERE {column} NOT IN ('[]', '{{}}')"
    rows: Iterable[Any] = _select_containing(ledger, select, column, *texts)
    if forms := ledger.forms.having(forms_of(part)):
        within = select.replace("{}", "{{}}") + " AND id IN ({})"
        rows = [*rows, *ledger.select_in(within, sorted(forms))]
    if isinstance(part, NameMatches | PropertyMatches):
        rows = in_time(rows, part.pattern)
    read = READ[column]

    def has_fact(value: str, name_day: str, day_first: int | None) -> bool:
        # A condition on one column needs only that column, and whether the note's dates put the day first.
        facts: Any = SimpleNamespace(**{column: read(value)}, name_day=name_day, day_first=_order(day_first))
        return part.matches(facts)

    return {note for note, *values in rows if has_fact(*values)}


def _select_containing(ledger: Ledger, sql: str, expression: str, *texts: str) -> list[Any]:
    """Return the rows of ``sql`` whose ``expression`` could contain all of the ``texts``."""
    conditions = (prefilter(text, is_path=expression == "path") for text in texts)
    patterns = [condition for condition in conditions if condition is not None]
    if patterns:
        sql += " AND " if " WHERE " in sql else " WHERE "
        sql += " AND ".join(condition.sql(expression) for condition in patterns)
    return ledger.select(sql, *(value for condition in patterns for value in condition.values))


def _by_text(part: Contains | Matches | Within, ledger: Ledger, remaining: Ids | None) -> Ids:
    candidates = text_candidates(part, ledger)
    if remaining is None:
        remaining = set(ledger.notes.ids())
    if candidates is not None:
        remaining = remaining & candidates
    notes = _facts(sorted(remaining), ledger)
    if (pattern := next(expressions_of(part), None)) is not None:
        notes = in_time(notes, pattern)
    return {number for number, facts in notes if part.matches(facts)}


def _facts(ids: Sequence[int], ledger: Ledger) -> Iterator[tuple[int, LedgerFacts]]:
    for start in range(0, len(ids), SQL_VARIABLES):
        part = ids[start : start + SQL_VARIABLES]
        texts = ledger.chunks.texts(part)
        marks = ", ".join("?" * len(part))
        for row in ledger.select(f"SELECT {COLUMNS} FROM notes WHERE id IN ({marks})", *part):
            yield row[0], LedgerFacts(ledger, row, texts[row[0]])


def text_candidates(part: Filter, ledger: Ledger) -> Ids | None:
    """Return a superset of the notes whose text satisfies a condition; None if no note can be excluded."""
    match part:
        case Within(test=test):
            return text_candidates(test, ledger)
        case And(parts):
            bounded = [ids for ids in (text_candidates(inner, ledger) for inner in parts) if ids is not None]
            return set.intersection(*bounded) if bounded else None
        case Or(parts):
            each = [text_candidates(inner, ledger) for inner in parts]
            return None if None in each else set().union(*(ids for ids in each if ids is not None))
        case Contains(text):
            return _candidates_containing(text, ledger)
        case Matches(pattern):
            literal = literal_of(pattern)
            return None if literal is None else _candidates_containing(literal, ledger)
        case _:
            return None


def _candidates_containing(text: str, ledger: Ledger) -> Ids | None:
    condition = prefilter(text)
    if condition is None:
        return None
    by_text = " OR ".join(condition.sql(column) for column in ("text", "edits"))
    rows = ledger.select(f"SELECT note FROM chunks WHERE {by_text}", *condition.values * 2)
    by_name = " OR ".join(condition.sql(column) for column in _WORDED)
    rows += ledger.select(f"SELECT id FROM notes WHERE {by_name}", *condition.values * len(_WORDED))
    return {row[0] for row in rows} | ledger.forms.having(spelled(text).terms)


_WORDED = ("path", "title", "aliases", "properties")
"""Columns in which words and phrases are searched for, in addition to the text of chunks."""


# -- facts about notes, read from the ledger

COLUMNS = (
    "id, path, title, aliases, tags, headings, tasks, properties, modified, created, created_kind, currency,"
    " name_day, day_first"
)
"""The columns from which ``LedgerFacts`` are read."""


def _headings(value: str) -> list[str]:
    return [text for _, written, _, *rendered in json.loads(value) for text in (written, *rendered)]


def _tasks(value: str) -> list[Task]:
    return [Task(*task) for task in json.loads(value)]


READ: Mapping[str, Any] = {
    "path": str,
    "aliases": json.loads,
    "tags": json.loads,
    "headings": _headings,
    "tasks": _tasks,
    "properties": json.loads,
}
"""Functions that decode the facts, by column name."""


def _order(day_first: int | None) -> bool | None:
    return None if day_first is None else bool(day_first)


class LedgerFacts:
    """Facts about one note, for filters to check. They are read from the ledger on demand."""

    def __init__(self, ledger: Ledger, row: Any, texts: Sequence[PassageText] | None = None) -> None:
        self._ledger = ledger
        self._row = row
        self._texts = texts
        self.path: str = row[1]
        self.title: str = row[2]
        self.modified: float | None = row[8]
        self.created: When | None = When(row[9], row[10])
        self.name_day: str = row[12]
        self.day_first = _order(row[13])

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

    @property
    def stated(self) -> Stated:
        return Stated(*json.loads(self._row[11]))

    @property
    def has_successor(self) -> bool:
        return bool(self._ledger.successions.successors({self._row[0]: self.path}))

    def passages(self, scope: Scope) -> Iterable[str]:
        number: int = self._row[0]
        texts = self._ledger.chunks.texts([number])[number] if self._texts is None else self._texts
        return pieces(texts, [line for _, _, line, *_ in json.loads(self._row[5])], scope)
