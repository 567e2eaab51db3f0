"""A network that computes each query with as many threads as were quicker lately.

Two threads take two thirds of the time of one on an idle machine, and several times as long where something
else keeps a processor busy, since they wait for each other at every step. Load comes and goes, so the way is
chosen by what queries took, not once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
Network = Callable[[Vectors, NDArray[np.int32], Vectors], Vectors]
"""A function from embeddings, lengths and shares, as `encoder_graph` describes them, to pooled vectors."""

TRIAL = 40
"""Calls after which the slower network is tried again."""
MEMORY = 0.7
"""Share of what was known of a network's cost in the mean with its last call."""
CALL_TOKENS = 8
"""Tokens that take as long as a call without any."""


class QuickestNetwork:
    """Several networks that compute the same; a call goes to the one that was quickest lately."""

    def __init__(self, *networks: Network, clock: Callable[[], float] = time.perf_counter) -> None:
        self._networks = networks
        self._clock = clock
        self._costs = [0.0] * len(networks)
        self._calls = 0

    def __call__(self, embeddings: Vectors, lengths: NDArray[np.int32], shares: Vectors) -> Vectors:
        """Return the pooled vectors, as every network does."""
        choice = self._choose()
        began = self._clock()
        pooled = self._networks[choice](embeddings, lengths, shares)
        cost = (self._clock() - began) / (CALL_TOKENS + lengths.size * embeddings.shape[1])
        known = self._costs[choice]
        # What a slower network took long ago says nothing any more.
        current = known and known <= min(self._costs)
        self._costs[choice] = MEMORY * known + (1 - MEMORY) * cost if current else cost
        return pooled

    def _choose(self) -> int:
        """Return the index of the network for the next call: one not yet tried, else the quickest."""
        self._calls += 1
        order = sorted(range(len(self._networks)), key=self._costs.__getitem__)
        return order[1] if self._calls % TRIAL == 0 and len(order) > 1 else order[0]
