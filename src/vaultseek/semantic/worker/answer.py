"""The answer to a semantic query, as columns."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.models.calibration import DEFAULT
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.worker.pipe import Frame

Numbers = NDArray[np.int64]
Scores = NDArray[np.float32]


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

    def with_chunks(self, numbers: Collection[int]) -> SemanticAnswer:
        """Return the answer with the passages of these chunks only."""
        rows = np.isin(self.passage_numbers, list(numbers))
        return replace(
            self,
            passage_numbers=self.passage_numbers[rows],
            passage_notes=self.passage_notes[rows],
            passage_scores=self.passage_scores[rows],
        )


def answer_of(frame: Frame) -> SemanticAnswer:
    """Decode the answer in a frame from the child."""
    vector, numbers, notes, scores, note_ids, note_scores, best, vectors = frame.arrays
    times = (frame.header["embed_ms"], frame.header["search_ms"])
    of_best = dict(zip(best.tolist(), vectors, strict=True))
    return SemanticAnswer(numbers, notes, scores, note_ids, note_scores, vector, *times, of_best)
