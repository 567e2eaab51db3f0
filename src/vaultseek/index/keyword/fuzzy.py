"""Words of the vault that stand in for a query's word: those with the same beginning or within one edit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from vaultseek.index.keyword.segment import Bools, Ints, Segment, Strings, run_indexes
from vaultseek.index.keyword.snapshot import Snapshot

_SLACK_BYTES = 4
"""Difference in bytes that one letter more or less can make."""


def terms_with_prefix(snapshot: Snapshot, prefix: str, limit: int) -> tuple[str, ...]:
    """Return the terms of words that begin with ``prefix`` (without accents), the ``limit`` most frequent."""
    frequencies: Counter[bytes] = Counter()
    for view in snapshot.views:
        words = view.segment.tables.words.with_prefix(prefix.encode())
        _count_terms(view.segment, np.arange(words.start, words.stop), frequencies)
    return _most_frequent(frequencies, limit)


def terms_within_one_edit(snapshot: Snapshot, word: str, limit: int) -> tuple[str, ...]:
    """Return the terms of words that are one edit from ``word``, the ``limit`` most frequent."""
    frequencies: Counter[bytes] = Counter()
    for view in snapshot.views:
        words = view.segment.tables.words
        matches = [
            number
            for number in _candidates(words, word.encode())
            if is_one_edit(words[number].decode(), word)
        ]
        _count_terms(view.segment, np.array(matches, np.int64), frequencies)
    return _most_frequent(frequencies, limit)


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


def _candidates(words: Strings, word: bytes) -> Iterator[int]:
    """Yield words of similar length that share half of ``word``: an edit leaves one half intact."""
    half = len(word) // 2
    slack = 1 if word.isascii() else _SLACK_BYTES
    similar = np.flatnonzero(np.abs(np.diff(words.offsets).astype(np.int32) - len(word)) <= slack)
    head, tail = word[: half - 1], word[half + 1 :]
    blob = np.frombuffer(words.blob, np.uint8)
    begins = _has_bytes(blob, words.offsets[similar].astype(np.int64), head)
    ends = _has_bytes(blob, words.offsets[similar + 1].astype(np.int64) - len(tail), tail)
    return iter(similar[begins | ends].tolist())


def _has_bytes(blob: Ints, offsets: Ints, part: bytes) -> Bools:
    """Return for each offset whether ``part`` stands there; nothing stands before the start of the blob."""
    if not part or not len(offsets):
        return np.ones(len(offsets), np.bool_)
    sizes = np.full(len(offsets), len(part))
    indexes = np.clip(run_indexes(offsets, sizes), 0, len(blob) - 1).reshape(-1, len(part))
    same: Bools = (blob[indexes] == np.frombuffer(part, np.uint8)).all(axis=1)
    return same


def _count_terms(segment: Segment, words: Ints, frequencies: Counter[bytes]) -> None:
    """Add the number of rows of each term that these words have."""
    tables = segment.tables
    terms = np.unique(tables.word_terms[words])
    rows = tables.first_rows[terms + 1] - tables.first_rows[terms]
    for term, count in zip(terms.tolist(), rows.tolist(), strict=True):
        frequencies[tables.vocabulary[term]] += count


def _most_frequent(frequencies: Counter[bytes], limit: int) -> tuple[str, ...]:
    terms = sorted(frequencies, key=lambda term: (-frequencies[term], term))
    return tuple(term.decode() for term in terms[:limit])
