"""Queries and relevance judgements (qrels), read from files in vaultseek's own format, BEIR's or TREC's."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from vaultseek.base import limits
from vaultseek.base.text import printable
from vaultseek.content.kinds import kind_of
from vaultseek.core.search.request import parse_with_fields
from vaultseek.errors import BadQuery, UsageError

Grades = Mapping[str, int]
"""Relevance grades by path; higher is better. Notes with grade 0 and notes without a grade are not
relevant."""
ALL = "all"
"""Name of the group that contains all queries, in addition to the categories."""
_ITERATIONS = ("0", "Q0")
"""Values that the unused second column may have in TREC's format."""
_HEADINGS = ("query", "query-id", "query_id", "queryid", "qid", "id", "topic")


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """A query and the grades of its relevant notes, if any; ``filters`` has the same form as in a search
    request."""

    id: str
    text: str
    category: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)
    grades: Grades = field(default_factory=dict)


def read_queries(queries: Path, qrels: Path, *, plain: bool = False) -> list[JudgedQuery]:
    """Read queries from a JSONL file, and their judgements from ``qrels``.

    Each line is an object with ``id``, ``query`` and, optionally, ``category`` and ``filters``. BEIR's
    ``_id`` and ``text``, and lines of the form ``id<TAB>query``, are also accepted. With ``plain``, queries
    are words without operators. Raises UsageError with the file and line if a file cannot be parsed or a
    query is invalid.
    """
    grades = read_qrels(qrels)
    judged: dict[str, JudgedQuery] = {}
    for number, line in _lines(queries):
        query = _query(f"{queries}:{number}", line, grades, plain)
        if query.id in judged:
            raise UsageError(
                f"{queries}:{number}: the query {query.id!r} occurs twice; each query needs its own id"
            )
        judged[query.id] = query
    if not judged:
        raise UsageError(f"{queries}: no queries; expected one per line")
    if unknown := set(grades) - set(judged):
        raise UsageError(f"{qrels}: {sorted(unknown)[0]!r} is not in {queries}; add it there")
    if not any(grade > 0 for of_query in grades.values() for grade in of_query.values()):
        raise UsageError(f"{qrels}: no relevant note; give at least one note a grade of 1 or more")
    return list(judged.values())


def read_qrels(file: Path) -> dict[str, dict[str, int]]:
    """Return the grades in a file, by query id and path.

    The columns determine the format: ``query path grade`` separated by tabs, with or without a header line
    (vaultseek's own and BEIR's), or TREC's ``query 0 path grade``. ``.md`` is added to a path unless the path
    has a known extension. Raises UsageError with the file and line.
    """
    grades: dict[str, dict[str, int]] = {}
    for number, line in _lines(file):
        columns = _columns(line)
        if number == 1 and columns[0].casefold() in _HEADINGS:
            continue
        if len(columns) != 3 and not (len(columns) == 4 and columns[1] in _ITERATIONS):
            raise UsageError(f"{file}:{number}: expected query, path and grade, separated by tabs")
        query, path, grade = columns[0], columns[-2], _grade(columns[-1], f"{file}:{number}")
        path = path if "." in Path(path).name and kind_of(path) else f"{path}.md"
        if grades.setdefault(query, {}).setdefault(path, grade) != grade:
            raise UsageError(f"{file}:{number}: {path} is judged twice for {query!r}; keep one grade")
    return grades


def missing_notes(queries: Sequence[JudgedQuery], paths: set[str]) -> list[str]:
    """Return the relevant notes that are not in the vault, sorted by path."""
    return sorted({path for query in queries for path, grade in query.grades.items() if grade > 0} - paths)


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
        # Without this check, an invalid query would count as a query that finds nothing.
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
        grade = math.nan
    if not grade.is_integer() or abs(grade) >= limits.GRADE:
        shown = printable(text, 40)
        raise UsageError(f"{where}: the grade is {shown}; expected a whole number below {limits.GRADE}")
    return int(grade)


def _columns(line: str) -> list[str]:
    """Return the columns of a line, which is split at tabs if it has any, because paths may contain
    spaces."""
    columns = line.split("\t")
    return [column.strip() for column in (columns if len(columns) > 1 else line.split())]
