"""Saved searches: ``@name`` at the beginning of a query stands for the query of the settings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from vaultseek.base.text import quote

_NAME = re.compile(r"\s*@([\w-]+)(?=\s|$)")


def with_saved_searches(query: str, searches: Mapping[str, str]) -> str:
    """Return ``query`` with the saved searches that it begins with written out.

    A name that no search has is a word. What is written out is not looked at again.
    """
    saved: list[str] = []
    position = 0
    while (match := _NAME.match(query, position)) and (text := _saved(match[1], searches)) is not None:
        saved.append(text)
        position = match.end()
    parts = [*saved, *([rest] if (rest := query[position:].strip()) else [])]
    if not saved:
        return query
    # Without parentheses an OR would take in the words beside it.
    return parts[0] if len(parts) == 1 else " ".join([*(f"({text})" for text in saved), *parts[len(saved) :]])


def unknown_searches(query: str, searches: Mapping[str, str]) -> list[str]:
    """Return a remark if ``query`` begins with ``@name`` and there are saved searches, none of that name."""
    match = _NAME.match(query)
    if match is None or not searches:
        return []
    known = ", ".join(f"@{name}" for name in sorted(searches))
    return [f"{quote('@' + match[1])} was taken as a word; the saved searches are {known}"]


def _saved(name: str, searches: Mapping[str, str]) -> str | None:
    folded = name.casefold()
    return next((text for known, text in searches.items() if known.casefold() == folded), None)
