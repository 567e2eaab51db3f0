"""Compare two words that have the same stem: forms of one word, derived from each other, or unrelated.

*query* and *queries* have the same stem, but so do *polite* and *political*. Only English has rules for its
endings; in other languages, forms of a word may differ by their last two letters.
"""

from functools import lru_cache
from itertools import product

FORM_CHARS = 2
"""Number of final letters by which two forms of a word may differ, in languages other than English."""
BASE_CHARS = 2
"""Minimum number of letters that must remain when an ending is removed from a word."""
CACHED_WORDS = 4096
"""Number of words whose possible base forms and roots are kept in memory."""
_ENGLISH = ("en", "")
"""Languages in which words have English endings; "" means that a note's language is unclear."""
_ENGLISH_ENDINGS = (
    ("s", ""), ("es", ""), ("ies", "y"), ("d", ""), ("ed", ""), ("ied", "y"), ("ing", ""), ("ing", "e"),
)  # fmt: skip
"""Endings of English words, with their replacements in the base form."""
_ENGLISH_DERIVATIONS = (
    "able", "al", "ance", "ation", "ence", "er", "ful", "ible", "ic", "ion", "ive", "less", "ly", "ment",
    "ness", "or", "ous",
)  # fmt: skip
"""Endings with which English derives words of nearly the same meaning."""


def distinguishes_words(language: str) -> bool:
    """True if unrelated words with the same stem are recognised in this language.

    In other languages, most words with the same stem are forms of one word, and their endings are long.
    """
    return language in _ENGLISH


def is_form(one: str, other: str, language: str) -> bool:
    """True if two folded words with the same stem are forms of one word: they differ only by an ending in
    this language.
    """
    if one == other or not (one.isalpha() and other.isalpha()):
        return True
    if language in _ENGLISH:
        return not _english_bases(one).isdisjoint(_english_bases(other))
    longer, shorter = max(one, other, key=len), min(one, other, key=len)
    return shorter.startswith(longer[: len(longer) - FORM_CHARS])


def is_derived(one: str, other: str) -> bool:
    """True if one of two English words is derived from the other: *install* and *installation*."""
    pairs = ((one, other), (other, one))
    return any(not _english_bases(each).isdisjoint(_english_roots(derived)) for each, derived in pairs)


@lru_cache(maxsize=CACHED_WORDS)
def _english_roots(word: str) -> frozenset[str]:
    """Return the words from which an English word may be derived."""
    roots = set[str]()
    for base, ending in product(_english_bases(word), _ENGLISH_DERIVATIONS):
        root = base.removesuffix(ending)
        if root != base and len(root) > BASE_CHARS:
            roots |= {root, f"{root}e", f"{root}y", f"{root[:-1]}y"}  # create, economy, happy
    return frozenset(roots)


@lru_cache(maxsize=CACHED_WORDS)
def _english_bases(word: str) -> frozenset[str]:
    """Return the word and its possible base forms."""
    bases = {word}
    for ending, instead in _ENGLISH_ENDINGS:
        base = word.removesuffix(ending)
        if base != word and len(base) >= BASE_CHARS:
            bases.add(base + instead)
            if ending in ("ed", "ing") and base[-1] == base[-2]:
                bases.add(base[:-1])  # as in planned, planning
    return frozenset(bases)
