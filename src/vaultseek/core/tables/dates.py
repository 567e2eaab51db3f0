"""Dates and durations for formulas: parsing, arithmetic, and relative times in words."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from dateutil.relativedelta import relativedelta  # type: ignore[import-untyped]

from vaultseek.base.when import When, local_time, present, unix_time
from vaultseek.base.zone import zone
from vaultseek.core.tables.values import MILLISECONDS, Date, Duration, FormulaError

_DATE = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)([T ]\d\d:\d\d(?::\d\d(?:[.]\d+)?)?(Z|[+-]\d\d:?\d\d)?)?",
    re.ASCII,
)
_MONTH = re.compile(r"(\d{4})-(\d\d)", re.ASCII)
_SHORT = re.compile(r"(\d{4})[-/](\d\d?)[-/](\d\d?)(?!\d)", re.ASCII)
_AMOUNT = re.compile(r"\s*([+-]?(?:\d{1,9}(?:\.\d{1,9})?|\.\d{1,9}))\s*([A-Za-z]+)\s*,?", re.ASCII)
_UNITS = {
    **dict.fromkeys(("y", "year", "years"), "years"),
    **dict.fromkeys(("M", "month", "months"), "months"),
    **dict.fromkeys(("w", "week", "weeks"), "weeks"),
    **dict.fromkeys(("d", "day", "days"), "days"),
    **dict.fromkeys(("h", "hour", "hours"), "hours"),
    **dict.fromkeys(("m", "minute", "minutes"), "minutes"),
    **dict.fromkeys(("s", "second", "seconds"), "seconds"),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), "milliseconds"),
}


def read_date(text: str) -> Date | None:
    """Return the date from text such as ``2026-01-31`` or ``2026-1-31``, with or without a time; None for
    other text.
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day, time, zone = match.groups("")
    try:
        moment = datetime.fromisoformat(f"{year}-{month:0>2}-{day:0>2}{time}")
        if zone:
            moment = local_time(unix_time(moment)).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):
        return None
    return Date(moment, timed=bool(time))


def date_in(text: str) -> Date | None:
    """Return the date in ``text``: a date as in ``read_date``, a month, or the name of a daily note. Return
    None if ``text`` contains no date.
    """
    text = text.strip()
    if _MONTH.fullmatch(text):
        text = f"{text}-01"
    elif match := _SHORT.match(text):
        text = f"{match[1]}-{match[2]}-{match[3]}{text[match.end() :]}"
    return read_date(text.removesuffix(".md"))


def of_timestamp(seconds: float) -> Date | None:
    """Return the local time for a Unix time in seconds; None if it is beyond the calendar."""
    try:
        return Date(_whole_milliseconds(datetime.fromtimestamp(seconds, zone())))
    except (ValueError, OverflowError, OSError):
        return None


def date_of(when: When) -> Date:
    """Convert the date of a note to a date value for formulas."""
    return Date(_whole_milliseconds(when.local), timed=when.kind != "day")


def local_present() -> datetime:
    """Return the current local time, rounded to milliseconds, the unit of all date differences."""
    return _whole_milliseconds(present())


