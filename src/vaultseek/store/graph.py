"""The link graph of a vault: a digraph of NetworkX in memory, which follows the ledger."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from vaultseek.base.model import Reason
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.changes import Position, RemovalsPruned, changes

GRAPH_MISSING = Reason("being_built", "the link graph is being built")
"""Reason while the graph is not built."""
PAGE_NOTES = 2000
"""Notes whose links are read at a time."""

_NO_ATTRIBUTES: dict[str, Any] = {}
"""The attributes of every note and edge: a dictionary for each would take half as much memory again."""


def import_networkx() -> None:
    """Import NetworkX, which takes half a second, ahead of the first graph."""
    import networkx  # noqa: F401


class Common(NamedTuple):
    """The notes that are linked with two notes: how many, how many of them link to both, and their weights.

    The rarer a note's links, the more it weighs: 1 / ln(degree) for Adamic and Adar (2003), 1 / degree for
    resource allocation (Zhou, Lü and Zhang 2009).
    """

    number: int = 0
    cited: int = 0
    adamic_adar: float = 0.0
    resource_allocation: float = 0.0


class Graph:
    """The notes of a vault by their ids in the ledger, with one edge for all resolved links between two.

    Thread-safe: one thread syncs, any thread reads.
    """

    def __init__(self) -> None:
        import networkx

        self._links = networkx.DiGraph()
        self._links.node_attr_dict_factory = self._links.edge_attr_dict_factory = lambda: _NO_ATTRIBUTES
        self._lock = threading.Lock()
        self._position = Position()
        self.version = 0
        """A number that grows whenever a note or an edge comes or goes."""

    @classmethod
    def of(cls, ledger: Ledger) -> Graph:
        """Return the graph of all notes in the ledger; nothing may be committed meanwhile."""
        graph = cls()
        graph._read(ledger)
        return graph

    def part(self, notes: Iterable[int], edges: Collection[tuple[int, int]] = ()) -> Graph:
        """Return the graph of these notes alone; it follows this one, unless it gets more ``edges``."""
        part = object.__new__(Graph)
        part._links = self._links.subgraph(notes)
        if edges:
            with self._lock:
                part._links = part._links.copy()
            part._links.add_edges_from(edges)
        part._lock = self._lock
        part.version = self.version
        return part

    @property
    def synced_revision(self) -> int:
        """The last revision of the ledger of which nothing is missing."""
        return self._position.synced_revision

    def sync(self, ledger: Ledger, relinked: Collection[int] = ()) -> None:
        """Apply the ledger's changes.

        ``relinked``: notes whose links lead elsewhere now, whether or not the notes themselves changed.
        """
        try:
            for notes, removed, position in changes(ledger, self._position, PAGE_NOTES):
                self._apply(removed, notes, ledger.links.edges(notes))
                self._position = position
        except RemovalsPruned:  # the ledger has forgotten which notes went since the last sync, which failed
            self._read(ledger)
        if relinked:
            sources = list(relinked)
            self._apply((), sources, ledger.links.edges(sources))

    def neighbours(self, note: int) -> tuple[list[int], list[int]]:
        """Return (notes that it links to, notes that link to it), sorted; empty for an unknown note."""
        with self._lock:
            if note not in self._links:
                return [], []
            return sorted(self._links.successors(note)), sorted(self._links.predecessors(note))

    def direction(self, note: int, other: int) -> str | None:
        """Return ``out`` if ``note`` links to ``other``, ``in`` if that links to it, ``both``, or None."""
        with self._lock:
            out, into = self._links.has_edge(note, other), self._links.has_edge(other, note)
        return "both" if out and into else "out" if out else "in" if into else None

    def degrees(self, note: int) -> tuple[int, int]:
        """Return (number of notes that it links to, number of notes that link to it)."""
        with self._lock:
            if note not in self._links:
                return 0, 0
            return self._links.out_degree(note), self._links.in_degree(note)

    def shortest(self, start: int, end: int, most: int) -> list[list[int]]:
        """Return at most ``most`` of the shortest paths over links in either direction; none if none leads.

        A breadth-first search from both ends sees few notes of a large vault; every way from where the two
        meet back to either end is a part of a shortest path, so no time goes into others.
        """
        from_start, from_end = {start: 0}, {end: 0}
        with self._lock:
            paths = (
                [*reversed(first), *last[1:]]
                for note in self._meet(from_start, from_end)
                for first in self._ways(note, from_start)
                for last in self._ways(note, from_end)
            )
            return [*islice(paths, most)]

    def _meet(self, one: dict[int, int], other: dict[int, int]) -> list[int]:
        edge, far_edge = [*one], [*other]
        while not (meeting := [note for note in edge if note in other]):
            if not edge or not far_edge:
                return []
            if len(edge) > len(far_edge):
                one, other, edge, far_edge = other, one, far_edge, edge
            distance = one[edge[0]] + 1
            edge = sorted({near for note in edge for near in self._around(note)} - one.keys())
            one.update(dict.fromkeys(edge, distance))
        return meeting

    def _ways(self, note: int, distances: Mapping[int, int]) -> Iterator[tuple[int, ...]]:
        open_ways: list[tuple[int, ...]] = [(note,)]
        while open_ways:
            way = open_ways.pop()
            distance = distances[way[-1]]
            if not distance:
                yield way
                continue
            nearer = [each for each in self._around(way[-1]) if distances.get(each) == distance - 1]
            open_ways += [(*way, each) for each in sorted(nearer, reverse=True)]

    def component(self, note: int) -> set[int]:
        """Return the notes that are linked with a note, however many links away, and the note itself."""
        return set(self.reached(note, sys.maxsize))

    def common(self, note: int, most: int) -> dict[int, Common]:
        """Return what is linked both with ``note`` and with each other note, in either direction.

        A note with more than ``most`` neighbours does not count.
        """
        common: dict[int, Common] = {}
        with self._lock:
            for between in self._around(note):
                around = self._around(between)
                if len(around) > most:
                    continue
                cites = set(self._links.successors(between))
                cites = cites if note in cites else set()
                for other in around - {note}:
                    before, degree = common.get(other, Common()), len(around)
                    common[other] = Common(
                        before.number + 1,
                        before.cited + (other in cites),
                        before.adamic_adar + 1 / math.log(degree),
                        before.resource_allocation + 1 / degree,
                    )
        return common

    def neighbourhoods(self, notes: Sequence[int], most: int) -> dict[int, Mapping[int, int]]:
        """Return the notes linked with each of ``notes``, in either direction, with their degrees.

        A note with more than ``most`` neighbours is left out, as is one that is unknown.
        """
        neighbourhoods: dict[int, Mapping[int, int]] = {}
        with self._lock:
            degrees = self._links.degree
            for note in notes:
                linked = self._around(note)
                if len(linked) <= most:
                    neighbourhoods[note] = {other: degrees[other] for other in linked}
        return neighbourhoods

    def reached(self, note: int, depth: int) -> dict[int, tuple[int, int]]:
        """Return the notes within ``depth`` links in either direction: (distance, the note before) by id.

        The nearest come first, beginning with the note itself.
        """
        reached = {note: (0, note)}
        frontier = [note]
        with self._lock:
            for distance in range(1, depth + 1):
                if not frontier:
                    break
                previous, frontier = frontier, []
                for before in previous:
                    found = [other for other in sorted(self._around(before)) if other not in reached]
                    reached.update(dict.fromkeys(found, (distance, before)))
                    frontier += found
        return reached

    def edges(self, among: Iterable[int] | None = None) -> list[tuple[int, int]]:
        """Return all edges, or those between the notes ``among``, sorted."""
        with self._lock:
            return sorted((self._links if among is None else self._links.subgraph(among)).edges)

    def unlinked(self, *, isolated: bool = False) -> list[int]:
        """Return the notes that no note links to; if ``isolated``, those that link to none either."""
        with self._lock:
            degrees = self._links.degree if isolated else self._links.in_degree
            return [note for note, degree in degrees if not degree]

    def _read(self, ledger: Ledger) -> None:
        self._position = Position(ledger.revision)
        notes = ledger.notes.ids()
        self._apply(set(self._links) - set(notes), notes, ledger.links.edges())

    def _around(self, note: int) -> set[int]:
        if note not in self._links:
            return set()
        return {*self._links.successors(note), *self._links.predecessors(note)}

    def _apply(
        self, removed: Iterable[int], sources: Collection[int], edges: Iterable[tuple[int, int]]
    ) -> None:
        links = self._links
        added = set(edges)
        with self._lock:
            known = [note for note in sources if note in links]
            former = {(note, other) for note in known for other in links.successors(note)}
            gone = [note for note in removed if note in links]
            links.remove_nodes_from(gone)
            links.remove_edges_from(former - added)
            links.add_nodes_from(sources)
            links.add_edges_from(added - former)
            self.version += bool(gone or former != added or len(known) < len(sources))
