"""The answer to a semantic query, as columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.models.calibration import DEFAULT
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.worker.pipe import Frame

Numbers = NDArray[np.int64]
Scores = NDArray[np.float32]


class ChunkHit(NamedTuple):
    """A passage near to the query: chunk id, note, cosine."""

    id: str
    note: int
    score: float


class NoteHit(NamedTuple):
    """A note whose own vector is near to the query: note, cosine."""

    note: int
    score: float


def _no_numbers() -> Numbers:
    return np.zeros(0, np.int64)


def _no_scores() -> Scores:
    return np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class SemanticAnswer:
    """The nearest passages and notes, best first, and the time taken.

    Three columns of equal length hold the passages: the number of the chunk, its note, its cosine. There are
    up to ``k`` notes in them and a few passages of each. Two more hold the notes by their own vectors.
    ``vector`` is the query's vector: ``(dimension,)``.
    """

    passage_numbers: Numbers = field(default_factory=_no_numbers)
    passage_notes: Numbers = field(default_factory=_no_numbers)
    passage_scores: Scores = field(default_factory=_no_scores)
    note_ids: Numbers = field(default_factory=_no_numbers)
    note_scores: Scores = field(default_factory=_no_scores)
    vector: Vectors = field(default_factory=_no_scores, repr=False)
    embed_ms: float = 0.0
    search_ms: float = 0.0
    note_vectors: Mapping[int, Vectors] = field(default_factory=dict, repr=False)
    """Unit vectors of the best notes, by note, as far as they have one."""
    reading: float = 1.0
    """Degree to which the model reads the query, in [0, 1]."""
    meaning_curve: tuple[float, float] = DEFAULT.meaning_curve
    """Intercept and slope of the model's logistic curve from cosine to confidence."""

    @classmethod
    def of_hits(
        cls, passages: Sequence[tuple[int, int, float]], notes: Sequence[tuple[int, float]], vector: Vectors
    ) -> SemanticAnswer:
        """Return the answer with these passages (number, note, cosine) and notes (note, cosine)."""
        return cls(
            np.array([number for number, _, _ in passages], dtype=np.int64),
            np.array([note for _, note, _ in passages], dtype=np.int64),
            np.array([score for _, _, score in passages], dtype=np.float32),
            np.array([note for note, _ in notes], dtype=np.int64),
            np.array([score for _, score in notes], dtype=np.float32),
            vector,
        )

    def with_chunks(self, numbers: Collection[int]) -> SemanticAnswer:
        """Return the answer with the passages of these chunks only."""
        rows = np.isin(self.passage_numbers, list(numbers))
        return replace(
            self,
            passage_numbers=self.passage_numbers[rows],
            passage_notes=self.passage_notes[rows],
            passage_scores=self.passage_scores[rows],
        )

    @property
    def chunks(self) -> list[ChunkHit]:
        """The passages as rows; made anew each time."""
        ids = map(str, self.passage_numbers.tolist())
        columns = (ids, self.passage_notes.tolist(), self.passage_scores.tolist())
        return [ChunkHit(*hit) for hit in zip(*columns, strict=True)]

    @property
    def notes(self) -> list[NoteHit]:
        """The notes as rows; made anew each time."""
        columns = (self.note_ids.tolist(), self.note_scores.tolist())
        return [NoteHit(*hit) for hit in zip(*columns, strict=True)]


def answer_of(frame: Frame) -> SemanticAnswer:
    """Decode the answer in a frame from the child."""
    vector, numbers, notes, scores, note_ids, note_scores, best, vectors = frame.arrays
    times = (frame.header["embed_ms"], frame.header["search_ms"])
    of_best = dict(zip(best.tolist(), vectors, strict=True))
    return SemanticAnswer(numbers, notes, scores, note_ids, note_scores, vector, *times, of_best)
