"""Link graph of a vault: a NetworkX digraph in memory that follows the ledger."""

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
"""Reason that is reported until the graph is built."""
PAGE_NOTES = 2000
"""Number of notes whose links are read in one step."""

_NO_ATTRIBUTES: dict[str, Any] = {}
"""Empty attributes shared by all notes and edges. Separate dictionaries would increase the graph's memory by
half."""


def import_networkx() -> None:
    """Import NetworkX before the first graph needs it; the import takes half a second."""
    import networkx  # noqa: F401


class Common(NamedTuple):
    """The common neighbours of two notes: their number, how many of them link to both notes, and the sums of
    their weights.

    A neighbour with few links weighs more: 1 / ln(degree) for Adamic and Adar (2003), 1 / degree for resource
    allocation (Zhou, Lü and Zhang 2009).
    """

    number: int = 0
    cited: int = 0
    adamic_adar: float = 0.0
    resource_allocation: float = 0.0


class Graph:
    """Notes of a vault, by ledger id. One edge stands for all resolved links from one note to another.

    Thread-safe: one thread syncs, any thread reads.
    """

    def __init__(self) -> None:
        import networkx

        self._links = networkx.DiGraph()
        self._links.node_attr_dict_factory = self._links.edge_attr_dict_factory = lambda: _NO_ATTRIBUTES
        self._lock = threading.Lock()
        self._position = Position()
        self.version = 0
        """Version number that increases whenever a note or an edge is added or removed."""

    @classmethod
    def of(cls, ledger: Ledger) -> Graph:
        """Build the graph of all notes in the ledger. Nothing may be committed to the ledger during the
        call."""
        graph = cls()
        graph._read(ledger)
        return graph

    def part(self, notes: Iterable[int], edges: Collection[tuple[int, int]] = ()) -> Graph:
        """Return the subgraph of ``notes``, with ``edges`` added. Without added edges, the subgraph follows
        later changes to this graph."""
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
        """The last ledger revision that has been fully applied to the graph."""
        return self._position.synced_revision

    def sync(self, ledger: Ledger, relinked: Collection[int] = ()) -> None:
        """Apply the ledger's changes since the last sync.

        ``relinked`` contains the notes with a link that now resolves differently, even if the note itself is
        unchanged.
        """
        try:
            for notes, removed, position in changes(ledger, self._position, PAGE_NOTES):
                self._apply(removed, notes, ledger.links.edges(notes))
                self._position = position
        except RemovalsPruned:  # since the last sync, which failed, the ledger has pruned removals
            self._read(ledger)
        if relinked:
            sources = list(relinked)
            self._apply((), sources, ledger.links.edges(sources))

    def neighbours(self, note: int) -> tuple[list[int], list[int]]:
        """Return two sorted lists: the notes that ``note`` links to, and the notes that link to it. Both are
        empty for an unknown note.
        """
        with self._lock:
            if note not in self._links:
                return [], []
            return sorted(self._links.successors(note)), sorted(self._links.predecessors(note))

    def direction(self, note: int, other: int) -> str | None:
        """Return ``out`` if ``note`` links to ``other``, ``in`` for the reverse, ``both`` for links in both
        directions; None for no link."""
        with self._lock:
            out, into = self._links.has_edge(note, other), self._links.has_edge(other, note)
        return "both" if out and into else "out" if out else "in" if into else None

    def degrees(self, note: int) -> tuple[int, int]:
        """Return the number of a note's outgoing links and the number of its backlinks."""
        with self._lock:
            if note not in self._links:
                return 0, 0
            return self._links.out_degree(note), self._links.in_degree(note)

    def shortest(self, start: int, end: int, most: int) -> list[list[int]]:
        """Return up to ``most`` shortest paths between two notes, over links in either direction.

        A breadth-first search from both ends visits few notes of a large vault. From each note where the two
        searches meet, only shortest paths are followed back to both ends.
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
        """Return the connected component of a note, including the note itself."""
        return set(self.reached(note, sys.maxsize))

    def common(self, note: int, most: int, weights: Mapping[int, float] = {}) -> dict[int, Common]:
        """Return a dict from each note that has neighbours in common with ``note`` to these neighbours. Links
        count in either direction.

        Neighbours with more than ``most`` links are ignored. ``weights`` maps some neighbours to factors
        below 1 for their Adamic-Adar weights.
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
                        before.adamic_adar + weights.get(between, 1.0) / math.log(degree),
                        before.resource_allocation + 1 / degree,
                    )
        return common

    def neighbourhoods(self, notes: Sequence[int], most: int) -> dict[int, Mapping[int, int]]:
        """Return, for each of ``notes``, a dict from its neighbours in either direction to their degrees.

        Unknown notes and notes with more than ``most`` neighbours are left out.
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
        """Return a dict from each note within ``depth`` links, in either direction, to its distance and the
        note before it on the path.

        The notes are sorted by distance, beginning with ``note`` itself.
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
        """Return the graph's edges, sorted; with ``among``, only the edges between these notes."""
        with self._lock:
            return sorted((self._links if among is None else self._links.subgraph(among)).edges)

    def unlinked(self, *, isolated: bool = False) -> list[int]:
        """Return the notes without backlinks; with ``isolated``, only the notes without any links."""
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
