"""The port of a cluster, with the values that pass it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Work = Literal["parse", "embed"]


@dataclass(frozen=True, slots=True)
class Batch:
    """Parts of one task by key: texts to ``embed``, or notes to ``parse``, given as (path, bytes)."""

    work: Work
    parts: Mapping[str, Any]

    def halves(self) -> tuple[Batch, Batch]:
        """Return two batches with half of the parts each."""
        parts = list(self.parts.items())
        middle = len(parts) // 2
        return Batch(self.work, dict(parts[:middle])), Batch(self.work, dict(parts[middle:]))


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a batch: vectors or parsed notes by key, the keys of parts that have none, or true for
    ``lost`` if the workers that had it ended each time."""

    batch: Batch
    answers: Mapping[str, Any] = field(default_factory=dict)
    failed: Sequence[str] = ()
    lost: bool = False


class Cluster(Protocol):
    """Workers that do batches for the model they were told.

    Methods raise Unavailable if the cluster is gone, or its workers cannot do this work.
    """

    def slots(self) -> int:
        """Return how many batches the cluster does at a time; 0 while it has no worker."""

    def submit(self, batch: Batch) -> None:
        """Give a batch to a worker, again if that ends before it has answered."""

    def results(self, seconds: float) -> list[Result]:
        """Return what has been done, after ``seconds`` at the latest."""
