"""JavaScript regular expressions in formulas, each with a time limit."""

import re
from collections.abc import Iterator

from vaultseek.base.limits import FORMULA_PATTERN_SECONDS
from vaultseek.base.matching import BoundedPattern, Match, compiled
from vaultseek.base.patterns import BadPattern
from vaultseek.base.text import printable
from vaultseek.core.tables.values import FormulaError, Pattern, check_size

_REFERENCE = re.compile(r"\$(?:([$&])|(\d{1,2})|<(\w+)>)", re.ASCII)
_FLAGS = "ims"
"""Flags that affect which text matches."""


def pattern_error(pattern: Pattern) -> str | None:
    """Return a description of the error in a regular expression, or None if there is none."""
    try:
        _compiled(pattern)
    except BadPattern as error:
        return str(error)
    return None


def matches(pattern: Pattern, text: str) -> bool:
    """True if the text contains a match for the pattern."""
    return next(_matches(pattern, text, at_most=1), None) is not None


def replace(pattern: Pattern, text: str, replacement: str) -> str:
    """Replace the first match or, if the pattern has the flag ``g``, every match.

    In ``replacement``, ``$1`` stands for the text of the first group.
    """
    parts: list[str] = []
    size, end = len(text), 0
    for match in _matches(pattern, text, at_most=None if "g" in pattern.flags else 1):
        start, after = match.spans[0]
        parts.append(text[end:start])
        for part in _written(replacement, match):
            size += len(part)
            check_size(size)
            parts.append(part)
        end = after
    return "".join([*parts, text[end:]])


def split(pattern: Pattern, text: str) -> list[str]:
    """Split ``text`` at each match. Text that a group matched is kept as an element."""
    parts: list[str] = []
    end = 0
    for match in _matches(pattern, text):
        start, after = match.spans[0]
        groups = (match[number] for number in range(1, len(match.spans)))
        parts += [text[end:start], *(group for group in groups if group is not None)]
        end = after
    return [*parts, text[end:]]


def _written(replacement: str, match: Match) -> Iterator[str]:
    end = 0
    for reference in _REFERENCE.finditer(replacement):
        yield replacement[end : reference.start()]
        yield _referred(reference, match)
        end = reference.end()
    yield replacement[end:]


def _referred(reference: re.Match[str], match: Match) -> str:
    if reference[1]:
        return "$" if reference[1] == "$" else match[0] or ""
    try:
        return match[int(reference[2]) if reference[2] else reference[3]] or ""
    except IndexError:
        return reference[0]


def _matches(pattern: Pattern, text: str, at_most: int | None = None) -> Iterator[Match]:
    try:
        yield from _compiled(pattern).matches(text, FORMULA_PATTERN_SECONDS, at_most)
    except TimeoutError:
        raise FormulaError(f"/{printable(pattern.source, 40)}/ takes too long; make it simpler") from None


def _compiled(pattern: Pattern) -> BoundedPattern:
    return compiled(pattern.source, "".join(flag for flag in pattern.flags if flag in _FLAGS))
