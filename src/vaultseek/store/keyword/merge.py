"""Write and merge segments in bounded memory. Merging drops deleted notes."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from vaultseek.base.precedence import give_way
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.commits import Commits, PreparedSegment
from vaultseek.store.keyword.inverter import KeywordDocument, Lexicon, invert
from vaultseek.store.keyword.segment import (
    FIELD_BITS,
    FIELD_MASK,
    FIELD_SLOTS,
    Block,
    Bools,
    Ints,
    Segment,
    Tables,
    run_indexes,
    run_lengths,
    run_starts,
    write_segment,
)
from vaultseek.store.keyword.strings import Strings, word_tables

MERGE_POSITIONS = 250_000
"""Maximum number of positions that a merge keeps in memory."""
MERGE_FACTOR = 8
"""Number of segments of similar size that are merged into one."""


@dataclass(frozen=True, slots=True)
class MergeSource:
    """A segment to merge; ``alive``, bool[D], is false for its deleted notes."""

    segment: Segment
    alive: Bools


def choose_segments(sizes: Sequence[tuple[int, int]], largest: int | None = None) -> list[int]:
    """Return the indexes of the segments to merge next, given the number of notes and the number of deleted
    notes in each segment.

    ``MERGE_FACTOR`` segments of similar size are merged into one, the smallest first, so that the number of
    segments grows with the logarithm of the vault's size. A segment in which most notes are deleted is
    rewritten. ``largest`` is the maximum number of notes that a merge may read.
    """
    tiers: dict[int, list[int]] = {}
    for index, (size, deleted) in enumerate(sizes):
        tiers.setdefault(_tier(size - deleted), []).append(index)
    for tier in sorted(tiers):
        members = tiers[tier]
        notes = sum(sizes[index][0] for index in members)
        if len(members) >= MERGE_FACTOR and (largest is None or notes <= largest):
            return members
    wasteful = [index for index, (size, deleted) in enumerate(sizes) if deleted * 2 > size]
    return [index for index in wasteful if largest is None or sizes[index][0] <= largest][:1]


def merge_segments(sources: Sequence[MergeSource], file: IO[bytes]) -> int:
    """Write the live notes of the sources, in order, as one segment; return the number of these notes."""
    parts = _parts(sources)
    vocabulary = sorted(set().union(*(part.living_terms() for part in parts)))
    ranks = {term: number for number, term in enumerate(vocabulary)}
    for part in parts:
        part.set_term_numbers(ranks)
    tables = _tables(parts, vocabulary, ranks)
    counts, positions = zip(*(part.segment.types for part in parts), strict=True)
    write_segment(file, tables, _blocks(parts, tables), (max(counts), max(positions)))
    return len(tables.notes)


class _Part:
    """A source segment with the numbers that its notes and terms get in the merged segment."""

    def __init__(self, source: MergeSource, first_note: int) -> None:
        self.segment = source.segment
        self.tables = source.segment.tables
        self.alive = source.alive
        self.notes = np.cumsum(source.alive, dtype=np.int64) - 1 + first_note
        self.rows, self.positions = self._living()
        self.terms: Ints = np.zeros(0, np.int64)

    def living_terms(self) -> list[bytes]:
        terms = self.tables.vocabulary[:]
        return [terms[number] for number in np.flatnonzero(self.rows).tolist()]

    def set_term_numbers(self, ranks: dict[bytes, int]) -> None:
        """Number the terms as in the merged segment. A term without notes gets its predecessor's number, so
        that the numbers stay sorted."""
        numbers = [ranks.get(term, -1) for term in self.tables.vocabulary[:]]
        self.terms = np.maximum.accumulate(np.array(numbers, np.int64)) if numbers else self.terms

    def block(self, first: int, last: int) -> tuple[Ints, Block]:
        low, high = np.searchsorted(self.terms, (first, last)).tolist()
        block = self.segment.block(low, high)
        terms = np.repeat(self.terms[low:high], run_lengths(self.tables.first_rows[low : high + 1]))
        keys = block.keys.astype(np.int64)
        living = self.alive[keys >> FIELD_BITS]
        renumbered = self.notes[keys >> FIELD_BITS] << FIELD_BITS | keys & FIELD_MASK
        positions = block.positions[np.repeat(living, block.counts)]
        return terms[living], Block(renumbered[living], block.counts[living], positions)

    def _living(self) -> tuple[Ints, Ints]:
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
    """Return the tier of a segment's size; sizes within a tier differ by less than a factor of
    ``MERGE_FACTOR``."""
    tier = 0
    while notes >= MERGE_FACTOR:
        notes //= MERGE_FACTOR
        tier += 1
    return tier


def _parts(sources: Sequence[MergeSource]) -> list[_Part]:
    parts: list[_Part] = []
    first_note = 0
    for source in sources:
        parts.append(_Part(source, first_note))
        first_note += int(np.count_nonzero(source.alive))
    return parts


def _slices(firsts: Ints) -> Iterator[tuple[int, int]]:
    low, last = 0, len(firsts) - 1
    while low < last:
        high = int(np.searchsorted(firsts, int(firsts[low]) + MERGE_POSITIONS, side="right")) - 1
        high = min(max(high, low + 1), last)
        yield low, high
        low = high


def _blocks(parts: Sequence[_Part], tables: Tables) -> Iterator[Block]:
    for number, (low, high) in enumerate(_slices(tables.first_positions)):
        if number:
            give_way()
        terms, blocks = zip(*(part.block(low, high) for part in parts), strict=True)
        keys, counts, positions = (
            np.concatenate([getattr(block, name) for block in blocks])
            for name in ("keys", "counts", "positions")
        )
        order = np.argsort(np.concatenate(terms), kind="stable")
        places = run_indexes(run_starts(counts)[order], counts[order])
        yield Block(keys[order], counts[order], positions[places])


def _tables(parts: Sequence[_Part], vocabulary: list[bytes], ranks: dict[bytes, int]) -> Tables:
    rows = np.zeros(len(vocabulary), np.int64)
    positions = np.zeros(len(vocabulary), np.int64)
    for part in parts:
        np.add.at(rows, part.terms[part.rows > 0], part.rows[part.rows > 0])
        np.add.at(positions, part.terms[part.rows > 0], part.positions[part.rows > 0])
    chunks = [_living_chunks(part) for part in parts]
    words, word_terms = _words(parts, ranks)
    return Tables(
        notes=np.concatenate([part.tables.notes[part.alive] for part in parts]),
        languages=np.concatenate([part.tables.languages[part.alive] for part in parts]),
        lengths=np.concatenate([_pick(part.tables.lengths, part.alive, FIELD_SLOTS) for part in parts]),
        first_chunks=run_starts(np.concatenate([counts for counts, _ in chunks])).astype(np.uint32),
        chunk_lengths=np.concatenate(
            [
                _pick(part.tables.chunk_lengths, living, 2)
                for part, (_, living) in zip(parts, chunks, strict=True)
            ]
        ),
        chunk_ids=Strings.of(
            ids[chunk]
            for part, (_, living) in zip(parts, chunks, strict=True)
            for ids in [part.tables.chunk_ids[:]]
            for chunk in living.tolist()
        ),
        vocabulary=Strings.of(vocabulary),
        first_rows=run_starts(rows).astype(np.uint32),
        first_positions=run_starts(positions).astype(np.uint32),
        words=words,
        word_terms=word_terms,
    )


def _pick(values: Ints, selected: Ints | Bools, width: int) -> Ints:
    return values.reshape(-1, width)[selected].ravel()


def _living_chunks(part: _Part) -> tuple[Ints, Ints]:
    firsts = part.tables.first_chunks.astype(np.int64)
    counts = run_lengths(firsts)[part.alive]
    return counts, run_indexes(firsts[:-1][part.alive], counts)


def _words(parts: Sequence[_Part], ranks: dict[bytes, int]) -> tuple[Strings, Ints]:
    pairs: set[tuple[bytes, int]] = set()
    for part in parts:
        terms = part.tables.vocabulary[:]
        for word, term in zip(part.tables.words[:], part.tables.word_terms.tolist(), strict=True):
            number = ranks.get(terms[term], -1)
            if number >= 0:
                pairs.add((word, number))
    return word_tables(pairs)


__all__ = ["PreparedSegment", "SegmentPreparer"]


class SegmentPreparer:
    """Writer of segments in an index directory. It publishes nothing and needs no lock."""

    def __init__(self, commits: Commits) -> None:
        self._commits = commits
        self._lexicon = Lexicon()

    @classmethod
    def of(cls, directory: Path) -> SegmentPreparer:
        """Return a preparer that another process can use, for the index in ``directory``."""
        return cls(Commits(directory))

    def documents(self, documents: Sequence[KeywordDocument], rules: LanguageRules) -> PreparedSegment:
        """Write a segment with ``documents``. Raises ``IndexDamaged`` or ``OSError``."""
        self._lexicon.shrink()
        tables, block = invert(documents, self._lexicon, rules)

        def write(file: IO[bytes]) -> int:
            types = _smallest_type(block.counts), _smallest_type(block.positions)
            write_segment(file, tables, [block], types)
            return len(documents)

        return self._commits.prepare(write)

    def merged(self, sources: Sequence[MergeSource]) -> PreparedSegment:
        """Write one segment with the live notes of ``sources``. Raises ``IndexDamaged`` or ``OSError``."""
        return self._commits.prepare(lambda file: merge_segments(sources, file))

    def merged_files(self, files: Sequence[tuple[str, Collection[int]]]) -> PreparedSegment:
        """Write one segment with the live notes of ``files``, which are segment files. Each is given with the
        numbers of its deleted notes."""
        return self.merged([self._source(name, deleted) for name, deleted in files])

    def _source(self, name: str, deleted: Collection[int]) -> MergeSource:
        segment = Segment(self._commits.directory / name)
        alive = np.ones(len(segment), np.bool_)
        alive[list(deleted)] = False
        return MergeSource(segment, alive)


def _smallest_type(values: Ints) -> str:
    return "<u2" if not len(values) or int(values.max()) < 1 << 16 else "<u4"
