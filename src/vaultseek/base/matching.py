"""Matching of untrusted regular expressions within limits.

Matching has a time limit, but the module ``regex`` checks the clock only every 256 steps. One step may read
the whole text and compare each character with the whole pattern. The first search for a run of n characters
builds a table in n³ steps, during which no other thread runs. If pattern and text are long enough for this to
matter, or if this process does not finish soon, another process with low priority does the matching; it is
killed when its time is over. All times are processor time, so that the answer does not depend on other work.
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
"""Maximum length of a pattern compiled in this process; the table for that length takes about 5
milliseconds."""
STEP_COMPARISONS = 2_000_000
"""Maximum product of pattern length and text length matched in this process; 256 steps of that size take at
most about a second, during which other threads run."""
HERE_SECONDS = 0.02
"""Processor seconds of all threads of this process after which another process takes over the match."""


@dataclass(frozen=True, slots=True)
class Match:
    """A match in a text: start and end of the whole match and of each group, and the numbers of named
    groups."""

    text: str
    spans: Spans
    names: Mapping[str, int]

    def __getitem__(self, group: int | str) -> str | None:
        """Return the text of a group; None if it did not participate. Raises IndexError if it does
        not exist."""
        number = self.names.get(group, len(self.spans)) if isinstance(group, str) else group
        start, end = self.spans[number]
        return None if start < 0 else self.text[start:end]


class BoundedPattern:
    """A pattern whose matches never take long, whatever the text."""

    def __init__(self, source: str, flags: str) -> None:
        """Compile the pattern. Raises BadPattern."""
        check_size(source)
        self._source, self._flags = source, flags
        self._compiled = regex_of(source, flags) if len(source) <= SHORT_CHARS else None
        if self._compiled is None:
            try:
                self._matched_elsewhere("", PATTERN_COMPILE_SECONDS, 1)
            except TimeoutError:
                raise PatternTooLarge("it takes too long to compile; make it simpler") from None

    def first(self, text: str, seconds: float) -> Match | None:
        """Return the first match in a text, or None. Raises TimeoutError like ``matches``."""
        return next(self.matches(text, seconds, at_most=1), None)

    def matches(self, text: str, seconds: float, at_most: int | None = None) -> Iterator[Match]:
        """Yield the matches in a text, or the first few.

        Raises TimeoutError if that takes more than ``seconds`` of processor time.
        """
        found, here, began = 0, self._compiled, time.thread_time()
        if here is not None and len(self._source) * len(text) <= STEP_COMPARISONS:
            try:
                for spans in spans_in(text, here, min(seconds, HERE_SECONDS), at_most):
                    yield Match(text, spans, here.groupindex)
                    found += 1
                return
            except TimeoutError:
                if time.thread_time() - began > HERE_SECONDS / 2:  # not only because of other threads
                    self._compiled = None  # the next text would take as long
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
    """Return the processor time used by this thread and by other processes that match for it."""
    return time.thread_time() + _elsewhere.seconds


@lru_cache(maxsize=CACHED)
def compiled(pattern: str, flags: str = "") -> BoundedPattern:
    """Return a compiled pattern.

    ``flags`` are letters as in ``(?i)``. Raises BadPattern.
    """
    return BoundedPattern(pattern, flags)


def pattern_error(pattern: str, flags: str = "") -> str | None:
    """Return the error in a pattern, or None. Raises PatternTooLarge."""
    try:
        compiled(pattern, flags)
    except PatternTooLarge:
        raise
    except BadPattern as error:
        return str(error)
    return None
