"""Several segments into one, without their deleted notes, in memory that does not grow with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.index.keyword.postings import (
    FIELD_BITS,
    FIELD_MASK,
    FIELD_SLOTS,
    Block,
    Bools,
    Ints,
    Segment,
    Sink,
    Strings,
    Tables,
    lengths_of,
    runs,
    starts,
    write_segment,
)

MERGE_POSITIONS = 250_000
"""Positions of words that are in memory at once while segments of the keyword index are merged."""
MERGE_FACTOR = 8
"""So many segments of one size become one."""


@dataclass(frozen=True, slots=True)
class Source:
    """A segment to merge and which of its notes are alive: bool[D]."""

    segment: Segment
    alive: Bools


def choose(sizes: Sequence[tuple[int, int]], largest: int | None = None) -> list[int]:
    """Which segments to merge, given notes and deleted notes of each; none if nothing needs it.

    ``MERGE_FACTOR`` segments of about one size become one, the smallest first, so that their number grows
    with the logarithm of the vault; a segment of which most is deleted is written anew. With ``largest``
    only merges of so many notes in all.
    """
    by_size: dict[int, list[int]] = {}
    for number, (size, deleted) in enumerate(sizes):
        by_size.setdefault(_tier(size - deleted), []).append(number)
    for tier in sorted(by_size):
        members = by_size[tier]
        if len(members) >= MERGE_FACTOR and (
            largest is None or sum(sizes[at][0] for at in members) <= largest
        ):
            return members
    wasted = [at for at, (size, deleted) in enumerate(sizes) if deleted * 2 > size]
    return [at for at in wasted if largest is None or sizes[at][0] <= largest][:1]


def merge_segments(sources: Sequence[Source], file: Sink) -> int:
    """Write the living notes of the sources as one segment, in their order; returns how many there are."""
    parts = _parts(sources)
    vocabulary = sorted(set().union(*(part.living_terms() for part in parts)))
    rank = {term: number for number, term in enumerate(vocabulary)}
    for part in parts:
        part.number(rank)
    tables = _tables(parts, vocabulary, rank)
    counts, positions = zip(*(part.segment.types for part in parts), strict=True)
    write_segment(file, tables, _blocks(parts, tables), (max(counts), max(positions)))
    return len(tables.notes)


class _Part:
    """A source and how its notes and terms are numbered in the result."""

    def __init__(self, source: Source, first_note: int) -> None:
        self.segment = source.segment
        self.tables = source.segment.tables
        self.alive = source.alive
        self.notes = np.cumsum(source.alive, dtype=np.int64) - 1 + first_note
        self.rows, self.positions = self._living()
        self.terms: Ints = np.zeros(0, np.int64)

    def living_terms(self) -> list[bytes]:
        terms = self.tables.vocabulary[:]
        return [terms[at] for at in np.flatnonzero(self.rows).tolist()]

    def number(self, rank: dict[bytes, int]) -> None:
        """Number the terms as in the result; a dead one gets the number before it, to keep them in order."""
        numbers = [rank.get(term, -1) for term in self.tables.vocabulary[:]]
        self.terms = np.maximum.accumulate(np.array(numbers, np.int64)) if numbers else self.terms

    def block(self, first: int, last: int) -> tuple[Ints, Block]:
        """The living rows of the result's terms from ``first`` up to ``last``: their terms, and the rows."""
        low, high = np.searchsorted(self.terms, (first, last)).tolist()
        block = self.segment.block(low, high)
        terms = np.repeat(self.terms[low:high], lengths_of(self.tables.first_rows[low : high + 1]))
        keys = block.keys.astype(np.int64)
        living = self.alive[keys >> FIELD_BITS]
        renumbered = self.notes[keys >> FIELD_BITS] << FIELD_BITS | keys & FIELD_MASK
        positions = block.positions[np.repeat(living, block.counts)]
        return terms[living], Block(renumbered[living], block.counts[living], positions)

    def _living(self) -> tuple[Ints, Ints]:
        """Rows and positions of living notes, by term."""
        size = len(self.tables.vocabulary)
        rows, positions = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for low, high in _slices(self.tables.first_positions):
            block = self.segment.block(low, high)
            if not len(block.keys):
                continue
            living = self.alive[block.keys >> FIELD_BITS]
            firsts = (self.tables.first_rows[low:high] - self.tables.first_rows[low]).astype(np.int64)
            rows[low:high] = np.add.reduceat(living.astype(np.int64), firsts)
            positions[low:high] = np.add.reduceat(living * block.counts.astype(np.int64), firsts)
        return rows, positions


