"""Child process for models and vectors, and the daemon's side of this process, which may crash or hang."""

from vaultseek.semantic.worker.semantic import CHUNKS, NOTES, SemanticWorker
from vaultseek.semantic.worker.state import SemanticAnswer, WorkerSettings, WorkerState

__all__ = [
    "CHUNKS",
    "NOTES",
    "SemanticAnswer",
    "SemanticWorker",
    "WorkerSettings",
    "WorkerState",
]
