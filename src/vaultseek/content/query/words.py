"""The unordered words of a query, by which equal queries are recognized, and the notes pinned to a query."""

import re

from vaultseek.base.model import JSON
from vaultseek.base.text import fold
from vaultseek.content.languages.stopwords import STOP_WORDS

PIN = "pin"
"""Property that lists the queries for which a note comes first."""


def words_of(text: str) -> str:
    """Return the folded, sorted words of a query. Stop words are left out unless there are no other words.

    Queries with the same words give the same result.
    """
    words = set(re.findall(r"\w+", fold(text)))
    return " ".join(sorted(words - STOP_WORDS or words))


def pinned_name(text: str) -> str:
    """Return the internal name of notes pinned to a query; no title or alias can equal it."""
    words = words_of(text)
    return f"{PIN}\x1f{words}" if words else ""


def pinned_names(properties: JSON) -> set[str]:
    """Return the internal names of a note for the queries that it is pinned to."""
    value = properties.get(PIN)
    values = value if isinstance(value, list) else [value]
    return {pinned_name(str(each)) for each in values if isinstance(each, str | int | float)}
