"""Words of the vault that stand in for a query's word: those with the same beginning or within one edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.store.keyword.segment import Ints, Segment
from vaultseek.store.keyword.snapshot import Snapshot
from vaultseek.store.keyword.strings import Strings

_COUNTED = 2
"""Terms of each segment that are looked at, for each one that is asked for, if there are many segments."""
_SLACK_BYTES = 4
"""Difference in bytes that one letter more or less can make."""


def terms_with_prefix(snapshot: Snapshot, prefix: str, limit: int) -> tuple[str, ...]:
    """Return the terms of words that begin with ``prefix`` (without accents), the ``limit`` most frequent."""
    counted = []
    for view in snapshot.views:
        words = view.segment.tables.words.with_prefix(prefix.encode())
        counted.append(_TermCounts.of(view.segment, np.arange(words.start, words.stop)))
    return _most_frequent(counted, limit)


def terms_within_one_edit(snapshot: Snapshot, word: str, limit: int) -> tuple[str, ...]:
    """Return the terms of words that are one edit from ``word``, the ``limit`` most frequent."""
    counted = []
    for view in snapshot.views:
        words = view.segment.tables.words
        matches = [
            number
            for number in _candidates(words, word.encode()).tolist()
            if is_one_edit(words[number].decode(), word)
        ]
        counted.append(_TermCounts.of(view.segment, np.array(matches, np.int64)))
    return _most_frequent(counted, limit)


def is_one_edit(first: str, second: str) -> bool:
    """True if one letter was added, removed or replaced, or two adjacent letters were swapped."""
    shorter, longer = sorted((first, second), key=len)
    if first == second or len(longer) - len(shorter) > 1:
        return False
    pairs = enumerate(zip(shorter, longer, strict=False))
    edit = next((index for index, (a, b) in pairs if a != b), len(shorter))
    if len(shorter) < len(longer):
        return shorter[edit:] == longer[edit + 1 :]
    swapped = longer[edit + 1 : edit + 2] + longer[edit : edit + 1]
    return shorter[edit + 1 :] == longer[edit + 1 :] or shorter[edit:] == swapped + longer[edit + 2 :]


def _candidates(words: Strings, word: bytes) -> Ints:
    """Return words of similar length that have nearly all of ``word`` at their beginning and end.

    An edit leaves one half of the word intact, which leaves few words to compare further.
    """
    half = len(word) // 2
    slack = 1 if word.isascii() else _SLACK_BYTES
    sizes = np.diff(words.offsets).astype(np.int32)
    similar = np.abs(sizes - len(word)) <= slack
    begins = words.with_prefix(word[: half - 1])
    starting = np.flatnonzero(similar[begins.start : begins.stop]) + begins.start
    ending = _ending(words, np.flatnonzero(similar), word[half + 1 :])
    numbers = np.union1d(starting, ending)
    same = _common_bytes(words, numbers, word, 1) + _common_bytes(words, numbers, word, -1)
    near: Ints = numbers[same >= np.minimum(sizes[numbers], len(word)) - 2 * slack]
    return near


def _ending(words: Strings, numbers: Ints, tail: bytes) -> Ints:
    """Return those of the words that end with the tail; each byte leaves fewer to look at."""
    blob = np.frombuffer(words.blob, np.uint8)
    for back, byte in enumerate(reversed(tail), 1):
        numbers = numbers[blob[words.offsets[numbers + 1].astype(np.int64) - back] == byte]
    return numbers


def _common_bytes(words: Strings, numbers: Ints, word: bytes, step: int) -> Ints:
    """Return how many bytes each word has in common with ``word`` from its start, or (step -1) its end."""
    blob = np.frombuffer(words.blob, np.uint8)
    places = words.offsets[numbers + (step < 0)].astype(np.int64) - (step < 0)
    common, going = np.zeros(len(numbers), np.int64), np.ones(len(numbers), np.bool_)
    for at, byte in enumerate(word[::step]):
        # What stands beyond the word is another one's: a few bytes too many do no harm here.
        going &= blob[np.clip(places + step * at, 0, len(blob) - 1)] == byte
        common += going
    return common


@dataclass(frozen=True, slots=True)
class _TermCounts:
    """The terms of some words of a segment, ascending, and the number of rows of each."""

    vocabulary: Strings
    terms: Ints
    rows: Ints

    @classmethod
    def of(cls, segment: Segment, words: Ints) -> _TermCounts:
        tables = segment.tables
        terms = np.unique(tables.word_terms[words])
        return cls(tables.vocabulary, terms, tables.first_rows[terms + 1] - tables.first_rows[terms])

    def first(self, limit: int) -> tuple[Ints, int]:
        """Return the ``limit`` terms with most rows, and the most rows that another one has."""
        order = np.argsort(-self.rows.astype(np.int64), kind="stable")
        rest = self.rows[order[limit : limit + 1]]
        return self.terms[order[:limit]], int(rest.max(initial=0))

    def by_text(self, terms: Ints) -> dict[bytes, int]:
        """Return the rows of these of the terms, by their text."""
        rows = self.rows[self.terms.searchsorted(terms)].tolist()
        return {self.vocabulary[term]: count for term, count in zip(terms.tolist(), rows, strict=True)}

    def count(self, text: bytes) -> int:
        number = self.vocabulary.find(text)
        at = int(self.terms.searchsorted(number))
        return int(self.rows[at]) if at < len(self.terms) and self.terms[at] == number else 0


def _most_frequent(counted: Sequence[_TermCounts], limit: int) -> tuple[str, ...]:
    """Return the terms with most rows in all segments, at most ``limit``, the most frequent first."""
    counted = [each for each in counted if len(each.terms)]
    first = _first_of_some(counted, limit)
    if first is None:
        first = _first_of_all(counted, limit)
    return tuple(term.decode() for term in first)


def _first_of_some(counted: Sequence[_TermCounts], limit: int) -> list[bytes] | None:
    """Look at the most frequent terms of the large segments; None if another may have as many rows."""
    tops: list[dict[bytes, int]] = []
    most = 0
    for each in counted:
        terms, others = each.first(limit if len(counted) == 1 else _COUNTED * limit)
        tops.append(each.by_text(terms))
        most += others
    counts: dict[bytes, int] = {}
    for term in set().union(*tops):
        rows = (
            top[term] if term in top else each.count(term) if len(each.terms) > len(top) else 0
            for each, top in zip(counted, tops, strict=True)
        )
        counts[term] = sum(rows)
    ordered = sorted(counts, key=lambda term: (-counts[term], term))[:limit]
    certain = len(counted) <= 1 or not most or (ordered and counts[ordered[-1]] > most)
    return ordered if certain else None


def _first_of_all(counted: Sequence[_TermCounts], limit: int) -> list[bytes]:
    counts: Counter[bytes] = Counter()
    for each in counted:
        counts.update(each.by_text(each.terms))
    return sorted(counts, key=lambda term: (-counts[term], term))[:limit]
