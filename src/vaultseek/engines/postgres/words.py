"""The words of a shard: which notes have a term, how many these are, and how long they are.

The rows of a term stand in pages of some two thousand notes, each an array of how often it is in a field and
how long that is. So a search reads some kilobytes by key, and weighs them by the mean lengths of its day.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.base.limits import TERM_CACHE_BYTES
from vaultseek.engines.postgres.schema import WORD_TABLES
from vaultseek.engines.postgres.server import Server
from vaultseek.engines.postings import NotePostings, postings_of, segment_of_postings
from vaultseek.store.keyword.analysis import LanguageRules, language_of_mark
from vaultseek.store.keyword.bm25f import K1, FieldNorms
from vaultseek.store.keyword.segment import (
    FIELD_BITS,
    FIELD_MASK,
    FIELD_SLOTS,
    Ints,
    MemorySegment,
    run_lengths,
    sum_lengths,
)
from vaultseek.store.keyword.snapshot import Floats
from vaultseek.store.keyword.term_index import is_one_edit

PAGE_BITS = 11
"""Low bits of a note's id within its page."""
ROW = np.dtype([("key", "<u2"), ("count", "<u2"), ("length", "<u2")])
"""A row of a page: the low bits of the note and the field, how often the term is there, how long that is."""
_MOST = np.iinfo(np.uint16).max
_LAST = "\U0010ffff"
_SUMS = 2 * FIELD_SLOTS + 4
"""Numbers kept of a note: length and presence of each field, and both of prose and code of its chunks."""
_FACTS = "words"
"""Name of the facts about all notes in the table of states."""
_WORDS = "SELECT t.term, t.rows, w.word FROM word_words w JOIN word_terms t ON t.number = w.term"
_PAGES = "SELECT t.term, t.number, p.page, p.rows FROM word_terms t JOIN word_pages p ON p.term = t.number"


@dataclass(frozen=True, slots=True)
class TermNotes:
    """The notes that have a term, and its number. notes: int64[n], ascending ids.

    tf: float64[n], weighted frequencies.
    """

    number: int
    notes: Ints
    tf: Floats

    @property
    def nbytes(self) -> int:
        """Bytes that the arrays take."""
        return self.notes.nbytes + self.tf.nbytes


@dataclass(frozen=True)
class WordFacts:
    """Facts about the words of all notes at one position."""

    position: str | None = None
    count: int = 0
    """The number of notes."""
    sums: tuple[int, ...] = (0,) * _SUMS
    notes_by_language: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def cache(self) -> dict[str, TermNotes]:
        """Notes of terms, by term, for the next search at this position."""
        return {}

    @cached_property
    def languages(self) -> frozenset[str | None]:
        """The languages that the notes are analysed in."""
        return frozenset(language_of_mark(mark) for mark in self.marks)

    @property
    def marks(self) -> list[int]:
        """The bytes that say in which language notes are analysed."""
        return [int(mark) for mark, notes in self.notes_by_language.items() if notes > 0]

    @cached_property
    def means(self) -> Floats:
        """Mean length of each field over the notes that have it; of prose and code over such chunks."""
        sums = np.array(self.sums, np.float64)
        totals = np.concatenate([sums[:FIELD_SLOTS], sums[2 * FIELD_SLOTS : 2 * FIELD_SLOTS + 2]])
        present = np.concatenate([sums[FIELD_SLOTS : 2 * FIELD_SLOTS], sums[2 * FIELD_SLOTS + 2 :]])
        return np.where(present > 0, totals / np.maximum(present, 1), 1.0)


