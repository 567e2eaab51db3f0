"""Find syllables in scripts that have no spaces between words.

A syllable is one consonant with its marks, or one character. In Thai, Lao, Burmese and Khmer, vowels and
tones are marks before, above, below and after a consonant; a mark alone means nothing. In Chinese, Japanese
and Korean, every character counts as a syllable.
"""

import re
from functools import cache

from vaultseek.base.text import SYLLABIC, UNSPACED

_MOST_MARKS = 8
"""Maximum number of marks in one syllable. A longer run of marks is not normal text."""
_THAI_AND_LAO = (
    "[\u0e40-\u0e44\u0ec0-\u0ec4]?[\u0e01-\u0e2e\u0e81-\u0eae\u0edc-\u0edf]"
    f"[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd]{{0,{_MOST_MARKS}}}"
    "[\u0e30\u0e32\u0e45\u0eb0\u0eb2\u0ebd]{0,2}"
)
_BURMESE_MARKS = f"(?:\u1039[\u1000-\u102a]|[\u102b-\u1038\u103a-\u103e\u1056-\u1059]){{0,{_MOST_MARKS}}}"
_BURMESE = f"[\u1000-\u102a\u103f]{_BURMESE_MARKS}(?:[\u1000-\u1021](?=\u1037?\u103a){_BURMESE_MARKS}){{0,2}}"
_KHMER = f"[\u1780-\u17b3](?:\u17d2[\u1780-\u17b3]|[\u17b4-\u17d1\u17d3\u17dd]){{0,{_MOST_MARKS}}}"

_OF_CONSONANT = f"{_THAI_AND_LAO}|{_BURMESE}|{_KHMER}"
SYLLABLE = f"(?>{_OF_CONSONANT}|[{UNSPACED}])"
"""Pattern for one syllable in any of these scripts; it is atomic, because a shorter match would split off
marks."""

_SYLLABIC = re.compile(f"[{SYLLABIC}]")
# Also match a last syllable by itself; otherwise the search would continue among its marks.
_PAIR = f"({SYLLABLE})(?=({SYLLABLE})|)"
_UNSPACED_PAIR = f"([{UNSPACED}])(?=([{UNSPACED}]))"
_compiled = cache(re.compile)
"""Function that compiles a pattern when it is first needed, because few notes use these scripts and their
patterns compile slowly."""


def space_pairs(text: str) -> str:
    """Replace each run of syllables in ``text`` with its overlapping pairs: ``abc`` becomes ``ab bc c``."""
    pattern = _compiled(_PAIR if _SYLLABIC.search(text) else _UNSPACED_PAIR)
    return pattern.sub(r"\1\2 ", text)


def first_syllable(pair: str) -> str:
    """Return the first syllable of ``pair``, a string that begins with a syllable."""
    match = _compiled(SYLLABLE).match(pair)
    return match[0] if match else pair[:1]


def syllable_pairs(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Return the ranges of the syllable pairs that begin between ``start`` and ``end``; a syllable that no
    other follows gets a range of its own.
    """
    pairs = []
    syllable = _compiled(SYLLABLE)
    for match in syllable.finditer(text, start, end):
        following = syllable.match(text, match.end())
        pairs.append((match.start(), following.end() if following else match.end()))
    return pairs


def has_syllables(text: str) -> bool:
    """True if the text contains Thai, Lao, Burmese or Khmer."""
    return not text.isascii() and _SYLLABIC.search(text) is not None


def count_syllables(text: str) -> int:
    """Return the number of Thai, Lao, Burmese and Khmer syllables in ``text``."""
    return sum(1 for _ in _compiled(_OF_CONSONANT).finditer(text))
