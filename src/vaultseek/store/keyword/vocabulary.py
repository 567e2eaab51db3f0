"""The whole content of a keyword index: its words with the number of their notes, and a dump as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from vaultseek.store.keyword.segment import (
    FIELD_BITS,
    FIELD_MASK,
    FIELD_SLOTS,
    FIELDS,
    Ints,
    run_starts,
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
            words[terms[number]] = min(shortest, word, key=_by_length)
    of_words: Counter[str] = Counter()
    for term, count in counts.items():
        if term in words:
            of_words[words[term].decode()] += count
    return sorted((word, count) for word, count in of_words.items() if count >= least)


def dump_lines(snapshot: Snapshot) -> Iterator[str]:
    """Yield a line per living note (lengths, chunks), then one per term (note, field, positions)."""
    yield from sorted(line for view in snapshot.views for line in _note_lines(view))
    rows: dict[bytes, list[str]] = {}
    for view in snapshot.views:
        for number, term in enumerate(view.segment.tables.vocabulary[:]):
            rows.setdefault(term, []).extend(_row_texts(view, number))
    yield from (f"{term.decode()}: {' '.join(sorted(rows[term]))}" for term in sorted(rows) if rows[term])


def _note_counts(view: SegmentView) -> Ints:
    """Return the number of living notes of each term."""
    tables = view.segment.tables
    keys = view.segment.keys()
    notes = keys >> FIELD_BITS
    first = np.ones(len(keys), np.bool_)
    first[1:] = notes[1:] != notes[:-1]
    first[tables.first_rows[:-1]] = True
    running = np.cumsum(first & view.alive[notes], dtype=np.int64)
    return np.diff(running[tables.first_rows[1:].astype(np.int64) - 1], prepend=0)


def _by_length(word: bytes) -> tuple[int, bytes]:
    return len(word), word


def _note_lines(view: SegmentView) -> Iterator[str]:
    tables = view.segment.tables
    lengths = tables.lengths.reshape(-1, FIELD_SLOTS)
    chunk_lengths = tables.chunk_lengths.reshape(-1, 2).tolist()
    for number in np.flatnonzero(view.alive).tolist():
        fields = " ".join(
            f"{name}={length}" for name, length in zip(FIELDS, lengths[number].tolist(), strict=False)
        )
        chunks = " ".join(
            f"{tables.chunk_ids[chunk].decode()}={chunk_lengths[chunk][0]}+{chunk_lengths[chunk][1]}"
            for chunk in range(int(tables.first_chunks[number]), int(tables.first_chunks[number + 1]))
        )
        yield f"note {int(tables.notes[number])}: {fields} | {chunks}"


def _row_texts(view: SegmentView, term: int) -> Iterator[str]:
    keys, counts = view.segment.rows(term)
    positions = view.segment.positions(term).tolist()
    bounds = pairwise(run_starts(counts).tolist())
    for key, (first, last) in zip(keys.tolist(), bounds, strict=True):
        if view.alive[key >> FIELD_BITS]:
            note = int(view.segment.tables.notes[key >> FIELD_BITS])
            yield f"{note}/{FIELDS[key & FIELD_MASK]}@{','.join(map(str, positions[first:last]))}"
