"""Match typed text against many names, best matches first.

Matches are sorted by grade, then by the rank of the name. The folded names form one string, best rank first,
so a search of that string finds the best matches first and can stop early. There are four grades: the name
begins with the typed text; a word in the name begins with it; the name contains it; the name contains its
letters in order, with at most one typo. Each grade is tried only if the better grades gave too few matches.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator
from heapq import merge
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from vaultseek.base.model import JSON
from vaultseek.base.text import fold

FUZZY_LETTERS = 40
"""Maximum length, in letters, of typed text in which one wrong letter is tolerated.

To allow for a typo, the search is repeated once without each letter.
"""
COMPLETION_FUZZY = 2_000
"""Maximum number of names in which the order of the typed letters is checked. Names that lack any of the
letters are skipped and not counted."""
GRADES = 4
"""Number of match grades."""

Masks = npt.NDArray[np.uint64]


class Entry(NamedTuple):
    """A possible completion: ``text`` is matched and displayed, ``more`` holds further fields for the
    answer.
    """

    text: str
    weight: float = 0.0
    more: JSON = MappingProxyType({})  # type: ignore[assignment]
    note: int = 0


class NoteName(NamedTuple):
    """Name of a note as a completion. With ``line``, it is the name of a heading or block in the note."""

    text: str
    path: str
    title: str
    note: int
    source: str | None = None
    """Kind of name: name, title, alias or path."""
    line: int | None = None
    level: int | None = None

    @property
    def weight(self) -> float:
        """Weight for ranking the entry; constant, because all names count equally."""
        return 0.0

    @property
    def more(self) -> JSON:
        """Fields of the completion in an answer, other than its text."""
        fields = {"path": self.path, "title": self.title, "is": self.source, "line": self.line}
        return {name: value for name, value in (*fields.items(), ("level", self.level)) if value is not None}


Named = Entry | NoteName


class Match(NamedTuple):
    """A matching entry with its grade: 0 prefix, 1 prefix of a word, 2 substring, 3 letters in order."""

    grade: int
    entry: Named


class Completer:
    """Completion from a fixed set of entries. Matches are sorted by grade, then by weight, then by length,
    shorter first.
    """

    def __init__(self, entries: Iterable[Named]) -> None:
        pairs = [(fold(entry.text), entry) for entry in entries]
        self._rank([folded for folded, _ in pairs], [entry for _, entry in pairs])

    def __len__(self) -> int:
        return len(self._entries)

    def merged(self, entries: Iterable[Named], without: Collection[int]) -> Completer:
        """Return a completer with these entries added, and without the entries of the notes in
        ``without``.
        """
        folded = self._text[1:-1].split("\n") if self._entries else []
        pairs = [pair for pair in zip(folded, self._entries, strict=True) if pair[1].note not in without]
        pairs += [(fold(entry.text), entry) for entry in entries]
        other = object.__new__(Completer)
        other._rank([folded for folded, _ in pairs], [entry for _, entry in pairs])
        return other

    def complete(
        self, typed: str, limit: int, without: Collection[int] = (), grades: int = GRADES
    ) -> list[Match]:
        """Return the ``limit`` entries that best match the typed text or, without typed text, have the
        highest weights.

        Entries of the notes in ``without`` are left out. Only the first ``grades`` match grades are used.
        """
        matches: dict[int, Match] = {}
        for grade, numbers in enumerate(islice(self._grades(fold(typed)), grades)):
            for number in numbers:
                if len(matches) == limit:
                    return list(matches.values())
                entry = self._entries[number]
                if number not in matches and entry.note not in without:
                    matches[number] = Match(grade, entry)
        return list(matches.values())

    def _rank(self, folded: list[str], entries: list[Named]) -> None:
        numbers = _ranked(folded, entries)
        self._entries = [entries[number] for number in numbers]
        names = [folded[number] for number in numbers]
        self._text = "\n".join(["", *names, ""])
        lengths = np.fromiter(map(len, names), np.int64, len(names))
        starts = np.cumsum(lengths + 1) - lengths
        self._starts = array("q", starts.tobytes())
        self._masks = np.bitwise_or.reduceat(_bits(self._text), starts) if names else np.zeros(0, np.uint64)

    def _grades(self, folded: str) -> Iterator[Iterator[int]]:
        if not folded:
            yield iter(range(len(self._entries)))
            return
        yield self._containing(f"\n{folded}")
        yield self._with_word(folded)
        yield self._containing(folded)
        yield self._fuzzy(folded.replace(" ", ""))

    def _containing(self, part: str) -> Iterator[int]:
        at = self._text.find(part)
        while at >= 0:
            number = self._number(at + (part[0] == "\n"))
            yield number
            if number + 1 == len(self._starts):
                return
            at = self._text.find(part, self._starts[number + 1] - 1)

    def _with_word(self, beginning: str) -> Iterator[int]:
        text, at = self._text, self._text.find(beginning)
        while at >= 0:
            if not text[at - 1].isalnum():
                yield self._number(at)
            at = text.find(beginning, at + 1)

    def _number(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1

    def _fuzzy(self, letters: str) -> Iterator[int]:
        numbers = self._in_order(letters)
        if (first := next(numbers, None)) is not None:
            yield first
            yield from numbers
        elif 3 < len(letters) <= FUZZY_LETTERS:
            shorter = dict.fromkeys(letters[:typo] + letters[typo + 1 :] for typo in range(1, len(letters)))
            yield from merge(*map(self._in_order, shorter))

    def _in_order(self, letters: str) -> Iterator[int]:
        if not letters:
            return
        text, starts = self._text, self._starts
        mask = np.bitwise_or.reduce(_bits(letters))
        candidates = np.flatnonzero((self._masks & mask) == mask)[:COMPLETION_FUZZY]
        if not len(candidates):
            return
        longest = 2 * len(letters) + 2
        find = re.compile(
            "".join(f"[^{re.escape(letter)}\n]*{re.escape(letter)}" for letter in letters)
        ).match
        for number in candidates.tolist():
            start = starts[number]
            match = find(text, start)
            if match and match.end() - text.find(letters[0], start) <= longest:
                yield number


def _ranked(folded: list[str], entries: list[Named]) -> list[int]:
    """Return the entry numbers in order: higher weights first, then shorter names, then alphabetically."""
    alike: dict[tuple[float, int], list[int]] = {}
    for number, (text, entry) in enumerate(zip(folded, entries, strict=True)):
        alike.setdefault((-entry.weight, len(text)), []).append(number)
    # Sort in parts, because sorting a list blocks all other threads.
    return [number for key in sorted(alike) for number in sorted(alike[key], key=folded.__getitem__)]


def _bits(text: str) -> Masks:
    """Return a bit mask of the letters in ``text``, for skipping names that lack one of them."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    bits: Masks = np.left_shift(np.uint64(1), (codes % 64).astype(np.uint64))
    # Line breaks separate names, and spaces separate words; neither is a letter of a name.
    bits[(codes == 10) | (codes == 32)] = 0
    return bits
