"""Answers of a keyword search as rows, and hand-made ones."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vaultseek.store.keyword.answer import ChunkHit, Columns, KeywordAnswer


@dataclass(frozen=True, slots=True)
class KeywordHit:
    """A matching note.

    ``matched``: the query words that the note contains. ``coverage``: their share of all query words,
    weighted by idf, from 0 to 1. ``chunks``: its best passages, best first; empty if only title, tags or path
    match. ``proximity``: the score for words near each other, on the scale of ``score`` but not part of it.
    """

    note: int
    score: float
    matched: tuple[str, ...]
    coverage: float
    chunks: tuple[ChunkHit, ...]
    proximity: float = 0.0


def hits_of(answer: KeywordAnswer) -> tuple[KeywordHit, ...]:
    """All notes with their words and passages, best first."""
    columns, details = answer.columns, answer.details
    rows = zip(columns.notes, columns.scores, columns.coverage, columns.proximity, strict=True)
    return tuple(
        KeywordHit(
            int(note),
            float(score),
            details.matched(row),
            float(coverage),
            details.passages(row),
            float(proximity),
        )
        for row, (note, score, coverage, proximity) in enumerate(rows)
    )


def content_of(answer: KeywordAnswer) -> tuple[object, ...]:
    """The compared parts of an answer. Its duration is left out."""
    return hits_of(answer), answer.terms, answer.total


@dataclass(frozen=True)
class DetailsOfHits:
    """Words and passages of hits, by row."""

    hits: Sequence[KeywordHit]

    def matched(self, row: int) -> tuple[str, ...]:
        return self.hits[row].matched

    def passages(self, row: int) -> tuple[ChunkHit, ...]:
        return self.hits[row].chunks


def answer_of(hits: Sequence[KeywordHit]) -> KeywordAnswer:
    """An answer with these hits, best first."""
    columns = Columns(
        np.array([hit.note for hit in hits], np.int64),
        np.array([hit.score for hit in hits], np.float64),
        np.array([hit.chunks[0].score if hit.chunks else 0.0 for hit in hits], np.float64),
        np.array([hit.proximity for hit in hits], np.float64),
        np.array([hit.coverage for hit in hits], np.float64),
    )
    return KeywordAnswer(columns, (), len(hits), 0.0, DetailsOfHits(hits))
