"""Types that Obsidian's settings give to properties, and the values of properties as these types have them.

A value that does not fit the type of its property, such as a word where a date is due, stays what it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from vaultseek.base.text import fold
from vaultseek.content.files.obsidian import TYPES_FILE, app_settings
from vaultseek.core.tables.dates import read_date
from vaultseek.core.tables.values import Date, Value

LISTS = frozenset({"tags", "aliases", "cssclasses"})
"""Properties that are lists in Obsidian, also where a note has them as a text with commas."""


def read_types(root: Path) -> Mapping[str, str]:
    """Return the type of each property that has one, by its folded name; none if they cannot be read."""
    types = app_settings(root, TYPES_FILE).get("types")
    pairs = types.items() if isinstance(types, dict) else ()
    return {fold(name): type for name, type in pairs if isinstance(type, str)}


def as_listed(name: str, type: str | None, stored: Any) -> Any:
    """Return a stored value as a list if its property holds lists; any other as it is."""
    if isinstance(stored, str) and (fold(name) in LISTS or type in ("tags", "aliases")):
        return [each.strip() for each in stored.split(",") if each.strip()]
    if type == "multitext" and stored is not None and not isinstance(stored, list | dict):
        return [stored]
    return stored


def of_type(type: str | None, stored: Any) -> Value | None:
    """Return a stored value as its property's type has it; None if the type says nothing about it."""
    convert = _CONVERSIONS.get(type or "")
    return convert(stored) if convert is not None and isinstance(stored, str) else None


def _text(stored: str) -> Value:
    return None if stored.lstrip().startswith("[") else stored


def _day(stored: str) -> Value:
    date = read_date(stored.strip())
    if date is None:
        return None
    return Date(date.moment.replace(hour=0, minute=0, second=0, microsecond=0), timed=False)


def _moment(stored: str) -> Value:
    date = read_date(stored.strip())
    return None if date is None else Date(date.moment)


def _number(stored: str) -> Value:
    try:
        number = math.nan if "_" in stored else float(stored)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


_CONVERSIONS: Mapping[str, Callable[[str], Value]] = {
    "text": _text,
    "date": _day,
    "datetime": _moment,
    "number": _number,
    "checkbox": lambda stored: {"true": True, "false": False}.get(stored.strip().lower()),
}
"""Conversions of texts, by type; other values are written in YAML as what they are."""
