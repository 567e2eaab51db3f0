"""Profile a query: find its identifiers and words, and derive the weights of the two searches.

**Specificity** is the share of identifiers (``D40``, ``snake_case``, ``30 CFR 75.1725``) and dates among the
meaningful words. The keyword search is better at exact names. In the profile ``auto``, only specificity
decides. Queries without specific words begin with equal weights; the word matches later adjust these weights.
In the profile ``length``, the weight of the semantic search grows with the number of words, and specificity
can only reduce it. In both profiles, the ``alpha`` for linear fusion depends only on specificity.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from vaultseek.base.text import UNSPACED, fold
from vaultseek.content.languages.stopwords import STOP_WORDS
from vaultseek.content.query.dates import find_dates
from vaultseek.content.query.grammar import Query
from vaultseek.errors import BadQuery


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the semantic and the keyword search for rank fusion, and the semantic share ``alpha`` for
    linear fusion.
    """

    semantic: float
    keyword: float
    alpha: float


SHORT_WORDS = 2
MIDDLE_WORDS = 5
SHORT = (0.5, 1.5)
MIDDLE = (1.0, 1.0)
LONG = (1.5, 0.5)
"""Weights of the semantic and the keyword search for queries of more than ``MIDDLE_WORDS`` words. ``SHORT``
is for queries of up to ``SHORT_WORDS`` words, ``MIDDLE`` for those in between."""

SPECIFIC = 0.5
MIXED = 0.2
SPECIFIC_ALPHA = 0.3
MIXED_ALPHA = 0.5
PLAIN_ALPHA = 0.7
"""``alpha`` for queries with a specificity of ``MIXED`` or less. ``SPECIFIC_ALPHA`` is for queries above
``SPECIFIC``, ``MIXED_ALPHA`` for those in between."""


FIXED_PROFILES: Mapping[str, Weights] = {
    "code": Weights(0.7, 1.3, 0.35),
    "conceptual": Weights(1.5, 0.5, 0.75),
    "balanced": Weights(1.0, 1.0, 0.5),
}
"""Profiles with fixed weights that a request may choose instead of an adaptive one."""
ADAPTIVE_PROFILES = ("auto", "length")


@dataclass(frozen=True, slots=True)
class Profile:
    """Features of a query, and the weights that result from them.

    ``words`` is the number of all words; in scripts without spaces, two characters count as a word.
    ``specificity`` is from 0 to 1. ``anchors`` are folded strings that boost the notes containing them:
    identifiers, the ISO form of dates in words, quoted phrases, and the only word of a query.
    ``pure_identifier`` is true for a query with only identifiers, for which embeddings do not help.
    """

    name: str
    words: int
    identifiers: tuple[str, ...]
    anchors: tuple[str, ...]
    specificity: float
    pure_identifier: bool
    weights: Weights = field(default=FIXED_PROFILES["balanced"])


def profile_query(query: Query, name: str = "auto") -> Profile:
    """Return the profile of ``query``; its weights depend on the query only if the profile ``name`` is
    adaptive.

    Raises BadQuery for a name that is neither in :data:`ADAPTIVE_PROFILES` nor in :data:`FIXED_PROFILES`.
    """
    if name not in ADAPTIVE_PROFILES and name not in FIXED_PROFILES:
        known = ", ".join((*ADAPTIVE_PROFILES, *FIXED_PROFILES))
        raise BadQuery(f"unknown profile {name[:40]!r}; use one of {known}")
    text = plain_hyphens(query.rank_text)
    spans = find_identifiers(text)
    written = [each for each in find_dates(text) if not any(low <= each.start < high for low, high in spans)]
    dates = dict.fromkeys(day for each in written for day in each.days)
    rest = query.rank_text
    for start, end in (*spans, *((each.start, each.end) for each in written)):
        rest = rest[:start] + " " * (end - start) + rest[end:]
    exact = len(spans) + len(written)
    meaningful = count_words(rest) - sum(fold(word) in STOP_WORDS for word in _WORD.findall(rest))
    specificity = exact / (exact + meaningful) if exact else 0.0
    words = count_words(query.rank_text)
    names = tuple(dict.fromkeys(text[start:end] for start, end in spans))
    adaptive, weights = _by_length(words, specificity) if name == "length" else _by_specificity(specificity)
    return Profile(
        name=adaptive if name in ADAPTIVE_PROFILES else name,
        words=words,
        identifiers=names,
        anchors=_anchors(query, (*names, *dates)),
        specificity=specificity,
        pure_identifier=bool(spans) and not dates and not count_words(rest),
        weights=weights if name in ADAPTIVE_PROFILES else FIXED_PROFILES[name],
    )


