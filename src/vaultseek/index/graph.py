"""The link graph of a vault, in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from typing import Any

from vaultseek.model import Reason

GRAPH_MISSING = Reason("being_built", "the link graph is being built")
"""Reason for what links cannot give yet."""


class Graph:
    """A directed graph of the notes, by their ids in the ledger, with an edge for each resolved link.

    Thread-safe. ``revision`` is the ledger revision that it is at.
    """

    def __init__(self, notes: Iterable[int], edges: Iterable[tuple[int, int]], revision: int) -> None:
        import networkx

        self._graph: Any = networkx.DiGraph()
        self._graph.add_nodes_from(notes)
        self._graph.add_edges_from(edges)
        self._lock = threading.Lock()
        self.revision = revision

    def apply(
        self,
        removed: Collection[int],
        sources: Collection[int],
        edges: Iterable[tuple[int, int]],
        revision: int,
    ) -> None:
        """Remove notes, and replace all edges that start at ``sources`` by ``edges``."""
        targets_of: dict[int, set[int]] = {source: set() for source in sources}
        for source, target in edges:
            targets_of[source].add(target)
        with self._lock:
            self._graph.remove_nodes_from(removed)
            self._graph.add_nodes_from(sources)
            for source, targets in targets_of.items():
                self._replace(source, targets)
            self.revision = revision

    def neighbours(self, note: int) -> tuple[list[int], list[int]]:
        """Return (notes that it links to, notes that link to it), sorted; empty for an unknown note."""
        with self._lock:
            if note not in self._graph:
                return [], []
            return sorted(self._graph.successors(note)), sorted(self._graph.predecessors(note))

    def degree(self, note: int) -> int:
        """Return the number of links from and to a note; 0 for an unknown note."""
        with self._lock:
            return int(self._graph.degree(note)) if note in self._graph else 0

    def edges(self) -> list[tuple[int, int]]:
        """Return all edges, sorted."""
        with self._lock:
            return sorted(self._graph.edges())

    def _replace(self, source: int, targets: set[int]) -> None:
        old = set(self._graph.successors(source))
        self._graph.remove_edges_from((source, target) for target in old - targets)
        self._graph.add_edges_from((source, target) for target in targets - old)
