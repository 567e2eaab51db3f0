"""Clusters of a graph by the Louvain method (Blondel, Guillaume, Lambiotte and Lefebvre 2008).

Nodes wait in a queue to be moved (Traag, Waltman and van Eck 2019), which visits few of them twice: of 38,000
notes with 120,000 links it takes .8 seconds, NetworkX' function 14, at the same modularity
(``scripts/bench --only links``).
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Iterable, Sequence

Adjacency = list[dict[int, int]]
"""By number of each node its neighbours with the weights of their edges, without edges to itself."""


def louvain(nodes: int, edges: Iterable[tuple[int, int]], seed: int) -> list[set[int]]:
    """Return the clusters of an undirected graph with the nodes 0 to ``nodes`` - 1."""
    adjacency: Adjacency = [{} for _ in range(nodes)]
    for one, other in edges:
        adjacency[one][other] = adjacency[other][one] = 1
    inner = [0] * nodes
    cluster_of = list(range(nodes))
    while True:
        moved = _moved(adjacency, inner, seed)
        numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(moved))}
        if len(numbers) == len(adjacency):
            break
        labels = [numbers[cluster] for cluster in moved]
        cluster_of = [labels[cluster] for cluster in cluster_of]
        adjacency, inner = _joined(adjacency, inner, labels, len(numbers))
    clusters: dict[int, set[int]] = {}
    for node, cluster in enumerate(cluster_of):
        clusters.setdefault(cluster, set()).add(node)
    return list(clusters.values())


def _moved(adjacency: Adjacency, inner: Sequence[int], seed: int) -> list[int]:
    """Move each node to the cluster that gains most modularity, until none gains; return their clusters.

    ``inner`` are the weights of the edges inside each node.
    """
    degrees = [sum(edges.values()) + 2 * loops for edges, loops in zip(adjacency, inner, strict=True)]
    totals, twice = list(degrees), max(1, sum(degrees))
    clusters = list(range(len(adjacency)))
    queue = deque(random.Random(seed).sample(clusters, len(clusters)))
    waits = [True] * len(adjacency)
    while queue:
        node = queue.popleft()
        waits[node] = False
        weights: dict[int, int] = {}
        for other, weight in adjacency[node].items():
            weights[clusters[other]] = weights.get(clusters[other], 0) + weight
        former, share = clusters[node], degrees[node] / twice
        totals[former] -= degrees[node]
        best, most = former, weights.get(former, 0) - share * totals[former]
        for cluster, weight in weights.items():
            gain = weight - share * totals[cluster]
            if gain > most:
                best, most = cluster, gain
        totals[best] += degrees[node]
        if best != former:
            clusters[node] = best
            for other in adjacency[node]:
                if clusters[other] != best and not waits[other]:
                    waits[other] = True
                    queue.append(other)
    return clusters


def _joined(
    adjacency: Adjacency, inner: Sequence[int], labels: Sequence[int], size: int
) -> tuple[Adjacency, list[int]]:
    """Return the graph in which each cluster is one node, and the weights inside them."""
    joined: Adjacency = [{} for _ in range(size)]
    inside = [0] * size
    for node, edges in enumerate(adjacency):
        label = labels[node]
        inside[label] += inner[node]
        for other, weight in edges.items():
            if labels[other] != label:
                joined[label][labels[other]] = joined[label].get(labels[other], 0) + weight
            elif other > node:
                inside[label] += weight
    return joined, inside
