"""The words of a keyword index, with the number of their notes."""

from collections import Counter

import numpy as np

from vaultseek.store.keyword.segment import (
    FIELD_BITS,
    Ints,
)
from vaultseek.store.keyword.snapshot import SegmentView, Snapshot


def list_words(snapshot: Snapshot, least: int = 1) -> list[tuple[str, int]]:
    """Return the shortest word of each term and the term's number of living notes, if ``least`` or more.

    Terms of several languages with the same shortest word are one.
    """
    counts: Counter[bytes] = Counter()
    words: dict[bytes, bytes] = {}
    for view in snapshot.views:
        tables = view.segment.tables
        terms = tables.vocabulary[:]
        counts.update(dict(zip(terms, _note_counts(view).tolist(), strict=True)))
        for word, number in zip(tables.words[:], tables.word_terms.tolist(), strict=True):
            shortest = words.setdefault(terms[number], word)
            words[terms[number]] = min(shortest, word, key=lambda each: (len(each), each))
    of_words: Counter[str] = Counter()
    for term, count in counts.items():
        if term in words:
            of_words[words[term].decode()] += count
    return sorted((word, count) for word, count in of_words.items() if count >= least)


def _note_counts(view: SegmentView) -> Ints:
    tables = view.segment.tables
    keys = view.segment.keys()
    notes = keys >> FIELD_BITS
    first = np.ones(len(keys), np.bool_)
    first[1:] = notes[1:] != notes[:-1]
    first[tables.first_rows[:-1]] = True
    running = np.cumsum(first & view.alive[notes], dtype=np.int64)
    return np.diff(running[tables.first_rows[1:].astype(np.int64) - 1], prepend=0)
