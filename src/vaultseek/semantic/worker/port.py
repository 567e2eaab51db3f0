"""The port of whoever embeds texts and keeps their vectors: the semantic worker, or it and an engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.worker.answer import SemanticAnswer
from vaultseek.semantic.worker.state import WorkerState

Numbers = Sequence[int] | NDArray[np.int64]


class VectorKeeper(Protocol):
    """Embeds texts and keeps vectors; every method is that of ``SemanticWorker``."""

    @property
    def state(self) -> WorkerState:
        """The current state of the worker."""

    @property
    def counts_quickly(self) -> bool:
        """True if ``count`` takes as long for many vectors as for few."""

    def want(self) -> None:
        """Note that a request came: the pause of a worker that is down need not last any longer."""

    async def ready(self, deadline: float | None = None) -> None:
        """Start the worker if need be, and return when it is ready."""

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
        """Delete, store or replace vectors in a collection; then set the version."""

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
        """Return the vectors of those notes that have one."""

    async def version(self, store: Path, collection: str, *, deadline: float | None = None) -> str | None:
        """Return the version of the last complete ``apply``; None if there is no such collection."""

    async def count(self, store: Path, collection: str, *, deadline: float | None = None) -> int:
        """Return the number of vectors in the collection."""

    async def numbers(
        self, store: Path, notes: Numbers, *, collection: str, deadline: float | None = None
    ) -> NDArray[np.int64]:
        """Return the numbers of all vectors of those notes in the collection."""

    async def drop(self, store: Path, *, deadline: float | None = None) -> None:
        """Delete the store."""
