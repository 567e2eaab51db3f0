"""The answer of a keyword search: columns over the notes that match, and details of the notes asked for.

Ranking looks at hundreds of notes and shows ten. So what it needs of every note comes as arrays, and the
words and passages of a note are put together when they are asked for. An answer holds all that it needs: it
reads no file, and stays as it is when the index changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np

from vaultseek.store.keyword.query_terms import TermKind
from vaultseek.store.keyword.segment import Ints
from vaultseek.store.keyword.snapshot import Floats


@dataclass(frozen=True, slots=True)
class MatchedTerm:
    """A term of the query and what it matched: ``word`` as in the query, ``terms`` as in the index.

    ``fuzzy`` is true if the vault does not have the word and these terms stand in for it. ``df`` is the
    number of notes with any of the terms, 0 for a word that is in no note.
    """

    word: str
    terms: tuple[str, ...]
    kind: TermKind
    fuzzy: bool
    weight: float
    df: int
    idf: float


@dataclass(frozen=True, slots=True)
class ChunkHit:
    """A passage of a note and its score for the query."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class KeywordHit:
    """A matching note.

    ``matched``: the query's words that it contains. ``coverage``: their share of all the query's words,
    weighted by idf, from 0 to 1. ``chunks``: its best passages, best first; none if only title, tags or path
    match. ``proximity``: the score for words near each other, on the scale of ``score`` but not part of it.
    """

    note: int
    score: float
    matched: tuple[str, ...]
    coverage: float
    chunks: tuple[ChunkHit, ...]
    proximity: float = 0.0


@dataclass(frozen=True, slots=True)
class Columns:
    """The notes of an answer, best first, and in the same order what ranking needs of each.

    notes: int64[n], ids in the ledger. scores: float64[n], BM25F of the whole note. passage_scores:
    float64[n], BM25F of its best passage, 0 if only title, tags or path match. proximity: float64[n], the
    score for words near each other. coverage: float64[n], the share of the query's words that it contains,
    weighted by idf, from 0 to 1.
    """

    notes: Ints
    scores: Floats
    passage_scores: Floats
    proximity: Floats
    coverage: Floats


class Details(Protocol):
    """Words and passages of the note in each row of an answer's columns."""

    def matched(self, row: int) -> tuple[str, ...]:
        """Return the query's words that the note contains."""

    def passages(self, row: int) -> tuple[ChunkHit, ...]:
        """Return the note's best passages, best first."""


@dataclass(frozen=True, eq=False)
class KeywordAnswer:
    """The ``columns`` of the best notes, the terms, and how many allowed notes match at all (``total``)."""

    columns: Columns
    terms: tuple[MatchedTerm, ...]
    total: int
    milliseconds: float
    details: Details = field(repr=False)

    @classmethod
    def of_hits(
        cls, hits: Sequence[KeywordHit], terms: tuple[MatchedTerm, ...] = (), total: int | None = None
    ) -> KeywordAnswer:
        """Return an answer of these hits, best first."""
        columns = Columns(
            np.array([hit.note for hit in hits], np.int64),
            np.array([hit.score for hit in hits], np.float64),
            np.array([hit.chunks[0].score if hit.chunks else 0.0 for hit in hits], np.float64),
            np.array([hit.proximity for hit in hits], np.float64),
            np.array([hit.coverage for hit in hits], np.float64),
        )
        return cls(columns, terms, len(hits) if total is None else total, 0.0, _HitDetails(tuple(hits)))

    def __eq__(self, other: object) -> bool:
        """Compare all but the time that it took."""
        if not isinstance(other, KeywordAnswer):
            return NotImplemented
        return (self.hits, self.terms, self.total) == (other.hits, other.terms, other.total)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        """Return the number of notes in the columns."""
        return len(self.columns.notes)

    @property
    def notes(self) -> Ints:
        """Ids in the ledger, best first, int64[n]."""
        return self.columns.notes

    @cached_property
    def rows(self) -> dict[int, int]:
        """The row of each note in the columns, by its id."""
        return {note: row for row, note in enumerate(self.columns.notes.tolist())}

    def matched(self, note: int) -> tuple[str, ...]:
        """Return the query's words that a note contains; none for a note that is not in the columns."""
        row = self.rows.get(note)
        return () if row is None else self.details.matched(row)

    def passages(self, notes: Iterable[int]) -> dict[int, tuple[ChunkHit, ...]]:
        """Return the best passages, best first, of those of the notes that are in the columns, by note."""
        rows = self.rows
        return {note: self.details.passages(rows[note]) for note in notes if note in rows}

    @cached_property
    def hits(self) -> tuple[KeywordHit, ...]:
        """All notes with their words and passages, best first: as many objects as there are rows."""
        columns = self.columns
        rows = zip(
            columns.notes.tolist(),
            columns.scores.tolist(),
            columns.coverage.tolist(),
            columns.proximity.tolist(),
            strict=True,
        )
        return tuple(
            KeywordHit(
                note, score, self.details.matched(row), coverage, self.details.passages(row), proximity
            )
            for row, (note, score, coverage, proximity) in enumerate(rows)
        )


@dataclass(frozen=True, slots=True)
class _HitDetails:
    hits: tuple[KeywordHit, ...]

    def matched(self, row: int) -> tuple[str, ...]:
        return self.hits[row].matched

    def passages(self, row: int) -> tuple[ChunkHit, ...]:
        return self.hits[row].chunks
