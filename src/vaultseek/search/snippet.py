"""The few words of a passage that show why it was found."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import count, pairwise

from vaultseek import limits
from vaultseek.markdown.plain import plain_line
from vaultseek.query.stopwords import STOP_WORDS
from vaultseek.text import UNSPACED, blank_controls, is_unspaced

ELLIPSIS = "…"
SNAP = 24
"""How many characters a cut may move to fall between two words."""
NARROW = 16
"""A line narrower than this is cut without ellipsis."""


@dataclass(frozen=True, slots=True)
class Preview:
    """One line of text and the character ranges in it that match the query, in order and apart."""

    text: str
    highlights: tuple[tuple[int, int], ...] = ()


def preview(text: str, terms: Collection[str], width: int) -> Preview:
    """At most ``width`` characters of ``text`` around the place that holds most of ``terms``.

    A term is a word, a name such as ``E-4107`` or a phrase. A word matches if it begins with the term or
    shares all but an ending with it, without regard to case and accents; stop words count only if there is
    nothing else. Markdown signs, control characters and line breaks are left out; a cut shows as an ellipsis
    and falls between words where it can. Without a match the beginning is shown. Time is linear in the text.
    """
    line = plain_line(text)
    hits = sorted(_hits(line, _sorted_out(tuple(terms))))
    start, end = _window(line, hits, max(width, 0))
    head = ELLIPSIS if start > 0 and width >= NARROW else ""
    tail = ELLIPSIS if end < len(line) and width >= NARROW else ""
    shift = len(head) - start
    marks = ((low + shift, min(high, end) + shift) for low, high, _ in hits if start <= low < end)
    return Preview(head + line[start:end] + tail, tuple(_merged(marks)))


_Hit = tuple[int, int, int]
"""Start, end and the number of the term."""

_TOKEN = re.compile(f"[^\\W{UNSPACED}]+")
_ENDING = re.compile(
    "|a|al|als|ally|ance|ant|ar|as|ations?|e|ed|ely|em|ement|en|ence|ent|er|era|ers|es|est|eur|i|ic|ies|ied|ings?"
    "|ions?|is|ity|ive|ly|ments?|n|ness|o|ors?|os|s|se|tions?|ung|ungen|y"
)
_STEM = 3
_AROUND = "\"'()[]{}.,;:!?*…’"


@dataclass(frozen=True, slots=True)
class _Terms:
    """The terms by the way in which they are looked up; the numbers tell them apart."""

    words: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    pairs: dict[str, int] = field(default_factory=dict)
    literals: list[tuple[str, int]] = field(default_factory=list)


@lru_cache(maxsize=64)
def _sorted_out(terms: tuple[str, ...]) -> _Terms:
    """The terms that tell something, ``limits.SNIPPET_TERMS`` of them."""
    given = dict.fromkeys(" ".join(blank_controls(term).lower().split()).strip(_AROUND) for term in terms)
    telling = [term for term in given if term and term not in STOP_WORDS] or [term for term in given if term]
    found, numbers = _Terms(), count()
    for term in telling[: limits.SNIPPET_TERMS]:
        words = [_bare(token) for token in _TOKEN.findall(term)]
        if words != [_bare(term)]:
            found.literals.append((term, next(numbers)))
        for first, second in pairwise(term):
            if is_unspaced(first) and is_unspaced(second) and len(found.pairs) < limits.SNIPPET_TERMS:
                found.pairs.setdefault(first + second, next(numbers))
        for word in words:
            if len(words) == 1 or (len(word) > 1 and word not in STOP_WORDS):
                found.words.setdefault(word[:_STEM], []).append((word, next(numbers)))
    return found


def _hits(line: str, terms: _Terms) -> Iterator[_Hit]:
    lower = line.lower()
    lower = lower if len(lower) == len(line) else line  # a few letters grow when made small
    for text, number in terms.literals:
        yield from ((at, at + len(text), number) for at in _places(lower, text))
    if terms.pairs:
        for at in range(len(line) - 1):
            if (pair := terms.pairs.get(line[at : at + 2])) is not None:
                yield at, at + 2, pair
    if terms.words:
        for token in _TOKEN.finditer(lower):
            word = token[0] if token[0].isascii() else _bare(token[0])
            for term, number in terms.words.get(word[:_STEM], ()):
                if _same_word(word, term):
                    yield token.start(), token.end(), number


def _places(line: str, text: str) -> Iterator[int]:
    """Where ``text`` stands in ``line`` as a whole."""
    at = line.find(text)
    while at >= 0:
        end = at + len(text)
        if not (_glued(line[at - 1 : at], text[0]) or _glued(text[-1], line[end : end + 1])):
            yield at
        at = line.find(text, end)


def _glued(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum() and not is_unspaced(left + right)


def _bare(word: str) -> str:
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


def _same_word(word: str, term: str) -> bool:
    if word == term or (len(term) > _STEM and not term[-1].isdigit() and word.startswith(term)):
        return True
    if not (word.isalpha() and term.isalpha()):
        return False
    shared = next((at for at, pair in enumerate(zip(word, term, strict=False)) if pair[0] != pair[1]), None)
    shared = min(len(word), len(term)) if shared is None else shared
    return shared >= _STEM and _is_ending(word, shared) and _is_ending(term, shared)


def _is_ending(word: str, at: int) -> bool:
    doubled = at < len(word) and word[at] == word[at - 1]  # run, running
    return any(_ENDING.fullmatch(word, at + skip) for skip in range(1 + doubled))


def _window(line: str, hits: list[_Hit], width: int) -> tuple[int, int]:
    """The stretch to show, without ellipses."""
    if len(line) <= width:
        return 0, len(line)
    room = width - (2 if width >= NARROW else 0)
    low, high = _densest(hits, room)
    spare = max(0, room - (high - low))
    start = max(0, min(low - spare // 3, len(line) - room))
    end = min(start + room, len(line))
    if low < high:
        return _snapped_start(line, start, low), _snapped_end(line, end, min(high, end))
    return start, _snapped_end(line, end, start)


def _densest(hits: list[_Hit], width: int) -> tuple[int, int]:
    """Start and end of the first stretch with most distinct terms, among those with most hits."""
    best, where = (0, 0), (0, 0)
    inside: Counter[int] = Counter()
    left = 0
    for right, (_, end, term) in enumerate(hits):
        inside[term] += 1
        while left < right and end - hits[left][0] > width:
            gone = hits[left][2]
            inside[gone] -= 1
            if not inside[gone]:
                del inside[gone]
            left += 1
        found = (len(inside), right - left)
        if found > best:
            best, where = found, (hits[left][0], end)
    return where


def _snapped_start(line: str, start: int, least: int) -> int:
    if start == 0 or line[start - 1] == " ":
        return start
    space = line.find(" ", start, min(least, start + SNAP))
    if space >= 0:
        return space + 1
    while start < least and unicodedata.combining(line[start]):
        start += 1
    return start


def _snapped_end(line: str, end: int, most: int) -> int:
    if end >= len(line) or line[end] == " ":
        return end
    space = line.rfind(" ", max(most, end - SNAP), end)
    if space >= 0:
        return space
    while end > most and unicodedata.combining(line[end]):
        end -= 1
    return end


def _merged(marks: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    last: tuple[int, int] | None = None
    for low, high in marks:
        if last and low <= last[1]:
            last = (last[0], max(high, last[1]))
            continue
        if last:
            yield last
        last = (low, high)
    if last:
        yield last
