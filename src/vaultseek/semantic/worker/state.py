"""Settings and state of the semantic worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from vaultseek.base import limits
from vaultseek.base.model import Reason
from vaultseek.semantic.models.service import Service
from vaultseek.semantic.worker.child import COMMAND

WORKER_START_SECONDS = 120.0
WORKER_QUERY_SECONDS = 10.0
"""A query that runs longer in the worker counts as hung, and the worker is killed."""
WORKER_STORE_SECONDS = 120.0
"""The same limit for opening, writing and dropping a vector store."""
WORKER_STABLE_SECONDS = 60.0
"""The circuit breaker's failure count is reset after the worker was ready for this long."""

Status = Literal["down", "starting", "ready", "broken"]


class Model(Protocol):
    """The model that the child loads: its name in the settings, and its folder unless the name is enough, or
    the service that stands for it."""

    @property
    def name(self) -> str: ...
    @property
    def directory(self) -> Path | None: ...
    @property
    def fault(self) -> str | None:
        """The reason why it cannot be loaded, so that no child is started; None if it can."""

    @property
    def service(self) -> Service | None: ...


@dataclass(frozen=True, slots=True)
class WorkerState:
    """State of the worker. ``reason`` is None when it is ready; ``doing`` is its current work,
    ``computing`` how it computes vectors, and ``sends`` what it sends to which server, in words."""

    status: Status
    reason: Reason | None = None
    pid: int | None = None
    model: str | None = None
    dimension: int | None = None
    window: int | None = None
    restarts: int = 0
    doing: str = ""
    computing: str | None = None
    sends: str | None = None


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Settings of the child; but for ``reranker``, only tests change the defaults."""

    reranker: Service | None = None
    """The reranker of a server, which `SERVER` names; None if the settings have none."""
    stores: Literal["chroma", "memory"] = "chroma"
    command: Sequence[str] = COMMAND
    start_seconds: float = WORKER_START_SECONDS
    answer_seconds: float = WORKER_QUERY_SECONDS
    embed_seconds: float = limits.EMBED_SECONDS
    store_seconds: float = WORKER_STORE_SECONDS
    backoff_seconds: Sequence[float] = limits.WORKER_BACKOFF_SECONDS
    retry_seconds: float = limits.WORKER_RETRY_SECONDS
    stable_seconds: float = WORKER_STABLE_SECONDS