def find_identifiers(text: str) -> list[tuple[int, int]]:
    """Return the character ranges of the identifiers in ``text``, in order and without overlaps.

    Identifiers are letter and digit codes (``D40``, ``E-4107``), references of several words (``30 CFR
    75.1725``), ``snake_case``, ``camelCase``, ``CamelCase``, dotted names, calls and ``::`` names, versions,
    ISO dates, ISBNs and other long numbers, ``#1234`` and ``#tag``, UUIDs and hashes, paths, file names and
    addresses.
    """
    spaced = _UNSPACED_CHAR.sub(" ", text)
    return [match.span() for match in _IDENTIFIER.finditer(spaced) if _is_identifier(match[0], spaced)]


def plain_hyphens(text: str) -> str:
    """Return ``text`` with ``-`` in place of non-breaking hyphens; its length stays the same."""
    return text if text.isascii() else text.translate(_HYPHENS)


def count_words(text: str) -> int:
    """Return the number of words separated by white space; in unspaced scripts, two characters count as a
    word.
    """
    unspaced = len(_UNSPACED_CHAR.findall(text))
    return len(_WORD.findall(_UNSPACED_CHAR.sub(" ", text))) + (unspaced + 1) // 2


_HYPHENS = str.maketrans("\u2010\u2011", "--")
_UNSPACED_CHAR = re.compile(f"[{UNSPACED}]")
_WORD = re.compile(r"[^\W_](?:[\w'’.\-/]*[^\W_])?")
_UNITS = (
    "[kcmµ]?m[²³]?|[kmµ]?g|[cdm]?l|[kM]?Wh?|[kMG]?Hz|[kMGT]i?B|[mk]?V|m?Ah?|[kMG]?Ω|°[CF]|[kM]?Pa|Nm?|%|‰|€"
)
"""Units that are always written after a number."""
_FORMS = (
    r"[a-z][a-z0-9+.\-]*://\S+",  # address
    r"(?:[A-Za-z]:|[~.]{1,2})[\\/][\w.\-]+(?:[\\/][\w.\-]+)*[\\/]?|(?:/[\w.\-]+){2,}/?",  # path from a root
    r"\w[\w.\-]*(?:/[\w.\-]+)+\.\w{1,8}",  # path to a file
    r"\w[\w.\-]*(?:/[\w.\-]+){2,}/?",  # path with at least three parts
    r"[0-9]{1,3}\s[A-Z][A-Z.]{1,7}\s§?\s?[0-9][\w.\-]*(?:\([a-z0-9]{1,4}\))*",  # 30 CFR 75.1725
    r"§\s?[0-9][\w.\-]*",
    r"[A-Z]{2,8}\s[0-9]{1,6}(?:[.\-][0-9A-Za-z]+)*",  # RFC 2616
    rf"(?<!.)[0-9]+(?:[.,][0-9]+)*\s?(?:{_UNITS})(?!.)",  # the whole query is 5 mg
    r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",  # UUID
    r"[0-9]{4}-(?:0[1-9]|1[0-2])(?:-[0-9]{2})?",  # ISO date
    r"[0-9]+(?:-[0-9]+){2,}(?:-[Xx])?|[0-9]{5,}-[0-9]+|[0-9]+-[0-9]{5,}",  # 978-3-16-148410-0, 030-1234567
    r"[0-9]{9}[Xx]|[0-9]{5,}",  # 9783161484100
    r"(?<!.)(?!19|20)[0-9]{4}(?!.)",  # the whole query is 4380, but not a year
    r"(?<!.)(?=(?:[^0-9]*[0-9]){6})(?![0-9]{1,2}[/-][0-9]{1,2}[/-])"
    r"(?:\+|0)[0-9]+(?: *[ /()-] *[0-9]+)+(?!.)",  # the whole query is 030/555-7812, but not a date
    r"#[\w\-/]+",
    r"[A-Za-z_]\w*(?:(?:::|->)\w+)+(?:\(\))?",  # std::vector
    r"[A-Za-z_][\w.]*\(\)",  # main()
    r"[A-Za-z](?:\+\+|#)",  # C++
    r"v?[0-9]+(?:\.[0-9]+)+(?:-?[a-z]+[0-9]*)?(?:\([a-z0-9]{1,4}\))*",  # 75.1725, v1.2.3-rc1
    r"[A-Za-z_]\w+(?:\.\w{2,})+|[A-Z]\.[0-9]+",  # os.path.join, H.264
    r"(?=\w*[^\W_]_+[^\W_])\w++|__\w++|_[a-z]\w++",  # snake_case
    r"[A-Za-z]{1,10}[0-9]*(?:-[A-Za-z]{1,5})?-[0-9]+(?!s\b)[A-Za-z]?(?:-\w+|[./][0-9]+)*",  # E-4107, HDMI-2.1
    r"[A-Z]{1,6}-?[0-9][A-Z0-9]*(?:[\-/][A-Z0-9]+|\.[0-9]+)*|[A-Z]{1,6}[0-9]+[a-z]+[0-9]+",  # D40, K8S, M8x40
    r"[0-9]{1,4}[A-Z]{1,4}-?[0-9][A-Z0-9]*(?:[\-/][A-Z0-9]+)*",  # 74HC595, 9X-77C
    r"[a-z]{1,8}[0-9]+[a-z0-9]*(?:[./][0-9]+)*",  # utf8, a1/12
    r"0x[0-9A-Fa-f]+|(?=[0-9a-f]*[0-9])(?=[0-9a-f]*[a-f])[0-9a-f]{7,40}",  # hexadecimal
    r"[a-z]+(?:[A-Z][a-z0-9]*)+",  # camelCase
    r"(?:[A-Z][a-z0-9]+){2,}[A-Z]?",  # CamelCase
)
_PARTS = re.compile(r"[\s\-]")
_LONG_NUMBER = re.compile(r"(?!(?:19|20)[0-9]{2}\b)[0-9]{3}")
"""Pattern for a number that is longer than a usual count, and is not a year."""
_IDENTIFIER = re.compile(r"(?<![\w/])(?:" + "|".join(f"(?:{form})" for form in _FORMS) + r")(?![\w/])")


