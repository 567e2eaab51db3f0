"""The answer to a semantic query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from vaultseek.models.encoder import Vectors
from vaultseek.worker.pipe import Frame


class ChunkHit(NamedTuple):
    """A passage near to the query: chunk id, note, cosine."""

    id: str
    note: int
    score: float


class NoteHit(NamedTuple):
    """A note whose own vector is near to the query: note, cosine."""

    note: int
    score: float


@dataclass(frozen=True, slots=True)
class SemanticAnswer:
    """The nearest passages and notes, best first in each list, and the time taken.

    ``chunks`` has up to ``k`` notes and a few passages of each; ``vector`` is the query's vector.
    """

    chunks: list[ChunkHit]
    notes: list[NoteHit]
    vector: Vectors = field(repr=False)
    embed_ms: float = 0.0
    search_ms: float = 0.0


def answer_of(frame: Frame) -> SemanticAnswer:
    """Decode the answer in a frame from the child."""
    vector, chunk_notes, chunk_scores, notes, scores = frame.arrays
    columns = (frame.header["ids"], chunk_notes.tolist(), chunk_scores.tolist())
    return SemanticAnswer(
        chunks=[ChunkHit(*hit) for hit in zip(*columns, strict=True)],
        notes=[NoteHit(*hit) for hit in zip(notes.tolist(), scores.tolist(), strict=True)],
        vector=vector,
        embed_ms=frame.header["embed_ms"],
        search_ms=frame.header["search_ms"],
    )
