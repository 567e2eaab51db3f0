"""Postings of single notes. A note's postings are enough to search the note for terms; its text need not be
read.

Building a segment from the postings of some notes and terms takes almost no time. Terms are numbered as in
the vocabulary that is stored with the postings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.store.keyword.segment import (
    FIELD_BITS,
    FIELD_MASK,
    FIELD_SLOTS,
    Block,
    Ints,
    MemorySegment,
    Tables,
    run_indexes,
    run_lengths,
    run_starts,
)
from vaultseek.store.keyword.strings import Strings, word_tables

_SEPARATOR = b"\0"
_WIDTHS = ("u1", "<u2", "<u4")
"""Integer types for counts and positions; each note uses the narrowest type that fits."""


@dataclass(frozen=True, slots=True, eq=False)
class NotePostings:
    """The postings of one note. terms: uint32[r], ascending. fields: uint8[r]. counts: uint[r].

    positions: uint[sum of counts], row after row. lengths: uint32[8], number of positions in each field.
    chunk_lengths: uint32[2c], number of positions in the prose and in the code of each passage. chunk_ids: c
    ids.
    """

    terms: Ints
    fields: Ints
    counts: Ints
    positions: Ints
    lengths: Ints
    chunk_lengths: Ints
    chunk_ids: Sequence[bytes]

    def columns(self) -> tuple[bytes, ...]:
        """Return the postings as a tuple of bytes, one element per field of this class."""
        arrays: list[Ints] = [self.terms.astype("<u4"), self.fields.astype("u1"), _narrow(self.counts)]
        arrays += [_narrow(self.positions), self.lengths.astype("<u4"), self.chunk_lengths.astype("<u4")]
        return (*(array.tobytes() for array in arrays), _SEPARATOR.join(self.chunk_ids))

    @classmethod
    def of_columns(cls, *columns: bytes) -> NotePostings:
        """Return the postings from the values that ``columns`` returned."""
        terms, fields = np.frombuffer(columns[0], "<u4"), np.frombuffer(columns[1], "u1")
        counts = _widened(columns[2], len(terms))
        positions = _widened(columns[3], int(counts.sum(dtype=np.int64)))
        lengths, chunk_lengths = (np.frombuffer(data, "<u4") for data in columns[4:6])
        ids = columns[6].split(_SEPARATOR) if len(chunk_lengths) else []
        return cls(terms, fields, counts, positions, lengths, chunk_lengths, ids)


def postings_of(segment: MemorySegment, numbers: Ints) -> Iterator[NotePostings]:
    """Yield the postings of each note in a segment; ``numbers`` are the vocabulary numbers of the segment's
    terms."""
    tables = segment.tables
    block = segment.block(0, len(tables.vocabulary))
    keys = block.keys.astype(np.int64)
    terms = numbers[np.repeat(np.arange(len(tables.vocabulary)), run_lengths(tables.first_rows))]
    order = np.lexsort((keys, terms, keys >> FIELD_BITS))
    starts = run_starts(block.counts)[:-1]
    keys, terms, counts, starts = keys[order], terms[order], block.counts[order], starts[order]
    bounds = np.searchsorted(keys >> FIELD_BITS, np.arange(len(tables.notes) + 1)).tolist()
    lengths = tables.lengths.reshape(-1, FIELD_SLOTS)
    chunks = tables.first_chunks.tolist()
    for note in range(len(tables.notes)):
        rows = slice(bounds[note], bounds[note + 1])
        first, last = chunks[note], chunks[note + 1]
        yield NotePostings(
            terms[rows],
            keys[rows] & FIELD_MASK,
            counts[rows],
            block.positions[run_indexes(starts[rows], counts[rows])],
            lengths[note],
            tables.chunk_lengths[2 * first : 2 * last],
            tables.chunk_ids[first:last] if first < last else [],
        )


def segment_of_postings(
    notes: Sequence[int], languages: Sequence[int], postings: Sequence[NotePostings], terms: Mapping[int, str]
) -> MemorySegment:
    """Return a segment of ``notes`` with only the given ``terms``, a mapping from term numbers to texts."""
    own = sorted((text.encode(), number) for number, text in terms.items())
    vocabulary, numbers = [text for text, _ in own], np.array([number for _, number in own], np.int64)
    sizes = [len(each.terms) for each in postings]
    of_rows = np.repeat(np.arange(len(postings), dtype=np.int64), sizes)
    all_terms = _joined([each.terms for each in postings])
    all_counts = _joined([each.counts for each in postings])
    starts = run_starts(all_counts)[:-1]
    # Keep only the rows of these terms; ``ranks`` are the terms' positions in the vocabulary.
    by_number = np.argsort(numbers)
    at = np.searchsorted(numbers, all_terms, sorter=by_number)
    at = by_number[np.minimum(at, len(numbers) - 1)] if len(numbers) else at
    inside = np.flatnonzero(numbers[at] == all_terms) if len(numbers) else np.zeros(0, np.int64)
    keys = of_rows[inside] << FIELD_BITS | _joined([each.fields for each in postings])[inside]
    ranks = at[inside]
    order = np.lexsort((keys, ranks))
    keys, ranks, rows = keys[order], ranks[order], inside[order]
    counts = all_counts[rows]
    positions = _joined([each.positions for each in postings])[run_indexes(starts[rows], counts)]
    every = np.arange(len(vocabulary) + 1)
    first_rows = np.searchsorted(ranks, every)
    words, word_terms = word_tables(())
    tables = Tables(
        notes=np.array(notes, np.int64),
        languages=np.array(languages, np.uint8),
        lengths=_joined([each.lengths for each in postings]).astype("<u4"),
        first_chunks=run_starts(np.array([len(each.chunk_ids) for each in postings])).astype("<u4"),
        chunk_lengths=_joined([each.chunk_lengths for each in postings]).astype("<u4"),
        chunk_ids=Strings.of(id for each in postings for id in each.chunk_ids),
        vocabulary=Strings.of(vocabulary),
        first_rows=first_rows.astype("<u4"),
        first_positions=run_starts(counts)[first_rows].astype("<u4"),
        words=words,
        word_terms=word_terms,
    )
    return MemorySegment(tables, Block(keys.astype("<u4"), counts, positions.astype("<u4")))


def _narrow(values: Ints) -> Ints:
    most = int(values.max(initial=0))
    return values.astype(next(type_ for type_ in _WIDTHS if most <= np.iinfo(type_).max))


def _widened(data: bytes, count: int) -> Ints:
    return np.frombuffer(data, f"<u{len(data) // count}" if count else "u1")


def _joined(arrays: Sequence[Ints]) -> Ints:
    """Concatenate arrays of different widths; return an empty array if there are none."""
    return np.concatenate(arrays).astype(np.int64) if arrays else np.zeros(0, np.int64)
