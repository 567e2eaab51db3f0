"""A run over a cluster that is a list: what is handed out, retried, refused and brought back."""

import base64
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.limits import FRAME_BYTES
from vaultseek.errors import Unavailable
from vaultseek.tools.cluster.run import BATCH_TEXTS, QUEUED_BATCHES, ClusterRun, Result

WIDTH = 4


class DaemonOfTexts:
    """Hands each text out once, and keeps what is brought."""

    def __init__(self, keys):
        self.left = list(keys)
        self.vectors = {}
        self.refused = []
        self.largest = 0

    def texts(self, limit):
        taken, self.left = self.left[:limit], self.left[limit:]
        return {key: f"text {key}" for key in taken}

    def submit_vectors(self, vectors, refused):
        self.vectors |= {key: np.frombuffer(base64.b64decode(text), "<f4") for key, text in vectors.items()}
        self.refused += refused
        self.largest = max(self.largest, sum(len(key) + len(text) for key, text in vectors.items()))

    def has_all(self, keys):
        return len(self.vectors) + len(self.refused) == len(keys)


class ClusterHere:
    """Embeds a batch at a time; batches with one of the ``deadly`` texts are lost, ``failing`` ones fail."""

    def __init__(self, places=2, deadly=(), failing=(), width=WIDTH):
        self.places, self.deadly, self.failing, self.width = places, set(deadly), set(failing), width
        self.waiting = []
        self.most = 0
        self.tasks = Counter()

    def slots(self):
        return self.places

    def submit(self, batch):
        self.waiting.append(batch)
        self.most = max(self.most, len(self.waiting))

    def results(self, seconds):
        if not self.waiting:
            return []
        batch = self.waiting.pop(0)
        self.tasks.update(list(batch))
        if self.deadly & batch.keys():
            return [Result(batch, lost=True)]
        failed = [key for key in batch if key in self.failing]
        vectors = {key: vector_of(key, self.width) for key in batch if key not in self.failing}
        return [Result(batch, vectors, failed)]


def vector_of(key, width=WIDTH):
    return np.full(width, float(len(key)), np.float32)


def run(daemon, cluster, keys, **more):
    rounds = iter(range(100_000))
    ClusterRun(daemon, cluster, **more).run(lambda: daemon.has_all(keys) or next(rounds) > 5_000)


@given(
    count=st.integers(0, 400),
    places=st.integers(0, 5),
    deadly=st.sets(st.integers(0, 399), max_size=5),
    failing=st.sets(st.integers(0, 399), max_size=5),
)
def test_every_text_comes_back_or_is_refused(count, places, deadly, failing):
    keys = [f"k{number}" for number in range(count)]
    wrong = {f"k{number}" for number in deadly | failing}
    daemon = DaemonOfTexts(keys)
    cluster = ClusterHere(places, {f"k{n}" for n in deadly}, {f"k{n}" for n in failing})
    run(daemon, cluster, keys)
    assert daemon.vectors.keys() == set(keys) - wrong
    assert sorted(daemon.refused) == sorted(wrong & set(keys))
    assert all((daemon.vectors[key] == vector_of(key)).all() for key in daemon.vectors)


def test_no_more_is_handed_out_than_the_cluster_computes_soon():
    keys = [str(number) for number in range(5_000)]
    daemon, cluster = DaemonOfTexts(keys), ClusterHere(places=3)
    run(daemon, cluster, keys)
    assert cluster.most == 3 * QUEUED_BATCHES
    assert daemon.has_all(keys)


def test_a_text_that_ends_its_workers_costs_a_few_tasks_of_its_neighbours():
    keys = [str(number) for number in range(BATCH_TEXTS)]
    daemon, cluster = DaemonOfTexts(keys), ClusterHere(deadly={"17"})
    run(daemon, cluster, keys)
    assert daemon.refused == ["17"]
    assert max(cluster.tasks.values()) <= 2 + BATCH_TEXTS.bit_length()


def test_wide_vectors_go_in_requests_that_the_daemon_takes():
    keys = [str(number) for number in range(BATCH_TEXTS)]
    daemon, cluster = DaemonOfTexts(keys), ClusterHere(width=4096)
    run(daemon, cluster, keys)
    assert daemon.largest < FRAME_BYTES
    assert daemon.vectors.keys() == set(keys)


def test_a_cluster_that_gives_no_result_ends_the_run():
    class Silent(ClusterHere):
        def results(self, seconds):
            return []

    daemon = DaemonOfTexts(["a"])
    times = iter(range(1_000))
    with pytest.raises(Unavailable, match="no result for 60 s"):
        run(daemon, Silent(), ["a"], stalled_seconds=60.0, clock=lambda: next(times))
