"""Values in the formula language: their kinds, truth values and text forms, and their form in answers.

Null, booleans, numbers, strings, lists and mappings are Python's own types. Dates are local times without a
time zone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NamedTuple

from vaultseek.base.limits import FORMULA_VALUE_CHARS

Value = Any
"""A value in a formula: None, bool, int, float, str, list, Mapping, or a class defined here or in
``files.py``."""
EXACT_INTEGERS = 2**53
"""Largest number up to which JavaScript represents all integers exactly; formulas use JavaScript's
numbers."""


class FormulaError(Exception):
    """Raised when an expression has no value for a note. The message states the reason."""


@dataclass(frozen=True, slots=True)
class Date:
    """A day or, if ``timed`` is true, a point in time."""

    moment: datetime
    timed: bool = True

    @property
    def text(self) -> str:
        """The date in ISO 8601 format, to the second."""
        return self.moment.isoformat(timespec="seconds") if self.timed else self.moment.date().isoformat()

    @property
    def day(self) -> Date:
        """The date without its time."""
        return Date(self.moment.replace(hour=0, minute=0, second=0, microsecond=0), timed=False)


@dataclass(frozen=True, slots=True)
class Duration:
    """A duration in whole months, whose lengths differ, plus milliseconds."""

    months: int
    milliseconds: float

    @property
    def total(self) -> float:
        """Length of the duration in milliseconds, assuming months of average length."""
        return self.months * MILLISECONDS["months"] + self.milliseconds


MILLISECONDS: Mapping[str, float] = {
    "milliseconds": 1.0,
    "seconds": 1e3,
    "minutes": 6e4,
    "hours": 3.6e6,
    "days": 8.64e7,
    "weeks": 7 * 8.64e7,
    "months": 8.64e7 * 146_097 / 4_800,
    "years": 8.64e7 * 146_097 / 400,
}
"""Length of each unit in milliseconds; a year is an average Gregorian year."""


class Rendered(NamedTuple):
    """Content that Obsidian displays as graphics, such as an image, an icon or HTML; vaultseek shows its
    text.
    """

    kind: str
    text: str


class Pattern(NamedTuple):
    """A regular expression: the source between the slashes, and the flags after them."""

    source: str
    flags: str


class Tag(str):
    """A tag without its hash. Comparisons ignore case and a leading hash."""

    __slots__ = ()


class FileName(str):
    """A file name with its extension. Comparisons may omit the extension."""

    __slots__ = ()

    @property
    def stem(self) -> str:
        """File name without its extension."""
        return self.rpartition(".")[0] or str(self)


class Link:
    """A link in the file ``source``; ``target`` may include a fragment."""

    __slots__ = ("_resolve", "display", "source", "target")

    def __init__(
        self, target: str, display: str | None, source: str, resolve: Callable[[str, str], str | None]
    ) -> None:
        self.target = target
        self.display = display
        self.source = source
        self._resolve = resolve

    @property
    def path(self) -> str | None:
        """Path of the linked file; None if the file is missing."""
        return None if self.is_external else self._resolve(self.target.partition("#")[0], self.source)

    @property
    def is_external(self) -> bool:
        """True for a web address."""
        return "://" in self.target

    @property
    def text(self) -> str:
        """Text of the link as displayed to a reader."""
        return self.display or self.target

    @property
    def markdown(self) -> str:
        """The link as written in a note."""
        if self.is_external:
            return f"[{self.display}]({self.target})" if self.display else self.target
        return f"[[{self.target}|{self.display}]]" if self.display else f"[[{self.target}]]"


def kind_of(value: Value) -> str:
    """Return the name of a value's kind, as used by ``isType``."""
    for kind, types in _KINDS:
        if isinstance(value, types):
            return kind
    return str(getattr(value, "kind", "object"))


_KINDS: tuple[tuple[str, Any], ...] = (
    ("null", type(None)),
    ("boolean", bool),
    ("number", (int, float)),
    ("string", str),
    ("list", list),
    ("date", Date),
    ("duration", Duration),
    ("link", Link),
    ("regexp", Pattern),
)


