"""Dates as people write them in a query: ISO, a month by name, or relative to now."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from dateutil.parser import isoparse, parse  # type: ignore[import-untyped]
from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open stretch of time, ``start`` included and ``end`` not; without an end it runs on.

    Both are aware datetimes. ``after:`` means from ``start`` on, ``before:`` means earlier than ``start``, so
    that the two never overlap and leave nothing out.
    """

    start: datetime
    end: datetime | None = None


def read_period(text: str, now: datetime) -> Period | None:
    """The period that ``text`` names, or None when it names none.

    ISO: ``2026``, ``2026-01``, ``2026-W05``, ``2026-01-15``, ``2026-01-15T10:30``. By name: ``march 2026``,
    ``15 march 2026``. Relative: ``7d``, ``2w``, ``3 months``, ``last 30 days``, ``5 days ago``, ``today``,
    ``yesterday``, ``this week``, ``last month``, ``last year``, ``monday``, ``last friday``. Weeks start on
    Monday. A naive ``now`` stands for local time; an aware one lends its zone to dates that name none.
    """
    words = " ".join(text.casefold().split())
    clock = now.replace(tzinfo=None)
    for read in (_iso, _relative, _calendar, _weekday, _named):
        try:
            found = read(words, clock)
            if found is not None:
                return Period(_aware(found[0], now), _end(found, now))
        except (ValueError, OverflowError):
            continue
    return None


def _aware(moment: datetime, now: datetime) -> datetime:
    if moment.tzinfo is not None:
        return moment
    if now.tzinfo is not None:
        return moment.replace(tzinfo=now.tzinfo)
    try:
        return moment.astimezone()
    except (ValueError, OverflowError, OSError):  # the edges of the calendar have no local time
        return moment.replace(tzinfo=UTC)


_Found = tuple[datetime, relativedelta | None]


def _end(found: _Found, now: datetime) -> datetime | None:
    start, length = found
    if length is None:
        return None
    try:
        return _aware(start + length, now)
    except (ValueError, OverflowError):  # the last year of the calendar has no next one
        return None


_ISO = (
    (re.compile(r"\d{4}"), relativedelta(years=1)),
    (re.compile(r"\d{4}-\d\d"), relativedelta(months=1)),
    (re.compile(r"\d{4}-w\d\d"), relativedelta(weeks=1)),
    (re.compile(r"\d{4}-\d\d-\d\d"), relativedelta(days=1)),
    (re.compile(r"\d{4}-\d\d-\d\d[t ]\d\d:\d\d(z|[+-]\d\d:?\d\d)?"), relativedelta(minutes=1)),
    (
        re.compile(r"\d{4}-\d\d-\d\d[t ]\d\d:\d\d:\d\d(\.\d{1,6})?(z|[+-]\d\d:?\d\d)?"),
        relativedelta(seconds=1),
    ),
)


def _iso(words: str, now: datetime) -> _Found | None:
    for form, length in _ISO:
        if form.fullmatch(words) and words.isascii():
            return isoparse(words.upper()), length
    return None


_UNITS: dict[str, Callable[[int], relativedelta]] = {
    "h": lambda n: relativedelta(hours=n),
    "d": lambda n: relativedelta(days=n),
    "w": lambda n: relativedelta(weeks=n),
    "m": lambda n: relativedelta(months=n),
    "y": lambda n: relativedelta(years=n),
}
_AMOUNT = re.compile(
    r"(?:(?:last|past) )?([0-9]{1,5}) ?(h|hours?|d|days?|w|weeks?|m|mo|months?|y|years?)( ago)?"
)


def _relative(words: str, now: datetime) -> _Found | None:
    found = _AMOUNT.fullmatch(words)
    if not found:
        return None
    unit = found[2][0]
    moment = now - _UNITS[unit](int(found[1]))
    if found[3] and unit != "h":
        return _midnight(moment), relativedelta(days=1)
    return moment, None


_CALENDAR: dict[str, tuple[relativedelta, relativedelta]] = {
    "today": (relativedelta(), relativedelta(days=1)),
    "yesterday": (relativedelta(days=-1), relativedelta(days=1)),
    "this week": (relativedelta(weekday=0, days=-6), relativedelta(weeks=1)),
    "last week": (relativedelta(weekday=0, days=-13), relativedelta(weeks=1)),
    "this month": (relativedelta(day=1), relativedelta(months=1)),
    "last month": (relativedelta(day=1, months=-1), relativedelta(months=1)),
    "this year": (relativedelta(day=1, month=1), relativedelta(years=1)),
    "last year": (relativedelta(day=1, month=1, years=-1), relativedelta(years=1)),
}


def _calendar(words: str, now: datetime) -> _Found | None:
    found = _CALENDAR.get(words)
    return (_midnight(now) + found[0], found[1]) if found else None


_WEEKDAY = re.compile(r"(last )?(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _weekday(words: str, now: datetime) -> _Found | None:
    found = _WEEKDAY.fullmatch(words)
    if not found:
        return None
    back = (now.weekday() - _WEEKDAYS.index(found[2][:3])) % 7
    if found[1] and not back:
        back = 7
    return _midnight(now) - relativedelta(days=back), relativedelta(days=1)


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_NAMED_MONTH = re.compile(_MONTH + r" [0-9]{4}")
_NAMED_DAY = re.compile(rf"(?:[0-9]{{1,2}} {_MONTH}|{_MONTH} [0-9]{{1,2}},?) [0-9]{{4}}")


def _named(words: str, now: datetime) -> _Found | None:
    first = datetime(2000, 1, 1)  # lends the day where only a month is named
    if _NAMED_MONTH.fullmatch(words):
        return parse(words, default=first), relativedelta(months=1)
    if _NAMED_DAY.fullmatch(words):
        return parse(words, default=first), relativedelta(days=1)
    return None


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
