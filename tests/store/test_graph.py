"""The link graph: it follows the ledger, and equals a graph that is newly built from the ledger."""

import tempfile
from collections.abc import Collection, Mapping
from contextlib import closing
from pathlib import Path

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import notes
from worlds import World, write_files

names = st.sampled_from("abcd")
links = st.sets(names | st.sampled_from(["x/a", "Alias", "gone"]), max_size=4)
paths = st.sampled_from(["a.md", "b.md", "c.md", "d.md", "x/a.md", "y/a.md"])
changes = st.dictionaries(paths, st.none() | links, min_size=1, max_size=3)


def text(targets: Collection[str]) -> str:
    """Return a note with these links. A note with many links also has an alias."""
    body = "\n".join(f"[[{target}]]" for target in sorted(targets))
    return f"---\naliases: Alias\n---\n{body}" if len(targets) > 2 else body


def change(here: World, step: Mapping[str, Collection[str] | None]) -> None:
    """Write and delete notes; None deletes one if it exists."""
    notes = {path: None if targets is None else text(targets) for path, targets in step.items()}
    here.write({path: note for path, note in notes.items() if note or (here.root / path).exists()})


@pytest.mark.fault("J6")
@examples(40)
@given(st.lists(changes, max_size=6))
def test_changes_one_by_one_equal_a_graph_from_scratch(steps):
    with tempfile.TemporaryDirectory() as folder:
        root = write_files(Path(folder) / "vault", {})
        with closing(World(root, Path(folder))) as here:
            here.vault.indexer.load()
            followed = here.vault.graph
            assert followed is not None
            for step in steps:
                change(here, step)
                scratch = here.graph()
                assert followed.edges() == scratch.edges() == sorted(here.ledger.links.edges())
                assert sorted(followed.unlinked()) == sorted(scratch.unlinked())
                assert followed.synced_revision <= here.ledger.revision


@pytest.mark.fault("A1")
def test_it_is_read_anew_if_the_ledger_has_forgotten_what_was_removed(world, monkeypatch):
    monkeypatch.setattr(notes, "REMOVED_NOTES", 0)
    here = world({"a.md": "[[b]]", "b.md": "", "c.md": "[[a]]"})
    graph = Graph.of(here.ledger)
    here.write({"b.md": None, "d.md": "[[a]]"})
    here.ledger.notes.prune_removed(here.ledger.revision)
    graph.sync(here.ledger)
    assert graph.edges() == Graph.of(here.ledger).edges()
    assert sorted(graph.unlinked()) == sorted(Graph.of(here.ledger).unlinked())


def test_neighbours_in_both_directions(world):
    here = world({"a.md": "[[b]]", "b.md": "", "c.md": "[[a]] [[a]] [[c]]"})
    a, b, c = (here.note(name).id for name in "abc")
    graph = here.graph()
    assert graph.neighbours(a) == ([b], [c])
    assert graph.neighbours(99) == ([], [])
    assert graph.neighbourhoods([a, 99], 2) == {a: {b: 1, c: 1}, 99: {}}
    assert graph.neighbourhoods([a], 1) == {}
    assert graph.reached(b, 2) == {b: (0, b), a: (1, b), c: (2, a)}


def test_a_part_has_the_links_that_its_ledger_has(world):
    here = world(
        {"x/a.md": "[[b]] [[c]]", "x/b.md": "[[a]]", "y/c.md": "[[a]] [[d]]", "x/d.md": "", "x/e.md": "[[c]]"}
    )
    part = here.ledger.within(("x",))
    graph = here.graph().part(part.notes.ids())
    assert graph.edges() == sorted(part.links.edges())
    hidden, d = here.note("c").id, here.note("d").id
    assert graph.neighbours(hidden) == ([], [])
    assert graph.neighbours(d) == ([], [])
    assert {part.paths_of([note])[note] for note in graph.unlinked(isolated=True)} == {"x/d.md", "x/e.md"}
    assert hidden not in graph.reached(here.note("x/a").id, 3)


@pytest.mark.fault("K15")
def test_a_part_has_the_links_that_lead_elsewhere_in_it(world):
    here = world({"x/a.md": "[[b]] [[c]]", "x/y/b.md": "", "b.md": "", "x/c.md": "[[b]]"})
    part = here.ledger.within(("x",))
    graph = here.graph().part(part.notes.ids(), part.links.edges())
    assert graph.edges() == sorted(part.links.edges())
    assert len(graph.edges()) == 3


def test_a_graph_is_made_of_the_whole_ledger(world):
    here = world({"a.md": "[[b]]", "b.md": ""})
    graph = Graph.of(here.ledger)
    assert graph.synced_revision == here.ledger.revision
    assert graph.edges() == here.ledger.links.edges()


@given(st.sets(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=24))
def test_the_shortest_paths_are_all_that_there_are(edges):
    graph = Graph()
    graph._apply((), range(9), edges)
    undirected = networkx.Graph([*edges])
    undirected.add_nodes_from(range(9))
    try:
        expected = sorted(networkx.all_shortest_paths(undirected, 0, 8))
    except networkx.NetworkXNoPath:
        expected = []
    assert sorted(graph.shortest(0, 8, 1000)) == expected
    assert graph.shortest(0, 8, 1) == graph.shortest(0, 8, 1000)[:1]
    assert graph.shortest(0, 99, 1) == []


def test_a_few_of_very_many_shortest_paths_take_no_longer_than_one():
    side = 200
    places = [(x, y) for x in range(side) for y in range(side)]
    right = [(x * side + y, (x + 1) * side + y) for x, y in places if x + 1 < side]
    down = [(x * side + y, x * side + y + 1) for x, y in places if y + 1 < side]
    graph = Graph()
    graph._apply((), range(side * side), [*right, *down])
    paths = graph.shortest(0, side * side - 1, 20)
    assert len({tuple(path) for path in paths}) == 20
    assert {len(path) for path in paths} == {2 * side - 1}
