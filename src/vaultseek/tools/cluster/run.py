"""One run: notes and texts from the daemon to the cluster, parsed notes and vectors back to it."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np

from vaultseek.base.limits import FRAME_BYTES
from vaultseek.errors import Unavailable

BATCH_TEXTS = 64
"""Texts of one task, which take a processor about a second."""
BATCH_NOTES = 32
"""Notes of one task, which take a processor about a tenth of a second."""
QUEUED_BATCHES = 2
"""Batches for each slot of the cluster: one that is processed, and one that waits so that no slot is idle."""
MOST_BATCHES = 4096
"""Most batches at the cluster, however large it is: their texts are in this process's memory."""
STALLED_SECONDS = 300.0
"""Time without a result, while there is something to compute, after which the run ends."""
_POLL_SECONDS = 0.2
_FRAME_BYTES = FRAME_BYTES // 2
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
    """Workers that process batches for one model.

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

    def notes(self, limit: int) -> Mapping[str, tuple[str, bytes]]:
        """Return path and bytes of notes to parse, by key, each of them once; none if there are none now."""

    def submit_notes(self, notes: Mapping[str, str], refused: Collection[str]) -> None:
        """Hand over parsed notes, and keys of notes that the daemon has to parse itself."""

    def texts(self, limit: int) -> Mapping[str, str]:
        """Return texts by key whose vectors are missing, each of them once; none if there are none now."""

    def submit_vectors(self, vectors: Mapping[str, str], refused: Collection[str]) -> None:
        """Hand over vectors in base64, and keys of texts that the daemon has to embed itself."""


class ClusterRun:
    """Hands notes and texts to the cluster, no more than it can process soon, until none are left.

    Notes come first: those that are read are found by their words while their vectors follow.
    """

    def __init__(
        self,
        daemon: Daemon,
        cluster: Cluster,
        *,
        stalled_seconds: float = STALLED_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.parsed = 0
        """Notes that the cluster has parsed."""
        self.embedded = 0
        """Vectors that it has computed."""
        self._daemon = daemon
        self._cluster = cluster
        self._stalled_seconds = stalled_seconds
        self._clock = clock
        self._in_flight = 0
        self._last_result = clock()

    def run(self, is_over: Callable[[], bool]) -> None:
        """Work until ``is_over``. Raises Unavailable if the cluster is gone or gives no result for long."""
        while not is_over():
            self._submit("parse", BATCH_NOTES, self._daemon.notes)
            self._submit("embed", BATCH_TEXTS, self._daemon.texts)
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

    def _submit(self, work: Work, size: int, take: Callable[[int], Mapping[str, Any]]) -> None:
        """Submit batches of the daemon's work to the cluster, as many as there is room for."""
        room = min(MOST_BATCHES, QUEUED_BATCHES * max(1, self._cluster.slots())) - self._in_flight
        parts = list(take(room * size).items()) if room > 0 else []
        for start in range(0, len(parts), size):
            self._submit_batch(Batch(work, dict(parts[start : start + size])))

    def _submit_batch(self, batch: Batch) -> None:
        self._cluster.submit(batch)
        self._in_flight += 1

    def _take(self, result: Result) -> None:
        self._in_flight -= 1
        refused = set(result.failed)
        if result.lost and len(result.batch.parts) > 1:
            # One of the parts may end whatever process has it.
            for half in result.batch.halves():
                self._submit_batch(half)
            return
        if result.lost:
            refused |= result.batch.parts.keys()
        if result.batch.work == "parse":
            self.parsed += len(result.answers)
            self._send(result.answers, refused, self._daemon.submit_notes)
        else:
            self.embedded += len(result.answers)
            vectors = {key: np.asarray(each, "<f4").tobytes() for key, each in result.answers.items()}
            texts = {key: base64.b64encode(data).decode() for key, data in vectors.items()}
            self._send(texts, refused, self._daemon.submit_vectors)

    def _send(
        self,
        answers: Mapping[str, str],
        refused: Collection[str],
        send: Callable[[Mapping[str, str], Collection[str]], None],
    ) -> None:
        """Hand over answers in requests that are no larger than the daemon allows."""
        refused = {*refused, *(key for key, text in answers.items() if len(text) > _FRAME_BYTES)}
        frame: dict[str, str] = {}
        size = sum(map(len, refused))
        for key in [key for key in answers if key not in refused]:
            text = answers[key]
            if frame and size + len(key) + len(text) > _FRAME_BYTES:
                send(frame, ())
                frame, size = {}, 0
            frame[key] = text
            size += len(key) + len(text)
        send(frame, refused)
