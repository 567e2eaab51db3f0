"""Dates of a note: from its properties, else from its file name, else the modification time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from vaultseek.base.model import Note

CREATED_PROPERTIES = ("created", "date created", "creation date", "date")
_DAY = re.compile(r"(?<!\d)(\d{4})([-_.])(\d{2})\2(\d{2})(?!\d)")
_STAMP = re.compile(r"(\d{4})(\d{2})(\d{2})(?:\d{4}|\d{6})?(?!\d)")
"""A day at the start of a file name; the ids of Zettelkasten notes have hours and minutes as well."""


def created_time(note: Note, modified: float) -> float:
    """Return the creation time as Unix time."""
    created = property_time(note.frontmatter, CREATED_PROPERTIES)
    if created is None:
        created = file_name_time(note.path)
    return modified if created is None else created


def property_time(properties: Mapping[str, Any], names: Iterable[str]) -> float | None:
    """Return the Unix time of the first of these properties with an ISO 8601 date."""
    moments = (_moment(properties.get(name)) for name in names)
    return next((moment for moment in moments if moment is not None), None)


def file_name_time(path: str) -> float | None:
    """Return the start of the day in a note's file name; None if there is none."""
    name = path.rpartition("/")[2]
    match = _DAY.search(name)
    year, month, day = match.group(1, 3, 4) if match else _compact_date(name)
    return _moment(f"{year}-{month}-{day}")


def _compact_date(name: str) -> tuple[str, ...]:
    match = _STAMP.match(name)
    return match.group(1, 2, 3) if match else ("", "", "")


def _moment(text: object) -> float | None:
    if not isinstance(text, str):
        return None
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
