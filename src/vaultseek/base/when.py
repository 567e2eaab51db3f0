"""Dates of notes: points in time, and days or times written without a time zone."""

from __future__ import annotations

import math
import re
from datetime import UTC, date, datetime, timedelta
from typing import Literal, NamedTuple

from vaultseek.base.zone import zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = (
    (end.replace(microsecond=0, tzinfo=UTC) - _EPOCH).total_seconds() for end in (datetime.min, datetime.max)
)


class When(NamedTuple):
    """The date of a note; ``kind`` is its precision.

    A ``moment`` is a point in time, and its day depends on the time zone. A ``day``, or a ``local`` time
    written without a zone, is on the same day in every zone. ``seconds`` count from the epoch; dates without
    a zone are treated as UTC.
    """

    seconds: float
    kind: Literal["moment", "local", "day"] = "moment"

    @property
    def unix(self) -> float:
        """The Unix time of the date; a day begins at midnight in the reader's zone."""
        return self.seconds if self.kind == "moment" else unix_time(self.local)

    @property
    def text(self) -> str:
        """The date in ISO 8601: the day as written, or the local time to the second with its UTC offset."""
        if self.kind == "day":
            return self.local.date().isoformat()
        return self.local.isoformat(timespec="seconds")

    @property
    def local(self) -> datetime:
        """The date as an aware local time in the reader's zone; for a day, the beginning of the day."""
        if self.kind == "moment":
            return local_time(self.seconds)
        return _utc_time(self.seconds).replace(tzinfo=zone())

    def is_within(self, start: datetime | None, end: datetime | None) -> bool:
        """Return true if the date is at or after ``start`` and before ``end``, which are both aware."""
        first, last = bounds(start, end, of_moments=self.kind == "moment")
        return first <= self.seconds < last


def read_when(text: str) -> When | None:
    """Parse a day or time in ISO 8601; return None for any other text."""
    try:
        return When(_as_if_utc(datetime.combine(date.fromisoformat(text), datetime.min.time())), "day")
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return When(_as_if_utc(moment), "local") if moment.tzinfo is None else When(unix_time(moment))


def iso_date(text: str) -> str:
    """Convert a date without leading zeros, or a link to a daily note, to ISO form; return other text
    unchanged."""
    text = text.strip()
    if link := _LINK_TO_DAY.fullmatch(text):
        text = link[1]
    if match := _LOOSE_DATE.fullmatch(text):
        year, month, day, hour, rest = match.groups("")
        return f"{year}-{month:0>2}-{day:0>2}" + (f"T{hour:0>2}:{rest}" if hour else "")
    return text


_LINK_TO_DAY = re.compile(r"\[\[(?:[^\[\]|#]*/)?([^\[\]|#/]+)(?:\|[^\[\]]*)?\]\]")
_LOOSE_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]+(\d{1,2}):(.+))?")


def bounds(start: datetime | None, end: datetime | None, *, of_moments: bool) -> tuple[float, float]:
    """Return two values of `When.seconds` that bound a period: the first inclusive, the second exclusive.

    ``start`` and ``end`` are aware. Unless ``of_moments`` is true, the values are for dates without a zone,
    which are compared with local times.
    """
    count = unix_time if of_moments else _local_seconds
    return -math.inf if start is None else count(start), math.inf if end is None else count(end)


def unix_time(moment: datetime) -> float:
    """Return the Unix time of an aware datetime. All years are supported."""
    return (moment - _EPOCH).total_seconds()


def local_time(seconds: float) -> datetime:
    """Convert a Unix time to an aware local time in the reader's zone; a time at the calendar's limits stays
    in UTC."""
    moment = _utc_time(seconds)
    try:
        return moment.astimezone(zone())
    except OverflowError:
        return moment


def present() -> datetime:
    """Return the current time as an aware local time in the reader's zone."""
    return datetime.now(zone())


def iso_time(seconds: float) -> str:
    """Format a Unix time as ISO 8601, in local time to the second with its UTC offset."""
    return local_time(seconds).isoformat(timespec="seconds")


def dates(created: str | None, modified: str) -> str:
    """Return text such as ``written 2026-01-05, changed 2026-02-01``. The first date is left out if both are
    the same."""
    written = f"written {created[:10]}, " if created and created[:10] != modified[:10] else ""
    return f"{written}changed {modified[:10]}"


def _local_seconds(moment: datetime) -> float:
    return _as_if_utc(moment if moment.tzinfo is zone() else local_time(unix_time(moment)))


def _utc_time(seconds: float) -> datetime:
    return _EPOCH + timedelta(seconds=min(max(seconds, _FIRST), _LAST))


def _as_if_utc(moment: datetime) -> float:
    return unix_time(moment.replace(tzinfo=UTC))
