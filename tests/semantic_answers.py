"""Answers of the semantic lane as rows, and hand-made ones."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from vaultseek.semantic.worker import SemanticAnswer


class ChunkHit(NamedTuple):
    id: str
    note: int
    score: float


class NoteHit(NamedTuple):
    note: int
    score: float


def chunks_of(answer: SemanticAnswer) -> list[ChunkHit]:
    ids = map(str, answer.passage_numbers.tolist())
    columns = (ids, answer.passage_notes.tolist(), answer.passage_scores.tolist())
    return [ChunkHit(*hit) for hit in zip(*columns, strict=True)]


def notes_of(answer: SemanticAnswer) -> list[NoteHit]:
    columns = (answer.note_ids.tolist(), answer.note_scores.tolist())
    return [NoteHit(*hit) for hit in zip(*columns, strict=True)]


def answer_of_hits(
    passages: Sequence[tuple[int, int, float]], notes: Sequence[tuple[int, float]]
) -> SemanticAnswer:
    """An answer with these passages (number, note, cosine) and notes (note, cosine)."""
    return SemanticAnswer(
        np.array([number for number, _, _ in passages], dtype=np.int64),
        np.array([note for _, note, _ in passages], dtype=np.int64),
        np.array([score for _, _, score in passages], dtype=np.float32),
        np.array([note for note, _ in notes], dtype=np.int64),
        np.array([score for _, score in notes], dtype=np.float32),
        np.zeros(2, np.float32),
    )