def is_number(value: Value) -> bool:
    """True for a number, but not for a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def flattened(*values: Value) -> list[Value]:
    """Return the values, with the elements of lists in place of the lists."""
    return [each for value in values for each in (value if isinstance(value, list) else [value])]


def is_truthy(value: Value) -> bool:
    """Return whether a value counts as true: null, zero, and empty values count as false."""
    if is_number(value):
        return value != 0 and not math.isnan(value)
    return bool(value) if isinstance(value, bool | str) else value is not None


def is_empty(value: Value) -> bool:
    """True for null, the empty string, the empty list and a mapping without keys."""
    return value is None or (isinstance(value, str | list | Mapping) and not value)


def text_of(value: Value) -> str:
    """Return a value converted to text."""
    if isinstance(value, str):
        return str(value)
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, list):
        return ", ".join(map(text_of, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {text_of(each)}" for name, each in value.items())
    if isinstance(value, Duration):
        return _duration_text(value)
    if isinstance(value, Pattern):
        return f"/{value.source}/{value.flags}"
    return str(value.text)


def answer_of(value: Value) -> Any:
    """Return a value in the form used in answers: JSON, with dates in ISO 8601 format and links as
    written.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, FileName):
        return value.stem if value.endswith(".md") else str(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | float):
        return whole(value) if math.isfinite(value) else number_text(value)
    if isinstance(value, list):
        return [answer_of(each) for each in value]
    if isinstance(value, Mapping):
        return {str(name): answer_of(each) for name, each in value.items()}
    return value.markdown if hasattr(value, "markdown") else text_of(value)


def whole(number: float) -> float:
    """Return a number without a fraction as an integer, and other numbers unchanged."""
    is_whole = isinstance(number, float) and number.is_integer() and abs(number) <= EXACT_INTEGERS
    return int(number) if is_whole else number


def number_text(number: float) -> str:
    """Return a number as JavaScript would write it."""
    if isinstance(number, float) and not math.isfinite(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    text = repr(whole(number))
    if "e" not in text:
        return text
    digits, _, power = text.partition("e")
    exponent = int(power)
    if -7 < exponent < 21:
        return f"{Decimal(text):f}"
    return f"{digits.removesuffix('.0')}e{'+' if exponent > 0 else '-'}{abs(exponent)}"


def fixed(number: float, digits: int) -> str:
    """Return a number with this many decimal places, rounding halves away from zero."""
    if not math.isfinite(number):
        return number_text(number)
    # The largest number has 309 digits before and up to a hundred after the decimal point.
    exact = Context(prec=450)
    return f"{Decimal(number).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP, context=exact):f}"


def _duration_text(duration: Duration) -> str:
    years, months = divmod(abs(duration.months), 12)
    sign = "-" if duration.total < 0 else ""
    parts = [(years, "year"), (months, "month")]
    rest = abs(duration.milliseconds)
    for unit in ("days", "hours", "minutes"):
        amount, rest = divmod(rest, MILLISECONDS[unit])
        parts.append((int(amount), unit[:-1]))
    shown = [f"{amount} {name}{'s' * (amount != 1)}" for amount, name in parts if amount]
    seconds = rest / 1e3
    if seconds or not shown:
        shown.append(f"{number_text(seconds)} second{'s' * (seconds != 1)}")
    return sign + ", ".join(shown)


# -- the size of values


def check_size(size: int) -> None:
    """Raise FormulaError if ``size`` is too large for a value."""
    if size > FORMULA_VALUE_CHARS:
        raise FormulaError(f"a value contains more than {FORMULA_VALUE_CHARS:,} characters")


def sized(value: Value) -> Value:
    """Return the result of a function or operator unchanged. Raises FormulaError if it is a string that is
    too long.
    """
    if isinstance(value, str):
        check_size(len(value))
    return value


def collected(values: Iterable[Value]) -> list[Value]:
    """Return the values as a list. Raises FormulaError as soon as their total size is too large."""
    found: list[Value] = []
    size = 0
    for value in values:
        found.append(value)
        size += 1 + size_of(value)
        check_size(size)
    return found


def size_of(value: Value) -> int:
    """Return the size of a value: its number of characters and elements."""
    size, waiting = 0, [value]
    while waiting:
        each: Any = waiting.pop()
        if isinstance(each, Mapping):
            waiting += each.values()
            size += len(each) + sum(map(len, each))
        elif isinstance(each, list):
            waiting += each
            size += len(each)
        elif isinstance(each, str):
            size += len(each)
        else:
            size += len(each.text) if isinstance(each, Link | Rendered) else 1
            size += len(each.target) if isinstance(each, Link) else 0
    return size
