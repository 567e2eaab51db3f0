"""Queries and judgements from files: our own form, and those of BEIR and TREC."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vaultseek import limits
from vaultseek.errors import UsageError

Grades = Mapping[str, int]
"""Path to grade: the higher the better; 0 is wrong, and so is what was not judged."""
ALL = "all"


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query and what it should find, which is nothing without grades; ``filters`` as in a request."""

    id: str
    text: str
    category: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    grades: Grades = field(default_factory=dict)


def read_queries(queries: Path, qrels: Path) -> list[JudgedQuery]:
    """Queries of a JSONL file with their judgements.

    A line is ``{"id", "query"}`` and may hold ``category`` and ``filters``; BEIR's ``_id`` and ``text`` are
    read too. Raises UsageError, which names file and line, for a file that cannot be read or understood.
    """
    grades = read_judgements(qrels)
    found: dict[str, JudgedQuery] = {}
    for number, line in _lines(queries):
        query = _query(queries, number, line, grades)
        if query.id in found:
            raise UsageError(
                f"{queries}:{number}: the query {query.id!r} is there twice; each needs an id of its own"
            )
        found[query.id] = query
    if not found:
        raise UsageError(f"{queries}: no queries in it; expected one a line")
    if unknown := set(grades) - set(found):
        raise UsageError(
            f"{qrels}: judges {sorted(unknown)[0]!r}, which is no query of {queries}; add it there"
        )
    return list(found.values())


def read_judgements(file: Path) -> dict[str, dict[str, int]]:
    """Grades by query and path.

    Three forms are told apart by their columns: ``query path grade`` separated by tabs, with or without a
    heading (ours, and BEIR's); and TREC's ``query 0 path grade``. A path without ``.md`` gets it.
    """
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(file):
        columns = _columns(line)
        if number == 1 and not _is_number(columns[-1]):
            continue
        if len(columns) not in (3, 4) or not _is_number(columns[-1]):
            raise UsageError(f"{file}:{number}: expected query, path and grade, separated by tabs")
        query, path, grade = columns[0], columns[-2], int(float(columns[-1]))
        grades.setdefault(query, {})[path if "." in Path(path).name else f"{path}.md"] = grade
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


def _query(file: Path, number: int, line: str, grades: Mapping[str, Grades]) -> JudgedQuery:
    try:
        values = json.loads(line)
        id, text = str(values.get("id", values.get("_id"))), values.get("query", values.get("text"))
        filters = values.get("filters") or {}
    except (ValueError, AttributeError, RecursionError):
        raise UsageError(f'{file}:{number}: expected {{"id": …, "query": …}}') from None
    if id == "None" or not isinstance(text, str) or not isinstance(filters, dict):
        raise UsageError(f'{file}:{number}: expected {{"id": …, "query": …}}, and filters as an object')
    return JudgedQuery(id, text, str(values.get("category") or ""), filters, grades.get(id, {}))


def _columns(line: str) -> list[str]:
    """By tabs where there are any: paths hold spaces."""
    columns = line.split("\t")
    return [column.strip() for column in (columns if len(columns) > 1 else line.split())]


def _is_number(text: str) -> bool:
    try:
        return abs(float(text)) < limits.GRADE
    except ValueError:
        return False
