"""Read the dates of a note from its properties and file name, in any spelling."""

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from vaultseek.base.model import Note
from vaultseek.base.when import When, iso_date, read_when
from vaultseek.content.languages.months import month_number
from vaultseek.content.markdown.property_text import named_lines
from vaultseek.content.markdown.title import file_stem
from vaultseek.content.query.dates import YEAR, dates_of, find_dates

CREATED_PROPERTIES = ("created", "date created", "creation date", "date")
_ID = re.compile(r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})(?:\d{4}|\d{6})(?!\d)")
"""Pattern for a Zettelkasten id at the start of a file name: a day with hours and minutes."""
_IN_FOLDERS = re.compile(
    rf"(?:^|/)(?P<year>{YEAR})(?:[-_. ]|/(?:(?P=year)[-_. ])?)"
    r"(?:(?P<month>[0-9]{1,2})(?:[-_. ]+[^\W\d_]+)?|(?P<name>[^\W\d_]+))"
    r"/(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?(?:[-_. ,]+[^\W\d_]+)?"
)
"""Pattern for a day whose year and month are folder names: ``2024/01 January/07``."""


class DateStyle(Protocol):
    """Date style of a vault. Settings or other file names decide, so each call may read the disk."""

    def is_day_first(self) -> bool | None:
        """True if the day comes before the month, as in ``31-12-2026``; None if unknown."""

    def has_day_folders(self) -> bool:
        """True if files are named by the day, and folders by the year and the month."""


class Unknown:
    """Date style for notes outside a vault."""

    def is_day_first(self) -> None:
        return None

    def has_day_folders(self) -> bool:
        return False


_UNKNOWN = Unknown()


class Dates(NamedTuple):
    """Dates of a note: its creation, the ISO day in its path ("" if none), and whether days come before
    months.

    The order of days and months applies to dates in names and properties. It is None if it is unknown or does
    not matter.
    """

    created: When
    name_day: str
    day_first: bool | None


def read_dates(note: Note, modified: float, style: DateStyle) -> Dates:
    """Return the dates of a note that was last modified at the Unix time ``modified``."""
    texts = (file_stem(note.path), note.title, named_lines(note.frontmatter))
    is_ambiguous = any(len(written.days) == 2 for text in texts for written in find_dates(text))
    day_first = style.is_day_first() if is_ambiguous else None
    name_day = day_in_path(note.path, day_first, style)
    created = property_when(note.frontmatter, CREATED_PROPERTIES, day_first)
    when = created or read_when(name_day) or When(modified)
    return Dates(when, name_day, day_first)


def property_when(
    properties: Mapping[str, Any], names: Iterable[str], day_first: bool | None = None
) -> When | None:
    """Return the first of the named properties that is a date. Names are case-insensitive."""
    if not properties:  # most notes that a search ranks have no properties
        return None
    values = {key.casefold(): value for key, value in reversed(list(properties.items()))}
    dates = (_date(values.get(name.casefold()), day_first) for name in names)
    return next((date for date in dates if date is not None), None)


def day_in_path(path: str, day_first: bool | None = None, style: DateStyle = _UNKNOWN) -> str:
    """Return the ISO day in a note's file name, or in its folders and file name together; "" if there is
    none.
    """
    name = file_stem(path)
    if stamp := _ID.match(name):
        return _existing("{year}-{month}-{day}".format(**stamp.groupdict()))
    # Eight digits elsewhere in the name may be any number.
    written = (
        each for each in find_dates(name) if not each.start or not name[each.start : each.end].isdecimal()
    )
    days = (_day(each.read(day_first)) for each in written)
    if day := next(filter(None, days), ""):
        return day
    inside = path.rpartition("/")[0]
    match = _IN_FOLDERS.search(f"{inside}/{name}") if inside else None
    if match is None or match.end() < len(inside) + 1 + len(name):
        return ""
    month = match["month"] or month_number(match["name"])
    day = _existing(f"{match['year']}-{int(month):02}-{int(match['day']):02}") if month else ""
    return day if day and style.has_day_folders() else ""


def _existing(day: str) -> str:
    return day if read_when(day) else ""


def _date(value: object, day_first: bool | None) -> When | None:
    """Read a date, which may be a link to a daily note."""
    if not isinstance(value, str | int):
        return None
    text = iso_date(str(value))
    return read_when(text) or read_when(_day(dates_of(text, day_first)))


def _day(days: tuple[str, ...]) -> str:
    """Return the day if there is exactly one; "" for two possible days or for a month."""
    return days[0] if len(days) == 1 and len(days[0]) == len("2026-03-15") else ""
