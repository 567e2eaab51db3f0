"""Scores and occurrences of single terms in a snapshot.

They are computed on demand and cached in the snapshot, so the next search with the same word only adds up the
scores. The occurrences of a common word are not cached: each search reads those in the notes that it needs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from vaultseek.store.keyword.bm25f import (
    TermNumbers,
    TermScores,
    score_terms,
)
from vaultseek.store.keyword.segment import FIELD_BITS, NOTE_SHIFT, POSITION_BITS, Ints, Tables
from vaultseek.store.keyword.snapshot import SegmentView, Snapshot, joined
from vaultseek.store.keyword.strings import Strings, first_bytes

RARE_NOTES = 4096
"""Maximum number of notes that may contain a term for its occurrences to be cached."""
ALTERNATIVES = 16
"""Maximum factor for ``RARE_NOTES``. The factor is the number of a term's alternatives, because each is
looked up separately."""


class TermIndex:
    """The terms of one snapshot during one search; alternatives count as one term."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._read: dict[tuple[str, ...], Ints] = {}
        self._found: dict[str, dict[int, int]] = {}

    def prepare(self, terms: Collection[str]) -> None:
        """Read the data that ``scores`` needs for the given terms in one step, because that saves time."""
        texts = {term.encode(): term for term in terms if term not in self._found}
        self._found |= {term: {} for term in texts.values()}
        heads = first_bytes(texts)
        for place, view in enumerate(self.snapshot.views if texts else ()):
            for number in view.segment.terms([*texts], heads):
                self._found[texts[view.segment.tables.vocabulary[number]]][place] = number

    def present(self, terms: Collection[str]) -> set[str]:
        """Return those of the given terms that the index contains."""
        self.prepare(terms)
        return {term for term in terms if self._found[term]}

    def of_notes(self, notes: Ints) -> tuple[TermIndex, Ints, Ints]:
        """Return three values: an index that covers ``notes``, the ``notes`` that it contains, and their
        numbers in it."""
        return self, notes, notes

    def scores(self, terms: tuple[str, ...]) -> TermScores:
        """Return the scores of the notes that contain any of the given terms."""
        return self.snapshot.cache.get(
            ("term", terms), lambda: score_terms(self.snapshot, self._term_numbers(terms))
        )

    def _term_numbers(self, terms: tuple[str, ...]) -> TermNumbers:
        self.prepare(terms)
        found = [self._found[term] for term in terms]
        return [
            (view, [numbers[place] for numbers in found if place in numbers])
            for place, view in enumerate(self.snapshot.views)
        ]

    def count_both(
        self, terms: tuple[tuple[str, ...], tuple[str, ...]], first: TermScores, second: TermScores
    ) -> int:
        """Return the number of notes that contain both of the ``terms``, given the scores of each term."""
        present = np.zeros(self.snapshot.size, np.bool_)
        present[first.notes] = True
        return int(np.count_nonzero(present[second.notes]))

    def with_prefix(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Return the ``limit`` most frequent terms for words that begin with ``prefix``."""
        found = []
        for view in self.snapshot.views:
            words = view.segment.tables.words.with_prefix(prefix.encode())
            found.append((view.segment.tables, np.arange(words.start, words.stop)))
        return _most_frequent(found, limit)

    def words_of(self, terms: tuple[str, ...], beginning: str) -> frozenset[str]:
        """Return the words that are indexed as one of the ``terms`` and begin with ``beginning``."""
        first = beginning.encode()
        found: set[str] = set()
        for view, numbers in self._term_numbers(terms):
            tables = view.segment.tables
            near = tables.words.with_prefix(first)
            for place, term in zip(near, tables.word_terms[near.start : near.stop].tolist(), strict=True):
                if term in numbers:
                    found.add(tables.words[place].decode())
        return frozenset(found)

    def within_one_edit(self, word: str, limit: int) -> tuple[str, ...]:
        """Return the ``limit`` most frequent terms for words that are one edit away from ``word``."""
        found = []
        for view in self.snapshot.views:
            words = view.segment.tables.words
            candidates = _candidates(words, word.encode()).tolist()
            matches = [number for number in candidates if is_one_edit(words[number].decode(), word)]
            found.append((view.segment.tables, np.array(matches, np.int64)))
        return _most_frequent(found, limit)

    def places(self, terms: tuple[str, ...], df: int, notes: Ints) -> Ints:
        """Return the occurrences of any of the terms in ``notes`` as ascending places (see ``segment``).
        ``notes`` must be ascending. The result may contain occurrences in other notes."""
        if _is_common(terms, df):
            places = self._read.get(terms)
            if places is None:
                places = self._read[terms] = self._places_in(terms, notes)
            return places
        return self.snapshot.cache.get(("places", terms), lambda: self._all_places(terms))

    def _all_places(self, terms: tuple[str, ...]) -> Ints:
        numbers = self._term_numbers(terms)
        terms_of = [(view, term) for view, of_view in numbers for term in of_view]
        rows = [view.segment.rows(term) for view, term in terms_of]
        of_segments = zip(terms_of, rows, strict=True)
        keys = [keys.astype(np.int64) + (view.base << FIELD_BITS) for (view, _), (keys, _) in of_segments]
        counts = joined([counts for _, counts in rows], np.uint32)
        positions = joined([view.segment.positions(term) for view, term in terms_of], np.uint32)
        places: Ints = np.repeat(joined(keys, np.int64) << POSITION_BITS, counts) | positions
        return np.sort(places) if any(len(of_view) > 1 for _, of_view in numbers) else places

    def _places_in(self, terms: tuple[str, ...], notes: Ints) -> Ints:
        numbers = {view.base: of_view for view, of_view in self._term_numbers(terms)}
        return _joined(
            (view, [self._of_segment(view, term, inside) for term in numbers[view.base]])
            for view, inside in self.snapshot.split_notes(notes)
        )

    def _of_segment(self, view: SegmentView, term: int, notes: Ints) -> Ints:
        rows = self.snapshot.cache.get(("rows", view.base, term), lambda: view.segment.row_starts(term))
        return view.segment.places_in(term, rows, notes)


def _is_common(terms: tuple[str, ...], df: int) -> bool:
    return df > RARE_NOTES * min(len(terms), ALTERNATIVES)


def _joined(parts: Iterable[tuple[SegmentView, list[Ints]]]) -> Ints:
    joined_parts = [
        (np.sort(np.concatenate(places)) if len(places) > 1 else places[0]) + (view.base << NOTE_SHIFT)
        for view, places in parts
        if places
    ]
    return joined(joined_parts, np.int64)


_COUNTED = 256
"""Minimum number of terms that are counted in each segment, most frequent terms first."""
_SLACK_BYTES = 4
"""Maximum number of bytes by which one letter changes the length of a word."""


def is_one_edit(first: str, second: str) -> bool:
    """Return true if the words differ by one letter added, removed or replaced, or by two adjacent letters
    swapped."""
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
    """Return the numbers of words of similar length that share nearly all of ``word`` at their beginning and
    end.

    One edit leaves half of the word intact, so few words remain to be compared.
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
    blob = np.frombuffer(words.blob, np.uint8)
    for back, byte in enumerate(reversed(tail), 1):
        numbers = numbers[blob[words.offsets[numbers + 1].astype(np.int64) - back] == byte]
    return numbers


def _common_bytes(words: Strings, numbers: Ints, word: bytes, step: int) -> Ints:
    """Return the number of bytes that each word shares with ``word`` at the start or, for step -1, at the
    end."""
    blob = np.frombuffer(words.blob, np.uint8)
    places = words.offsets[numbers + (step < 0)].astype(np.int64) - (step < 0)
    common, going = np.zeros(len(numbers), np.int64), np.ones(len(numbers), np.bool_)
    for at, byte in enumerate(word[::step]):
        # Bytes beyond the word belong to the next word; counting a few too many is harmless here.
        going &= blob[np.clip(places + step * at, 0, len(blob) - 1)] == byte
        common += going
    return common


def _most_frequent(found: Sequence[tuple[Tables, Ints]], limit: int) -> tuple[str, ...]:
    """Return the ``limit`` most frequent terms of the ``found`` words, by number of rows. ``found`` has the
    numbers of the words in each segment.

    Only the most frequent terms in each segment are counted; the other terms are hardly ever among the first.
    """
    counts: Counter[bytes] = Counter()
    for tables, words in found:
        terms = np.unique(tables.word_terms[words])
        rows = (tables.first_rows[terms + 1] - tables.first_rows[terms]).astype(np.int64)
        order = np.argsort(-rows, kind="stable")[: max(_COUNTED, limit)]
        for term, count in zip(terms[order].tolist(), rows[order].tolist(), strict=True):
            counts[tables.vocabulary[term]] += count
    first = sorted(counts, key=lambda term: (-counts[term], term))[:limit]
    return tuple(term.decode() for term in first)
