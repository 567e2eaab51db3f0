"""Cluster a graph by the Louvain method (Blondel, Guillaume, Lambiotte and Lefebvre 2008), using arrays.

Nodes wait in a queue to be moved (Traag, Waltman and van Eck 2019). In each step a random half of the waiting
nodes is moved. If all of them were moved at once, two neighbours could swap clusters forever.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
Weights = NDArray[np.float64]

MOVED_SHARE = 0.5
"""Share of the waiting nodes that is moved in one step."""
RESTING_SHARE = 0.01
"""Share of all nodes that may still be waiting when a round of moves ends. The next round then moves whole
clusters, including the waiting nodes in them."""
MOST_TURNS = 400
LEAST_GAIN = 1e-9


def louvain(nodes: int, edges: Numbers, seed: int) -> Numbers:
    """Return the cluster of each node in an undirected graph. A cluster is identified by its lowest node
    number.

    Nodes are numbered from 0 to ``nodes`` - 1. ``edges`` has one row for each pair of connected nodes.
    """
    one, other = _both_ways(nodes, edges)
    links, weights, inner = (one, other), np.ones(len(one)), np.zeros(nodes)
    chance = np.random.default_rng(seed)
    clusters, size = np.arange(nodes), nodes
    while True:
        numbers, labels = np.unique(_moved(one, other, weights, inner, chance), return_inverse=True)
        clusters = labels[clusters]
        if len(numbers) == size:
            break
        size = len(numbers)
        one, other, weights, inner = _joined(labels[one], labels[other], weights, inner, labels, size)
    inside = clusters[links[0]] == clusters[links[1]]
    return connected(nodes, links[0][inside], links[1][inside])


def connected(nodes: int, one: Numbers, other: Numbers) -> Numbers:
    """Return, for each node, the lowest node number in its connected component.

    ``one`` and ``other`` hold the two ends of each edge.
    """
    least = np.arange(nodes)
    while True:
        lower = least.copy()
        near = np.minimum(least[one], least[other])
        np.minimum.at(lower, least[one], near)
        np.minimum.at(lower, least[other], near)
        lower = lower[lower]
        if np.array_equal(lower, least):
            return least
        least = lower


def _both_ways(nodes: int, edges: Numbers) -> tuple[Numbers, Numbers]:
    low, high = edges.min(axis=1), edges.max(axis=1)
    one, other = np.divmod(np.unique((low * nodes + high)[low != high]), max(1, nodes))
    return np.concatenate([one, other]), np.concatenate([other, one])


def _moved(
    one: Numbers, other: Numbers, weights: Weights, inner: Weights, chance: np.random.Generator
) -> Numbers:
    """Move nodes to the clusters that raise modularity most, until few nodes are still waiting. Return the
    cluster of each node.

    A node may be a cluster from an earlier round; ``inner`` has the weight of the edges inside each node.
    """
    size = len(inner)
    degrees: Weights = np.bincount(one, weights, size) + 2 * inner
    twice = max(1.0, float(degrees.sum()))
    clusters, totals, waits = np.arange(size), degrees, np.ones(size, np.bool_)
    for _ in range(MOST_TURNS):
        if waits.sum() <= RESTING_SHARE * size:
            break
        batch = waits & (chance.random(size) < MOVED_SHARE)
        waits &= ~batch
        links = np.flatnonzero(batch[one])
        joins, places = np.unique(one[links] * size + clusters[other[links]], return_inverse=True)
        node, cluster = np.divmod(joins, size)
        own = cluster == clusters[node]
        shares = degrees[node] / twice
        gains = np.bincount(places, weights[links], len(joins)) - shares * (
            totals[cluster] - own * degrees[node]
        )
        best = -degrees / twice * (totals[clusters] - degrees)
        best[node[own]] = gains[own]
        best += LEAST_GAIN
        np.maximum.at(best, node, gains)
        moves = ~own & (gains == best[node])
        clusters[node[moves]] = cluster[moves]
        totals = np.bincount(clusters, degrees, size).astype(np.float64)
        moved = np.zeros(size, np.bool_)
        moved[node[moves]] = True
        waits[other[moved[one] & (clusters[one] != clusters[other])]] = True
    return clusters


def _joined(
    one: Numbers, other: Numbers, weights: Weights, inner: Weights, labels: Numbers, size: int
) -> tuple[Numbers, Numbers, Weights, Weights]:
    joins, places = np.unique(one * size + other, return_inverse=True)
    sums = np.bincount(places, weights, len(joins))
    one, other = np.divmod(joins, size)
    inside = one == other
    inner = np.bincount(labels, inner, size).astype(np.float64)
    inner[one[inside]] += sums[inside] / 2
    return one[~inside], other[~inside], sums[~inside], inner
