"""Queries and judgements from files: our own form, and those of BEIR and TREC."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vaultseek import limits
from vaultseek.errors import BadQuery, UsageError
from vaultseek.search.request import parse_with_fields

Grades = Mapping[str, int]
"""Path to grade: the higher the better; 0 is wrong, and so is what was not judged."""
ALL = "all"
_ITERATIONS = ("0", "Q0")
"""The second column of TREC's form, which says nothing."""
_HEADINGS = ("query", "query-id", "query_id", "queryid", "qid", "id", "topic")


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query and what it should find, which is nothing without grades; ``filters`` as in a request."""

    id: str
    text: str
    category: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    grades: Grades = field(default_factory=dict)


def read_queries(queries: Path, qrels: Path, *, plain: bool = False) -> list[JudgedQuery]:
    """Queries of a JSONL file with their judgements.

    A line is ``{"id", "query"}`` and may hold ``category`` and ``filters``; BEIR's ``_id`` and ``text`` are
    read too, and so are lines ``id<TAB>query``. Raises UsageError, which names file and line, for a file that
    cannot be read or understood and for a query that cannot be asked; ``plain`` ones are words alone.
    """
    grades = read_judgements(qrels)
    found: dict[str, JudgedQuery] = {}
    for number, line in _lines(queries):
        query = _query(f"{queries}:{number}", line, grades, plain)
        if query.id in found:
            raise UsageError(
                f"{queries}:{number}: the query {query.id!r} occurs twice; each query needs its own id"
            )
        found[query.id] = query
    if not found:
        raise UsageError(f"{queries}: no queries; expected one per line")
    if unknown := set(grades) - set(found):
        raise UsageError(f"{qrels}: {sorted(unknown)[0]!r} is not a query of {queries}; add it there")
    if not any(grade > 0 for given in grades.values() for grade in given.values()):
        raise UsageError(f"{qrels}: no relevant note; give at least one note a grade of 1 or more")
    return list(found.values())


def read_judgements(file: Path) -> dict[str, dict[str, int]]:
    """Grades by query and path.

    Three forms are told apart by their columns: ``query path grade`` separated by tabs, with or without a
    heading (ours, and BEIR's); and TREC's ``query 0 path grade``. A path without ``.md`` gets it.
    """
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(file):
        columns = _columns(line)
        if number == 1 and columns[0].casefold() in _HEADINGS:
            continue
        if len(columns) != 3 and not (len(columns) == 4 and columns[1] in _ITERATIONS):
            raise UsageError(f"{file}:{number}: expected query, path and grade, separated by tabs")
        query, path, grade = columns[0], columns[-2], _grade(columns[-1], f"{file}:{number}")
        path = path if "." in Path(path).name else f"{path}.md"
        if grades.setdefault(query, {}).setdefault(path, grade) != grade:
            raise UsageError(f"{file}:{number}: {path} is judged twice for {query!r}; keep one grade")
    return grades


def missing_notes(queries: Sequence[JudgedQuery], paths: set[str]) -> list[str]:
    """Notes that are judged to be right but are not in the vault, sorted."""
    return sorted({path for query in queries for path, grade in query.grades.items() if grade > 0} - paths)


def categories(queries: Sequence[JudgedQuery]) -> list[str]:
    """The categories in the order of the file; none if nothing is categorised."""
    return [name for name in dict.fromkeys(query.category for query in queries) if name]


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    try:
        if file.stat().st_size > limits.JUDGEMENTS_BYTES:
            raise UsageError(f"{file}: larger than {limits.JUDGEMENTS_BYTES // limits.MIB} MiB; split it")
        text = file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: cannot be read ({error}); expected a text file") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            yield number, line.rstrip("\r")


def _query(where: str, line: str, grades: Mapping[str, Grades], plain: bool) -> JudgedQuery:
    if "\t" in line and not line.lstrip().startswith("{"):
        values: dict[str, Any] = dict(zip(("id", "query"), map(str.strip, line.split("\t", 1)), strict=True))
    else:
        values = _object(where, line)
    id, text = str(values.get("id", values.get("_id"))), values.get("query", values.get("text"))
    filters = values.get("filters") or {}
    if id == "None" or not isinstance(text, str) or not isinstance(filters, dict):
        raise UsageError(f'{where}: expected {{"id": …, "query": …}}, and filters as an object')
    try:
        # A query that cannot be asked would count as one that finds nothing.
        parse_with_fields(text, filters, plain=plain)
    except BadQuery as error:
        raise UsageError(f"{where}: {error}") from None
    category = str(values.get("category") or "")
    if category == ALL:
        raise UsageError(f"{where}: the category {ALL!r} is reserved for all queries; choose another name")
    return JudgedQuery(id, text, category, filters, grades.get(id, {}))


def _object(where: str, line: str) -> dict[str, Any]:
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise UsageError(f'{where}: expected {{"id": …, "query": …}}')
    return values


def _grade(text: str, where: str) -> int:
    try:
        grade = float(text)
    except ValueError:
        raise UsageError(f"{where}: expected query, path and grade, separated by tabs") from None
    if not grade.is_integer() or abs(grade) >= limits.GRADE:
        raise UsageError(f"{where}: the grade is {text}; expected a whole number below {limits.GRADE}")
    return int(grade)


def _columns(line: str) -> list[str]:
    """By tabs where there are any: paths hold spaces."""
    columns = line.split("\t")
    return [column.strip() for column in (columns if len(columns) > 1 else line.split())]