def _is_identifier(written: str, text: str) -> bool:
    """True for a real identifier; False for a stop word before a number, as in ``IN 1999``.

    In capitals, unless the whole text is, a stop word may begin an identifier: ``A-12``, ``UN 1203``.
    """
    first, *rest = _PARTS.split(written, maxsplit=1)
    if not rest or fold(first) not in STOP_WORDS:
        return True
    is_code = first.isupper() and ("-" in written or bool(_LONG_NUMBER.match(rest[0])))
    return is_code and (written == text.strip() or not text.isupper())


def _anchors(query: Query, names: tuple[str, ...]) -> tuple[str, ...]:
    words = query.rank_text.split()
    lone = words if len(words) == 1 and fold(words[0]) not in STOP_WORDS else []
    return tuple(dict.fromkeys(map(fold, (*names, *query.phrases, *lone))))


def _by_length(words: int, specificity: float) -> tuple[str, Weights]:
    name, by_length = (
        ("short", SHORT)
        if words <= SHORT_WORDS
        else ("middle", MIDDLE)
        if words <= MIDDLE_WORDS
        else ("long", LONG)
    )
    by_query, weights = _by_specificity(specificity)
    if by_query == "plain":
        return name, Weights(*by_length, PLAIN_ALPHA)
    lower = min(by_length, (weights.semantic, weights.keyword), key=lambda pair: pair[0] - pair[1])
    return by_query, Weights(*lower, weights.alpha)


def _by_specificity(specificity: float) -> tuple[str, Weights]:
    if specificity > SPECIFIC:
        return "specific", Weights(*SHORT, SPECIFIC_ALPHA)
    if specificity > MIXED:
        return "mixed", Weights(*MIDDLE, MIXED_ALPHA)
    return "plain", Weights(*MIDDLE, PLAIN_ALPHA)
