"""SQLite patterns that match every text that could contain a word, and few other texts.

Texts are compared in folded form but stored as written, and SQLite folds ASCII only. ``Straße`` folds to
``strasse``, the Kelvin sign to ``k``, a ligature to ``fi``, and decomposed letters to composed ones. So a
pattern searches for a run of letters that every spelling of the word contains unchanged, or for one of the
rare characters that may replace a part of this run. Matching rows must be compared exactly afterwards.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from vaultseek.base.text import fold, is_unspaced
from vaultseek.content.query.normal_forms import VERSION_WORD

FOLDED_RANGES = (
    range(0x80, 0x3001),
    range(0xA640, 0xABC0),
    range(0xF900, 0x12000),
    range(0x16E40, 0x16EC0),
    range(0x1D000, 0x1D200),
    range(0x1E900, 0x1E960),
    range(0x2F800, 0x2FA20),
)
"""Ranges beyond ASCII that contain all characters which fold to other characters."""
_LEAST = 2
"""Minimum length of a run of letters for which a pattern is useful, except in unspaced scripts."""
_FOREIGN = 4
"""Maximum number of non-ASCII letters in one pattern; each letter may need further patterns for its other
forms."""
_CERTAIN = 3
"""Minimum number of certain letters in a run for its other letters to become wildcards."""


@dataclass(frozen=True, slots=True)
class Prefilter:
    """A condition on an SQL expression; every text that contains the word satisfies it."""

    patterns: tuple[tuple[str, str], ...]

    def sql(self, expression: str) -> str:
        """Return the condition on ``expression``, which must never contain untrusted text."""
        return "(" + " OR ".join(f"{expression} {operator} ?" for operator, _ in self.patterns) + ")"

    @property
    def values(self) -> tuple[str, ...]:
        """The values to bind to the condition, in order."""
        return tuple(value for _, value in self.patterns)


@lru_cache(maxsize=256)
def prefilter(text: str, *, is_path: bool = False) -> Prefilter | None:
    """Return a condition that every text containing ``text`` satisfies; None if no pattern exists.

    The texts are compared in folded form. With ``is_path``, they are paths, which have no markup between
    words.
    """
    pattern = _PATH_LETTERS if is_path and text.isascii() else _LETTERS
    runs = [
        run if run.isascii() else run[:_FOREIGN] for run in pattern.findall(_VERSION_SIGN.sub("", fold(text)))
    ]
    runs = [run for run in runs if _is_settled(run) and (len(run) >= _LEAST or is_unspaced(run))]
    if not runs:
        return None
    run = max(runs, key=lambda run: (sum(map(_is_certain, run)), len(run)))
    beginnings: list[str] = []
    if any(map(_is_certain, run)):
        first, hidden = _like(run)
        # The text may be one of several passages, and the next passage may begin inside the run.
        if is_unspaced(run):
            beginnings = [_like(run[:size])[0][1].removesuffix("%") for size in range(1, len(run))]
    else:
        letters = "".join(f"[{letter}{_origins().get(letter, '')}]" for letter in run)
        first, hidden = ("GLOB", f"*{letters}*"), []
    others = dict.fromkeys([*hidden, *_parts(run), *_marks(run)])
    contained = (f"%{character}%" for character in others)
    return Prefilter((first, *(("LIKE", pattern) for pattern in (*beginnings, *contained))))


# A Greek iota may have been written as a mark below another letter.
_LETTERS = re.compile(r"[^\W_ι]+")
# A version may have been written without the word or letter before it.
_VERSION_SIGN = re.compile(rf"(?<![^\W_]){VERSION_WORD}(?=[0-9]+\.[0-9])")
_PATH_LETTERS = re.compile("[a-z0-9][a-z0-9/ ]*")


def _is_settled(run: str) -> bool:
    """Return true if the first letter of ``run`` cannot compose with any character before it."""
    return not any(map(unicodedata.combining, run))


def _is_certain(letter: str) -> bool:
    """Return true if SQL's LIKE finds every written form of the letter. LIKE ignores case only in ASCII."""
    if letter.isascii():
        return len(_origins().get(letter, "")) < 2
    return letter.upper() == letter


def _like(run: str) -> tuple[tuple[str, str], list[str]]:
    """Return a LIKE pattern with a wildcard for each uncertain letter, and the forms that this pattern
    misses."""
    blank = sum(map(_is_certain, run)) >= _CERTAIN
    hidden: list[str] = []
    pattern = ""
    for letter in run:
        origins = _origins().get(letter, "")
        if letter == " ":  # stands for any white space
            pattern += "%"
        elif _is_certain(letter) or (letter.isascii() and not blank):
            pattern += letter
            hidden += [character for character in origins if character != letter.upper()]
        else:
            pattern += "_"
    return ("LIKE", f"%{pattern}%"), hidden


def _marks(run: str) -> Iterator[str]:
    """Yield the combining marks that a decomposed letter of the run may have after its base letter."""
    for letter in run:
        for mark in unicodedata.normalize("NFD", letter)[1:]:
            yield mark
            yield from _origins().get(mark, "")
            yield from (character for character, folded in _expanding() if mark in folded)


def _parts(run: str) -> Iterator[str]:
    """Yield the characters that fold to several letters and may overlap the run."""
    for character, folded in _expanding():
        if run in folded or folded in run or _overlap(run, folded) or _overlap(folded, run):
            yield character


def _overlap(left: str, right: str) -> bool:
    return any(left.endswith(right[:size]) for size in range(1, len(right)))


@lru_cache(maxsize=1)
def _origins() -> dict[str, str]:
    """Return, for each folded letter, the other characters that fold to it; for an ASCII letter, also its
    capital."""
    origins = {letter: letter.upper() for letter in map(chr, range(ord("a"), ord("z") + 1))}
    for character, folded in _folding():
        if len(folded) == 1:
            origins[folded] = origins.get(folded, "") + character
    return origins


@lru_cache(maxsize=1)
def _expanding() -> tuple[tuple[str, str], ...]:
    return tuple((character, folded) for character, folded in _folding() if len(folded) > 1)


@lru_cache(maxsize=1)
def _folding() -> Sequence[tuple[str, str]]:
    """Return every character that folds to another text, and that text."""
    characters = (chr(number) for numbers in FOLDED_RANGES for number in numbers)
    folded = ((character, fold(character)) for character in characters if not _is_settled_alone(character))
    return [(character, text) for character, text in folded if text != character]


def _is_settled_alone(character: str) -> bool:
    """Return true for most characters that fold to themselves. This is faster than folding every
    character."""
    return (
        character.casefold() == character
        and not character.isspace()
        and unicodedata.is_normalized("NFC", character)
    )
