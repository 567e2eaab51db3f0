"""A cluster's addresses, its work, and its run over a list in place of Ray; tests/e2e runs a real one."""

import importlib.util
import itertools
import os
import re
import signal
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from vaultseek import __version__
from vaultseek.errors import ConfigError, Unavailable, UsageError
from vaultseek.semantic.inference import embed
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.tools import cluster
from vaultseek.tools.cluster import QUEUED_BATCHES, connected, embed_on, embed_texts

TEXTS = ["A float switch.", "", "Rust on the anchor chain. " * 40, "\ud800", "A copper contact."] * 5
WRONG = ["", "here", "host:", ":1", "host:0", "host:70000", "ray://", "http://h:1", "a:b"]
SILENT = ["127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1", "no-such-host.invalid:1"]


def test_an_installation_without_ray_says_what_to_install(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="needs the ray extra; add it"):
        cluster.checked_address("local")


@pytest.mark.parametrize(
    ("address", "error", "words"),
    [(address, UsageError, "use local, HOST:PORT or ray://HOST:PORT") for address in WRONG]
    + [(address, Unavailable, "no Ray cluster answers at") for address in SILENT],
)
def test_what_is_wrong_with_an_address_is_said(address, error, words, monkeypatch):
    monkeypatch.setattr(cluster, "require_extra", lambda *names: None)
    with pytest.raises(error, match=words):
        cluster.checked_address(address)


@pytest.fixture
def ray(monkeypatch):
    """Return a function that replaces Ray by an object with this ``init``."""

    def put(init, shutdown=lambda: None):
        exceptions = SimpleNamespace(RayError=OSError, RayTaskError=OSError)
        fake = SimpleNamespace(init=init, shutdown=shutdown, exceptions=exceptions)
        monkeypatch.setitem(sys.modules, "ray", fake)
        monkeypatch.setattr(os, "environ", dict(os.environ))

    return put


def test_an_interrupt_while_it_connects_waits_until_it_is_connected(ray):
    calls = []

    def init(**options):
        os.kill(os.getpid(), signal.SIGINT)
        calls.append("connected")

    ray(init, lambda: calls.append("disconnected"))
    with pytest.raises(KeyboardInterrupt), connected("local", "hashing", "hashing"):
        calls.append("used")
    assert calls == ["connected", "disconnected"]


@pytest.mark.parametrize(("seconds", "over_after", "starts"), [(0.1, 100, 2), (32.0, 20, 20), (32.0, 1, 1)])
def test_a_cluster_here_that_starts_too_slowly_is_started_again_while_there_is_work(
    ray, seconds, over_after, starts
):
    started, said, times = [], [], itertools.count(step=seconds)

    def init(**options):
        started.append("start")
        raise Exception("The current node timed out during startup.")  # Ray raises a plain one

    ray(init)
    words = "^the Ray cluster at local cannot be used: The current node timed out during startup.$"
    with (
        pytest.raises(Unavailable, match=words),
        connected(
            "local",
            "hashing",
            "hashing",
            is_over=lambda: len(started) >= over_after,
            say=said.append,
            clock=lambda: next(times),
        ),
    ):
        pass
    assert len(started) == starts
    line = (
        f"Ray did not start within {seconds:.0f} s and is being restarted; "
        "the daemon embeds the notes until then"
    )
    assert said == [line] * (starts - 1)


class ClusterHere:
    """A cluster that embeds a batch at a time; texts in ``failing`` get no vector, nor do batches with a text
    in ``deadly``."""

    def __init__(self, failing=(), deadly=()):
        self.failing, self.deadly = failing, deadly
        self.waiting = []
        self.most = 0

    def processors(self):
        return 3

    def submit(self, batch):
        self.waiting.append(batch)
        self.most = max(self.most, len(self.waiting))

    def results(self, seconds):
        if not self.waiting:
            return []
        batch = self.waiting.pop(0)
        if batch.keys() & self.deadly:
            return [{}]
        return [{key: f"vector of {text}" for key, text in batch.items() if key not in self.failing}]


def run(cluster_here, count, **more):
    """Return what is kept of a run over this many texts, and how many vectors it counted."""
    left, kept, rounds = [f"k{n}" for n in range(count)], {}, iter(range(5_000))

    def take(limit):
        taken = [left.pop(0) for _ in range(min(limit, len(left)))]
        return {key: f"text {key}" for key in taken}

    def is_over():
        return not (left or cluster_here.waiting) or next(rounds) > 4_000

    return kept, embed_on(cluster_here, take, kept.update, is_over, **more)


def test_every_vector_comes_back_and_no_more_is_taken_than_the_cluster_computes_soon():
    here = ClusterHere(failing={"k7", "k300"})
    kept, embedded = run(here, 5_000)
    assert kept == {f"k{n}": f"vector of text k{n}" for n in range(5_000) if n not in (7, 300)}
    assert embedded == len(kept)
    assert here.most == 3 * QUEUED_BATCHES


def test_a_text_that_ends_its_workers_costs_its_batch_and_the_run_goes_on():
    kept, _ = run(ClusterHere(deadly={"k70"}), 1_000)
    missing = {f"k{n}" for n in range(1_000)} - kept.keys()
    assert missing == {f"k{n}" for n in range(64, 128)}


def test_a_cluster_that_gives_no_result_ends_the_run():
    class Silent(ClusterHere):
        def results(self, seconds):
            return []

    times = iter(range(1_000))
    with pytest.raises(Unavailable, match="silent for 60 s"):
        run(Silent(), 1, stalled_seconds=60.0, clock=lambda: next(times))


def test_the_vectors_are_those_of_the_model_here():
    model = find_model("bundled")
    answer = embed_texts(__version__, model.name, model.fingerprint, TEXTS)
    here = embed.embed(embed.load(model.name, model.directory), TEXTS)
    assert answer["failed"] == {place for place, _ in here.failed}
    assert np.abs(answer["vectors"] - here.vectors).max() < 1e-6


@pytest.mark.parametrize(
    ("version", "model", "fingerprint", "said"),
    [
        ("0.0.9", "hashing", "hashing", r"has vaultseek .*; install 0\.0\.9 there"),
        (__version__, "/nowhere/a model", "x", "cannot load the model /nowhere/a model"),
        (__version__, "hashing", "hashing-64", "a different model under the name hashing"),
    ],
)
def test_a_machine_that_lacks_something_says_what(version, model, fingerprint, said):
    answer = embed_texts(version, model, fingerprint, ["a text"])
    assert re.search(said, answer["refusal"])
    assert answer.keys() == {"refusal"}
