"""The vocabulary of a vault whose notes an engine keeps: how many notes have a term, and how long they are.

An engine knows which notes have a word, but not how many without looking at them all, nor where in a note.
So these numbers and the postings of each note are kept beside the ledger, in one SQLite file that follows the
same positions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from vaultseek.base.limits import SQL_VARIABLES
from vaultseek.engines.postings import NotePostings, postings_of, segment_of_postings
from vaultseek.store.keyword.analysis import LanguageRules, language_of_mark
from vaultseek.store.keyword.segment import FIELD_SLOTS, MemorySegment, run_lengths, sum_lengths
from vaultseek.store.keyword.snapshot import Floats
from vaultseek.store.keyword.term_index import is_one_edit

_LAST = "\U0010ffff"
_SUMS = 2 * FIELD_SLOTS + 4
"""Numbers kept of a note: length and presence of each field, and both of prose and code of its chunks."""


class VocabularyTables:
    """The vocabulary of one vault in a database; see ``candidates.Vocabulary``. One thread changes it."""

    @property
    def position(self) -> str | None:
        """The position of the last ``apply``; None before the first."""
        return self._meta("position")

    @property
    def count(self) -> int:
        """The number of notes."""
        return int(self._meta("count") or 0)

    @property
    def averages(self) -> Floats:
        """Mean length of each field over the notes that have it, float64[8]."""
        return self._means()[:FIELD_SLOTS]

    @property
    def chunk_averages(self) -> Floats:
        """Mean length of prose and of code over the chunks that have any, float64[2]."""
        return self._means()[FIELD_SLOTS:]

    @property
    def languages(self) -> frozenset[str | None]:
        """The languages that the notes are analysed in."""
        rows = self._select("SELECT language FROM word_languages WHERE notes > 0")
        return frozenset(language_of_mark(row[0]) for row in rows)

    def given_other_language(self, rules: LanguageRules) -> list[int]:
        """Return the ids of notes that the vault gave another language than these rules do."""
        marks = [row[0] for row in self._select("SELECT language FROM word_languages WHERE notes > 0")]
        return [
            row[0]
            for mark in rules.outdated(marks)
            for row in self._select("SELECT note FROM word_notes WHERE language = ?", mark)
        ]

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        """Return the number of notes with each of the terms that are in any."""
        marks = ", ".join("?" * len(terms))
        sql = f"SELECT term, notes FROM word_terms WHERE term IN ({marks}) AND notes > 0"
        return dict(self._select(sql, *terms))

    def together(self, groups: Sequence[Sequence[str]]) -> int | None:
        """Return None: which notes have a term is in the engine."""
        return None

    def with_prefix(self, prefix: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words that begin with ``prefix``, the ``limit`` most frequent."""
        sql = f"{_WORDS} WHERE w.word >= ? AND w.word < ? AND t.notes > 0"
        return _most_frequent(self._select(sql, prefix, prefix + _LAST), limit)

    def within_one_edit(self, word: str, limit: int) -> tuple[str, ...]:
        """Return the terms of words that are one edit from ``word``, the ``limit`` most frequent."""
        half = len(word) // 2
        head, tail = word[: half - 1], word[half + 1 :][::-1]
        lengths = (len(word) - 1, len(word) + 1)
        sql = f"{_WORDS} WHERE w.%s >= ? AND w.%s < ? AND length(w.word) BETWEEN ? AND ? AND t.notes > 0"
        rows = self._select(sql % ("word", "word"), head, head + _LAST, *lengths)
        rows += self._select(sql % ("backward", "backward"), tail, tail + _LAST, *lengths)
        return _most_frequent([row for row in rows if is_one_edit(row[2], word)], limit)

    def words(self, least: int = 1) -> list[tuple[str, int]]:
        """Return the shortest word of each term that is in ``least`` notes or more, with that number."""
        sql = f"{_WORDS} WHERE t.notes >= ? ORDER BY length(w.word), w.word"
        shortest: dict[str, str] = {}
        notes: dict[str, int] = {}
        for term, _, word, count in self._select(sql, least):
            if term not in shortest:
                shortest[term] = word
                notes[word] = notes.get(word, 0) + count
        return sorted(notes.items())

    def segment(self, notes: Sequence[int], terms: Iterable[str]) -> MemorySegment | None:
        """Return the postings of those of the notes that are known, of these terms only; None without any."""
        rows: list[Any] = []
        for part in _parts(sorted(notes)):
            marks = ", ".join("?" * len(part))
            rows += self._select(
                f"SELECT note, language, postings FROM word_notes WHERE note IN ({marks})", *part
            )
        if not rows:
            return None
        numbers: dict[int, str] = {}
        for part in _parts(list(terms)):
            marks = ", ".join("?" * len(part))
            numbers |= dict(
                self._select(f"SELECT number, term FROM word_terms WHERE term IN ({marks})", *part)
            )
        ids, languages, packed = zip(*rows, strict=True)
        return segment_of_postings(ids, languages, [NotePostings.unpack(each) for each in packed], numbers)

    def apply(self, segment: MemorySegment | None, removed: Iterable[int], position: str | None) -> None:
        """Replace the notes of a segment, forget those removed, and set the position."""
        notes = [] if segment is None else segment.tables.notes.tolist()
        with self._transaction():
            change = _Change()
            self._forget([*removed, *notes], change)
            if segment is not None:
                self._add(segment, change)
            self._finish(change, position)

    def close(self) -> None:
        """Close the database."""
        raise NotImplementedError

    def clear(self) -> None:
        """Forget everything, the position included."""
        with self._transaction():
            for table in ("word_meta", "word_notes", "word_languages", "word_terms", "word_words"):
                self._run(f"DELETE FROM {table}")

    def _forget(self, notes: Sequence[int], change: _Change) -> None:
        for part in _parts(notes):
            marks = ", ".join("?" * len(part))
            for language, sums, postings in self._select(
                f"SELECT language, sums, postings FROM word_notes WHERE note IN ({marks})", *part
            ):
                terms = NotePostings.unpack(postings).terms
                change.count(-1, language, np.frombuffer(sums, np.int64), terms)
            self._run(f"DELETE FROM word_notes WHERE note IN ({marks})", *part)

    def _add(self, segment: MemorySegment, change: _Change) -> None:
        tables = segment.tables
        texts = [text.decode() for text in tables.vocabulary[:]]
        numbers = self._numbers(texts)
        sums = _length_sums(segment)
        rows = []
        for place, postings in enumerate(postings_of(segment, numbers)):
            language = int(tables.languages[place])
            change.count(1, language, sums[place], postings.terms)
            rows.append((int(tables.notes[place]), language, sums[place].tobytes(), postings.pack()))
        self._run_many("INSERT INTO word_notes VALUES (?, ?, ?, ?)", rows)
        pairs = zip(tables.words[:], numbers[tables.word_terms].tolist(), strict=True)
        words = ((word.decode(), number) for word, number in pairs)
        self._run_many(
            "INSERT INTO word_words VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            ((word, term, word[::-1]) for word, term in words),
        )

    def _numbers(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.int64]]:
        numbers = self._known_numbers(texts)
        new = [text for text in texts if text not in numbers]
        self._run_many(
            "INSERT INTO word_terms (term, notes, rows) VALUES (?, 0, 0)", ((text,) for text in new)
        )
        numbers |= self._known_numbers(new)
        return np.array([numbers[text] for text in texts], np.int64)

    def _known_numbers(self, texts: Sequence[str]) -> dict[str, int]:
        numbers: dict[str, int] = {}
        for part in _parts(texts):
            marks = ", ".join("?" * len(part))
            numbers |= dict(
                self._select(f"SELECT term, number FROM word_terms WHERE term IN ({marks})", *part)
            )
        return numbers

    def _finish(self, change: _Change, position: str | None) -> None:
        self._run_many(
            "UPDATE word_terms SET notes = notes + ?, rows = rows + ? WHERE number = ?", change.terms()
        )
        self._run_many(
            "INSERT INTO word_languages VALUES (?, ?) ON CONFLICT (language)"
            " DO UPDATE SET notes = word_languages.notes + excluded.notes",
            change.languages.items(),
        )
        sums = self._sums() + change.sums
        values = {"count": str(self.count + change.notes), "sums": json.dumps(sums.tolist())}
        if position is not None:
            values["position"] = position
        self._run_many(_SET, values.items())

    def _means(self) -> Floats:
        sums = self._sums().astype(np.float64)
        totals = np.concatenate([sums[:FIELD_SLOTS], sums[2 * FIELD_SLOTS : 2 * FIELD_SLOTS + 2]])
        present = np.concatenate([sums[FIELD_SLOTS : 2 * FIELD_SLOTS], sums[2 * FIELD_SLOTS + 2 :]])
        return np.where(present > 0, totals / np.maximum(present, 1), 1.0)

    def _sums(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        value = self._meta("sums")
        return np.array(json.loads(value), np.int64) if value else np.zeros(_SUMS, np.int64)

    def _meta(self, name: str) -> str | None:
        rows = self._select("SELECT value FROM word_meta WHERE name = ?", name)
        return rows[0][0] if rows else None

    def _select(self, sql: str, *values: Any) -> list[Any]:
        raise NotImplementedError

    def _run(self, sql: str, *values: Any) -> None:
        raise NotImplementedError

    def _run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        raise NotImplementedError

    def _transaction(self) -> AbstractContextManager[None]:
        raise NotImplementedError


_SET = "INSERT INTO word_meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
_WORDS = "SELECT t.term, t.rows, w.word, t.notes FROM word_words w JOIN word_terms t ON t.number = w.term"


class _Change:
    """The difference that notes make when they come and go."""

    def __init__(self) -> None:
        self.notes = 0
        self.sums = np.zeros(_SUMS, np.int64)
        self.languages: dict[int, int] = {}
        self.numbers: list[Any] = []
        self._differences: list[Any] = []

    def count(self, sign: int, language: int, sums: Any, terms: Any) -> None:
        """Count a note; ``terms`` are those of its rows, ascending."""
        self.notes += sign
        self.sums += sign * sums
        self.languages[language] = self.languages.get(language, 0) + sign
        numbers, rows = np.unique(terms, return_counts=True)
        self.numbers.append(numbers.astype(np.int64))
        self._differences.append(sign * np.stack([np.ones(len(rows), np.int64), rows]))

    def terms(self) -> list[tuple[int, int, int]]:
        """Return the difference in notes and in rows of each term, with its number, where there is one."""
        if not self.numbers:
            return []
        numbers, places = np.unique(np.concatenate(self.numbers), return_inverse=True)
        sums = [
            np.bincount(places, each, minlength=len(numbers)).astype(np.int64)
            for each in np.concatenate(self._differences, axis=1)
        ]
        changed = (sums[0] != 0) | (sums[1] != 0)
        columns = (sums[0][changed].tolist(), sums[1][changed].tolist(), numbers[changed].tolist())
        return list(zip(*columns, strict=True))


def _parts(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for start in range(0, len(values), SQL_VARIABLES):
        yield values[start : start + SQL_VARIABLES]


def _length_sums(segment: MemorySegment) -> Any:
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
    counts: Mapping[str, int] = {row[0]: row[1] for row in rows}
    return tuple(sorted(counts, key=lambda term: (-counts[term], term.encode()))[:limit])