def _whole_milliseconds(moment: datetime) -> datetime:
    return moment.replace(microsecond=moment.microsecond // 1000 * 1000, tzinfo=None)


def timestamp(date: Date) -> float:
    """Return the Unix time of a date, in milliseconds."""
    return _timestamp(date.moment) * 1e3


def _timestamp(moment: datetime) -> float:
    return unix_time(moment.replace(tzinfo=zone()))


def read_duration(text: str) -> Duration | None:
    """Return the duration from text such as ``2 weeks`` or ``1d 12h``; None for other text."""
    months, milliseconds, end = 0.0, 0.0, 0
    while match := _AMOUNT.match(text, end):
        amount, unit, end = float(match[1]), _UNITS.get(match[2]), match.end()
        if unit is None:
            return None
        if unit in ("years", "months"):
            months += amount * (12 if unit == "years" else 1)
        else:
            milliseconds += amount * MILLISECONDS[unit]
    if not end or text[end:].strip():
        return None
    return duration_of(months, milliseconds)


def duration_of(months: float, milliseconds: float) -> Duration:
    """Return a duration of this length. Fractions of a month are converted to days."""
    rest = months - int(months)
    return Duration(int(months), milliseconds + rest * MILLISECONDS["months"])


def scaled(duration: Duration, factor: float) -> Duration:
    """Return a duration multiplied by a number."""
    return duration_of(duration.months * factor, duration.milliseconds * factor)


def shifted(date: Date, duration: Duration, sign: int = 1) -> Date:
    """Return a date plus a duration or, if ``sign`` is -1, minus the duration. Raises FormulaError for a date
    beyond the calendar.
    """
    try:
        moment = date.moment + relativedelta(months=sign * duration.months)
        moment += timedelta(milliseconds=sign * duration.milliseconds)
    except (ValueError, OverflowError):
        raise FormulaError("the date is out of range") from None
    return Date(moment, date.timed or bool(duration.milliseconds % MILLISECONDS["days"]))


def difference(later: Date, earlier: Date) -> float:
    """Return the number of milliseconds from the earlier date to the later one."""
    return (later.moment - earlier.moment) / timedelta(milliseconds=1)


def relative(date: Date, now: datetime) -> str:
    """Return the distance of a date from now, in words: ``3 days ago``, ``in an hour``."""
    seconds = (date.moment - now).total_seconds()
    words = _about(abs(seconds))
    return f"in {words}" if seconds > 0 else f"{words} ago"


_STEPS: tuple[tuple[float, float, str, str], ...] = (
    (45, 1, "a few seconds", "a few seconds"),
    (90, 60, "a minute", "minutes"),
    (45 * 60, 60, "", "minutes"),
    (90 * 60, 3_600, "an hour", "hours"),
    (22 * 3_600, 3_600, "", "hours"),
    (36 * 3_600, 86_400, "a day", "days"),
    (26 * 86_400, 86_400, "", "days"),
    (45 * 86_400, 2_629_746, "a month", "months"),
    (320 * 86_400, 2_629_746, "", "months"),
    (548 * 86_400, 31_556_952, "a year", "years"),
)
"""Units for relative times. Each has the maximum number of seconds for which it is used, its length in
seconds, the words for one unit, and its plural."""


def _about(seconds: float) -> str:
    for most, unit, one, many in _STEPS:
        if seconds < most:
            return one or f"{max(2, round(seconds / unit))} {many}"
    return f"{max(2, round(seconds / 31_556_952))} years"


# -- formats of dates

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_TOKEN = re.compile(
    r"\[([^\[\]]*)\]|\\(.)|(Mo|MM?M?M?|Do|DDDo|DD?D?D?|do|dd?d?d?|Wo|WW?|wo|ww?|Qo|Q|YYYY|YY|Y|GGGG|GG|gggg|gg"
    r"|HH?|hh?|kk?|mm?|ss?|S{1,9}|A|a|E|e|ZZ?|X|x|LTS|LT|LL?L?L?|ll?l?l?)",
    re.DOTALL,
)
_LONG = {
    "LT": "h:mm A",
    "LTS": "h:mm:ss A",
    "L": "MM/DD/YYYY",
    "LL": "MMMM D, YYYY",
    "LLL": "MMMM D, YYYY h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "l": "M/D/YYYY",
    "ll": "MMM D, YYYY",
    "lll": "MMM D, YYYY h:mm A",
    "llll": "ddd, MMM D, YYYY h:mm A",
}


def format_date(moment: datetime, form: str) -> str:
    """Format ``moment`` with a pattern such as ``YYYY-MM-DD``; text in brackets is copied."""

    def part(match: re.Match[str]) -> str:
        literal, escaped, token = match.groups()
        if token is None:
            return str(literal if literal is not None else escaped)
        if token in _LONG:
            return format_date(moment, _LONG[token])
        if token.startswith("S"):
            return f"{moment.microsecond:06}".ljust(9, "0")[: len(token)]
        if token in _PARTS:
            return str(_PARTS[token](moment))
        number = _PARTS[token[:-1]](moment)
        if token[-1] != "o":
            return f"{number:0{max(2, len(token) - 1)}}"
        teens = 10 <= number % 100 < 20
        return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"

    return _TOKEN.sub(part, form)


def _local_week(moment: datetime) -> tuple[int, int]:
    """Return the year and week number for weeks that begin on Sunday; January 1 is in week 1."""
    saturday = moment + timedelta(days=6 - moment.isoweekday() % 7)
    return saturday.year, (saturday.timetuple().tm_yday - 1) // 7 + 1


def _offset(moment: datetime) -> str:
    text = moment.replace(tzinfo=zone()).strftime("%z")
    return f"{text[:3]}:{text[3:5]}"


_PARTS: dict[str, Callable[[datetime], Any]] = {
    "Y": lambda m: m.year,
    "YYYY": lambda m: f"{m.year:04}",
    "YY": lambda m: f"{m.year % 100:02}",
    "Q": lambda m: (m.month + 2) // 3,
    "M": lambda m: m.month,
    "MMMM": lambda m: MONTHS[m.month - 1],
    "MMM": lambda m: MONTHS[m.month - 1][:3],
    "D": lambda m: m.day,
    "DDD": lambda m: m.timetuple().tm_yday,
    "d": lambda m: m.isoweekday() % 7,
    "e": lambda m: m.isoweekday() % 7,
    "E": lambda m: m.isoweekday(),
    "dddd": lambda m: DAYS[m.weekday()],
    "ddd": lambda m: DAYS[m.weekday()][:3],
    "dd": lambda m: DAYS[m.weekday()][:2],
    "W": lambda m: m.isocalendar().week,
    "GGGG": lambda m: f"{m.isocalendar().year:04}",
    "GG": lambda m: f"{m.isocalendar().year % 100:02}",
    "w": lambda m: _local_week(m)[1],
    "gggg": lambda m: f"{_local_week(m)[0]:04}",
    "gg": lambda m: f"{_local_week(m)[0] % 100:02}",
    "H": lambda m: m.hour,
    "h": lambda m: m.hour % 12 or 12,
    "k": lambda m: m.hour or 24,
    "m": lambda m: m.minute,
    "s": lambda m: m.second,
    "A": lambda m: "AM" if m.hour < 12 else "PM",
    "a": lambda m: "am" if m.hour < 12 else "pm",
    "Z": _offset,
    "ZZ": lambda m: _offset(m).replace(":", ""),
    "X": lambda m: int(_timestamp(m)),
    "x": lambda m: int(_timestamp(m) * 1000),
}
"""Map from format token to the function that computes this part of a date. A token with one more letter is
zero-padded; a token with ``o`` gives an ordinal number."""
