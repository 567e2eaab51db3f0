"""Models and vectors run in a child process, which may crash or hang; the daemon's side of it is light."""

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
