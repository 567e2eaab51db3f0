"""Types for the semantic worker: its settings, its state, its answers, and the interface that other modules
use.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.base import limits
from vaultseek.base.model import Reason, VectorIndexKind
from vaultseek.semantic.models.calibration import DEFAULT
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.models.service import Service
from vaultseek.semantic.worker.child import COMMAND
from vaultseek.semantic.worker.pipe import Frame

WORKER_START_SECONDS = 120.0
"""Number of seconds without any activity after which a start counts as hung."""
WORKER_LONGEST_START_SECONDS = 1_200.0
"""Maximum number of seconds for a start, and for loading a reranker; importing libraries from a slow disk
takes minutes."""
WORKER_QUERY_SECONDS = 10.0
"""Number of seconds after which a query in the worker counts as hung, and the worker is killed."""
WORKER_STORE_SECONDS = 120.0
"""Number of seconds after which opening, writing or dropping a vector store counts as hung."""
WORKER_STABLE_SECONDS = 60.0
"""Number of seconds that a child must have been ready before the circuit breaker's failure count is reset."""

Status = Literal["down", "starting", "ready", "broken"]


@dataclass(frozen=True, slots=True)
class WorkerState:
    """State of the worker. ``reason`` is None when the worker is ready.

    Three fields are human-readable: ``doing`` describes the current work, ``computing`` how vectors are
    computed, and ``sends`` what text is sent to which server. ``in_vain`` is true while the worker restarts
    repeatedly without success.
    """

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
    in_vain: bool = False


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Settings of the child. Only tests set ``command`` and the fields after it."""

    reranker: Service | None = None
    """The reranking server, which the reranker name `SERVER` selects; None if the settings name no server."""
    vector_index: VectorIndexKind = "auto"
    """Use of Chroma to find the nearest vectors: only for large collections ("auto"), never, or always."""
    idle_seconds: float | None = None
    """Number of seconds without a request after which the child is stopped; the next request starts another
    child. With None, the child keeps running."""
    command: Sequence[str] = COMMAND
    start_seconds: float = WORKER_START_SECONDS
    longest_start_seconds: float = WORKER_LONGEST_START_SECONDS
    answer_seconds: float = WORKER_QUERY_SECONDS
    embed_seconds: float = limits.EMBED_SECONDS
    store_seconds: float = WORKER_STORE_SECONDS
    backoff_seconds: Sequence[float] = limits.WORKER_BACKOFF_SECONDS
    retry_seconds: float = limits.WORKER_RETRY_SECONDS
    stable_seconds: float = WORKER_STABLE_SECONDS


Ints = NDArray[np.int64]
Scores = NDArray[np.float32]


def _no_numbers() -> Ints:
    return np.zeros(0, np.int64)


def _no_scores() -> Scores:
    return np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class SemanticAnswer:
    """The nearest passages and notes, best first, and the time taken.

    Three columns of equal length contain the passages: chunk number, note and cosine, for up to ``k`` notes
    with a few passages each. Two more columns contain the notes whose own vectors are nearest, with the
    cosines. ``vector`` is the query's vector: ``(dimension,)``.
    """

    passage_numbers: Ints = field(default_factory=_no_numbers)
    passage_notes: Ints = field(default_factory=_no_numbers)
    passage_scores: Scores = field(default_factory=_no_scores)
    note_ids: Ints = field(default_factory=_no_numbers)
    note_scores: Scores = field(default_factory=_no_scores)
    vector: Vectors = field(default_factory=_no_scores, repr=False)
    embed_ms: float = 0.0
    search_ms: float = 0.0
    note_vectors: Mapping[int, Vectors] = field(default_factory=dict, repr=False)
    """Unit vectors of the best notes, by note id; notes without a vector are missing."""
    reading: float = 1.0
    """Measure of how well the model reads the query, in [0, 1]."""
    meaning_curve: tuple[float, float] = DEFAULT.meaning_curve
    """Intercept and slope of the model's logistic curve from cosine to confidence."""
    model: str = ""
    """Fingerprint of the model that computed ``vector``."""

    def with_chunks(self, numbers: Collection[int]) -> SemanticAnswer:
        """Return a copy of the answer with only the passages whose chunk ``numbers`` are given."""
        rows = np.isin(self.passage_numbers, list(numbers))
        return replace(
            self,
            passage_numbers=self.passage_numbers[rows],
            passage_notes=self.passage_notes[rows],
            passage_scores=self.passage_scores[rows],
        )


def answer_of(frame: Frame) -> SemanticAnswer:
    """Decode the answer that a frame from the child contains."""
    vector, numbers, notes, scores, note_ids, note_scores, best, vectors = frame.arrays
    times = (frame.header["embed_ms"], frame.header["search_ms"])
    of_best = dict(zip(best.tolist(), vectors, strict=True))
    return SemanticAnswer(numbers, notes, scores, note_ids, note_scores, vector, *times, of_best)


Numbers = Sequence[int] | NDArray[np.int64]


class VectorKeeper(Protocol):
    """Interface for embedding texts and storing vectors; ``SemanticWorker`` describes the methods."""

    @property
    def state(self) -> WorkerState:
        """The current state of the worker."""

    @property
    def counts_quickly(self) -> bool:
        """True if ``count`` takes no longer for many vectors than for a few."""

    async def ready(self, deadline: float | None = None) -> None:
        """Start the worker if necessary, and wait until it is ready."""

    async def embed(
        self, texts: Sequence[str], *, urgent: bool = False, deadline: float | None = None
    ) -> Vectors:
        """Return a unit vector for each text."""

    async def apply(
        self,
        store: Path,
        collection: str,
        *,
        numbers: Numbers = (),
        notes: Numbers = (),
        vectors: Vectors | None = None,
        deletes: Numbers = (),
        version: str | None = None,
        deadline: float | None = None,
    ) -> None:
        """Delete, store or replace vectors in a collection, then set the version."""

    async def query(
        self,
        store: Path,
        text: str | Vectors,
        k: int,
        *,
        allowed: NDArray[np.int64] | None = None,
        deadline: float | None = None,
    ) -> SemanticAnswer:
        """Return the ``k`` notes nearest to a text or vector."""

    async def vectors(
        self, store: Path, notes: Sequence[int], *, deadline: float | None = None
    ) -> Mapping[int, Vectors]:
        """Return, by note id, the vectors of those ``notes`` that have one."""

    async def version(self, store: Path, collection: str, *, deadline: float | None = None) -> str | None:
        """Return the version set by the last complete ``apply``; None if the collection is missing."""

    async def count(self, store: Path, collection: str, *, deadline: float | None = None) -> int:
        """Return the number of vectors in a collection."""

    async def drop(self, store: Path, *, deadline: float | None = None) -> None:
        """Delete the store."""
