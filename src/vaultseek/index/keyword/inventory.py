"""All that a keyword index contains: its words with the number of their notes, and everything as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from vaultseek.index.keyword.bm25f import Collection, View
from vaultseek.index.keyword.postings import FIELD_BITS, FIELD_MASK, FIELD_SLOTS, FIELDS, Ints, starts


def vocabulary(collection: Collection, least: int = 1) -> list[tuple[str, int]]:
    """The shortest word of each term and the number of living notes with the term, if ``least`` or more."""
    counts: Counter[bytes] = Counter()
    words: dict[bytes, bytes] = {}
    for view in collection.views:
        terms = view.segment.tables.vocabulary[:]
        counts.update(dict(zip(terms, _notes_by_term(view).tolist(), strict=True)))
        tables = view.segment.tables
        for word, number in zip(tables.words[:], tables.word_terms.tolist(), strict=True):
            known = words.setdefault(terms[number], word)
            words[terms[number]] = min(known, word, key=_plainness)
    return sorted(
        (words[term].decode(), count) for term, count in counts.items() if count >= least and term in words
    )


def dumped(collection: Collection) -> Iterator[str]:
    """A line per living note (lengths, chunks), then one per term (note, field, positions of each row)."""
    yield from sorted(line for view in collection.views for line in _notes_of(view))
    rows: dict[bytes, list[str]] = {}
    for view in collection.views:
        for number, term in enumerate(view.segment.tables.vocabulary[:]):
            rows.setdefault(term, []).extend(_rows_of(view, number))
    yield from (f"{term.decode()}: {' '.join(sorted(rows[term]))}" for term in sorted(rows) if rows[term])


def _notes_by_term(view: View) -> Ints:
    tables = view.segment.tables
    keys = view.segment.keys()
    notes = keys >> FIELD_BITS
    first = np.ones(len(keys), np.bool_)
    first[1:] = notes[1:] != notes[:-1]
    first[tables.first_rows[:-1]] = True
    counted = np.cumsum(first & view.alive[notes], dtype=np.int64)
    return np.diff(counted[tables.first_rows[1:].astype(np.int64) - 1], prepend=0)


def _plainness(word: bytes) -> tuple[int, bytes]:
    return len(word), word


def _notes_of(view: View) -> Iterator[str]:
    tables = view.segment.tables
    lengths = tables.lengths.reshape(-1, FIELD_SLOTS)
    chunks = tables.chunk_lengths.reshape(-1, 2).tolist()
    for number in np.flatnonzero(view.alive).tolist():
        sizes = " ".join(
            f"{name}={size}" for name, size in zip(FIELDS, lengths[number].tolist(), strict=False)
        )
        which = range(int(tables.first_chunks[number]), int(tables.first_chunks[number + 1]))
        passages = " ".join(
            f"{tables.chunk_ids[at].decode()}={chunks[at][0]}+{chunks[at][1]}" for at in which
        )
        yield f"note {int(tables.notes[number])}: {sizes} | {passages}"


def _rows_of(view: View, term: int) -> Iterator[str]:
    keys, counts = view.segment.rows(term)
    positions = view.segment.positions(term).tolist()
    firsts = starts(counts).tolist()
    for key, (first, last) in zip(keys.tolist(), pairwise(firsts), strict=True):
        if view.alive[key >> FIELD_BITS]:
            note = int(view.segment.tables.notes[key >> FIELD_BITS])
            yield f"{note}/{FIELDS[key & FIELD_MASK]}@{','.join(map(str, positions[first:last]))}"
