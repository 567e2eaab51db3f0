"""Words in a shard: for each term, the notes that contain it, with counts and lengths.

The rows of a term are stored in pages of about two thousand notes, as arrays of its counts and the field
lengths. So a search reads a few kilobytes by key, and scores the counts with the current mean lengths.
Postings are then read only for the best notes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.limits import TERM_CACHE_BYTES
from vaultseek.store.keyword.analysis import LanguageRules, language_of_mark
from vaultseek.store.keyword.bm25f import K1, FieldNorms, TermScores, idf
from vaultseek.store.keyword.lane import KeywordLane
from vaultseek.store.keyword.postings import NotePostings, postings_of, segment_of_postings
from vaultseek.store.keyword.segment import (
    FIELD_BITS,
    FIELD_SLOTS,
    Ints,
    MemorySegment,
    Tables,
    sum_lengths,
)
from vaultseek.store.keyword.snapshot import Floats, Snapshot, means
from vaultseek.store.keyword.spans import SpanFinder, span_finder
from vaultseek.store.keyword.term_index import TermIndex, is_one_edit
from vaultseek_server.engines.postgres.schema import SET_STATE
from vaultseek_server.engines.postgres.server import Server

PAGE_BITS = 11
"""Number of low bits in a note's id that give the note's position within its page."""
ROW = np.dtype([("key", "<u2"), ("count", "<u2"), ("length", "<u2")])
"""A row in a page: the low bits of the note's id together with the field, the count of the term, and the
length of the field."""
_MOST = np.iinfo(np.uint16).max
_LAST = "\U0010ffff"
_SUMS = 2 * FIELD_SLOTS + 4
"""Number of sums over all notes: for each field, and for the prose and the code of chunks, the length and the
presence."""
_POSTINGS = "terms, fields, counts, positions, lengths, chunk_lengths, chunk_ids"
_FACTS = "words"
"""Name, in the table ``state``, of the facts about all notes."""
_LOW = (1 << 32) - 1
_PAGES = "SELECT t.term, t.number, p.page, p.rows FROM word_terms t JOIN word_pages p ON p.term = t.number"


class TermNotes(NamedTuple):
    """The notes that contain a term, and the term's number.

    notes: int64[n], ascending ids. tf: float64[n], weighted term frequencies.
    """

    number: int
    notes: Ints
    tf: Floats


class ShardSnapshot(Snapshot):
    """The notes in a shard at one position in the ledger's changes. Notes are numbered by id, so some numbers
    are unused.

    ``sums``: see ``_SUMS``. ``by_mark``: the number of notes for each language byte. ``last``: the highest
    id.
    """

    def __init__(
        self,
        count: int = 0,
        sums: Sequence[int] = (0,) * _SUMS,
        by_mark: Mapping[str, int] = MappingProxyType({}),
        last: int = 0,
    ) -> None:
        super().__init__([])
        self.count = count
        self.sums = np.array(sums, np.int64)
        self.by_mark = by_mark
        self.size = last + 1
        self.known: dict[str, TermNotes] = {}
        """Terms that searches have read at this position."""
        self.languages = frozenset(language_of_mark(int(mark)) for mark in by_mark)
        of_fields, of_chunks = self.sums[: 2 * FIELD_SLOTS], self.sums[2 * FIELD_SLOTS :]
        self.averages = means([of_fields.reshape(2, -1)], FIELD_SLOTS)
        self.chunk_averages = means([of_chunks.reshape(2, -1)], 2)

    @cached_property
    def notes(self) -> Ints:
        """Ledger ids of the notes, int64[size]."""
        return np.arange(self.size)

    @cached_property
    def alive(self) -> NDArray[np.bool_]:
        """Mask of existing notes, bool[size]. All its values are true, because unused numbers have no words
        and cannot match."""
        return np.ones(self.size, np.bool_)

    def within(self, ids: Ints) -> ShardSnapshot:
        """Return the snapshot limited to the notes with ``ids``; mean lengths still cover all notes."""
        part = copy(self)
        part.alive, part.count = self.mask(ids), len(ids)
        return part


class ShardTerms(TermIndex):
    """The terms of a shard, as used by one search."""

    def __init__(self, snapshot: ShardSnapshot, server: Server) -> None:
        super().__init__(snapshot)
        self._shard = snapshot
        self._server = server
        self._used: dict[str, TermNotes] = {}

    def prepare(self, terms: Collection[str]) -> None:
        """Read, in one request, the notes for those ``terms`` that no earlier search at this position has
        read."""
        known = self._shard.known
        self._used |= {term: known[term] for term in terms if term in known}
        if missing := [term for term in terms if term not in self._used]:
            read = self._read_pages(missing)
            if sum(len(each.notes) for each in list(known.values())) > TERM_CACHE_BYTES // 16:
                self._shard.known = known = {}
            known.update(read)
            self._used |= read

    def present(self, terms: Collection[str]) -> set[str]:
        """Return those of the given terms that the index contains."""
        self.prepare(terms)
        return {term for term in terms if len(self._used[term].notes)}

    def scores(self, terms: tuple[str, ...]) -> TermScores:
        """Return the scores of the notes that contain any of the given terms."""
        self.prepare(terms)
        found = [self._used[term] for term in terms]
        notes = np.concatenate([np.zeros(0, np.int64), *(each.notes for each in found)])
        tf = np.concatenate([np.zeros(0), *(each.tf for each in found)])
        if len(found) > 1:
            notes, places = np.unique(notes, return_inverse=True)
            tf = np.bincount(places, tf, len(notes))
        # Notes written in the meantime may have higher ids.
        seen = self._shard.alive.take(notes, mode="clip") & (notes < self._shard.size)
        notes, tf = notes[seen], tf[seen]
        rarity = idf(self._shard.count, len(notes))
        return TermScores(len(notes), rarity, notes, rarity * tf / (K1 + tf))

    def with_prefix(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Return the ``limit`` most frequent terms for words that begin with ``prefix``."""
        numbers = "IN (SELECT term FROM word_words WHERE word >= %s AND word < %s)"
        return self._most_frequent(numbers, prefix, prefix + _LAST, limit)

    def words_of(self, terms: tuple[str, ...], beginning: str) -> frozenset[str]:
        """Return the words that are indexed as one of the ``terms`` and begin with ``beginning``."""
        sql = (
            "SELECT w.word FROM word_words w JOIN word_terms t ON t.number = w.term"
            " WHERE t.term = ANY(%s) AND w.word >= %s AND w.word < %s"
        )
        return frozenset(row[0] for row in self._server.rows(sql, list(terms), beginning, beginning + _LAST))

    def within_one_edit(self, word: str, limit: int) -> tuple[str, ...]:
        """Return the ``limit`` most frequent terms for words that are one edit away from ``word``."""
        half = len(word) // 2
        numbers: set[int] = set()
        for column, part in (("word", word[: half - 1]), ("backward", word[half + 1 :][::-1])):
            sql = f"SELECT term, word FROM word_words WHERE {column} >= %s AND {column} < %s"
            sql += " AND length(word) BETWEEN %s AND %s"
            near = self._server.rows(sql, part, part + _LAST, len(word) - 1, len(word) + 1)
            numbers.update(number for number, other in near if is_one_edit(other, word))
        return self._most_frequent("= ANY(%s)", list(numbers), limit)

    def _most_frequent(self, numbers: str, *values: Any) -> tuple[str, ...]:
        """Return the terms whose numbers the SQL condition ``numbers`` selects; terms with most rows come
        first."""
        sql = (
            f"SELECT t.term FROM word_terms t JOIN word_pages p ON p.term = t.number WHERE t.number {numbers}"
            " GROUP BY t.term ORDER BY sum(octet_length(p.rows)) DESC, t.term LIMIT %s"
        )
        return tuple(row[0] for row in self._server.rows(sql, *values))

    def of_notes(self, notes: Ints) -> tuple[TermIndex, Ints, Ints]:
        """Return three values: an index with the postings of ``notes``, the ``notes`` that still exist, and
        their numbers in the index."""
        sql = f"SELECT note, language, {_POSTINGS} FROM word_notes WHERE note = ANY(%s) ORDER BY note"
        rows = self._server.rows(sql, notes.tolist())
        numbers = {each.number: term for term, each in self._used.items() if each.number >= 0}
        postings = [NotePostings.of_columns(*row[2:]) for row in rows]
        segment = segment_of_postings([row[0] for row in rows], [row[1] for row in rows], postings, numbers)
        found = Snapshot([(segment, np.ones(len(rows), np.bool_))])
        found.averages, found.chunk_averages = self._shard.averages, self._shard.chunk_averages
        notes = notes[np.isin(notes, found.notes)]
        return TermIndex(found), notes, np.searchsorted(found.notes, notes)

    def _read_pages(self, terms: Sequence[str]) -> dict[str, TermNotes]:
        pages: dict[str, list[tuple[int, bytes]]] = {term: [] for term in terms}
        numbers: dict[str, int] = {}
        for term, number, page, data in self._server.rows(f"{_PAGES} WHERE t.term = ANY(%s)", list(terms)):
            numbers[term] = number
            pages[term].append((page, data))
        norms = FieldNorms.of(self._shard.averages)
        return {
            term: _term_notes(numbers.get(term, -1), sorted(of_term), norms)
            for term, of_term in pages.items()
        }


