"""The link graph: changed by difference, equal to one built from scratch."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.store.graph import Graph

notes = st.integers(0, 6)
links = st.dictionaries(notes, st.sets(notes), max_size=5)


@pytest.mark.fault("J6")
@given(st.lists(st.tuples(st.sets(notes, max_size=2), links), max_size=8))
def test_changes_one_by_one_equal_a_graph_from_scratch(steps):
    graph = Graph([], [], 0)
    dead: set[int] = set()  # the ledger never gives an id twice
    wanted: dict[int, set[int]] = {}
    for revision, (removed, changed) in enumerate(steps, 1):
        dead |= removed
        fresh = {s: {t for t in out if t != s} for s, out in changed.items() if s not in dead}
        wanted = {s: out - dead for s, out in (wanted | fresh).items() if s not in dead}
        edges = [(s, t) for s in fresh for t in wanted[s]]
        graph.apply(removed, sorted(fresh), edges, revision)
        scratch = Graph(wanted, [(s, t) for s, out in wanted.items() for t in out], revision)
        assert graph.edges() == scratch.edges()


def test_neighbours_in_both_directions():
    graph = Graph([1, 2, 3], [(1, 2), (3, 1)], 1)
    assert graph.neighbours(1) == ([2], [3])
    assert graph.neighbours(9) == ([], [])
    assert (graph.degree(1), graph.degree(9)) == (2, 0)
