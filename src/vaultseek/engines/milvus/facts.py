"""The facts of a note as an engine filters by them: arrays of text, numbers, and what the rest is decided by.

Tags and folders are stored with all that they are nested under, so that a filter compares whole values. The
values of properties are typed: texts as they are compared, and of numbers and dates the least and greatest,
which tell whether any element of a list is on one side of a bound. Dates are numbers that sort as they do.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vaultseek.base.text import fold
from vaultseek.content.query.compare import comparable, number_of
from vaultseek.store.ledger import NoteRow

TEXT_BYTES = 2000
"""Longest text of an array, in UTF-8."""
ARRAY_TEXTS = 1000
"""Most texts of an array."""
PATH_BYTES = 8000
NO_DATE = -1e300
"""Number of a date that is not known."""
_DATE = re.compile(r"([0-9]{4})-([0-9]{2})(?:-([0-9]{2}))?(?:$|([t ]))")
_YEAR = re.compile(r"([0-9]{4})")
NULL = "\n\n"
VALUE = "\n"
"""Between the name of a property and its value; no folded text has a line break."""


@dataclass(slots=True)
class FilterFacts:
    """The fields of a note in an engine. ``cut`` if they do not hold all, and only the row decides."""

    path: str
    extension: str
    kind: str
    modified: float
    created: float
    folders: list[str]
    tags: list[str]
    properties: list[str] = field(default_factory=list)
    bounds: dict[str, dict[str, float]] = field(default_factory=dict)
    cut: bool = False


def facts_of(row: NoteRow) -> FilterFacts:
    """Return the facts of a note."""
    path = fold(row.path)
    name = path.rpartition("/")[2]
    _, dot, extension = name.rpartition(".")
    facts = FilterFacts(
        path="/" + path,
        extension=f".{extension}" if dot else "",
        kind=row.kind,
        modified=_date(row.modified),
        created=_date(row.created),
        folders=_begins(path)[:-1],
        tags=list(dict.fromkeys(begin for tag in row.tags for begin in _begins(fold(tag).removeprefix("#")))),
    )
    _add_properties(facts, row.properties)
    _cut(facts)
    return facts


def property_key(name: str) -> str:
    """Return the key of a property's bounds, which is safe in any expression."""
    return "p" + hashlib.blake2s(fold(name).encode(), digest_size=8).hexdigest()


def date_number(text: str) -> float | None:
    """Return the number of a date as properties have it (folded); None for other text.

    The order is that of the texts: a month is before its days, and a day before its hours, which are all one.
    """
    match = _DATE.match(text)
    if match is None:
        year = _YEAR.fullmatch(text)
        return int(year[1]) * 10_000.0 if year else None
    years, months, days, time = match.groups()
    return int(years) * 10_000 + int(months) * 100 + int(days or 0) + (0.5 if time else 0.0)


def _begins(path: str) -> list[str]:
    """Return ``a``, ``a/b`` and ``a/b/c`` of ``a/b/c``."""
    return [path[:place] for place, letter in enumerate(f"{path}/") if letter == "/"]


def _date(seconds: float | None) -> float:
    return NO_DATE if seconds is None or seconds != seconds else float(seconds)


def _add_properties(facts: FilterFacts, properties: Mapping[str, Any]) -> None:
    texts: dict[str, None] = {}
    for key, value in properties.items():
        name = fold(key)
        texts[name] = None
        if value is None:
            texts[name + NULL] = None
        elements = value if isinstance(value, list | tuple) else [value]
        for element in elements:
            text = comparable(element)
            if text is not None:
                texts[f"{name}{VALUE}{text}"] = None
        bounds = facts.bounds.setdefault(property_key(key), {})
        numbers = [number for element in elements if (number := number_of(element)) is not None]
        dates = [number for element in elements if (number := _property_date(element)) is not None]
        _bound(bounds, "n", numbers)
        _bound(bounds, "d", dates)
    facts.properties = list(texts)


def _property_date(element: object) -> float | None:
    """Return the number of an element that is a date of at least a month."""
    text = comparable(element) or ""
    return date_number(text) if _DATE.match(text) else None


def _bound(bounds: dict[str, float], prefix: str, numbers: Iterable[float]) -> None:
    for number in numbers:
        low, high = f"{prefix}_min", f"{prefix}_max"
        bounds[low] = min(bounds.get(low, number), number)
        bounds[high] = max(bounds.get(high, number), number)


def _cut(facts: FilterFacts) -> None:
    """Leave out what is too much for the fields, and say so."""
    for name in ("folders", "tags", "properties"):
        texts = [text for text in getattr(facts, name) if len(text.encode()) <= TEXT_BYTES][:ARRAY_TEXTS]
        facts.cut |= len(texts) < len(getattr(facts, name))
        setattr(facts, name, texts)
    if len(facts.bounds) > ARRAY_TEXTS // 2:
        facts.bounds, facts.cut = {}, True
    if len(facts.path.encode()) > PATH_BYTES or len(facts.extension.encode()) > TEXT_BYTES:
        facts.path, facts.extension, facts.cut = facts.path[: PATH_BYTES // 4], "", True
