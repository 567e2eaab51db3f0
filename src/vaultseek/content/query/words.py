"""Reduce a query to its unordered words, to recognize equal queries and to find the notes pinned to a
query.
"""

import re

from vaultseek.base.model import JSON
from vaultseek.base.text import fold
from vaultseek.content.languages.stopwords import STOP_WORDS

PIN = "pin"
"""Property that lists the queries for which a note should come first."""


def words_of(text: str) -> str:
    """Return the words of a query, folded and sorted. Stop words are left out unless there are no other
    words.

    Queries with the same words give the same result.
    """
    words = set(re.findall(r"\w+", fold(text)))
    return " ".join(sorted(words - STOP_WORDS or words))


def pinned_name(text: str) -> str:
    """Return the internal name of notes pinned to the query ``text``; no title or alias can equal this
    name.
    """
    words = words_of(text)
    return f"{PIN}\x1f{words}" if words else ""


def pinned_names(properties: JSON) -> set[str]:
    """Return the internal names for the queries to which a note with these properties is pinned."""
    value = properties.get(PIN)
    values = value if isinstance(value, list) else [value]
    return {pinned_name(str(each)) for each in values if isinstance(each, str | int | float)}
