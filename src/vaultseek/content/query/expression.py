"""Match regular expressions from queries within a time limit, because some would run forever."""

import contextlib
import math
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from vaultseek.base.limits import EXPRESSION_SECONDS, EXPRESSIONS_SECONDS, MATCHING_SECONDS
from vaultseek.base.matching import compiled, processor_seconds
from vaultseek.base.text import printable
from vaultseek.errors import BadQuery

T = TypeVar("T")
FLAGS = "im"
"""Flags for all expressions: case is ignored, and ``^`` and ``$`` match at the start and end of a line."""


@dataclass(slots=True)
class Budget:
    """Time limits for the regular expressions of one request.

    ``matching`` and ``total`` are seconds of processor time, so whether a query is refused does not depend on
    how busy the machine is. ``total`` includes reading notes. ``end`` is a monotonic time at which matching
    ends in any case.
    """

    end: float = math.inf
    matching: float = MATCHING_SECONDS
    total: float = EXPRESSIONS_SECONDS

    def left(self) -> float:
        """Return the seconds left in the budget."""
        return min(self.matching, self.total, self.end - time.monotonic())


@contextmanager
def within(budget: Budget) -> Iterator[None]:
    """Within this context, charge ``budget`` for the time that ``find`` and ``in_time`` take in this
    thread.
    """
    token = _budget.set(budget)
    try:
        yield
    finally:
        _budget.reset(token)


def in_time(items: Iterable[T], pattern: str) -> Iterator[T]:
    """Yield ``items``, which the caller then matches against ``pattern``. Raises BadQuery if reading and
    matching them takes too long.
    """
    budget, last = _present_budget(), processor_seconds()
    for item in items:
        now = processor_seconds()
        budget.total, last = budget.total - (now - last), now
        if budget.left() <= 0:
            raise too_slow(pattern)
        yield item


def find(pattern: str, text: str) -> tuple[int, int] | None:
    """Return the start and end of the first match in ``text``, or None.

    Raises BadQuery if matching takes too long.
    """
    budget, began = _present_budget(), processor_seconds()
    if (seconds := min(EXPRESSION_SECONDS, budget.left())) <= 0:
        raise too_slow(pattern)
    try:
        match = compiled(pattern, FLAGS).first(text, seconds)
    except TimeoutError:
        raise too_slow(pattern) from None
    finally:
        budget.matching -= processor_seconds() - began
    return match.spans[0] if match else None


def find_all(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each match in a short ``text``; stop after ``EXPRESSION_SECONDS``."""
    seconds = min(EXPRESSION_SECONDS, _present_budget().end - time.monotonic())
    if seconds > 0:
        with contextlib.suppress(TimeoutError):
            yield from (match.spans[0] for match in compiled(pattern, FLAGS).matches(text, seconds))


def _present_budget() -> Budget:
    return _budget.get() or Budget()


def too_slow(pattern: str) -> BadQuery:
    """Return the error to raise for an expression that takes too long."""
    return BadQuery(f"/{printable(pattern)}/ takes too long; make the expression simpler, or add a filter")


def literal_of(pattern: str) -> str | None:
    """Return the longest run of letters and digits that every match contains; None if there is none."""
    if _FLAGS.search(pattern):
        return None
    flat = _CLASS.sub("\0", _ESCAPE.sub("\0", pattern))
    while (shorter := _GROUP.sub("\0", flat)) != flat:
        flat = shorter
    if re.search(r"[|()\[\]]", flat):
        return None
    runs = re.findall(r"[^\W_]+", _OPTIONAL.sub("\0", flat))
    return max(runs, key=len, default=None)


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)

# A flag may change the meaning of the rest, and the letters in a group name are not part of a match.
_FLAGS = re.compile(r"\(\?(?:[a-zA-Z^-]|<[^=!])|\{[a-zA-Z]")
_ESCAPE = re.compile(
    r"\\(?:[pP](?:\{[^{}]*\}|[A-Za-z])|[xuUNgGLkK]?[<{][^<>{}]*[>}]|[xuU0-9][0-9A-Fa-f]*|.)", re.DOTALL
)
_CLASS = re.compile(r"\[\^?\]?[^\[\]]*\]")
_GROUP = re.compile(r"\([^()]*\)")
_OPTIONAL = re.compile(r".?(?:[*?]|\{[^{}]*\})", re.DOTALL)
"""Pattern for a quantifier, together with the character that it repeats or makes optional."""
