"""Compilation of untrusted regular expressions, from queries, formulas and vaults, within limits.

The compiler writes out the minimum count of each repeat, so nested counts multiply the size of a pattern.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from vaultseek.base.limits import PATTERN_CHARS

CACHED = 32
"""Number of cached compiled patterns; the largest take several megabytes each."""

Spans = Sequence[tuple[int, int]]
"""Start and end of a match and of each of its groups; -1 for a group that did not take part in the match."""


class BadPattern(ValueError):
    """Raised for a pattern that is too large or not a regular expression; the message contains the reason."""


class PatternTooLarge(BadPattern):
    """Raised for a pattern that would take too much memory or time to compile."""


def regex_of(pattern: str, flags: str) -> Any:
    """Compile a pattern of any length with the module ``regex``. Raises BadPattern."""
    import regex  # imported here, because importing it takes longer than most searches

    wanted = 0
    for letter in flags:
        wanted |= getattr(regex, letter.upper())
    try:
        return regex.compile(pattern, wanted, cache_pattern=False)
    except RecursionError:
        raise PatternTooLarge("the expression is nested too deeply") from None
    except (regex.error, ValueError, LookupError, OverflowError) as error:
        raise BadPattern(str(error)) from None


def spans_in(text: str, pattern: Any, seconds: float, at_most: int | None) -> Iterator[Spans]:
    """Yield the spans of the matches of a pattern compiled with the module ``regex``. Raises TimeoutError."""
    # Concurrent, so that other threads can run during matching.
    found = pattern.finditer(text, timeout=seconds, concurrent=True)
    return (match.regs for match in islice(found, at_most))


def check_size(pattern: str) -> None:
    """Raise PatternTooLarge if a pattern has too many characters once its counted repeats are written out."""
    if len(pattern) > PATTERN_CHARS:
        raise PatternTooLarge(f"the expression is longer than {PATTERN_CHARS:,} characters")
    if _COSTLY.search(pattern):
        raise PatternTooLarge("group calls such as (?R) and the flags f, V and x are not supported")
    if _size(pattern) > PATTERN_CHARS:
        raise PatternTooLarge(
            f"the repetition counts expand to more than {PATTERN_CHARS:,} characters; use smaller counts"
        )


def _size(pattern: str) -> int:
    """Return an upper bound on the length of a pattern with its counted repeats written out."""
    if _UNUSUAL.search(_ESCAPE.sub("..", _PLAIN_FLAGS.sub("", pattern))):
        # The groups are unknown, so assume that each count repeats the whole pattern.
        return len(pattern) * math.prod(max(1, _number(text)) for text in _LEAST.findall(pattern))
    groups = [0]
    last = 0
    for token in _TOKEN.finditer(pattern):
        if token[0] == "(":
            groups.append(1)
        elif token[0] == ")" and len(groups) > 1:
            last = groups.pop() + 1
            groups[-1] += last
        elif token["least"]:
            times = max(1, _number(token["least"]))
            groups[-1] += last * (times - 1)
            last *= times
        else:
            last = len(token[0])
            groups[-1] += last
    return sum(groups)


def _number(digits: str) -> int:
    """Return a repeat count, capped just above the limit, because parsing a long number takes a long time."""
    return int(digits) if len(digits) < 6 else PATTERN_CHARS + 1


_COSTLY = re.compile(r"\(\?(?:[\w^-]*[fVx]|R|[+-]?\d|P?&|P>)")
"""Pattern that finds recursion and some flags. Recursion can take hundreds of megabytes within a match's time
limit. The flags can make a character set take kilobytes, or let a comment hide a count."""
_PLAIN_FLAGS = re.compile(r"\A\(\?[aimsu]+\)")
_ESCAPE = re.compile(r"\\[pPN]\{\^?[A-Za-z_][\w\s=:-]*\}|\\.", re.DOTALL)
"""Pattern that finds an escape. Braces that name no property or character are not part of the escape:
``\\p{9,}`` repeats a p."""
_UNUSUAL = re.compile(
    r"""(?x) \(\? (?! [:=!>|] | <[=!] | P?<\w+> )  # flags, comments, conditions
    | \[ \^? \]? [^\]]* \[                        # sets in sets
    | \{ (?! \d*,?\d*\} )                         # fuzzy matches
    """
)
"""Pattern that finds constructs that keep ``_size`` from recognizing groups and repeated elements. It is
applied after escapes have been removed."""
_LEAST = re.compile(r"\{(\d+)")
_TOKEN = re.compile(
    rf"""(?x) {_ESCAPE.pattern} | \[\^?\]?(?:\\. | [^\]\\])*\]  # escapes and sets
    | \{{(?P<least>\d+)(?:,\d*)?\}} | .
    """,
    re.DOTALL,
)
