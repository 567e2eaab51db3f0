"""A run over a cluster that is a list: what is handed out, retried, refused and brought back."""

import base64
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.limits import FRAME_BYTES
from vaultseek.errors import Unavailable
from vaultseek.tools.cluster.run import BATCH_NOTES, BATCH_TEXTS, QUEUED_BATCHES, ClusterRun, Result

WIDTH = 4


class DaemonOfTexts:
    """Hands each note and each text out once, and keeps what is brought. A note is its key, in bytes."""

    def __init__(self, keys, notes=()):
        self.left = list(keys)
        self.notes_left = list(notes)
        self.vectors = {}
        self.parsed = {}
        self.refused = []
        self.refused_notes = []
        self.largest = 0

    def notes(self, limit):
        taken, self.notes_left = self.notes_left[:limit], self.notes_left[limit:]
        return {key: (f"{key}.md", key.encode()) for key in taken}

    def submit_notes(self, notes, refused):
        self.parsed |= notes
        self.refused_notes += refused
        self._measure(notes)

    def texts(self, limit):
        taken, self.left = self.left[:limit], self.left[limit:]
        return {key: f"text {key}" for key in taken}

    def submit_vectors(self, vectors, refused):
        self.vectors |= {key: np.frombuffer(base64.b64decode(text), "<f4") for key, text in vectors.items()}
        self.refused += refused
        self._measure(vectors)

    def _measure(self, frame):
        self.largest = max(self.largest, sum(len(key) + len(text) for key, text in frame.items()))

    def has_all(self, keys, notes=()):
        brought = len(self.vectors) + len(self.refused)
        return brought == len(keys) and len(self.parsed) + len(self.refused_notes) == len(notes)


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
        self.tasks.update(list(batch.parts))
        if self.deadly & batch.parts.keys():
            return [Result(batch, lost=True)]
        failed = [key for key in batch.parts if key in self.failing]
        answers = {key: self.answer(batch, key) for key in batch.parts if key not in self.failing}
        return [Result(batch, answers, failed)]

    def answer(self, batch, key):
        if batch.work == "embed":
            return vector_of(key, self.width)
        path, data = batch.parts[key]
        return f"{path} {data.decode()}" + "x" * self.width


def vector_of(key, width=WIDTH):
    return np.full(width, float(len(key)), np.float32)


def run(daemon, cluster, keys, notes=(), **more):
    rounds = iter(range(100_000))
    ClusterRun(daemon, cluster, **more).run(lambda: daemon.has_all(keys, notes) or next(rounds) > 5_000)


@given(
    count=st.integers(0, 400),
    places=st.integers(0, 5),
    deadly=st.sets(st.integers(0, 399), max_size=5),
    failing=st.sets(st.integers(0, 399), max_size=5),
)
def test_every_note_and_every_text_comes_back_or_is_refused(count, places, deadly, failing):
    keys = [f"k{number}" for number in range(count)]
    notes = keys[: count // 2]
    wrong = {f"k{number}" for number in deadly | failing}
    daemon = DaemonOfTexts(keys, notes)
    cluster = ClusterHere(places, {f"k{n}" for n in deadly}, {f"k{n}" for n in failing})
    run(daemon, cluster, keys, notes)
    assert daemon.vectors.keys() == set(keys) - wrong
    assert sorted(daemon.refused) == sorted(wrong & set(keys))
    assert daemon.parsed.keys() == set(notes) - wrong
    assert sorted(daemon.refused_notes) == sorted(wrong & set(notes))
    assert all(text.startswith(f"{key}.md {key}") for key, text in daemon.parsed.items())
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


def test_a_parsed_note_that_no_request_holds_is_left_to_the_daemon():
    notes = [str(number) for number in range(2 * BATCH_NOTES)]
    daemon = DaemonOfTexts([], notes)

    class Wordy(ClusterHere):
        def answer(self, batch, key):
            return "x" * (FRAME_BYTES if key == "7" else FRAME_BYTES // 9)

    run(daemon, Wordy(), [], notes)
    assert daemon.refused_notes == ["7"]
    assert daemon.parsed.keys() == set(notes) - {"7"}
    assert daemon.largest < FRAME_BYTES


def test_a_cluster_that_gives_no_result_ends_the_run():
    class Silent(ClusterHere):
        def results(self, seconds):
            return []

    daemon = DaemonOfTexts(["a"])
    times = iter(range(1_000))
    with pytest.raises(Unavailable, match="no result for 60 s"):
        run(daemon, Silent(), ["a"], stalled_seconds=60.0, clock=lambda: next(times))
