"""Words of the vault near a word that it does not contain: the same beginning, or one typo away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np

from vaultseek.index.keyword.bm25f import Collection
from vaultseek.index.keyword.postings import Bools, Ints, Segment, Strings, runs

_SLACK_BYTES = 4
"""One letter more or less is up to four bytes."""


def with_prefix(collection: Collection, prefix: str, limit: int) -> tuple[str, ...]:
    """The terms of words that begin with ``prefix`` (folded), the commonest ``limit``."""
    common: Counter[bytes] = Counter()
    for view in collection.views:
        words = view.segment.tables.words.beginning(prefix.encode())
        _count(view.segment, np.arange(words.start, words.stop), common)
    return _commonest(common, limit)


def with_one_typo(collection: Collection, word: str, limit: int) -> tuple[str, ...]:
    """The terms of words one letter more, less, other or swapped from ``word``, the commonest ``limit``."""
    common: Counter[bytes] = Counter()
    for view in collection.views:
        words = view.segment.tables.words
        near = [at for at in _candidates(words, word.encode()) if one_typo(words[at].decode(), word)]
        _count(view.segment, np.array(near, np.int64), common)
    return _commonest(common, limit)


def one_typo(one: str, other: str) -> bool:
    """True if one letter was added, lost or replaced, or two neighbours swapped."""
    shorter, longer = sorted((one, other), key=len)
    if one == other or len(longer) - len(shorter) > 1:
        return False
    at = next((at for at, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    if len(shorter) < len(longer):
        return shorter[at:] == longer[at + 1 :]
    swapped = longer[at + 1 : at + 2] + longer[at : at + 1]
    return shorter[at + 1 :] == longer[at + 1 :] or shorter[at:] == swapped + longer[at + 2 :]


def _candidates(words: Strings, word: bytes) -> Iterator[int]:
    """Words of about the length that begin or end with half of ``word``: a typo leaves one half alone."""
    half = len(word) // 2
    slack = 1 if word.isascii() else _SLACK_BYTES
    about = np.flatnonzero(np.abs(np.diff(words.offsets).astype(np.int32) - len(word)) <= slack)
    heads, tails = word[: half - 1], word[half + 1 :]
    blob = np.frombuffer(words.blob, np.uint8)
    begins = _same(blob, words.offsets[about].astype(np.int64), heads)
    ends = _same(blob, words.offsets[about + 1].astype(np.int64) - len(tails), tails)
    return iter(about[begins | ends].tolist())


def _same(blob: Ints, firsts: Ints, part: bytes) -> Bools:
    """Which of the places hold these bytes; a place before the start holds none."""
    if not part or not len(firsts):
        return np.ones(len(firsts), np.bool_)
    sizes = np.full(len(firsts), len(part))
    at = np.clip(runs(firsts, sizes), 0, len(blob) - 1).reshape(-1, len(part))
    same: Bools = (blob[at] == np.frombuffer(part, np.uint8)).all(axis=1)
    return same


def _count(segment: Segment, words: Ints, common: Counter[bytes]) -> None:
    tables = segment.tables
    terms = np.unique(tables.word_terms[words])
    rows = tables.first_rows[terms + 1] - tables.first_rows[terms]
    for term, count in zip(terms.tolist(), rows.tolist(), strict=True):
        common[tables.vocabulary[term]] += count


def _commonest(common: Counter[bytes], limit: int) -> tuple[str, ...]:
    ordered = sorted(common, key=lambda term: (-common[term], term))
    return tuple(term.decode() for term in ordered[:limit])
