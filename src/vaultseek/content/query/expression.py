"""Regular expressions of queries, matched with a timeout, because some would run forever."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from vaultseek.base.limits import EXPRESSION_SECONDS, MATCHING_SECONDS
from vaultseek.base.matching import compiled
from vaultseek.base.text import printable
from vaultseek.errors import BadQuery

FLAGS = "im"
"""Flags of all expressions: case is ignored, and ``^`` and ``$`` match at lines."""


@dataclass(slots=True)
class Budget:
    """Time for the expressions of one request: ``matching`` seconds in total, none after ``end``."""

    end: float
    matching: float = MATCHING_SECONDS

    def left(self, now: float) -> float:
        """Return the seconds left at the monotonic time ``now``."""
        return min(self.matching, self.end - now)


@contextmanager
def within(budget: Budget) -> Iterator[None]:
    """Charge the time of ``find`` and ``find_all`` in this thread to the budget."""
    token = _budget.set(budget)
    try:
        yield
    finally:
        _budget.reset(token)


def is_spent() -> bool:
    """Return whether there is a budget and it is used up."""
    budget = _budget.get()
    return budget is not None and budget.left(time.monotonic()) <= 0


def find(pattern: str, text: str) -> tuple[int, int] | None:
    """Return start and end of the first match in ``text``, or None.

    Raises BadQuery if it takes too long.
    """
    budget = _budget.get()
    timeout, began = EXPRESSION_SECONDS, time.monotonic()
    if budget is not None and (timeout := min(timeout, budget.left(began))) <= 0:
        raise too_slow(pattern)
    try:
        match = compiled(pattern, FLAGS).first(text, timeout)
    except TimeoutError:
        raise too_slow(pattern) from None
    finally:
        if budget is not None:
            budget.matching -= time.monotonic() - began
    return match.spans[0] if match else None


def find_all(pattern: str, text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the matches in a short ``text``; stop after ``EXPRESSION_SECONDS``."""
    try:
        budget, timeout = _budget.get(), EXPRESSION_SECONDS
        if budget is not None and (timeout := min(timeout, budget.end - time.monotonic())) <= 0:
            return
        yield from (match.spans[0] for match in compiled(pattern, FLAGS).matches(text, timeout))
    except TimeoutError:
        return


def too_slow(pattern: str) -> BadQuery:
    """Return the error of an expression that takes too long."""
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

# A flag may change how the rest is read, and letters of a group name are not part of a match.
_FLAGS = re.compile(r"\(\?(?:[a-zA-Z^-]|<[^=!])|\{[a-zA-Z]")
_ESCAPE = re.compile(
    r"\\(?:[pP](?:\{[^{}]*\}|[A-Za-z])|[xuUNgGLkK]?[<{][^<>{}]*[>}]|[xuU0-9][0-9A-Fa-f]*|.)", re.DOTALL
)
_CLASS = re.compile(r"\[\^?\]?[^\[\]]*\]")
_GROUP = re.compile(r"\([^()]*\)")
_OPTIONAL = re.compile(r".?(?:[*?]|\{[^{}]*\})", re.DOTALL)
"""A quantifier with the character that it repeats or makes optional."""
