"""Embedding of many texts in this process, or in a separate process with bfloat16, whichever is faster.

Which one is faster depends on the processor, so the first texts of a long run are embedded in both processes.
The separate process ends after the run.
"""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vaultseek.base.child_process import ChildEnded, ChildProcess, apply_child_limits, reserve_pipes
from vaultseek.errors import FrameLost, VaultseekError, WorkerUnavailable
from vaultseek.semantic.models.encoder import Encoder, Vectors
from vaultseek.semantic.worker.pipe import frame_of, pack, parts_of, read
from vaultseek.semantic.worker.queues import LOWEST_PRIORITY

BULK_TEXTS = 64
"""Number of texts in an uninterrupted run after which a separate process is started."""
BULK_IDLE_SECONDS = 20.0
"""Number of seconds without a text after which a run is over."""
MEASURED_TEXTS = 8
"""Number of texts used to measure the speed. Embedding them twice in each process takes less than a
second."""
MEASURED_CHARS = 400
"""Minimum mean length, in characters, of the texts used to measure the speed. Speed on short texts does not
predict speed on long texts."""
BULK_GAIN = 1.2
"""Minimum ratio of the separate process's speed to this process's speed. Below it, the separate process is
not worth its memory."""
BULK_COSINE, BULK_MEAN_COSINE = 0.999, 0.9999
"""Minimum cosine between bfloat16 and float32 vectors: for each single vector, and for the mean over all
vectors."""
COMMAND = (sys.executable, "-P", "-m", "vaultseek.semantic.worker.bulk")
_STEP_TEXTS = 8
Pause = Callable[[], None]


class BulkProcess:
    """A process that loads the model ``name`` in the background. Used by one thread."""

    def __init__(self, name: str, directory: str | None, fingerprint: str) -> None:
        """Start the process. Raises OSError if it cannot be started."""
        self._process = ChildProcess(COMMAND, name, directory or "")
        self._fingerprint = fingerprint
        self._ready = threading.Event()
        self.is_usable = False
        """True if the process loaded the same model as the worker and has not failed since."""
        threading.Thread(target=self._await_ready, name="bulk", daemon=True).start()

    @property
    def is_loading(self) -> bool:
        """True until the process is ready or has failed."""
        return not self._ready.is_set()

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        """Return the vectors of ``texts``. Raises WorkerUnavailable if the process has ended."""
        try:
            self._process.send(*parts_of({"texts": list(texts), "query": query}))
            vectors: Vectors = frame_of(*self._process.receive()).arrays[0]
        except (ChildEnded, FrameLost) as error:
            self.is_usable = False
            raise WorkerUnavailable(f"embedding in bulk failed: {error}") from None
        return vectors

    def end(self) -> None:
        """End the process without waiting for its current work."""
        self.is_usable = False
        self._process.kill()
        self._process.end()

    def _await_ready(self) -> None:
        with contextlib.suppress(ChildEnded):
            self.is_usable = self._process.receive()[0]["fingerprint"] == self._fingerprint
        self._ready.set()


Start = Callable[[], BulkProcess]


@dataclass(frozen=True, slots=True)
class Measurement:
    """Speed of bfloat16 relative to float32, and the cosines between their vectors."""

    gain: float
    cosine: float
    mean_cosine: float

    @property
    def is_better(self) -> bool:
        """True if bfloat16 is faster with equally good vectors."""
        is_right = self.cosine >= BULK_COSINE and self.mean_cosine >= BULK_MEAN_COSINE
        return is_right and self.gain >= BULK_GAIN


