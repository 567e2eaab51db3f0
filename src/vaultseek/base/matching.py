"""Matching of untrusted regular expressions within limits.

Matching has a time limit, but the module ``regex`` checks the clock only every 256 steps. One step may read
the whole text and compare each character with the whole pattern. The first search for a run of n characters
builds a table in n³ steps, during which no other thread runs. If pattern and text are long enough for this to
matter, or if this process does not finish soon, a separate process with low priority does the matching. That
process is killed when its time is up. All times are processor time, so that the result does not depend on the
load of the machine.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from vaultseek.base.limits import PATTERN_COMPILE_SECONDS
from vaultseek.base.patterns import (
    CACHED,
    BadPattern,
    PatternTooLarge,
    Spans,
    check_size,
    regex_of,
    spans_in,
)

SHORT_CHARS = 200
"""Maximum length in characters of a pattern compiled in this process; building the search table for that
length takes about 5 milliseconds."""
STEP_COMPARISONS = 2_000_000
"""Maximum product of pattern length and text length for matching in this process; 256 steps at this size take
at most about a second, during which other threads run."""
HERE_SECONDS = 0.02
"""Processor seconds, summed over all threads of this process, after which a separate process takes over a
match."""


@dataclass(frozen=True, slots=True)
class Match:
    """A match: the start and end of the whole match and of each group, and the numbers of the named
    groups."""

    text: str
    spans: Spans
    names: Mapping[str, int]

    def __getitem__(self, group: int | str) -> str | None:
        """Return the text of a group; None if the group did not take part in the match. Raises IndexError if
        there is no such group."""
        number = self.names.get(group, len(self.spans)) if isinstance(group, str) else group
        start, end = self.spans[number]
        return None if start < 0 else self.text[start:end]


class BoundedPattern:
    """A pattern that is matched within a time limit, whatever the text."""

    def __init__(self, source: str, flags: str) -> None:
        """Compile the pattern. Raises BadPattern."""
        check_size(source)
        self._source, self._flags = source, flags
        self._compiled = regex_of(source, flags) if len(source) <= SHORT_CHARS else None
        if self._compiled is None:
            try:
                self._matched_elsewhere("", PATTERN_COMPILE_SECONDS, 1)
            except TimeoutError:
                raise PatternTooLarge("the expression takes too long to compile; make it simpler") from None

    def first(self, text: str, seconds: float) -> Match | None:
        """Return the first match in ``text``, or None. Raises TimeoutError like ``matches``."""
        return next(self.matches(text, seconds, at_most=1), None)

    def matches(self, text: str, seconds: float, at_most: int | None = None) -> Iterator[Match]:
        """Yield the matches in ``text``; if ``at_most`` is set, only the first ``at_most``.

        Raises TimeoutError if matching takes more than ``seconds`` of processor time.
        """
        found, here, began = 0, self._compiled, time.thread_time()
        if here is not None and len(self._source) * len(text) <= STEP_COMPARISONS:
            try:
                for spans in spans_in(text, here, min(seconds, HERE_SECONDS), at_most):
                    yield Match(text, spans, here.groupindex)
                    found += 1
                return
            except TimeoutError:
                if time.thread_time() - began > HERE_SECONDS / 2:  # other threads are not the only cause
                    self._compiled = None  # the next text would take just as long
        yield from islice(self._matched_elsewhere(text, seconds, at_most), found, None)

    def _matched_elsewhere(self, text: str, seconds: float, at_most: int | None) -> Iterator[Match]:
        from vaultseek.base import pattern_process  # imported here, because most patterns and texts are short

        answer = pattern_process.matches(self._source, self._flags, text, seconds, at_most)
        _elsewhere.seconds += answer.seconds
        if answer.spans is None:
            raise TimeoutError
        return (Match(text, spans, answer.names) for spans in answer.spans)


class _Elsewhere(threading.local):
    seconds = 0.0


_elsewhere = _Elsewhere()


def processor_seconds() -> float:
    """Return the processor seconds used by this thread, and by other processes that matched on its behalf."""
    return time.thread_time() + _elsewhere.seconds


@lru_cache(maxsize=CACHED)
def compiled(pattern: str, flags: str = "") -> BoundedPattern:
    """Return a compiled pattern.

    ``flags`` are letters as in ``(?i)``. Raises BadPattern.
    """
    return BoundedPattern(pattern, flags)


def pattern_error(pattern: str, flags: str = "") -> str | None:
    """Return the message for an invalid pattern; None if the pattern is valid. Raises PatternTooLarge."""
    try:
        compiled(pattern, flags)
    except PatternTooLarge:
        raise
    except BadPattern as error:
        return str(error)
    return None
