"""Long runs go to another process if it is faster; nothing depends on it."""

import time
import warnings
from collections.abc import Callable, Sequence

import numpy as np
import psutil
import pytest

from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.inference import embed
from vaultseek.semantic.inference.embed import HashingEncoder
from vaultseek.semantic.models.encoder import Vectors
from vaultseek.semantic.worker.bulk import BULK_TEXTS, BulkEncoder, BulkProcess, Measurement

FASTER = Measurement(gain=2.0, cosine=0.9995, mean_cosine=0.99995)
SLOWER = Measurement(gain=0.8, cosine=1.0, mean_cosine=1.0)
BATCH = [f"text number {i} " * 40 for i in range(32)]


class Elsewhere(BulkProcess):
    """A stand-in for the process that embeds here, after ``fault``, and counts."""

    def __init__(self, fault: Callable[[], None] = lambda: None, usable: bool = True) -> None:
        self.texts = 0
        self.has_ended = False
        self._fault = fault
        self.is_usable = usable

    @property
    def is_loading(self) -> bool:
        return False

    def embed(self, texts: Sequence[str], *, query: bool) -> Vectors:
        self._fault()
        self.texts += len(texts)
        return HashingEncoder().encode(texts, query=query)

    def end(self) -> None:
        self.has_ended = True


class Slow(HashingEncoder):
    """An encoder that takes a millisecond per text."""

    def encode(
        self, texts: Sequence[str], *, query: bool = False, pause: Callable[[], None] | None = None
    ) -> Vectors:
        time.sleep(len(texts) / 1000)
        return super().encode(texts)


def run(encoder: BulkEncoder, batches: int = 5) -> None:
    """Embed in the background, and check every vector."""
    exact = HashingEncoder().encode(BATCH)
    for _ in range(batches):
        assert np.array_equal(encoder.encode(BATCH, pause=lambda: None), exact)


def test_short_runs_and_urgent_texts_stay_here() -> None:
    process = Elsewhere()
    encoder = BulkEncoder(HashingEncoder(), lambda: process, FASTER)
    run(encoder, BULK_TEXTS // len(BATCH))
    encoder.encode(BATCH * 10)
    assert process.texts == 0
    run(encoder)
    assert process.texts > 0


def test_the_faster_way_is_measured_once() -> None:
    process = Elsewhere()
    encoder = BulkEncoder(Slow(), lambda: process)
    assert "until bfloat16 has been measured" in encoder.computing
    run(encoder)
    assert "in bulk bfloat16" in encoder.computing
    assert process.texts > 2 * 32


def test_short_texts_are_no_measure() -> None:
    process = Elsewhere()
    encoder = BulkEncoder(Slow(), lambda: process)
    for _ in range(6):
        encoder.encode(["short"] * 32, pause=lambda: None)
    assert process.texts == 0
    assert "until bfloat16 has been measured" in encoder.computing


def test_the_slower_way_is_never_started_again() -> None:
    encoder = BulkEncoder(HashingEncoder(), lambda: pytest.fail("started"), SLOWER)
    run(encoder)
    assert "bfloat16 is only 0.8 times as fast" in encoder.computing


@pytest.mark.parametrize(
    "measurement", [SLOWER, Measurement(2.0, 0.99, 0.99995), Measurement(2.0, 0.9995, 0.9998)]
)
def test_speed_is_not_bought_with_wrong_vectors(measurement: Measurement) -> None:
    assert not measurement.is_better


def crash() -> None:
    raise WorkerUnavailable("it has ended")


@pytest.mark.parametrize("process", [Elsewhere(crash), Elsewhere(usable=False)])
def test_a_failure_costs_no_text(process: Elsewhere) -> None:
    encoder = BulkEncoder(HashingEncoder(), lambda: process, FASTER)
    run(encoder)
    assert process.has_ended
    assert "failed" in encoder.computing


def test_a_process_that_cannot_be_started_costs_no_text() -> None:
    def start() -> BulkProcess:
        raise OSError("no memory")

    run(BulkEncoder(HashingEncoder(), start, FASTER))


def test_the_process_ends_with_the_run() -> None:
    process = Elsewhere()
    BulkEncoder(HashingEncoder(), lambda: process, FASTER, idle_seconds=0.1).encode(
        BATCH * 3, pause=lambda: None
    )
    end = time.monotonic() + 20
    while not process.has_ended and time.monotonic() < end:
        time.sleep(0.01)
    assert process.has_ended


@pytest.mark.slow
@pytest.mark.model
@pytest.mark.timeout(300)
@pytest.mark.fault("A9")
def test_a9_the_process_gives_the_vectors_of_the_worker_and_its_kill_costs_no_text() -> None:
    encoder = embed.load("bundled")
    process = BulkProcess("bundled", None, encoder.fingerprint)
    while process.is_loading:
        time.sleep(0.05)
    assert process.is_usable
    texts = [f"text number {i}" for i in range(3)]  # the process has the lowest priority and waits for others
    exact = encoder.encode(texts)
    assert (process.embed(texts, query=False) * exact).sum(axis=1).min() > 0.999
    bulk = BulkEncoder(encoder, lambda: process, FASTER)
    bulk.encode(["short"] * (BULK_TEXTS + 1), pause=lambda: None)
    assert "bfloat16," in bulk.computing
    (child,) = (
        each
        for each in psutil.Process().children()
        if each.status() != psutil.STATUS_ZOMBIE and "vaultseek.semantic.worker.bulk" in each.cmdline()
    )
    child.kill()
    assert (bulk.encode(texts, pause=lambda: None) * exact).sum(axis=1).min() > 0.999
    assert "failed" in bulk.computing
    with pytest.raises(WorkerUnavailable):
        process.embed(["one"], query=False)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "fingerprint"), [("hashing", "another"), ("no such model", "any")])
def test_another_model_is_not_used(name: str, fingerprint: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        process = BulkProcess(name, None, fingerprint)
        while process.is_loading:
            time.sleep(0.05)
        assert not process.is_usable
        process.end()
