"""Names of notes, tags and properties that are much like a name that no note has."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from difflib import SequenceMatcher, get_close_matches
from typing import Literal

from vaultseek.base.limits import NAME_CHARS
from vaultseek.base.text import fold, quote
from vaultseek.content.query.filters import (
    Filter,
    HasProperty,
    PropertyCompare,
    PropertyEquals,
    PropertyNull,
    Tag,
)
from vaultseek.content.query.leaves import leaves
from vaultseek.core.notes.complete import VaultCompleter

SIMILAR_NAMES = 3
"""Names that a message suggests."""
SIMILAR_CANDIDATES = 30
"""Completions that are compared with the name."""
LEAST_LIKENESS = 0.5
"""Likeness, in [0, 1], below which a name is not suggested: one word in common is not enough."""
LEAST_SPELLING = 0.7
"""Likeness below which a tag or a property is not."""
NAMES_COMPARED = 5000
"""Tags or properties that are compared with one that no note has."""
_LEAST_CHARS = 3


def similar_names(name: str, completer: VaultCompleter) -> list[str]:
    """Return the names most like ``name``, a misspelt one or a path: by its letters, else by a word."""
    typed = posixpath.basename(name.strip().rstrip("/")).removesuffix(".md")[:NAME_CHARS]
    for part in _parts(typed):
        names = {item["text"]: None for item in completer.complete("note", part, SIMILAR_CANDIDATES)}
        like = {name: max(_likeness(typed, name), _likeness(part, name)) for name in names}
        near = [name for name in sorted(like, key=lambda name: -like[name]) if like[name] >= LEAST_LIKENESS]
        if near:
            return near[:SIMILAR_NAMES]
    return []


def _parts(typed: str) -> Iterator[str]:
    """Yield what to complete: the whole name, then its words, the longest first."""
    words = typed.replace("-", " ").replace("_", " ").split()
    for part in dict.fromkeys((typed, *sorted(words, key=len, reverse=True))):
        if len(part) >= _LEAST_CHARS:
            yield part


def _likeness(typed: str, name: str) -> float:
    return SequenceMatcher(None, fold(typed), fold(name)).ratio()


def unknown_names(condition: Filter | None, completer: VaultCompleter) -> Iterator[str]:
    """Yield a sentence for each tag and property of a filter that no note has, with the one most like it."""
    for leaf in dict.fromkeys(leaves(condition)):
        match leaf:
            case Tag(name):
                yield from _unknown("tag", name.strip("#/"), completer)
            case (
                HasProperty(name)
                | PropertyNull(name)
                | PropertyEquals(name=name)
                | PropertyCompare(name=name)
            ):
                yield from _unknown("property", name, completer)


def _unknown(kind: Literal["tag", "property"], name: str, completer: VaultCompleter) -> Iterator[str]:
    known = {fold(item["text"]): item["text"] for item in completer.complete(kind, "", NAMES_COMPARED)}
    if not known or fold(name) in known or len(known) == NAMES_COMPARED:
        return
    close = get_close_matches(fold(name), known, 1, LEAST_SPELLING)
    meant = f"; did you mean {quote(known[close[0]])}?" if close else ""
    yield f"no note has the {kind} {quote(name)}{meant}"
