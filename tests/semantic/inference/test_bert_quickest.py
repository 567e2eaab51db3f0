"""Queries go to the network that is quickest at the moment."""

import itertools

import numpy as np

from vaultseek.semantic.inference.bert import RETRY_CALLS, QuickestNetwork


class Machine:
    """A clock and two networks that take as long as ``seconds`` says."""

    def __init__(self) -> None:
        self.now = 0.0
        self.seconds = {"one": 1.0, "two": 2.0}
        self.calls: list[str] = []

    def network(self, name: str):
        def compute(embeddings, lengths, shares):
            self.now += self.seconds[name]
            self.calls.append(name)
            return embeddings[:, 0]

        return compute


def run(machine: Machine, network: QuickestNetwork, calls: int) -> list[str]:
    machine.calls.clear()
    embeddings = np.ones((1, 5, 4), np.float32)
    for _ in range(calls):
        network(embeddings, np.array([5], np.int32), np.ones((1, 1, 5), np.float32))
    return machine.calls


def test_each_is_tried_and_then_the_quicker_one_is_used_until_it_is_slower():
    machine = Machine()
    network = QuickestNetwork(machine.network("two"), machine.network("one"), clock=lambda: machine.now)
    assert sorted(run(machine, network, 2)) == ["one", "two"]
    assert set(run(machine, network, RETRY_CALLS // 2)) == {"one"}
    machine.seconds["one"] = 9.0
    slow = sum(1 for _ in itertools.takewhile(lambda name: name == "one", run(machine, network, 10)))
    assert slow <= 2
    assert machine.calls[slow:] == ["two"] * (10 - slow)


def test_the_slower_one_is_tried_again_now_and_then():
    machine = Machine()
    network = QuickestNetwork(machine.network("two"), machine.network("one"), clock=lambda: machine.now)
    run(machine, network, 2)
    machine.seconds["two"] = 0.1
    assert "two" in run(machine, network, RETRY_CALLS)
    assert run(machine, network, RETRY_CALLS).count("one") == 1, "the slower one has its trials, too"
