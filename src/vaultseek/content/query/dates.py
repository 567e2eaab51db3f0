"""Read dates in text and queries: convert any spelling to ISO days and months, and find periods relative to
now.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from typing import NamedTuple

from dateutil.parser import isoparse  # type: ignore[import-untyped]
from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]


@dataclass(frozen=True, slots=True)
class Period:
    """A half-open interval of time: ``end`` is excluded, and None if there is no end.

    Both ends are aware datetimes. ``after:`` means ``start`` or later, ``before:`` means earlier than
    ``start``; so the two neither overlap nor leave a gap.
    """

    start: datetime
    end: datetime | None = None


def parse_period(text: str, now: datetime) -> Period | None:
    """Return the period described by ``text``; None if it is not a period.

    ISO: ``2026``, ``2026-01``, ``2026-W05``, ``2026-01-15``, ``2026-01-15T10:30``. By name: ``march 2026``,
    ``15 march 2026``, ``march 15th, 2026``. Relative: ``7d``, ``2w``, ``3 months``, ``last 30 days``, ``5
    days ago``, ``today``, ``yesterday``, ``this week``, ``last month``, ``last year``, ``monday``, ``last
    friday``. Weeks start on Monday. A naive ``now`` means local time; the zone of an aware ``now`` also
    applies to dates without a zone.
    """
    words = " ".join(text.casefold().split())
    for parse_form in (_iso, _relative, _calendar, _weekday, _named):
        try:
            span = parse_form(words, now)
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
    except (ValueError, OverflowError, OSError):  # there is no local time at the limits of the calendar
        return moment.replace(tzinfo=UTC)


_Span = tuple[datetime, relativedelta | None]


def _end(span: _Span, now: datetime) -> datetime | None:
    start, length = span
    if length is None:
        return None
    try:
        return _aware(start + length, now)
    except (ValueError, OverflowError):  # no year follows 9999
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
    if unit == "h" and now.tzinfo is not None:  # count elapsed hours, even across a change of the clock
        moment = (now.astimezone(UTC) - _UNITS[unit](int(match[1]))).astimezone(now.tzinfo)
    else:
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


def _named(words: str, now: datetime) -> _Span | None:
    """Return the day or month that the words name; None for other words."""
    found = next(iter(find_dates(words)), None)
    if found is None or len(found.days) > 1 or (found.start, found.end) != (0, len(words)):
        return None
    day = found.days[0]
    if len(day) == len("2026-05"):
        return datetime.fromisoformat(f"{day}-01"), relativedelta(months=1)
    return datetime.fromisoformat(day), relativedelta(days=1)


# -- dates in any spelling

_MONTHS = (
    "jan(?:uary|uar|vier)?|jänner|januari|enero|ene|gennaio|gen|janeiro",
    "feb(?:ruary|ruar|ruari|braio|rero)?|février|févr?|fevereiro|fev",
    "mar(?:ch|s|zo|ço)?|märz|maart|mrt|mär",
    "apr(?:il|ile)?|avril|avr|abril|abr",
    "may|mai|mayo|maggio|mag|maio|mei",
    "june?|juni|juin|junio|giugno|giu|junho",
    "july?|juli|juillet|juil|julio|luglio|lug|julho",
    "aug(?:ust|ustus)?|août|agosto|ago",
    "sept?(?:ember|embre|tembre|tiembre)?|set(?:embro|tembre)?|septiembre",
    "oct(?:ober|obre|ubre)?|okt(?:ober)?|ott(?:obre)?|out(?:ubro)?",
    "nov(?:ember|embre|iembre|embro)?",
    "dec(?:ember|embre)?|dez(?:ember|embro)?|déc(?:embre)?|dic(?:iembre|embre)?",
)
"""Patterns for month names in English, German, French, Spanish, Italian, Portuguese and Dutch."""
_ANY_MONTH = "|".join(f"(?:{month})" for month in _MONTHS)
YEAR = r"(?:1[0-9]|20)[0-9]{2}"
_ORDINAL = r"(?:st|nd|rd|th|er|\.|º|ª)?"
_OF = r"(?: (?:of|de|del|di|do))?"
_IN_WORDS = re.compile(
    rf"(?<![^\W_])(?:(?P<day>[0-9]{{1,2}}){_ORDINAL}{_OF}[ -](?P<month>{_ANY_MONTH})\.?,?{_OF}[ -]"
    rf"(?P<year>{YEAR})"
    rf"|(?P<month2>{_ANY_MONTH})\.? (?P<day2>[0-9]{{1,2}}){_ORDINAL},? (?P<year2>{YEAR})"
    rf"|(?P<month3>{_ANY_MONTH})\.?,?{_OF} (?P<year3>{YEAR}))(?![^\W_])",
    re.IGNORECASE,
)
_BLANK = r"[^\S\n]?"
_IN_NUMBERS = re.compile(
    rf"(?<![0-9])(?:(?P<year>{YEAR})(?P<sign>[-‐‑/._])(?P<month>[0-9]{{1,2}})(?:(?P=sign)(?P<day>[0-9]{{1,2}}))?(?![0-9])"
    rf"|(?P<first>[0-9]{{1,2}})(?P<sign2>[-/.])(?P<second>[0-9]{{1,2}})(?P=sign2)(?P<year2>{YEAR})(?![0-9])"
    rf"|(?<![^\W_])(?<![0-9][.-])(?P<year3>{YEAR})(?P<month3>[01][0-9])(?P<day3>[0-3][0-9])(?![0-9])"
    rf"|(?P<year4>[12][0-9]{{3}}){_BLANK}[年년]{_BLANK}(?P<month4>[0-9]{{1,2}}){_BLANK}[月월]"
    rf"(?:{_BLANK}(?P<day4>[0-9]{{1,2}}){_BLANK}[日일])?)"
)
_HAS_YEAR = re.compile(YEAR)
_MONTHS_OF_A_YEAR = 12


class Written(NamedTuple):
    """A date found in a text: the ISO days or the ISO month that it may mean, and its position.

    ``4/5/2026`` may begin with the day or the month, so it gives two days; ``4.5.2026`` begins with the day.
    """

    days: tuple[str, ...]
    start: int
    end: int

    def read(self, day_first: bool | None) -> tuple[str, ...]:
        """Return the ISO days or month that the date may mean, given the order of day and month.

        If the order is unknown, both possible days are returned.
        """
        return self.days if day_first is None or len(self.days) < 2 else (self.days[not day_first],)


def find_dates(text: str) -> list[Written]:
    """Return the days and months mentioned in ``text``, in any spelling, in order.

    Recognizes ``2026-03-15``, ``15.03.2026``, ``3/15/2026``, ``20260315``, ``2026_03_15``, ``15. Mai 2026``,
    ``January 9th, 2024``, ``2024年1月5日``; and months such as ``2026-03`` and ``March 2026``.
    """
    if not _HAS_YEAR.search(text):
        return []
    found: list[Written] = []
    for pattern, read in ((_IN_NUMBERS, _numbers), (_IN_WORDS, _words)):
        for match in matches_in_lines(pattern, _HAS_YEAR, text):
            days = tuple(dict.fromkeys(filter(None, (_iso_date(*parts) for parts in read(match)))))
            if days:
                found.append(Written(days, match.start(), match.end()))
    return sorted(found, key=lambda each: each.start)


def matches_in_lines(pattern: re.Pattern[str], sign: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    """Yield the matches for ``pattern``, trying only lines that contain a match for ``sign``.

    Each match for ``pattern`` must be within one line and contain a match for ``sign``. Finding ``sign``
    first is several times as fast as trying ``pattern`` everywhere.
    """
    end = 0
    while found := sign.search(text, end):
        start, end = text.rfind("\n", 0, found.start()) + 1, text.find("\n", found.end())
        end = len(text) if end < 0 else end
        yield from pattern.finditer(text, start, end)


def _numbers(match: re.Match[str]) -> Iterator[tuple[str, int, str | None]]:
    """Yield the possible readings of a date in numbers, each as year, month and day."""
    if match["year2"]:
        yield match["year2"], int(match["second"]), match["first"]
        if match["sign2"] == "." and int(match["second"]) <= _MONTHS_OF_A_YEAR:
            return
        yield match["year2"], int(match["first"]), match["second"]
        return
    for suffix in ("", "3", "4"):
        if match[f"year{suffix}"]:
            yield match[f"year{suffix}"], int(match[f"month{suffix}"]), match[f"day{suffix}"]


def _words(match: re.Match[str]) -> Iterator[tuple[str, int, str | None]]:
    for suffix in ("", "2", "3"):
        if match[f"year{suffix}"]:
            month = month_number(match[f"month{suffix}"]) or 0
            yield match[f"year{suffix}"], month, match[f"day{suffix}"] if suffix != "3" else None


def month_number(name: str) -> int | None:
    """Return the number of the month with this name; None for other words."""
    folded = name.casefold()
    return next((number for number, form in enumerate(_month_patterns(), 1) if form.fullmatch(folded)), None)


@cache
def _month_patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(map(re.compile, _MONTHS))


def _iso_date(year: str, month: int, day: str | None) -> str | None:
    """Return a day or a month in ISO form; None if it does not exist."""
    try:
        whole = date(int(year), month, int(day) if day else 1).isoformat()
    except ValueError:
        return None
    return whole if day else whole[:7]


def dates_of(text: str, day_first: bool | None = None) -> tuple[str, ...]:
    """Return the ISO days or the ISO month that ``text`` means, if the whole text is a date, perhaps with a
    time that is not ISO 8601; otherwise nothing.

    ``day_first`` is true if days come before months, None if that is unknown.
    """
    text = text.strip()
    words = _WEEKDAY_BEFORE.sub("", text)
    if ":" in words and not _ISO_BEGINNING.match(words):
        words = _TIME_AFTER.sub("", words)
    for found in find_dates(words):
        if (found.start, found.end) == (0, len(words)):
            return found.read(day_first)
    return ()


_WEEKDAY_BEFORE = re.compile(
    r"^(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? ", re.IGNORECASE
)
_TIME_AFTER = re.compile(r",? (?:at )?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[ap]m)?$", re.IGNORECASE)
_ISO_BEGINNING = re.compile("[0-9]{4}-[0-9]{2}")


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
