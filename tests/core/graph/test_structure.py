"""Clusters, ranks, bridges and components of link graphs, compared with NetworkX's algorithms."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.core.graph.louvain import connected, louvain
from vaultseek.core.graph.structure import bridges_of, page_ranks, structure_of
from vaultseek.core.graph.vault_structure import VaultStructure
from vaultseek.store.graph import Graph

graphs = st.lists(st.tuples(st.integers(0, 14), st.integers(0, 14)), max_size=40).map(
    lambda pairs: sorted({pair for pair in pairs if pair[0] != pair[1]})
)


def pairs(edges):
    return np.array([*edges], np.int64).reshape(-1, 2)


def members(clusters):
    return [set(np.flatnonzero(clusters == each).tolist()) for each in np.unique(clusters)]


@given(graphs)
def test_parts_are_those_of_networkx(edges):
    links = networkx.Graph(edges)
    links.add_nodes_from(range(15))
    ends = pairs(edges)
    parts = {frozenset(part) for part in networkx.connected_components(links)}
    assert {frozenset(part) for part in members(connected(15, ends[:, 0], ends[:, 1]))} == parts


@given(graphs)
def test_ranks_are_those_of_networkx(edges):
    links = networkx.DiGraph(edges)
    links.add_nodes_from(range(15))
    wanted = networkx.pagerank(links, tol=1e-9, max_iter=1000)
    assert page_ranks(15, pairs(edges)) == pytest.approx([wanted[note] for note in range(15)], abs=1e-5)


@given(graphs)
def test_clusters_part_the_nodes_and_join_no_unconnected_ones(edges):
    links = networkx.Graph(edges)
    links.add_nodes_from(range(15))
    clusters = members(louvain(15, pairs(edges), seed=1))
    assert all(networkx.is_connected(links.subgraph(cluster)) for cluster in clusters)


def test_modularity_is_near_that_of_networkx():
    links = networkx.connected_caveman_graph(30, 6)
    modularity = networkx.community.modularity
    ours = modularity(links, members(louvain(len(links), pairs(links.edges), seed=1)))
    assert ours >= modularity(links, networkx.community.louvain_communities(links, seed=1)) - 0.01


def test_two_groups_joined_by_one_note_are_two_clusters_and_it_is_the_bridge():
    boats, pumps = range(4), range(5, 9)
    edges = [(a, b) for group in (boats, pumps) for a in group for b in group if a != b]
    names = [*["Boat anchor"] * 4, "Between", *["Pump valve"] * 4, "Alone"]
    links = pairs([*edges, (3, 4), (4, 5)])
    structure, bridges = structure_of(names, links), bridges_of(len(names), links)
    assert [{*cluster} - {4} for cluster in structure.clusters] == [{*boats}, {*pumps}]
    assert [{*words} for words in structure.words] == [{"boat", "anchor"}, {"pump", "valve"}]
    assert bridges[0][0] in (3, 4, 5)
    assert structure.components == [9]


def test_no_notes_have_no_structure():
    structure = structure_of([], pairs([]))
    assert (structure.clusters, structure.ranks, bridges_of(0, pairs([]))) == ([], {}, [])


def test_the_structure_is_computed_by_a_process_and_kept_until_links_change(world, monkeypatch):
    made = world(
        {"a.md": "# Pump\n\n[[b]] [[c]]", "b.md": "# Pump valve\n\n[[c]]", "c.md": "# Valve\n\n[[a]]"}
    )
    graph, structure = Graph.of(made.ledger), VaultStructure()
    first = structure.of(graph, made.ledger)
    assert [len(cluster) for cluster in first.clusters] == [3]
    made.write({"a.md": "# Pump\n\nOther words. [[b]] [[c]]"})
    graph.sync(made.ledger)
    assert structure.of(graph, made.ledger) is first
    bridges = structure.bridges(graph, made.ledger)
    assert structure.bridges(graph, made.ledger) is bridges
    made.write({"d.md": "[[a]]"})
    graph.sync(made.ledger)
    assert len(structure.of(graph, made.ledger).ranks) == 4
    (bridge,) = structure.bridges(graph, made.ledger)
    assert bridge[0] == made.ledger.notes.by_path("a.md").id
