"""Regular expressions of formulas, as JavaScript writes them; none may take long."""

import re
from typing import Any

from vaultseek.base.limits import FORMULA_PATTERN_SECONDS
from vaultseek.base.patterns import BadPattern, compiled
from vaultseek.base.text import printable
from vaultseek.core.tables.values import FormulaError, Pattern, check_size

_REFERENCE = re.compile(r"\$(?:([$&])|(\d{1,2})|<(\w+)>)", re.ASCII)
_FLAGS = "ims"
"""Flags that change what matches."""


def pattern_error(pattern: Pattern) -> str | None:
    """Return what is wrong with a regular expression, or None."""
    try:
        _compiled(pattern)
    except BadPattern as error:
        return str(error)
    return None


def matches(pattern: Pattern, text: str) -> bool:
    """True if the text contains a match."""
    return bool(_run(pattern, "search", text))


def replace(pattern: Pattern, text: str, replacement: str) -> str:
    """Replace the first match, or with the flag ``g`` every one; ``$1`` is the first group."""

    size = len(text)

    def written(match: Any) -> str:
        def counted(part: str) -> str:
            nonlocal size
            size += len(part)
            check_size(size)
            return part

        return counted(_REFERENCE.sub(lambda reference: counted(_referred(reference, match)), replacement))

    return str(_run(pattern, "sub", written, text, count=0 if "g" in pattern.flags else 1))


def split(pattern: Pattern, text: str) -> list[str]:
    """Split a text at each match."""
    return [part for part in _run(pattern, "split", text) if part is not None]


def _referred(reference: re.Match[str], match: Any) -> str:
    if reference[1]:
        return "$" if reference[1] == "$" else str(match[0])
    try:
        return match[int(reference[2]) if reference[2] else reference[3]] or ""
    except IndexError:
        return reference[0]


def _run(pattern: Pattern, method: str, *arguments: Any, **more: Any) -> Any:
    try:
        run = getattr(_compiled(pattern), method)
        # Concurrent: others are served while a text is matched.
        return run(*arguments, timeout=FORMULA_PATTERN_SECONDS, concurrent=True, **more)
    except TimeoutError:
        raise FormulaError(f"/{printable(pattern.source, 40)}/ takes too long; make it simpler") from None


def _compiled(pattern: Pattern) -> Any:
    return compiled(pattern.source, "".join(flag for flag in pattern.flags if flag in _FLAGS))
