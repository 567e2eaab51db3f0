"""What comes of a semantic query."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from vaultseek.models.encoder import Vectors
from vaultseek.worker.pipe import Frame


class ChunkHit(NamedTuple):
    """A passage that was found: chunk id, note, cosine to the query."""

    id: str
    note: int
    score: float


class NoteHit(NamedTuple):
    """A note that was found by its own vector: note, cosine to the query."""

    note: int
    score: float


@dataclass(frozen=True, slots=True)
class SemanticAnswer:
    """What is nearest in meaning, best first in each list, and how long it took.

    ``chunks`` holds up to ``k`` notes and a few passages of each; ``vector`` is the query's own.
    """

    chunks: list[ChunkHit]
    notes: list[NoteHit]
    vector: Vectors = field(repr=False)
    embed_ms: float = 0.0
    search_ms: float = 0.0


def answer_of(frame: Frame) -> SemanticAnswer:
    """The answer that the child put into a frame."""
    vector, chunk_notes, chunk_scores, notes, scores = frame.arrays
    columns = (frame.header["ids"], chunk_notes.tolist(), chunk_scores.tolist())
    return SemanticAnswer(
        chunks=[ChunkHit(*hit) for hit in zip(*columns, strict=True)],
        notes=[NoteHit(*hit) for hit in zip(notes.tolist(), scores.tolist(), strict=True)],
        vector=vector,
        embed_ms=frame.header["embed_ms"],
        search_ms=frame.header["search_ms"],
    )