def _tier(notes: int) -> int:
    """Segments of one tier are at most ``MERGE_FACTOR`` times as large as each other."""
    tier = 0
    while notes >= MERGE_FACTOR:
        notes //= MERGE_FACTOR
        tier += 1
    return tier


def _parts(sources: Sequence[Source]) -> list[_Part]:
    parts: list[_Part] = []
    first_note = 0
    for source in sources:
        parts.append(_Part(source, first_note))
        first_note += int(np.count_nonzero(source.alive))
    return parts


def _slices(firsts: Ints) -> Iterator[tuple[int, int]]:
    """Ranges of terms with at most ``MERGE_POSITIONS`` positions, or one term with more."""
    low, last = 0, len(firsts) - 1
    while low < last:
        high = int(np.searchsorted(firsts, int(firsts[low]) + MERGE_POSITIONS, side="right")) - 1
        high = min(max(high, low + 1), last)
        yield low, high
        low = high


def _blocks(parts: Sequence[_Part], tables: Tables) -> Iterator[Block]:
    for low, high in _slices(tables.first_positions):
        terms, blocks = zip(*(part.block(low, high) for part in parts), strict=True)
        keys, counts, positions = (
            np.concatenate([getattr(block, name) for block in blocks])
            for name in ("keys", "counts", "positions")
        )
        order = np.argsort(np.concatenate(terms), kind="stable")
        places = runs(starts(counts)[order], counts[order])
        yield Block(keys[order], counts[order], positions[places])


def _tables(parts: Sequence[_Part], vocabulary: list[bytes], rank: dict[bytes, int]) -> Tables:
    rows = np.zeros(len(vocabulary), np.int64)
    positions = np.zeros(len(vocabulary), np.int64)
    for part in parts:
        np.add.at(rows, part.terms[part.rows > 0], part.rows[part.rows > 0])
        np.add.at(positions, part.terms[part.rows > 0], part.positions[part.rows > 0])
    chunks = [_living_chunks(part) for part in parts]
    words, word_terms = _words(parts, rank)
    return Tables(
        notes=np.concatenate([part.tables.notes[part.alive] for part in parts]),
        lengths=np.concatenate([_pick(part.tables.lengths, part.alive, FIELD_SLOTS) for part in parts]),
        first_chunks=starts(np.concatenate([counts for counts, _ in chunks])).astype(np.uint32),
        chunk_lengths=np.concatenate(
            [_pick(part.tables.chunk_lengths, at, 2) for part, (_, at) in zip(parts, chunks, strict=True)]
        ),
        chunk_ids=Strings.of(
            ids[at]
            for part, (_, chosen) in zip(parts, chunks, strict=True)
            for ids in [part.tables.chunk_ids[:]]
            for at in chosen.tolist()
        ),
        vocabulary=Strings.of(vocabulary),
        first_rows=starts(rows).astype(np.uint32),
        first_positions=starts(positions).astype(np.uint32),
        words=words,
        word_terms=word_terms,
    )


def _pick(values: Ints, which: Ints | Bools, width: int) -> Ints:
    return values.reshape(-1, width)[which].ravel()


def _living_chunks(part: _Part) -> tuple[Ints, Ints]:
    """How many chunks each living note has, and which they are."""
    firsts = part.tables.first_chunks.astype(np.int64)
    counts = lengths_of(firsts)[part.alive]
    return counts, runs(firsts[:-1][part.alive], counts)


def _words(parts: Sequence[_Part], rank: dict[bytes, int]) -> tuple[Strings, Ints]:
    found: dict[bytes, int] = {}
    for part in parts:
        terms = part.tables.vocabulary[:]
        for word, term in zip(part.tables.words[:], part.tables.word_terms.tolist(), strict=True):
            number = rank.get(terms[term], -1)
            if number >= 0:
                found.setdefault(word, number)
    ordered = sorted(found)
    return Strings.of(ordered), np.array([found[word] for word in ordered], np.uint32)
