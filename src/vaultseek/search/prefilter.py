"""Finding texts that could contain a word without reading them: SQLite patterns that miss none.

Texts are compared folded but stored as written, and SQLite folds ASCII only. ``Straße`` folds to ``strasse``,
the Kelvin sign to ``k``, a ligature to ``fi``, and decomposed letters become composed ones. A pattern
therefore asks for a run of letters whose origins are known, or for one of the rare characters that could
stand for part of it. What it lets through has to be compared properly afterwards.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from vaultseek.text import fold, is_unspaced

_FOLDED_PLANES = (range(0x80, 0x20000), range(0x2F800, 0x2FA20))
"""Beyond ASCII, only here do characters fold to others."""
_LEAST = 2
_FOREIGN = 4
"""Letters beyond ASCII that a pattern asks for; each may need further patterns for its other forms."""
_CERTAIN = 3


@dataclass(frozen=True, slots=True)
class Superset:
    """A condition on an SQL expression that every text satisfies which holds the word; ``values`` bind it."""

    patterns: tuple[tuple[str, str], ...]

    def sql(self, expression: str) -> str:
        """The condition; ``expression`` is SQL of ours."""
        return "(" + " OR ".join(f"{expression} {operator} ?" for operator, _ in self.patterns) + ")"

    @property
    def values(self) -> tuple[str, ...]:
        """What to bind, in order."""
        return tuple(value for _, value in self.patterns)


@lru_cache(maxsize=256)
def superset(text: str) -> Superset | None:
    """The condition for texts whose folded form holds the folded ``text``; None if nothing can be asked."""
    runs = [run if run.isascii() else run[:_FOREIGN] for run in _LETTERS.findall(fold(text))]
    runs = [run for run in runs if _is_settled(run) and (len(run) >= _LEAST or is_unspaced(run))]
    if not runs:
        return None
    run = max(runs, key=lambda run: (sum(map(_is_certain, run)), len(run)))
    first, hidden = _like(run) if any(map(_is_certain, run)) else _glob(run)
    others = dict.fromkeys([*hidden, *_parts(run), *_marks(run)])
    return Superset((first, *(("LIKE", f"%{character}%") for character in others)))


# A Greek iota may have been written as a mark under another letter.
_LETTERS = re.compile(r"[^\W_ι]+")


def _is_settled(run: str) -> bool:
    """Whether nothing in front of the run can have been joined to its first letter."""
    return not any(map(unicodedata.combining, run))


def _is_certain(letter: str) -> bool:
    """Whether LIKE, which knows the case of ASCII only, finds the letter however it is written."""
    if letter.isascii():
        return len(_origins().get(letter, "")) < 2
    return letter.upper() == letter


def _like(run: str) -> tuple[tuple[str, str], list[str]]:
    """A pattern with any character where LIKE cannot tell, and what else a letter of it may be written as."""
    blank = sum(map(_is_certain, run)) >= _CERTAIN
    hidden: list[str] = []
    pattern = ""
    for letter in run:
        origins = _origins().get(letter, "")
        if _is_certain(letter) or (letter.isascii() and not blank):
            pattern += letter
            hidden += [character for character in origins if character != letter.upper()]
        else:
            pattern += "_"
    return ("LIKE", f"%{pattern}%"), hidden


def _glob(run: str) -> tuple[tuple[str, str], list[str]]:
    return ("GLOB", "*" + "".join(f"[{letter}{_origins().get(letter, '')}]" for letter in run) + "*"), []


def _marks(run: str) -> Iterator[str]:
    """What stands in a text beside the base letter where a letter of the run is written in pieces."""
    for letter in run:
        for mark in unicodedata.normalize("NFD", letter)[1:]:
            yield mark
            yield from _origins().get(mark, "")
            yield from (character for character, folded in _several() if mark in folded)


def _parts(run: str) -> Iterator[str]:
    """Characters that fold to several, of which some could be the run, a part of it, or reach into it."""
    for character, folded in _several():
        if run in folded or folded in run or _overlap(run, folded) or _overlap(folded, run):
            yield character


def _overlap(left: str, right: str) -> bool:
    return any(left.endswith(right[:size]) for size in range(1, len(right)))


@lru_cache(maxsize=1)
def _origins() -> dict[str, str]:
    """For a folded letter, the other characters that fold to it alone; for ASCII, also its capital."""
    found = {letter: letter.upper() for letter in map(chr, range(ord("a"), ord("z") + 1))}
    for character, folded in _changed():
        if len(folded) == 1:
            found[folded] = found.get(folded, "") + character
    return found


@lru_cache(maxsize=1)
def _several() -> tuple[tuple[str, str], ...]:
    return tuple((character, folded) for character, folded in _changed() if len(folded) > 1)


def _changed() -> Iterable[tuple[str, str]]:
    for plane in _FOLDED_PLANES:
        for character in map(chr, plane):
            if 0xD800 <= ord(character) < 0xE000:
                continue
            folded = fold(character)
            if folded != character:
                yield character, folded