class SearchedWords:
    """The words as one search sees them; see ``candidates.Vocabulary``."""

    def __init__(self, server: Server, facts: WordFacts) -> None:
        self._server = server
        self._facts = facts
        self.count = facts.count
        self.averages: Floats = facts.means[:FIELD_SLOTS]
        self.chunk_averages: Floats = facts.means[FIELD_SLOTS:]
        self.languages = facts.languages

    def notes_with(self, terms: Sequence[str]) -> Ints:
        """Return the ids of the notes with any of the terms, ascending."""
        found = [each.notes for each in self._of_terms(terms).values()]
        return found[0] if len(found) == 1 else np.unique(np.concatenate(found or [np.zeros(0, np.int64)]))

    def best(self, weights: Mapping[str, float], k: int, allowed: Ints | None) -> list[int]:
        """Return the ids of the ``k`` notes with the best scores, among those ``allowed`` (ascending)."""
        found = self._of_terms(list(weights))
        size = 1 + max((int(each.notes[-1]) for each in found.values() if len(each.notes)), default=0)
        totals = np.zeros(size)
        for term, each in found.items():
            totals[each.notes] += weights[term] * each.tf / (K1 + each.tf)
        notes = np.flatnonzero(totals) if allowed is None else allowed[allowed < size]
        scores = totals[notes]
        notes, scores = notes[scores > 0], scores[scores > 0]
        if len(notes) > k:
            near = scores >= np.partition(scores, len(scores) - k)[len(scores) - k]
            notes, scores = notes[near], scores[near]
        best: list[int] = notes[np.lexsort((notes, -scores))[:k]].tolist()
        return best

    def segment(self, notes: Sequence[int], terms: Iterable[str]) -> MemorySegment | None:
        """Return the postings of these notes, of these terms only; None without any notes."""
        if not notes:
            return None
        sql = "SELECT note, language, postings FROM word_notes WHERE note = ANY(%s) ORDER BY note"
        rows = self._server.rows(sql, list(notes))
        if not rows:
            return None
        numbers = {each.number: term for term, each in self._of_terms(list(terms)).items()}
        ids, languages, packed = zip(*rows, strict=True)
        return segment_of_postings(ids, languages, [NotePostings.unpack(each) for each in packed], numbers)

    def with_prefix(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words that begin with ``prefix``, the ``limit`` most frequent."""
        sql = f"{_WORDS} WHERE w.word >= %s AND w.word < %s AND t.notes > 0"
        return _most_frequent(self._server.rows(sql, prefix, prefix + _LAST), limit)

    def within_one_edit(self, word: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words that are one edit from ``word``, the ``limit`` most frequent."""
        half = len(word) // 2
        rows: list[Any] = []
        for column, part in (("word", word[: half - 1]), ("backward", word[half + 1 :][::-1])):
            sql = f"{_WORDS} WHERE w.{column} >= %s AND w.{column} < %s AND t.notes > 0"
            sql += " AND length(w.word) BETWEEN %s AND %s"
            rows += self._server.rows(sql, part, part + _LAST, len(word) - 1, len(word) + 1)
        return _most_frequent([row for row in rows if is_one_edit(row[2], word)], limit)

    def _of_terms(self, terms: Sequence[str]) -> dict[str, TermNotes]:
        """Return the notes of each of the terms; what no search had at this position is read at once."""
        cache = self._facts.cache
        known = {term: cache[term] for term in terms if term in cache}
        if missing := [term for term in terms if term not in known]:
            read = self._read(missing)
            if sum(each.nbytes for each in list(cache.values())) > TERM_CACHE_BYTES:
                self._facts.__dict__["cache"] = cache = {}
            cache.update(read)
            known |= read
        return known

    def _read(self, terms: Sequence[str]) -> dict[str, TermNotes]:
        pages: dict[str, list[tuple[int, bytes]]] = {term: [] for term in terms}
        numbers: dict[str, int] = {}
        for term, number, page, data in self._server.rows(f"{_PAGES} WHERE t.term = ANY(%s)", list(terms)):
            numbers[term] = number
            pages[term].append((page, data))
        norms = FieldNorms.of(self.averages)
        return {
            term: _term_notes(numbers.get(term, -1), sorted(of_term), norms)
            for term, of_term in pages.items()
        }


def _term_notes(number: int, pages: Sequence[tuple[int, bytes]], norms: FieldNorms) -> TermNotes:
    """Return the notes of a term by its pages, ascending."""
    notes, rows = _unpacked(pages)
    if not len(rows):
        return TermNotes(number, notes, np.zeros(0))
    of_rows = rows["key"] & FIELD_MASK
    norm = 1 - norms.b[of_rows] + norms.rate[of_rows] * rows["length"]
    weighted = norms.weights[of_rows] * rows["count"] / norm
    firsts = np.flatnonzero(np.diff(notes, prepend=-1))
    return TermNotes(number, notes[firsts], np.add.reduceat(weighted, firsts))


def _unpacked(pages: Sequence[tuple[int, bytes]]) -> tuple[Ints, NDArray[Any]]:
    """Return the notes and the rows of some pages."""
    rows = np.frombuffer(b"".join(data for _, data in pages), ROW)
    sizes = [len(data) // ROW.itemsize for _, data in pages]
    bases = np.repeat(np.array([page for page, _ in pages], np.int64) << PAGE_BITS, sizes)
    return bases + (rows["key"] >> FIELD_BITS), rows


class Words:
    """The words of a shard, for its writer and for searches."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._last = ("", WordFacts())

    def facts(self) -> WordFacts:
        """Return what is known of the words of all notes now."""
        sql = "SELECT name, value FROM state WHERE name = ANY(%s)"
        state = dict(self._server.rows(sql, [_FACTS, "position"]))
        position, text = state.get("position"), state.get(_FACTS, "[0, null, {}]")
        key = f"{position} {text}"
        if self._last[0] != key:
            count, sums, languages = json.loads(text)
            self._last = (key, WordFacts(position, count, tuple(sums or (0,) * _SUMS), languages))
        return self._last[1]

    def given_other_language(self, rules: LanguageRules) -> list[int]:
        """Return the ids of notes that the vault gave another language than these rules do."""
        outdated = rules.outdated(self.facts().marks)
        sql = "SELECT note FROM word_notes WHERE language = ANY(%s)"
        return [row[0] for row in self._server.rows(sql, outdated)] if outdated else []

    def listed(self, least: int) -> list[tuple[str, int]]:
        """Return the shortest word of each term that is in ``least`` notes or more, with that number."""
        sql = (
            "SELECT DISTINCT ON (t.number) w.word, t.notes FROM word_words w"
            " JOIN word_terms t ON t.number = w.term WHERE t.notes >= %s"
            " ORDER BY t.number, length(w.word), w.word"
        )
        counts: Counter[str] = Counter()
        for word, notes in self._server.rows(sql, least):
            counts[word] += notes
        return sorted(counts.items())

    def clear(self) -> None:
        """Delete all words."""
        self._server.run(f"TRUNCATE {', '.join(WORD_TABLES)}")
        self._server.run("DELETE FROM state WHERE name = %s", _FACTS)

    def apply(self, segment: MemorySegment | None, removed: Collection[int]) -> None:
        """Replace the notes of a segment and forget those removed, within a transaction."""
        new = _Rows.none() if segment is None else self._rows_of(segment)
        gone = [*removed, *([] if segment is None else segment.tables.notes.tolist())]
        facts = self.facts()
        languages, sums, count = Counter(facts.notes_by_language), np.array(facts.sums, np.int64), facts.count
        old = []
        sql = "DELETE FROM word_notes WHERE note = ANY(%s) RETURNING note, language, sums, postings"
        for note, language, data, postings in self._server.rows(sql, gone):
            count, sums = count - 1, sums - np.frombuffer(data, np.int64)
            languages[str(language)] -= 1
            terms = NotePostings.unpack(postings).terms.astype(np.int64)
            old.append(np.stack([terms, np.full(len(terms), note)]))
        if segment is not None:
            of_notes = _length_sums(segment)
            count, sums = count + len(of_notes), sums + of_notes.sum(axis=0)
            languages.update(map(str, segment.tables.languages.tolist()))
            values = zip(
                segment.tables.notes.tolist(),
                segment.tables.languages.tolist(),
                [each.tobytes() for each in of_notes],
                new.packed,
                strict=True,
            )
            self._server.copy("word_notes (note, language, sums, postings)", list(values))
        was = np.concatenate([np.zeros((2, 0), np.int64), *old], axis=1)
        self._count(was, np.stack([new.terms, new.notes]))
        self._replace_pages(was, new, np.array(gone, np.int64))
        facts_now = json.dumps([count, sums.tolist(), {mark: n for mark, n in languages.items() if n}])
        self._server.run(SET_STATE, _FACTS, facts_now)

    def _rows_of(self, segment: MemorySegment) -> _Rows:
        """Return the rows of a segment, whose new terms and words get numbers."""
        tables = segment.tables
        texts = [text.decode() for text in tables.vocabulary[:]]
        sql = (
            "INSERT INTO word_terms (term, notes, rows) SELECT each, 0, 0 FROM unnest(%s::text[]) AS each"
            " ON CONFLICT DO NOTHING"
        )
        self._server.run(sql, texts)
        known = dict(
            self._server.rows("SELECT term, number FROM word_terms WHERE term = ANY(%s::text[])", texts)
        )
        numbers = np.array([known[text] for text in texts], np.int64)
        words = [word.decode() for word in tables.words[:]]
        sql = (
            "INSERT INTO word_words SELECT * FROM unnest(%s::text[], %s::bigint[], %s::text[])"
            " ON CONFLICT DO NOTHING"
        )
        self._server.run(sql, words, numbers[tables.word_terms].tolist(), [word[::-1] for word in words])
        return _Rows.of(segment, list(postings_of(segment, numbers)))

    def _count(self, was: Ints, now: Ints) -> None:
        """Count in how many notes and rows each term is."""
        numbers, places = np.unique(np.concatenate([was[0], now[0]]), return_inverse=True)
        rows = np.zeros(len(numbers), np.int64)
        notes = np.zeros(len(numbers), np.int64)
        for pairs, sign, begin in ((was, -1, 0), (now, 1, was.shape[1])):
            of_pairs = places[begin : begin + pairs.shape[1]]
            np.add.at(rows, of_pairs, sign)
            order = np.lexsort((pairs[1], of_pairs))
            different = np.diff(pairs[1][order], prepend=-1) != 0
            different |= np.diff(of_pairs[order], prepend=-1) != 0
            np.add.at(notes, of_pairs[order][different], sign)
        changed = (rows != 0) | (notes != 0)
        sql = (
            "UPDATE word_terms t SET notes = t.notes + c.notes, rows = t.rows + c.rows"
            " FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) AS c(number, notes, rows)"
            " WHERE t.number = c.number"
        )
        self._server.run(sql, *(each[changed].tolist() for each in (numbers, notes, rows)))

    def _replace_pages(self, was: Ints, new: _Rows, gone: Ints) -> None:
        """Write the pages of all terms that notes had or have, without the rows of those that are gone."""
        pairs = np.unique(
            np.concatenate([was[0] << 32 | was[1] >> PAGE_BITS, new.terms << 32 | new.notes >> PAGE_BITS])
        )
        sql = (
            "DELETE FROM word_pages p USING unnest(%s::bigint[], %s::int[]) AS c(term, page)"
            " WHERE p.term = c.term AND p.page = c.page RETURNING p.term, p.page, p.rows"
        )
        stored = self._server.rows(sql, (pairs >> 32).tolist(), (pairs & 0xFFFFFFFF).tolist())
        notes, rows = _unpacked([(page, data) for _, page, data in stored])
        sizes = [len(data) // ROW.itemsize for _, _, data in stored]
        terms = np.repeat(np.array([term for term, _, _ in stored], np.int64), sizes)
        kept = ~np.isin(notes, gone)
        terms = np.concatenate([terms[kept], new.terms])
        notes = np.concatenate([notes[kept], new.notes])
        rows = np.concatenate([rows[kept], new.rows])
        keys = terms << 32 | notes >> PAGE_BITS
        order = np.lexsort((rows["key"], keys))
        keys, rows = keys[order], rows[order]
        firsts = np.flatnonzero(np.diff(keys, prepend=-1))
        ends = [*firsts[1:].tolist(), len(keys)]
        values = [
            (key >> 32, key & 0xFFFFFFFF, rows[first:end].tobytes())
            for key, first, end in zip(keys[firsts].tolist(), firsts.tolist(), ends, strict=True)
        ]
        self._server.copy("word_pages (term, page, rows)", values)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The rows of new notes, with the term and the note of each; and the postings of each note, packed."""

    terms: Ints
    notes: Ints
    rows: NDArray[Any]
    packed: list[bytes]

    @classmethod
    def none(cls) -> _Rows:
        return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, ROW), [])

    @classmethod
    def of(cls, segment: MemorySegment, postings: Sequence[NotePostings]) -> _Rows:
        notes = np.repeat(segment.tables.notes.astype(np.int64), [len(each.terms) for each in postings])
        fields = np.concatenate([each.fields for each in postings]).astype(np.int64)
        rows = np.zeros(len(notes), ROW)
        rows["key"] = (notes & (1 << PAGE_BITS) - 1) << FIELD_BITS | fields
        rows["count"] = np.minimum(np.concatenate([each.counts for each in postings]), _MOST)
        lengths = np.concatenate([each.lengths[each.fields] for each in postings])
        rows["length"] = np.minimum(lengths, _MOST)
        terms = np.concatenate([each.terms for each in postings]).astype(np.int64)
        return cls(terms, notes, rows, [each.pack() for each in postings])


SET_STATE = (
    "INSERT INTO state VALUES (%s, %s, clock_timestamp()) ON CONFLICT (name)"
    " DO UPDATE SET value = excluded.value, written = excluded.written"
)


def _length_sums(segment: MemorySegment) -> Ints:
    """Return for each note the sums that ``_SUMS`` counts, int64[notes, _SUMS]."""
    tables = segment.tables
    lengths = tables.lengths.reshape(-1, FIELD_SLOTS).astype(np.int64)
    chunks = tables.chunk_lengths.reshape(-1, 2)
    firsts = tables.first_chunks.astype(np.int64)
    of_chunks = np.zeros((len(lengths), 4), np.int64)
    for note, (first, size) in enumerate(zip(firsts, run_lengths(firsts), strict=False)):
        of_chunks[note] = sum_lengths(chunks[first : first + size]).ravel()
    return np.concatenate([lengths, (lengths > 0).astype(np.int64), of_chunks], axis=1)


def _most_frequent(rows: Iterable[Any], limit: int) -> tuple[str, ...]:
    """Return the ``limit`` terms with most rows, the most frequent first."""
    counts = {row[0]: row[1] for row in rows}
    return tuple(sorted(counts, key=lambda term: (-counts[term], term.encode()))[:limit])
