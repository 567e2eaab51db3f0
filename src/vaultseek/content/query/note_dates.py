"""The dates of a note, from its properties and file name, in any spelling."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from vaultseek.base.model import Note
from vaultseek.base.when import When, iso_date, read_when
from vaultseek.content.query.dates import dates_of, find_dates

IsDayFirst = Callable[[], bool | None]
"""Returns whether the day comes before the month in a vault's dates; None if unknown."""
CREATED_PROPERTIES = ("created", "date created", "creation date", "date")
_ID = re.compile(r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?:\d{4}|\d{6})(?!\d)")
"""The id of a Zettelkasten note at the start of a file name: a day with hours and minutes."""


def _unknown() -> None:
    return None


def created_when(note: Note, modified: float, is_day_first: IsDayFirst = _unknown) -> When:
    """Return the date in a note or its file name, else the Unix time ``modified``.

    ``is_day_first`` is called if either of two numbers may be the day; its result None means unknown.
    """
    created = property_when(note.frontmatter, CREATED_PROPERTIES, is_day_first)
    return created or file_name_when(note.path, is_day_first) or When(modified)


def property_when(
    properties: Mapping[str, Any], names: Iterable[str], is_day_first: IsDayFirst = _unknown
) -> When | None:
    """Return the first of these properties that is a date; names are case-insensitive."""
    if not properties:  # true for most notes that a search ranks
        return None
    values = {key.casefold(): value for key, value in reversed(list(properties.items()))}
    dates = (_date(values.get(name.casefold()), is_day_first) for name in names)
    return next((date for date in dates if date is not None), None)


def file_name_when(path: str, is_day_first: IsDayFirst = _unknown) -> When | None:
    """Return the day in a note's file name; None if there is none."""
    name = path.rpartition("/")[2].rpartition(".")[0]
    if stamp := _ID.match(name):
        return read_when("{year}-{month}-{day}".format(**stamp.groupdict()))
    # Eight digits further on may be any number.
    written = (
        each for each in find_dates(name) if not each.start or not name[each.start : each.end].isdecimal()
    )
    days = (_day(each.days, is_day_first) for each in written)
    return next((read_when(day) for day in days if day), None)


def _date(value: object, is_day_first: IsDayFirst) -> When | None:
    """Read a date, which may be a link to a day's note."""
    if not isinstance(value, str | int):
        return None
    text = iso_date(str(value))
    return read_when(text) or read_when(_day(dates_of(text), is_day_first))


def _day(days: tuple[str, ...], is_day_first: IsDayFirst) -> str:
    """Return the intended day as ISO; "" if unknown. If there are two readings, the first one puts the day
    first."""
    if len(days) == 2:
        day_first = is_day_first()
        return "" if day_first is None else days[0 if day_first else 1]
    return days[0] if days and len(days[0]) == len("2026-03-15") else ""
