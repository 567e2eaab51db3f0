"""Dates in queries: ISO, with a month's name, in numbers, or relative to now."""

import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime

from dateutil.parser import isoparse, parse  # type: ignore[import-untyped]
from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open interval of time: ``end`` is excluded, and None if there is no end.

    Both are aware datetimes. ``after:`` means from ``start`` on and ``before:`` earlier than ``start``,
    so that the two neither overlap nor leave a gap.
    """

    start: datetime
    end: datetime | None = None


def parse_period(text: str, now: datetime) -> Period | None:
    """Return the period that ``text`` names, None if it names none.

    ISO: ``2026``, ``2026-01``, ``2026-W05``, ``2026-01-15``, ``2026-01-15T10:30``. By name: ``march 2026``,
    ``15 march 2026``, ``march 15th, 2026``. Relative: ``7d``, ``2w``, ``3 months``, ``last 30 days``,
    ``5 days ago``, ``today``, ``yesterday``, ``this week``, ``last month``, ``last year``, ``monday``,
    ``last friday``. Weeks start on Monday. A naive ``now`` stands for local time; an aware one lends its zone
    to dates that name none.
    """
    words = " ".join(text.casefold().split())
    clock = now.replace(tzinfo=None)
    for parse_form in (_iso, _relative, _calendar, _weekday, _named):
        try:
            span = parse_form(words, clock)
            if span is not None:
                return Period(_aware(span[0], now), _end(span, now))
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
    except (ValueError, OverflowError, OSError):  # no local time at the limits of the calendar
        return moment.replace(tzinfo=UTC)


_Span = tuple[datetime, relativedelta | None]


def _end(span: _Span, now: datetime) -> datetime | None:
    start, length = span
    if length is None:
        return None
    try:
        return _aware(start + length, now)
    except (ValueError, OverflowError):  # the year 9999 has no next one
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


def _iso(words: str, now: datetime) -> _Span | None:
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


def _relative(words: str, now: datetime) -> _Span | None:
    match = _AMOUNT.fullmatch(words)
    if not match:
        return None
    unit = match[2][0]
    moment = now - _UNITS[unit](int(match[1]))
    if match[3] and unit != "h":
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


def _calendar(words: str, now: datetime) -> _Span | None:
    span = _CALENDAR.get(words)
    return (_midnight(now) + span[0], span[1]) if span else None


_WEEKDAY = re.compile(r"(last )?(mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")


def _weekday(words: str, now: datetime) -> _Span | None:
    match = _WEEKDAY.fullmatch(words)
    if not match:
        return None
    days_ago = (now.weekday() - _WEEKDAYS.index(match[2][:3])) % 7
    if match[1] and not days_ago:
        days_ago = 7
    return _midnight(now) - relativedelta(days=days_ago), relativedelta(days=1)


_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sep(?:t|tember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th)?"
_NAMED_MONTH = re.compile(_MONTH + r" [0-9]{4}")
_NAMED_DAY = re.compile(rf"(?:{_DAY} (?:of )?{_MONTH}|{_MONTH} {_DAY},?) [0-9]{{4}}")


_FIRST_DAY = datetime(2000, 1, 1)
"""Gives the day if only a month is named."""


def _named(words: str, now: datetime) -> _Span | None:
    if _NAMED_MONTH.fullmatch(words):
        return parse(words, default=_FIRST_DAY), relativedelta(months=1)
    if _NAMED_DAY.fullmatch(words):
        return parse(words, default=_FIRST_DAY), relativedelta(days=1)
    return None


_IN_TEXT = re.compile(rf"\b(?:(?P<day>{_NAMED_DAY.pattern})|{_NAMED_MONTH.pattern})\b", re.IGNORECASE)
_IN_NUMBERS = (
    re.compile(r"(?P<year>[0-9]{4})(?P<sign>[-/.])(?P<month>[0-9]{1,2})(?P=sign)(?P<day>[0-9]{1,2})"),
    re.compile(r"(?P<day>[0-9]{1,2})(?P<sign>[-/.])(?P<month>[0-9]{1,2})(?P=sign)(?P<year>[0-9]{4})"),
    re.compile(r"(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})/(?P<year>[0-9]{4})"),
)

_NUMBERS = re.compile(r"(?<![\w.])[0-9]+(?:[-/.][0-9]+){2}(?!\w)")


def dates_in_words(text: str) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the days and months that ``text`` names in words, as ISO, ``2026-05-12``, and where they are."""
    for match in _IN_TEXT.finditer(text):
        with suppress(ValueError):  # no day of that month
            day = parse(match[0], default=_FIRST_DAY).date().isoformat()
            yield day if match["day"] else day[:7], match.span()


def dates_in_numbers(word: str) -> tuple[str, ...]:
    """Return the days, as ISO, that ``word`` may be: ``2026/3/15``, ``15.03.2026``, ``3/15/2026``.

    Between slashes the month may stand before the day: ``4/5/2026`` is two days.
    """
    days: dict[str, None] = {}
    for form in _IN_NUMBERS:
        if match := form.fullmatch(word):
            with suppress(ValueError):  # no such day or month
                days[date(int(match["year"]), int(match["month"]), int(match["day"])).isoformat()] = None
    return tuple(days)


def spellings_of(date: str) -> tuple[str, ...]:
    """Return an ISO date, and a day as it is written with dots, too: ``05.03.2026`` and ``5.3.2026``."""
    year, month, *days = date.split("-")
    return (
        date,
        *(f"{day}.{month}.{year}" for day in days),
        *(f"{int(day)}.{int(month)}.{year}" for day in days),
    )


def dates_of(text: str) -> tuple[str, ...]:
    """Return the days or the month, as ISO, that ``text`` as a whole may be; none if it is something else."""
    in_words = tuple(date for date, span in dates_in_words(text) if span == (0, len(text)))
    return in_words or dates_in_numbers(text)


def has_date(text: str, dates: Collection[str]) -> bool:
    """True if ``text`` has one of the days or months, ISO, in any spelling; a month is in all its days."""
    there = [date for date, _ in dates_in_words(text)]
    there += [day for match in _NUMBERS.finditer(text) for day in dates_in_numbers(match[0])]
    return any(date in text or any(each.startswith(date) for each in there) for date in dates)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
