"""Read dates in text and queries: convert any spelling to ISO days and months, and find periods relative to
now.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

from vaultseek.content.languages.months import WEEKDAYS, month_number


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
    from dateutil.parser import isoparse  # type: ignore[import-untyped]  # slow, and rarely needed

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

YEAR = r"(?:1[0-9]|20)[0-9]{2}"
LATEST_SHORT_YEAR = 69
"""Two-figure years up to this one belong to the 21st century, others to the 20th."""
_ONE_OR_TWO = "[0-9]{1,2}"
_ORDINAL = r"(?:st|nd|rd|th|er|\.|º|ª)?"
_OF = r"(?:[ \xa0](?:(?:day[ ])?of|del?|di|do)|[ \xa0]d['’])?"
_TO_WORD = "to|and|bis|und|au|et|al?|y|e|tot|till?|hasta|até|do|i|до|по|и"
_TO = rf"(?:[ \xa0]?[-–—&][ \xa0]?|[ \xa0](?:{_TO_WORD})[ \xa0])"
"""Sign or word between the first and the last day of a range."""
_THE = r"(?:the[ \xa0])?"
_NAME = r"(?:[^\W\d_]|[\u0900-\u0963]){3,12}"
_SIGN = r"[ \xa0./-]"
_TIME = r"(?:[ ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)?(?:[ ][A-Z]{3,4})?"
_WHOLE_YEAR = re.compile(r"(?:1[0-9]|20)(?<![0-9]..)[0-9]{2}(?![0-9])")
_SHORT_YEAR = re.compile(r"['’./-](?<=.['’]|[^\W\d_][./-])[0-9]{2}(?![^\W_])(?![./-][0-9])")
_BEFORE_YEAR = re.compile(
    rf"(?<![^\W_])(?:(?P<day>{_ONE_OR_TWO}){_ORDINAL}{_OF}{_SIGN}?(?P<month>{_NAME})"
    rf"|(?P<month2>{_NAME})\.?[ \xa0]{{1,2}}{_THE}(?:(?P<first>{_ONE_OR_TWO}){_ORDINAL}{_TO})?"
    rf"(?P<day2>{_ONE_OR_TWO}){_ORDINAL}{_TIME}"
    rf"|(?P<month3>{_NAME}))\.?,?{_OF}{_SIGN}?\Z"
)
_AFTER_YEAR = re.compile(
    rf"\.?[ ]gada[ ](?P<day2>{_ONE_OR_TWO})\.[ ](?P<month2>{_NAME})"
    rf"|(?:[-/]|[.,]?[ \xa0](?:m\.[ ])?)(?P<month>{_NAME})(?:\.?[ \xa0]{_THE}|[./-])"
    rf"(?P<day>{_ONE_OR_TWO})(?:st|nd|rd|th)?(?![0-9]|:[0-9])"
    rf"|[-/](?P<month3>{_NAME})(?![^\W_])"
)
_RANGE_BEFORE = re.compile(
    rf"(?<![^\W_])(?:(?P<day>{_ONE_OR_TWO}){_ORDINAL}{_OF}{_SIGN}?(?P<month>{_NAME})\.?"
    rf"|(?P<month2>{_NAME})\.?[ \xa0]{_THE}(?P<day2>{_ONE_OR_TWO}){_ORDINAL}"
    rf"|(?P<day3>{_ONE_OR_TWO})(?:\.(?P<month3>{_ONE_OR_TWO}))?{_ORDINAL}){_TO}\Z"
)
"""The first day of a range whose last day has the year: ``25–`` and ``25. Mai bis``."""
_LONGEST_DATE = 48
"""Maximum length of the part of a date before its year, or of the first day of a range."""
_BLANK = r"[^\S\n]?"
_IN_NUMBERS = re.compile(
    rf"(?<![0-9])(?:(?P<year>{YEAR})(?P<sign>[-‐‑/_]|\.(?:[ ](?={_ONE_OR_TWO}\.[ ][0-9]))?)"
    rf"(?P<month>{_ONE_OR_TWO})(?:(?P=sign)(?P<day>{_ONE_OR_TWO}))?(?![0-9])"
    rf"|(?P<first>{_ONE_OR_TWO})(?P<sign2>[-/]|\.[ \xa0]?)(?P<second>{_ONE_OR_TWO})(?P=sign2)"
    rf"(?P<year2>{YEAR})(?![0-9])"
    rf"|(?<![^\W_])(?<![0-9][.-])(?P<year3>{YEAR})(?P<month3>[01][0-9])(?P<day3>[0-3][0-9])(?![0-9])"
    rf"|(?P<year4>[12][0-9]{{3}}){_BLANK}[年년]{_BLANK}(?P<month4>{_ONE_OR_TWO}){_BLANK}[月월]"
    rf"(?:{_BLANK}(?P<day4>{_ONE_OR_TWO}){_BLANK}[日일])?"
    rf"|(?P<day5>{_ONE_OR_TWO})[ ]tháng[ ](?P<month5>{_ONE_OR_TWO})(?:,|[ ]năm)?[ ](?P<year5>{YEAR}))"
)
_HAS_YEAR = re.compile(YEAR)
_SHORT_NUMBERS = re.compile(
    r"(?P<first>[0-9](?<![\w=@$€£+#'’].)(?<![0-9][-/.].)[0-9]?)(?P<sign>[-/.])(?P<second>[0-9]{1,2})(?P=sign)"
    r"(?P<year>[0-9]{2})(?!(?P=sign)?[0-9]|[-+.]?[^\W\d_])"
)
"""A day with a two-figure year. Without slashes, day and month need two figures, because ``6.4.24`` is a
version."""
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

    Recognizes ``2026-03-15``, ``15.03.2026``, ``3/15/26``, ``20260315``, ``2026_03_15``, ``15. Mai 2026``,
    ``2026-Mar-15``, ``January 9th, 2024``, ``2024年1月5日``; and months such as ``2026-03`` and ``March
    2026``. A range such as ``25–27 January 2024`` gives its first and its last day.
    """
    found = [*_in_words(text, _SHORT_YEAR), *_in_short_numbers(text)]
    if _HAS_YEAR.search(text):
        found += (*_in_words(text, _WHOLE_YEAR), *_in_numbers(text))
    return sorted(found, key=lambda each: each.start)


