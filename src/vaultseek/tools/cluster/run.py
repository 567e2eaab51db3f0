"""One run: texts from the daemon to the cluster, their vectors back to it."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from vaultseek.base.limits import FRAME_BYTES
from vaultseek.errors import Unavailable

BATCH_TEXTS = 64
"""Texts of one task, which take a processor about a second."""
QUEUED_BATCHES = 2
"""Batches for each slot of the cluster: one that is processed, and one that waits so that no slot is idle."""
MOST_BATCHES = 4096
"""Most batches at the cluster, however large it is: their texts are in this process's memory."""
STALLED_SECONDS = 300.0
"""Time without a result, while there is something to compute, after which the run ends."""
_POLL_SECONDS = 0.2
_FRAME_BYTES = FRAME_BYTES // 2
Batch = Mapping[str, str]
"""Texts of one task, by key."""


@dataclass(frozen=True, slots=True)
class Result:
    """The outcome of a batch: vectors by key, and the keys of texts that failed.

    The batch is ``lost`` if the workers that had it ended each time.
    """

    batch: Batch
    vectors: Mapping[str, Any] = field(default_factory=dict)
    failed: Sequence[str] = ()
    lost: bool = False


class Cluster(Protocol):
    """Workers that embed batches with one model.

    Methods raise Unavailable if the cluster is gone, or its workers cannot do this work.
    """

    def slots(self) -> int:
        """Return the number of batches processed at a time; 0 while the cluster has no worker."""

    def submit(self, batch: Batch) -> None:
        """Give a batch to a worker, again if that ends before it has answered."""

    def results(self, seconds: float) -> list[Result]:
        """Return the finished batches, after ``seconds`` at the latest."""


class Daemon(Protocol):
    """The daemon, which has the ledger."""

    def texts(self, limit: int) -> Mapping[str, str]:
        """Return texts by key whose vectors are missing, each of them once; none if there are none now."""

    def submit_vectors(self, vectors: Mapping[str, str], refused: Collection[str]) -> None:
        """Hand over vectors in base64, and keys of texts that the daemon has to embed itself."""


class ClusterRun:
    """Hands texts to the cluster, no more than it can embed soon, until none are left."""

    def __init__(
        self,
        daemon: Daemon,
        cluster: Cluster,
        *,
        stalled_seconds: float = STALLED_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.embedded = 0
        """Vectors that the cluster has computed."""
        self._daemon = daemon
        self._cluster = cluster
        self._stalled_seconds = stalled_seconds
        self._clock = clock
        self._in_flight = 0
        self._last_result = clock()

    def run(self, is_over: Callable[[], bool]) -> None:
        """Work until ``is_over``. Raises Unavailable if the cluster is gone or gives no result for long."""
        while not is_over():
            self._submit()
            results = self._cluster.results(_POLL_SECONDS)
            for result in results:
                self._take(result)
            if results or not self._in_flight:
                self._last_result = self._clock()
            elif self._clock() - self._last_result > self._stalled_seconds:
                raise Unavailable(
                    f"the cluster has given no result for {self._stalled_seconds:.0f} s; look at its log."
                    " The daemon has all that came before, and embeds the rest"
                )

    def _submit(self) -> None:
        """Submit batches of the daemon's texts to the cluster, up to the number that it has room for."""
        room = min(MOST_BATCHES, QUEUED_BATCHES * max(1, self._cluster.slots())) - self._in_flight
        texts = list(self._daemon.texts(room * BATCH_TEXTS).items()) if room > 0 else []
        for start in range(0, len(texts), BATCH_TEXTS):
            self._submit_batch(dict(texts[start : start + BATCH_TEXTS]))

    def _submit_batch(self, batch: Batch) -> None:
        self._cluster.submit(batch)
        self._in_flight += 1

    def _take(self, result: Result) -> None:
        self._in_flight -= 1
        refused = set(result.failed)
        if result.lost and len(result.batch) > 1:
            # One of the texts may end every process that has it.
            texts = list(result.batch.items())
            middle = len(texts) // 2
            self._submit_batch(dict(texts[:middle]))
            self._submit_batch(dict(texts[middle:]))
            return
        if result.lost:
            refused |= result.batch.keys()
        self.embedded += len(result.vectors)
        self._send(result.vectors, refused)

    def _send(self, vectors: Mapping[str, Any], refused: Collection[str]) -> None:
        """Hand over vectors in requests that are no larger than the daemon allows."""
        frame: dict[str, str] = {}
        size = sum(map(len, refused))
        for key, vector in vectors.items():
            text = base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()
            if frame and size + len(key) + len(text) > _FRAME_BYTES:
                self._daemon.submit_vectors(frame, ())
                frame, size = {}, 0
            frame[key] = text
            size += len(key) + len(text)
        self._daemon.submit_vectors(frame, refused)