class BulkEncoder:
    """An encoder that leaves long runs of texts to a separate process if that is faster.

    Only background work, which passes a ``pause``, counts as part of a run. ``start`` starts the separate
    process. Without a ``measurement``, the speeds of both processes are measured first.
    """

    def __init__(
        self,
        encoder: Encoder,
        start: Start,
        measurement: Measurement | None = None,
        idle_seconds: float = BULK_IDLE_SECONDS,
    ) -> None:
        self.fingerprint = encoder.fingerprint
        self.dimension = encoder.dimension
        self.window = encoder.window
        self._encoder = encoder
        self._start = start
        self._idle_seconds = idle_seconds
        self._measurement = measurement
        self._process: BulkProcess | None = None
        self._has_failed = False
        self._texts = 0
        self._last = time.monotonic()
        self._lock = threading.Lock()

    @property
    def computing(self) -> str:
        """A human-readable description of how vectors are computed."""
        measurement = None if self._has_failed else self._measurement
        if self._has_failed:
            bulk = "no faster in bulk, because bfloat16 failed"
        elif measurement is None:
            bulk = "no faster in bulk until bfloat16 has been measured"
        else:
            way = "bfloat16," if measurement.is_better else "float32, because bfloat16 is only"
            bulk = f"in bulk {way} {measurement.gain:.1f} times as fast"
        return f"{self._encoder.computing}; {bulk}"

    def encode(self, texts: Sequence[str], *, query: bool = False, pause: Pause | None = None) -> Vectors:
        """Embed texts; see `Encoder.encode`."""
        if pause is not None:
            with self._lock:
                vectors = self._embed_elsewhere(texts, query, pause)
            if vectors is not None:
                return vectors
        return self._encoder.encode(texts, query=query, pause=pause)

    def _embed_elsewhere(self, texts: Sequence[str], query: bool, pause: Pause) -> Vectors | None:
        """Return vectors from the separate process; None if that process is not ready, is slower, or
        fails."""
        now = time.monotonic()
        self._texts = len(texts) + (self._texts if now - self._last < self._idle_seconds else 0)
        self._last = now
        process = self._usable_process()
        if process is None:
            return None
        try:
            if self._measurement is None:
                self._measure(process, texts)
            if self._measurement is None or not self._measurement.is_better:
                return None
            parts = []
            for start in range(0, len(texts), _STEP_TEXTS):
                pause()
                parts.append(process.embed(texts[start : start + _STEP_TEXTS], query=query))
            return np.concatenate(parts)
        except WorkerUnavailable:
            self._fail()
            return None

    def _usable_process(self) -> BulkProcess | None:
        """Return the separate process if it is ready; start it once the run of texts is long enough."""
        is_slower = self._measurement is not None and not self._measurement.is_better
        if self._has_failed or is_slower or self._texts <= BULK_TEXTS:
            return None
        if self._process is None:
            try:
                self._process = self._start()
            except OSError:
                self._fail()
                return None
            threading.Thread(target=self._end_when_idle, name="bulk-end", daemon=True).start()
        if self._process.is_loading:
            return None
        if not self._process.is_usable:
            self._fail()
        return self._process

    def _measure(self, process: BulkProcess, texts: Sequence[str]) -> None:
        """Measure this process and the separate one with the longest of ``texts``, unless these are too short
        or too few."""
        sample = sorted(texts, key=len)[-MEASURED_TEXTS:]
        if len(sample) < MEASURED_TEXTS or sum(map(len, sample)) < MEASURED_CHARS * MEASURED_TEXTS:
            return
        seconds: list[list[float]] = [[], []]
        for _ in range(2):
            here, spent = _timed(lambda: self._encoder.encode(sample))
            seconds[0].append(spent)
            there, spent = _timed(lambda: process.embed(sample, query=False))
            seconds[1].append(spent)
        cosines = (here * there).sum(axis=1)
        gain = min(seconds[0]) / min(seconds[1])
        self._measurement = Measurement(gain, float(cosines.min()), float(cosines.mean()))

    def _end_when_idle(self) -> None:
        """End the separate process when the run of texts is over, or if bfloat16 is not better."""
        while True:
            time.sleep(self._idle_seconds / 4)
            with self._lock:
                measurement = self._measurement
                is_over = time.monotonic() - self._last >= self._idle_seconds
                if is_over or (measurement is not None and not measurement.is_better):
                    self._end()
                if self._process is None:
                    return

    def _fail(self) -> None:
        self._has_failed = True
        self._end()

    def _end(self) -> None:
        if self._process is not None:
            self._process.end()
            self._process = None


def _timed(compute: Callable[[], Vectors]) -> tuple[Vectors, float]:
    began = time.perf_counter()
    vectors = compute()
    return vectors, time.perf_counter() - began


def main() -> None:
    """Answer requests from standard input until it closes. Never returns."""
    incoming, outgoing = reserve_pipes()
    apply_child_limits(LOWEST_PRIORITY)
    _, name, directory = sys.argv[1:]
    from vaultseek.semantic.inference.embed import load

    try:
        encoder = load(name, Path(directory) if directory else None, half=True)
        encoder.encode(["warm up"])
        outgoing.write(pack({"fingerprint": encoder.fingerprint}))
        outgoing.flush()
        while (frame := read(incoming)) is not None:
            vectors = encoder.encode(frame.header["texts"], query=frame.header["query"])
            outgoing.write(pack({}, [vectors]))
            outgoing.flush()
    except (OSError, VaultseekError):
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    main()
