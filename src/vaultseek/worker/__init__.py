"""The process wall around models and vectors: the daemon's side is light, the child's may crash or hang."""

from vaultseek.worker.answer import ChunkHit, NoteHit, SemanticAnswer
from vaultseek.worker.semantic import CHUNKS, NOTES, SemanticWorker
from vaultseek.worker.state import WorkerSettings, WorkerState

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
