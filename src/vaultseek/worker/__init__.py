"""The process wall around models and vectors: the daemon's side is light, the child's may crash or hang."""

from vaultseek.worker.supervisor import (
    CHUNKS,
    NOTES,
    ChunkHit,
    NoteHit,
    SemanticAnswer,
    SemanticWorker,
    WorkerSettings,
    WorkerState,
)

__all__ = [
    "CHUNKS",
    "NOTES",
    "ChunkHit",
    "NoteHit",
    "SemanticAnswer",
    "SemanticWorker",
    "WorkerSettings",
    "WorkerState",
]
