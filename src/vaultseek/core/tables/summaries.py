"""Summarize many values: the built-in column summaries, which are also list functions."""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from vaultseek.core.tables.operators import as_number, equal, sort_key
from vaultseek.core.tables.values import Date, Value, flattened, is_empty, is_number

Figure = Callable[[Sequence[Value]], Value]


def _numbers(values: Sequence[Value]) -> list[float]:
    """Return the finite numbers among the values and inside lists, including numbers written as strings."""
    flat = (each for each in flattened(*values) if is_number(each) or isinstance(each, str))
    numbers = map(as_number, flat)
    return [number for number in numbers if number is not None and math.isfinite(number)]


def _dates(values: Sequence[Value]) -> list[Date]:
    return [value for value in values if isinstance(value, Date)]


def _of_numbers(figure: Callable[[list[float]], float]) -> Figure:
    def run(values: Sequence[Value]) -> Value:
        numbers = _numbers(values)
        try:
            return figure(numbers) if numbers else None
        except OverflowError:
            return math.copysign(math.inf, sum(numbers))

    return run


def _of_dates(figure: Callable[..., Date]) -> Figure:
    def run(values: Sequence[Value]) -> Value:
        dates = _dates(values)
        return figure(dates, key=lambda date: date.moment) if dates else None

    return run


def _range(values: Sequence[Value]) -> Value:
    """Return the difference between the largest and smallest number; for dates, in milliseconds."""
    if dates := _dates(values):
        moments = [date.moment for date in dates]
        return (max(moments) - min(moments)).total_seconds() * 1e3
    numbers = _numbers(values)
    return max(numbers) - min(numbers) if numbers else None


def _unique(values: Sequence[Value]) -> int:
    """Return the number of distinct non-empty values.

    Numbers and strings are compared by hash; other values are sorted and compared with their neighbours.
    """
    filled = [value for value in values if not is_empty(value)]
    plain = {(type(value).__name__, value) for value in filled if isinstance(value, int | float | str)}
    others = sorted((value for value in filled if not isinstance(value, int | float | str)), key=sort_key)
    count = len(plain)
    for number, value in enumerate(others):
        count += not (number and equal(others[number - 1], value))
    return count


STATISTICS: Mapping[str, Figure] = {
    "mean": _of_numbers(statistics.fmean),
    "sum": _of_numbers(math.fsum),
    "median": _of_numbers(statistics.median),
    "stddev": _of_numbers(statistics.pstdev),
    "min": _of_numbers(min),
    "max": _of_numbers(max),
}
"""Statistics as functions of a list; ``values.mean()`` is documented by Obsidian."""
SUMMARIES: Mapping[str, Figure] = {
    "Average": STATISTICS["mean"],
    **{name.title(): figure for name, figure in STATISTICS.items() if name != "mean"},
    "Range": _range,
    "Earliest": _of_dates(min),
    "Latest": _of_dates(max),
    "Checked": lambda values: sum(value is True for value in values),
    "Unchecked": lambda values: sum(value is False for value in values),
    "Empty": lambda values: sum(map(is_empty, values)),
    "Filled": lambda values: sum(not is_empty(value) for value in values),
    "Unique": _unique,
}
"""Map from name to summary function, for the summaries built into every base."""
