"""Evaluate one table: rows that pass the filters, with their columns, sorted, grouped and summarized."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from vaultseek.base.limits import LISTED_ITEMS_MOST, TABLE_CHARS, TABLE_COLUMNS, TABLE_PROBLEMS
from vaultseek.base.model import JSON
from vaultseek.base.text import count, fold, printable, quote
from vaultseek.core.tables.base import Base, Condition, Group, Sort, View
from vaultseek.core.tables.expression import Language
from vaultseek.core.tables.files import File, VaultFiles, times_of
from vaultseek.core.tables.operators import sort_key
from vaultseek.core.tables.scope import Compiled, Scope, Surroundings, has_property
from vaultseek.core.tables.summaries import SUMMARIES
from vaultseek.core.tables.syntax import BadExpression
from vaultseek.core.tables.values import FormulaError, Value, answer_of, is_empty, is_truthy, text_of
from vaultseek.errors import UsageError

FILE_NAMES = {
    "file.name": "file name",
    "file.basename": "file name",
    "file.path": "path",
    "file.folder": "folder",
    "file.ext": "extension",
    "file.size": "size",
    "file.mtime": "modified",
    "file.ctime": "created",
    "file.tags": "tags",
    "file.links": "links",
    "file.backlinks": "backlinks",
    "file.embeds": "embeds",
    "file.title": "title",
}
"""Default headings for columns that show facts about a file."""
_OF_EXPRESSIONS = (FormulaError, ArithmeticError, ValueError, RecursionError)


class Problems:
    """Distinct problems in one table, each with the number of files affected and the first such file."""

    def __init__(self, first: Iterable[str] = ()) -> None:
        self._notes: dict[str, list[str]] = {}
        for message in first:
            self.add(message)

    def add(self, message: str, path: str | None = None) -> None:
        """Add a problem with the table or, if a path is given, with the note at that path."""
        if message in self._notes or len(self._notes) < TABLE_PROBLEMS:
            self._notes.setdefault(message, []).extend([path] if path else [])

    def texts(self) -> list[str]:
        """Return the problems as a list of sentences."""
        return [
            f"{message} ({count(len(paths), 'file')}, the first is {printable(paths[0])})"
            if paths
            else message
            for message, paths in self._notes.items()
        ]


@dataclass(slots=True)
class Column:
    """A column: its id in the request or base, its heading, and the function that computes its value for a
    row.
    """

    id: str
    name: str
    value: Compiled


@dataclass(slots=True)
class Row:
    """A row of a table: a file, with the column values computed so far."""

    scope: Scope
    values: dict[str, Value] = field(default_factory=dict)

    @property
    def file(self) -> File:
        """File that the row shows."""
        return self.scope.file


ColumnOf = Callable[[str, Language], Compiled]
"""Function that compiles a column, given its id."""


def evaluate(
    base: Base,
    view: View,
    files: Sequence[File],
    vault: VaultFiles,
    around: Surroundings,
    column: ColumnOf | None = None,
    most: int = LISTED_ITEMS_MOST,
) -> JSON:
    """Evaluate one view of a base over ``files``; return the table as JSON, with up to ``most`` rows.

    ``column`` compiles the view's columns. Raises UsageError if the table takes too long, or if a filter is
    invalid or not supported: without the filter, the table would be meaningless.
    """
    return _Evaluation(base, view, vault, around, column, most).table(files)


class _Evaluation:
    def __init__(
        self,
        base: Base,
        view: View,
        vault: VaultFiles,
        around: Surroundings,
        column: ColumnOf | None,
        most: int,
    ) -> None:
        self.base = base
        self.view = view
        self.around = around
        self.column = column
        self.most = min(view.limit or most, most)
        self.problems = Problems(problem.message for problem in base.problems)
        self.language = Language(dict(base.formulas).keys(), partial(has_property, vault, around.budget))
        self.hidden: dict[str, Column] = {}
        self.names = {_bare(column): name for column, name in base.names}
        around.formulas = {name: self._formula(name, text) for name, text in base.formulas}
        self.filter = self._filter(Group("and", tuple(filter(None, (base.filter, view.filter)))))
        self.columns = {id: self._column(id) for id in view.columns[:TABLE_COLUMNS]}

    def table(self, files: Sequence[File]) -> JSON:
        rows = self._sorted([Row(scope) for scope in self._passing(files)])
        total = len(rows)
        rows = rows[: self.most]
        if len(rows) < min(total, self.view.limit or total) and (self.view.group or self.view.summaries):
            self.problems.add(f"counts and summaries cover only the first {len(rows):,} of {total:,} rows")
        groups, rows = self._grouped(rows)
        self._remark()
        cells = list(self._cells(rows))
        return {
            "name": self.view.name,
            "type": self.view.type,
            "columns": [{"id": column.id, "name": column.name} for column in self.columns.values()],
            "rows": cells,
            "group": None if self.view.group is None else self._heading(self.view.group.column),
            "groups": [
                {"value": answer_of(value), "count": len(each), "summaries": self._summaries(each)}
                for value, each in groups
            ],
            "summaries": self._summaries(rows),
            "count": len(cells),
            "total": total,
            "problems": self.problems.texts(),
        }

    # -- compiling

    def _formula(self, name: str, text: str) -> Compiled:
        try:
            return self.language.compiled(text)
        except BadExpression as error:
            self.problems.add(f"formula {printable(name, 40)}: {error}")
            return _without_value

    def _filter(self, condition: Condition) -> Compiled:
        if isinstance(condition, str):
            try:
                return self.language.compiled(condition)
            except BadExpression as error:
                raise UsageError(f"the filter {quote(condition)} cannot be used: {error}") from None
        parts = [self._tested(each) for each in condition.parts]
        if condition.holds == "and":
            return lambda scope: all(part(scope) for part in parts)
        if condition.holds == "or":
            return lambda scope: any(part(scope) for part in parts)
        return lambda scope: not any(part(scope) for part in parts)

    def _tested(self, condition: Condition) -> Callable[[Scope], bool]:
        holds = self._filter(condition)
        if not isinstance(condition, str):
            return holds
        where = f"filter {printable(condition)}"
        return lambda scope: is_truthy(self._value(holds, scope, where))

    def _column(self, id: str) -> Column:
        try:
            return Column(id, self._heading(id), self._compiled_column(id))
        except BadExpression as error:
            self.problems.add(f"column {printable(id, 40)}: {error}")
            return Column(id, self._heading(id), _without_value)

    def _compiled_column(self, id: str) -> Compiled:
        if self.column is not None:
            return self.column(id, self.language)
        kind, _, name = id.partition(".")
        if kind == "formula" and name:
            if name not in self.language.formulas:
                raise BadExpression(f"unknown formula {quote(name, 40)}")
            return lambda scope: scope.formula(name)
        if kind == "file":
            return self.language.compiled(id)
        own = _bare(id)
        return lambda scope: scope.file.properties.get(own)

    def _heading(self, id: str) -> str:
        own = _bare(id)
        if own in self.names:
            return self.names[own] or own
        return FILE_NAMES.get(id) or own.removeprefix("formula.")

    # -- rows

    def _passing(self, files: Iterable[File]) -> Iterator[Scope]:
        for file in files:
            self.around.budget.spend(8)
            scope = Scope(file, self.around)
            if self.filter(scope):
                yield scope

    def _value(self, value: Compiled, scope: Scope, where: str) -> Value:
        try:
            return value(scope)
        except NoValue:
            return None
        except _OF_EXPRESSIONS as error:
            reason = str(error) if isinstance(error, FormulaError) else "the value cannot be computed"
            self.problems.add(f"{where}: {reason}", scope.file.path)
            return None

    def _of(self, row: Row, id: str) -> Value:
        if id not in row.values:
            if id not in self.columns and id not in self.hidden:
                self.hidden[id] = self._column(id)
            column, budget = self.columns.get(id) or self.hidden[id], self.around.budget
            budget.spend(8)
            where = f"column {printable(id, 40)}"
            row.values[id] = self._value(lambda scope: budget.keep(column.value(scope)), row.scope, where)
        return row.values[id]

    def _sorted(self, rows: list[Row]) -> list[Row]:
        for sort in reversed(self.view.sort):
            rows = self._by(rows, sort)
        if self.view.group is not None:
            rows = self._by(rows, self.view.group)
        return rows

    def _by(self, rows: list[Row], sort: Sort) -> list[Row]:
        """Sort rows by a column. Rows without a value come last, and rows with equal values keep their
        order.
        """
        filled = [row for row in rows if not is_empty(self._of(row, sort.column))]
        empty = [row for row in rows if is_empty(self._of(row, sort.column))]
        filled.sort(key=lambda row: sort_key(self._of(row, sort.column)), reverse=sort.descending)
        return filled + empty

    def _grouped(self, rows: list[Row]) -> tuple[list[tuple[Value, list[Row]]], list[Row]]:
        if self.view.group is None:
            return [], rows
        groups: dict[str, tuple[Value, list[Row]]] = {}
        for row in rows:
            value = self._of(row, self.view.group.column)
            key = "" if is_empty(value) else f"={fold(text_of(value))}"
            groups.setdefault(key, (None if is_empty(value) else value, []))[1].append(row)
        return list(groups.values()), [row for _, each in groups.values() for row in each]

    def _cells(self, rows: Sequence[Row]) -> Iterator[JSON]:
        weight = 0
        for row in rows:
            values = {id: answer_of(self._of(row, id)) for id in self.columns}
            weight += sum(map(_weight, values.values()))
            if weight > TABLE_CHARS:
                self.problems.add("the table was truncated: its cells contain too much text")
                return
            yield {"path": row.file.path, "title": row.file.title, **times_of(row.file), "cells": values}

    # -- summaries and remarks

    def _summaries(self, rows: Sequence[Row]) -> list[JSON]:
        return [
            {"column": column, "name": name, "value": answer_of(value)}
            for column, name in self.view.summaries
            if (value := self._summary(column, name, rows)) is not _UNKNOWN
        ]

    def _summary(self, column: str, name: str, rows: Sequence[Row]) -> Value:
        values = [self._of(row, column) for row in rows]
        own = dict(self.base.summaries)
        if name not in own:
            known = {each.lower(): figure for each, figure in SUMMARIES.items()}
            if name.lower() not in known:
                self.problems.add(f"unknown summary {quote(name, 40)}")
                return _UNKNOWN
            return known[name.lower()](values)
        if not rows:
            return None
        try:
            figure = self.language.compiled(own[name], frozenset({"values"}))
        except BadExpression as error:
            self.problems.add(f"summary {printable(name, 40)}: {error}")
            return _UNKNOWN
        scope = Scope(rows[0].file, self.around)
        scope.locals["values"] = values
        return self._value(figure, scope, f"summary {printable(name, 40)}")

    def _remark(self) -> None:
        if self.view.type != "table":
            kind = printable(self.view.type, 40)
            self.problems.add(f"views of type {kind} are shown as tables")
        for remark in self.language.remarks:
            self.problems.add(remark)
        if len(self.view.columns) > TABLE_COLUMNS:
            self.problems.add(f"only the first {TABLE_COLUMNS} columns are shown")


class NoValue(FormulaError):
    """Raised for an expression that is not valid; this was already reported, once for the whole table."""


_UNKNOWN = object()
"""Marker that stands for the value of an unknown summary."""


def _without_value(scope: Scope) -> Value:
    raise NoValue("the expression was not understood")


def _bare(column: str) -> str:
    return column.removeprefix("note.") if column != "note." else column


def _weight(value: Any) -> int:
    if isinstance(value, str):
        return len(value) + 4
    if isinstance(value, list):
        return sum(map(_weight, value)) + 4
    return sum(map(_weight, value.values())) + 4 if isinstance(value, Mapping) else 8
