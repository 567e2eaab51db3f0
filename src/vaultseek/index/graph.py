"""The link graph of a vault in memory: who links to whom, one step at a time."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from typing import Any


class Graph:
    """Notes by ledger id, a directed edge for each pair of notes that a resolved link joins.

    Thread-safe. Carries the ledger revision that it stands at.
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
        """Take notes out, and replace all edges that start at ``sources`` by ``edges``."""
        wanted: dict[int, set[int]] = {source: set() for source in sources}
        for source, target in edges:
            wanted[source].add(target)
        with self._lock:
            self._graph.remove_nodes_from(removed)
            self._graph.add_nodes_from(sources)
            for source, targets in wanted.items():
                self._replace(source, targets)
            self.revision = revision

    def neighbours(self, note: int) -> tuple[list[int], list[int]]:
        """(notes that it links to, notes that link to it), sorted; empty for an unknown note."""
        with self._lock:
            if note not in self._graph:
                return [], []
            return sorted(self._graph.successors(note)), sorted(self._graph.predecessors(note))

    def degree(self, note: int) -> int:
        """How many links go out of and into a note."""
        with self._lock:
            return int(self._graph.degree(note)) if note in self._graph else 0

    def edges(self) -> list[tuple[int, int]]:
        """All edges, sorted: the compact form that tests compare."""
        with self._lock:
            return sorted(self._graph.edges())

    def _replace(self, source: int, targets: set[int]) -> None:
        before = set(self._graph.successors(source))
        self._graph.remove_edges_from((source, target) for target in before - targets)
        self._graph.add_edges_from((source, target) for target in targets - before)
