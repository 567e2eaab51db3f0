"""Dates as text by a format of Moment.js, whose names of days and months are English."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta

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
    """Return ``moment`` in a format such as ``YYYY-MM-DD``; what is in brackets stays as it is."""

    def part(match: re.Match[str]) -> str:
        literal, escaped, token = match.groups()
        if token is None:
            return str(literal if literal is not None else escaped)
        if token in _LONG:
            return format_date(moment, _LONG[token])
        if token.startswith("S"):
            return f"{moment.microsecond:06}".ljust(9, "0")[: len(token)]
        return _PARTS[token](moment)

    return _TOKEN.sub(part, form)


def _ordinal(number: int) -> str:
    teens = 10 <= number % 100 < 20
    return f"{number}{'th' if teens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _sunday(moment: datetime) -> int:
    """Return the day of the week from 0, a Sunday."""
    return moment.isoweekday() % 7


def _local_week(moment: datetime) -> tuple[int, int]:
    """Return year and week where weeks begin on Sunday and the first one contains the first of January."""
    saturday = moment + timedelta(days=6 - _sunday(moment))
    return saturday.year, (saturday.timetuple().tm_yday - 1) // 7 + 1


def _offset(moment: datetime) -> str:
    text = moment.astimezone().strftime("%z")
    return f"{text[:3]}:{text[3:5]}"


def _hour12(moment: datetime) -> int:
    return moment.hour % 12 or 12


_PARTS: dict[str, Callable[[datetime], str]] = {
    "YYYY": lambda m: f"{m.year:04}",
    "YY": lambda m: f"{m.year % 100:02}",
    "Y": lambda m: str(m.year),
    "Q": lambda m: str((m.month + 2) // 3),
    "Qo": lambda m: _ordinal((m.month + 2) // 3),
    "MMMM": lambda m: MONTHS[m.month - 1],
    "MMM": lambda m: MONTHS[m.month - 1][:3],
    "MM": lambda m: f"{m.month:02}",
    "Mo": lambda m: _ordinal(m.month),
    "M": lambda m: str(m.month),
    "DDDD": lambda m: f"{m.timetuple().tm_yday:03}",
    "DDDo": lambda m: _ordinal(m.timetuple().tm_yday),
    "DDD": lambda m: str(m.timetuple().tm_yday),
    "DD": lambda m: f"{m.day:02}",
    "Do": lambda m: _ordinal(m.day),
    "D": lambda m: str(m.day),
    "dddd": lambda m: DAYS[m.weekday()],
    "ddd": lambda m: DAYS[m.weekday()][:3],
    "dd": lambda m: DAYS[m.weekday()][:2],
    "do": lambda m: _ordinal(_sunday(m)),
    "d": lambda m: str(_sunday(m)),
    "E": lambda m: str(m.isoweekday()),
    "e": lambda m: str(_sunday(m)),
    "WW": lambda m: f"{m.isocalendar().week:02}",
    "Wo": lambda m: _ordinal(m.isocalendar().week),
    "W": lambda m: str(m.isocalendar().week),
    "GGGG": lambda m: f"{m.isocalendar().year:04}",
    "GG": lambda m: f"{m.isocalendar().year % 100:02}",
    "ww": lambda m: f"{_local_week(m)[1]:02}",
    "wo": lambda m: _ordinal(_local_week(m)[1]),
    "w": lambda m: str(_local_week(m)[1]),
    "gggg": lambda m: f"{_local_week(m)[0]:04}",
    "gg": lambda m: f"{_local_week(m)[0] % 100:02}",
    "HH": lambda m: f"{m.hour:02}",
    "H": lambda m: str(m.hour),
    "hh": lambda m: f"{_hour12(m):02}",
    "h": lambda m: str(_hour12(m)),
    "kk": lambda m: f"{m.hour or 24:02}",
    "k": lambda m: str(m.hour or 24),
    "mm": lambda m: f"{m.minute:02}",
    "m": lambda m: str(m.minute),
    "ss": lambda m: f"{m.second:02}",
    "s": lambda m: str(m.second),
    "A": lambda m: "AM" if m.hour < 12 else "PM",
    "a": lambda m: "am" if m.hour < 12 else "pm",
    "Z": _offset,
    "ZZ": lambda m: _offset(m).replace(":", ""),
    "X": lambda m: str(int(m.timestamp())),
    "x": lambda m: str(int(m.timestamp() * 1000)),
}
