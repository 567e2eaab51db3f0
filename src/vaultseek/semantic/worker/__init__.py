"""The semantic worker: a child process, which may crash or hang, and the daemon's interface to it."""

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
