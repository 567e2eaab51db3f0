"""The port of a cluster, with the values that pass it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from vaultseek.models.encoder import Vectors


@dataclass(frozen=True, slots=True)
class Batch:
    """Texts by key, embedded by one task."""

    texts: Mapping[str, str]

    def halves(self) -> tuple[Batch, Batch]:
        """Return two batches with half of the texts each."""
        items = list(self.texts.items())
        middle = len(items) // 2
        return Batch(dict(items[:middle])), Batch(dict(items[middle:]))


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a batch: vectors by key, the keys of texts that have none, or true for ``lost`` if the
    workers that had it ended each time."""

    batch: Batch
    vectors: Mapping[str, Vectors] = field(default_factory=dict)
    failed: Sequence[str] = ()
    lost: bool = False


class Cluster(Protocol):
    """Workers that embed batches with the model they were told.

    Methods raise Unavailable if the cluster is gone, or its workers cannot do this work.
    """

    def slots(self) -> int:
        """Return how many batches the cluster computes at a time; 0 while it has no worker."""

    def submit(self, batch: Batch) -> None:
        """Give a batch to a worker, again if that ends before it has answered."""

    def results(self, seconds: float) -> list[Result]:
        """Return what has been computed, after ``seconds`` at the latest."""