def _term_notes(number: int, pages: Sequence[tuple[int, bytes]], norms: FieldNorms) -> TermNotes:
    """Return the notes that contain a term, ascending, from the term's pages."""
    notes, rows = _unpacked(pages)
    if not len(rows):
        return TermNotes(number, notes, np.zeros(0))
    weighted = norms.weigh(rows["length"], rows["key"], rows["count"])
    firsts = np.flatnonzero(np.diff(notes, prepend=-1))
    return TermNotes(number, notes[firsts], np.add.reduceat(weighted, firsts))


def _unpacked(pages: Sequence[tuple[int, bytes]]) -> tuple[Ints, NDArray[Any]]:
    """Return the notes and the rows in some pages."""
    rows = np.frombuffer(b"".join(data for _, data in pages), ROW)
    sizes = [len(data) // ROW.itemsize for _, data in pages]
    bases = np.repeat(np.array([page for page, _ in pages], np.int64) << PAGE_BITS, sizes)
    return bases + (rows["key"] >> FIELD_BITS), rows


class Words(KeywordLane):
    """The words of a shard, as used by its writer and by searches. Every method may raise Unavailable."""

    def __init__(self, server: Server, rules: LanguageRules) -> None:
        super().__init__(rules)
        self._server = server
        self._last = ("", ShardSnapshot())

    @property
    def snapshot(self) -> ShardSnapshot:
        """A snapshot with the words of all current notes."""
        sql = "SELECT name, value FROM state WHERE name = ANY(%s)"
        state = dict(self._server.rows(sql, [_FACTS, "position"]))
        text = state.get(_FACTS, "[]")
        key = f"{state.get('position')} {text}"
        if self._last[0] != key:
            self._last = (key, ShardSnapshot(*json.loads(text)))
        return self._last[1]

    @property
    def span_finder(self) -> SpanFinder:
        """The finder that locates index terms in text, for the languages known at the last search."""
        last = self._last[1] if self._last[0] else self.snapshot
        return span_finder(self.rules, last.languages)

    def _index_of(self, snapshot: Snapshot) -> TermIndex:
        assert isinstance(snapshot, ShardSnapshot)
        return ShardTerms(snapshot, self._server)

    def stored(self) -> tuple[int, int]:
        """Return the number of notes and the number of passages. This may scan both tables."""
        rows = self._server.rows("SELECT (SELECT count(*) FROM word_notes), (SELECT count(*) FROM chunks)")
        return rows[0] if rows else (0, 0)

    def given_other_language(self) -> list[int]:
        """Return the ids of notes that must be indexed again because the rules now assign them a different
        language."""
        outdated = self.rules.outdated(map(int, self.snapshot.by_mark))
        sql = "SELECT note FROM word_notes WHERE language = ANY(%s)"
        return [row[0] for row in self._server.rows(sql, outdated)] if outdated else []

    def terms(self, least: int = 1) -> list[tuple[str, int]]:
        """Return a pair for each term that occurs in at least ``least`` notes: the term's shortest word, and
        its number of notes."""
        sql = (
            "SELECT DISTINCT ON (w.term) w.word, t.notes FROM word_words w JOIN"
            " (SELECT term, sum(notes)::bigint AS notes FROM word_pages GROUP BY term) t ON t.term = w.term"
            " WHERE t.notes >= %s ORDER BY w.term, length(w.word), w.word"
        )
        counts: Counter[str] = Counter()
        for word, notes in self._server.rows(sql, least):
            counts[word] += notes
        return sorted(counts.items())

    def apply(self, segment: MemorySegment | None, removed: Collection[int]) -> None:
        """Replace the notes in ``segment`` and delete the notes in ``removed``. Must be called within a
        transaction."""
        notes = [] if segment is None else segment.tables.notes.tolist()
        marks = [] if segment is None else segment.tables.languages.tolist()
        new = [] if segment is None else list(postings_of(segment, self._numbers(segment.tables)))
        gone = [*removed, *notes]
        before = self.snapshot
        languages = Counter(before.by_mark)
        sql = f"DELETE FROM word_notes WHERE note = ANY(%s) RETURNING note, language, {_POSTINGS}"
        rows = self._server.rows(sql, gone)
        old = [NotePostings.of_columns(*row[2:]) for row in rows]
        languages.subtract(str(row[1]) for row in rows)
        languages.update(map(str, marks))
        values = [(note, mark, *each.columns()) for note, mark, each in zip(notes, marks, new, strict=True)]
        self._server.copy(f"word_notes (note, language, {_POSTINGS})", values)
        self._replace_pages(_Rows.of([row[0] for row in rows], old), _Rows.of(notes, new), gone)
        sums = before.sums + _sums(new) - _sums(old)
        by_mark = {mark: number for mark, number in languages.items() if number}
        count, last = before.count + len(new) - len(old), max([before.size - 1, *notes])
        self._server.run(SET_STATE, _FACTS, json.dumps([count, sums.tolist(), by_mark, last]))

    def _numbers(self, tables: Tables) -> Ints:
        """Return the numbers of a segment's terms. New terms are numbered, and new words are stored."""
        texts = [text.decode() for text in tables.vocabulary[:]]
        sql = "INSERT INTO word_terms (term) SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING"
        self._server.run(sql, texts)
        sql = "SELECT term, number FROM word_terms WHERE term = ANY(%s::text[])"
        known = dict(self._server.rows(sql, texts))
        numbers = np.array([known[text] for text in texts], np.int64)
        words = [word.decode() for word in tables.words[:]]
        sql = (
            "INSERT INTO word_words SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[])"
            " ON CONFLICT DO NOTHING"
        )
        self._server.run(sql, words, numbers[tables.word_terms].tolist(), [word[::-1] for word in words])
        return numbers

    def _replace_pages(self, old: _Rows, new: _Rows, gone: Sequence[int]) -> None:
        """Write the pages of all terms that the notes contained or contain now, without the rows of the notes
        in ``gone``."""
        touched = np.unique(np.concatenate([old.pages, new.pages]))
        sql = (
            "DELETE FROM word_pages p USING unnest(%s::bigint[], %s::int[]) AS c(term, page)"
            " WHERE p.term = c.term AND p.page = c.page RETURNING p.term, p.page, p.rows"
        )
        stored = self._server.rows(sql, (touched >> 32).tolist(), (touched & _LOW).tolist())
        notes, rows = _unpacked([(page, data) for _, page, data in stored])
        sizes = [len(data) // ROW.itemsize for _, _, data in stored]
        pages = np.repeat(np.array([term << 32 | page for term, page, _ in stored], np.int64), sizes)
        kept = ~np.isin(notes, gone)
        pages = np.concatenate([pages[kept], new.pages])
        rows = np.concatenate([rows[kept], new.rows])
        order = np.lexsort((rows["key"], pages))
        pages, rows = pages[order], rows[order]
        firsts = np.flatnonzero(np.diff(pages, prepend=-1))
        different = np.diff(pages << PAGE_BITS | rows["key"] >> FIELD_BITS, prepend=-1) != 0
        counts = np.add.reduceat(different, firsts, dtype=np.int64) if len(firsts) else firsts
        ends = [*firsts[1:].tolist(), len(pages)]
        values = [
            (page >> 32, page & _LOW, count, rows[first:end].tobytes())
            for page, count, first, end in zip(
                pages[firsts].tolist(), counts.tolist(), firsts.tolist(), ends, strict=True
            )
        ]
        self._server.copy("word_pages (term, page, notes, rows)", values)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of some notes, and the page of each row. A page is identified by a term and the high bits of
    the notes' ids."""

    pages: Ints
    rows: NDArray[Any]

    @classmethod
    def of(cls, notes: Sequence[int], postings: Sequence[NotePostings]) -> _Rows:
        nothing = np.zeros(0, np.int64)
        ids = np.repeat(np.array(notes, np.int64), [len(each.terms) for each in postings])
        fields = np.concatenate([nothing, *(each.fields for each in postings)])
        rows = np.zeros(len(ids), ROW)
        rows["key"] = (ids & (1 << PAGE_BITS) - 1) << FIELD_BITS | fields
        rows["count"] = np.minimum(np.concatenate([nothing, *(each.counts for each in postings)]), _MOST)
        lengths = np.concatenate([nothing, *(each.lengths[each.fields] for each in postings)])
        rows["length"] = np.minimum(lengths, _MOST)
        terms = np.concatenate([nothing, *(each.terms for each in postings)])
        return cls(terms << 32 | ids >> PAGE_BITS, rows)


def _sums(postings: Sequence[NotePostings]) -> Ints:
    """Return the sums described at ``_SUMS`` for some notes."""
    nothing = np.zeros(0, np.int64)
    fields = np.concatenate([nothing, *(each.lengths for each in postings)]).reshape(-1, FIELD_SLOTS)
    chunks = np.concatenate([nothing, *(each.chunk_lengths for each in postings)]).reshape(-1, 2)
    return np.concatenate([sum_lengths(fields).ravel(), sum_lengths(chunks).ravel()])
