"""Names of notes that are much like a name that no note has."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from difflib import SequenceMatcher

from vaultseek.limits import NAME_CHARS
from vaultseek.notes.complete import VaultCompleter
from vaultseek.text import fold

SIMILAR_NAMES = 3
"""Names that a message suggests."""
SIMILAR_CANDIDATES = 30
"""Completions that are compared with the name."""
_LEAST_CHARS = 3


def similar_names(name: str, completer: VaultCompleter) -> list[str]:
    """Return the names most like ``name``, a misspelt one or a path: by its letters, else by a word."""
    typed = posixpath.basename(name.strip().rstrip("/")).removesuffix(".md")[:NAME_CHARS]
    for part in _parts(typed):
        names = {item["text"]: None for item in completer.complete("note", part, SIMILAR_CANDIDATES)}
        if names:
            return sorted(names, key=lambda other: -_likeness(typed, other))[:SIMILAR_NAMES]
    return []


def _parts(typed: str) -> Iterator[str]:
    """Yield what to complete: the whole name, then its words, the longest first."""
    words = typed.replace("-", " ").replace("_", " ").split()
    for part in dict.fromkeys((typed, *sorted(words, key=len, reverse=True))):
        if len(part) >= _LEAST_CHARS:
            yield part


def _likeness(typed: str, name: str) -> float:
    return SequenceMatcher(None, fold(typed), fold(name)).ratio()
