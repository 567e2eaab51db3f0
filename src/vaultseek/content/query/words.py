"""The words of a query without their order, by which one is the same as another, and notes pinned to them."""

import re

from vaultseek.base.model import JSON
from vaultseek.base.text import fold
from vaultseek.content.languages.stopwords import STOP_WORDS

PIN = "pin"
"""Property with the queries for which a note comes first."""


def words_of(text: str) -> str:
    """Return the words of a query, folded and in the order of the alphabet, without stop words unless there
    are no others: the same for every query that says the same with the same words."""
    words = set(re.findall(r"\w+", fold(text)))
    return " ".join(sorted(words - STOP_WORDS or words))


def pinned_name(text: str) -> str:
    """Return the name that notes pinned to a query have among all names; no title and no alias is like it."""
    words = words_of(text)
    return f"{PIN}\x1f{words}" if words else ""


def pinned_names(properties: JSON) -> set[str]:
    """Return the names of a note by the queries that it is pinned to."""
    value = properties.get(PIN)
    values = value if isinstance(value, list) else [value]
    return {pinned_name(str(each)) for each in values if isinstance(each, str | int | float)}
