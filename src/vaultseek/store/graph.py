"""The link graph of a vault, in memory."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence

from vaultseek.base.model import Reason

GRAPH_MISSING = Reason("being_built", "the link graph is being built")
"""Reason for what links cannot give yet."""


class Graph:
    """A directed graph of the notes, by their ids in the ledger, with an edge for each resolved link.

    Two maps of adjacency sets: every search asks for the neighbours and degrees of hundreds of notes.
    Thread-safe. ``revision`` is the ledger revision that it is at.
    """

    def __init__(self, notes: Iterable[int], edges: Iterable[tuple[int, int]], revision: int) -> None:
        self._targets: dict[int, set[int]] = {note: set() for note in notes}
        self._sources: dict[int, set[int]] = {note: set() for note in self._targets}
        for source, target in edges:
            self._add(source, target)
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
            for note in removed:
                self._remove(note)
            for source, targets in targets_of.items():
                self._replace(source, targets)
            self.revision = revision

    def neighbours(self, note: int) -> tuple[list[int], list[int]]:
        """Return (notes that it links to, notes that link to it), sorted; empty for an unknown note."""
        with self._lock:
            return sorted(self._targets.get(note, ())), sorted(self._sources.get(note, ()))

    def degree(self, note: int) -> int:
        """Return the number of links from and to a note; 0 for an unknown note."""
        with self._lock:
            return len(self._targets.get(note, ())) + len(self._sources.get(note, ()))

    def neighbourhoods(self, notes: Sequence[int], most: int) -> dict[int, Mapping[int, int]]:
        """Return the notes linked with each of ``notes``, in either direction, with their degrees.

        A note with more than ``most`` neighbours is left out.
        """
        neighbourhoods: dict[int, Mapping[int, int]] = {}
        with self._lock:
            for note in notes:
                linked = self._targets.get(note, set()) | self._sources.get(note, set())
                if len(linked) <= most:
                    neighbourhoods[note] = {
                        other: len(self._targets[other]) + len(self._sources[other]) for other in linked
                    }
        return neighbourhoods

    def edges(self) -> list[tuple[int, int]]:
        """Return all edges, sorted."""
        with self._lock:
            return sorted((source, target) for source, targets in self._targets.items() for target in targets)

    def _add(self, source: int, target: int) -> None:
        for note in (source, target):
            self._targets.setdefault(note, set())
            self._sources.setdefault(note, set())
        self._targets[source].add(target)
        self._sources[target].add(source)

    def _remove(self, note: int) -> None:
        for target in self._targets.get(note, ()):
            self._sources[target].discard(note)
        for source in self._sources.get(note, ()):
            self._targets[source].discard(note)
        self._targets.pop(note, None)
        self._sources.pop(note, None)

    def _replace(self, source: int, targets: set[int]) -> None:
        for target in self._targets.get(source, set()) - targets:
            self._sources[target].discard(source)
        self._targets[source] = set()
        self._sources.setdefault(source, set())
        for target in targets:
            self._add(source, target)