def lines_with(sign: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the lines that contain a match for ``sign``; adjacent lines are one range.

    Finding these lines first is several times as fast as trying a longer pattern everywhere.
    """
    start = end = -1
    while found := sign.search(text, end + 1):
        first = text.rfind("\n", end + 1, found.start()) + 1
        if first and start >= 0:
            yield start, end
        if first or start < 0:
            start = first
        end = text.find("\n", found.end())
        if end < 0:
            end = len(text)
            break
    if start >= 0:
        yield start, end


def _in_numbers(text: str) -> Iterator[Written]:
    """Yield the dates in numbers that have a whole year."""
    in_lines = (_IN_NUMBERS.finditer(text, *line) for line in lines_with(_HAS_YEAR, text))
    for match in chain.from_iterable(in_lines):
        suffix = next(each for each in ("", "2", "3", "4", "5") if match[f"year{each}"])
        if suffix != "2":
            parts = match[f"year{suffix}"], int(match[f"month{suffix}"]), match[f"day{suffix}"]
            if day := _iso_date(*parts):
                yield Written((day,), *match.span())
        elif days := _either_order(match["first"], match["second"], match["year2"], match["sign2"]):
            yield Written(days, *match.span())
            if match["sign2"][0] == ".":
                yield from _range_before(text, match.start(), match["year2"], int(match["second"]))


def _in_short_numbers(text: str) -> Iterator[Written]:
    """Yield the dates in numbers that have a two-figure year."""
    for match in _SHORT_NUMBERS.finditer(text):
        first, sign, second, year = match.groups()
        if (sign == "/" or len(first) == len(second) == len("31")) and (
            days := _either_order(first, second, year, sign)
        ):
            yield Written(days, *match.span())


def _either_order(first: str, second: str, year: str, sign: str) -> tuple[str, ...]:
    """Return the days that a date may mean that begins with the day or the month. Dots follow the day."""
    days = [_iso_date(year, int(second), first)]
    if sign[0] != "." or int(second) > _MONTHS_OF_A_YEAR:
        days.append(_iso_date(year, int(first), second))
    return tuple(dict.fromkeys(filter(None, days)))


def _in_words(text: str, years: re.Pattern[str]) -> Iterator[Written]:
    """Yield the dates whose month is a word, from the words before or after each of the ``years``."""
    for year in years.finditer(text):
        start = max(text.rfind("\n", 0, year.start()) + 1, year.start() - _LONGEST_DATE)
        before = _BEFORE_YEAR.search(text, start, year.start())
        written = _written(before, year[0], before.start(), year.end()) if before else None
        if before and written and not before["month3"]:
            yield from _days_before(before, written, text, year[0])
        elif (after := _AFTER_YEAR.match(text, year.end())) and (
            later := _written(after, year[0], year.start(), after.end())
        ):
            yield later
        elif written and not (text[year.start() - 1].isalpha() or year[0][0] in "./-"):
            yield written


def _days_before(match: re.Match[str], last: Written, text: str, year: str) -> Iterator[Written]:
    """Yield the day before a year, and the first day of a range that ends with it."""
    month = int(last.days[0][5:7])
    if match["first"] and (first := _iso_date(year, month, match["first"])):
        yield Written((first,), match.start(), match.end("first"))
        yield Written(last.days, match.start("day2"), last.end)
        return
    yield last
    yield from _range_before(text, match.start(), year, month)


def _written(match: re.Match[str], year: str, start: int, end: int) -> Written | None:
    """Return the date with the month and the day of a match; None if it does not exist."""
    for suffix in ("", "2", "3"):
        if name := match[f"month{suffix}"]:
            month = month_number(name)
            day = _iso_date(year, month, match[f"day{suffix}"] if suffix != "3" else None) if month else None
            return Written((day,), start, end) if day else None
    return None


def _range_before(text: str, start: int, year: str, month: int) -> Iterator[Written]:
    """Yield the first day of a range whose last day begins at ``start``."""
    first = max(text.rfind("\n", 0, start) + 1, start - _LONGEST_DATE)
    match = _RANGE_BEFORE.search(text, first, start)
    if match is None:
        return
    if name := match["month"]:
        month = month_number(name) or 0
    elif match["month2"]:
        month = month_number(match["month2"]) or month
    elif match["month3"]:
        month = int(match["month3"])
    day = match["day"] or match["day2"] or match["day3"]
    if whole := _iso_date(year, month, day):
        end = max(match.end(group) for group in ("day", "month", "day2", "day3", "month3"))
        yield Written((whole,), match.start(), end)


def _iso_date(year: str, month: int, day: str | None) -> str | None:
    """Return a day or a month in ISO form; None if it does not exist."""
    number = int(year) if len(year) == len("2026") else 1900 + int(year[-2:])
    if number <= 1900 + LATEST_SHORT_YEAR and len(year) < len("2026"):
        number += 100
    try:
        whole = date(number, month, int(day) if day else 1).isoformat()
    except ValueError:
        return None
    return whole if day else whole[:7]


@lru_cache(maxsize=256)
def dates_of(text: str, day_first: bool | None = None) -> tuple[str, ...]:
    """Return the ISO days or the ISO month that ``text`` means, if the whole text is a date, perhaps with a
    time that is not ISO 8601; otherwise nothing.

    ``day_first`` is true if days come before months, None if that is unknown.
    """
    text = text.strip()
    words = _BEFORE_DATE.sub("", text)
    if ":" in words and not _ISO_BEGINNING.match(words):
        words = _TIME_AFTER.sub("", words)
    for found in find_dates(words):
        if (found.start, found.end) == (0, len(words)):
            return found.read(day_first)
    return ()


ARTICLE = "(?:(?:the|der|den|le|el|il|o|de) |l['’])"
"""Pattern for an article before a date."""
_BEFORE_DATE = re.compile(
    rf"^(?:(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?|{'|'.join(WEEKDAYS)})\.?,? )?"
    f"{ARTICLE}?",
    re.IGNORECASE,
)
"""Pattern for a weekday and an article before a date."""
_TIME_AFTER = re.compile(r",? (?:at )?[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?(?: ?[ap]m)?$", re.IGNORECASE)
_ISO_BEGINNING = re.compile("[0-9]{4}-[0-9]{2}")


def spellings_like_versions(day: str) -> tuple[str, ...]:
    """Return the spellings of an ISO day that may also be versions, such as ``9.11.24``.

    :func:`find_dates` does not read them as days. Nothing is returned for a month.
    """
    if len(day) < len("2026-03-15") or not 0 <= int(day[:4]) - 1901 - LATEST_SHORT_YEAR < 100:
        return ()
    year, month, number = day[2:4], day[5:7], day[8:]
    spellings = {
        f"{first}.{second}.{year}"
        for first in (number, number.lstrip("0"))
        for second in (month, month.lstrip("0"))
    }
    return tuple(sorted(spellings - {f"{number}.{month}.{year}"}))


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
