"""``vaultseek graph`` on a real daemon."""

import json

import networkx
import pytest

from vaultseek.base import limits
from vaultseek.client import Client
from vaultseek.core.graph.files import write_graph

pytestmark = pytest.mark.shared_daemon
NOTES = {
    "pump.md": "# Pump\n\nThe [[valve]] sits on top.\n",
    "valve.md": "# Valve\n\nIt has a [[seal]].\n",
    "seal.md": "# Seal\n\nOf rubber, see [[pump]]. An anchor holds it.\n",
    "anchor.md": "# Anchor\n\nHangs on its [[chain]].\n",
    "chain.md": "# Chain\n\nOf steel.\n",
    "alone.md": "# Alone\n\nNo links.\n",
}


@pytest.fixture(scope="module")
def graph(indexed_vault):
    return indexed_vault(NOTES)


def _client(vault):
    return Client(vault.daemon.socket, validate=True)


def test_the_overview_counts_and_names_hubs_and_clusters(graph):
    answer = graph.json("graph")
    assert (answer["notes"], answer["links"], answer["orphans"]) == (6, 4, 2)
    assert answer["components"] == {"count": 2, "largest": 3}
    assert {hub["path"] for hub in answer["hubs"]} >= {"pump.md", "valve.md", "seal.md", "chain.md"}
    assert [cluster["count"] for cluster in answer["clusters"]] == [3]
    hub = answer["clusters"][0]["hub"]
    assert hub["path"] in ("pump.md", "valve.md", "seal.md"), "it names the cluster"
    shown = graph.run("graph").stdout
    assert "6 notes, 4 links" in shown
    assert f"  {hub['title']}  3 notes" in shown
    assert "2 connected parts, the largest with 3 notes" in shown


def test_notes_without_any_link_are_counted_apart_from_those_without_backlinks(graph):
    answer = graph.json("graph")
    assert (answer["orphans"], answer["isolated"]) == (2, 1)
    assert "2 notes without backlinks, 1 of them without any link" in graph.run("graph").stdout


def test_hubs_and_clusters_print_nothing_else(graph):
    hubs, clusters = graph.json("graph", "hubs"), graph.json("graph", "clusters")
    assert hubs.keys() == {"vault", "vault_path", "hubs"}
    assert clusters.keys() == {"vault", "vault_path", "clusters", "cluster_count"}


def test_a_note_with_more_links_than_are_read_is_named(indexed_vault):
    star = "".join(f"[[{n}]] " for n in range(limits.NOTE_LINKS + 1))
    vault = indexed_vault({"star.md": star, "0.md": "# Zero\n"})
    assert vault.json("graph")["truncated"] == ["star.md"]
    assert "Only the first 10,000 links of star.md are read" in vault.run("graph").stdout


def test_clusters_have_no_paths_to_print(graph):
    assert graph.json("graph", "clusters")["cluster_count"] == 1
    done = graph.run("graph", "clusters", "--paths")
    assert (done.returncode, "No such option" in done.stderr) == (2, True)


def test_the_overview_returns_the_first_notes_with_rank_and_cluster_only_where_they_are_asked_for(graph):
    root = str(graph.root)
    with _client(graph) as client:
        plain = client.graph(vault=root)
        two, every = client.graph(nodes=2, vault=root), client.graph(nodes=100, vault=root)
    assert not {"nodes", "edges"} & plain.keys()
    assert [node["path"] for node in two["nodes"]] == [hub["path"] for hub in plain["hubs"][:2]]
    assert two["nodes"] == every["nodes"][:2]
    assert len(every["nodes"]) == 6
    ranks = [node["rank"] for node in every["nodes"]]
    assert ranks == sorted(ranks, reverse=True)
    clusters = {node["path"]: node["cluster"] for node in every["nodes"]}
    assert [clusters[path] for path in ("pump.md", "valve.md", "seal.md", "alone.md")] == [0, 0, 0, None]
    paths = [node["path"] for node in every["nodes"]]
    links = {(paths[one], paths[other]) for one, other in every["edges"]}
    assert links == {
        ("pump.md", "valve.md"),
        ("valve.md", "seal.md"),
        ("seal.md", "pump.md"),
        ("anchor.md", "chain.md"),
    }


def test_bridges_are_left_out_where_they_are_not_wanted(indexed_vault):
    chain = indexed_vault({"one.md": "[[two]]\n", "two.md": "[[three]]\n", "three.md": "# Three\n"})
    with _client(chain) as client:
        assert [each["path"] for each in client.graph(vault=str(chain.root))["bridges"]] == ["two.md"]
        assert client.graph(without_bridges=True, vault=str(chain.root))["bridges"] == []


def test_a_path_shows_the_line_of_each_link(graph):
    answer = graph.json("graph", "path", "Pump", "Seal", "-n", "1")
    (route,) = answer["routes"]
    assert [step["path"] for step in route] == ["pump.md", "seal.md"]
    assert (route[1]["direction"], route[1]["text"]) == ("in", "Of rubber, see [[pump]]. An anchor holds it.")
    assert "<- Of rubber" in graph.run("graph", "path", "Pump", "Seal").stdout


def test_a_path_names_both_ends(graph):
    answer = graph.json("graph", "path", "Pump", "Seal")
    assert (answer["path"], answer["other"]["path"]) == ("pump.md", "seal.md")
    assert answer["partial"] == []


def test_where_no_links_lead_a_step_is_by_meaning_and_says_so(graph):
    (route,) = graph.json("graph", "path", "Pump", "Chain")["routes"]
    assert [step["by"] for step in route].count("meaning") == 1
    assert (route[0]["path"], route[-1]["path"]) == ("pump.md", "chain.md")
    assert "no link, similar in meaning" in graph.run("graph", "path", "Pump", "Chain").stdout


def test_a_step_by_meaning_reaches_a_part_whose_notes_are_nearest_to_nothing_here(indexed_vault):
    crowd = {f"tea/{n}.md": f"# Tea {n}\n\nTea steeps in the pot, [[tea/0]].\n" for n in range(130)}
    far = {"harbour.md": "# Harbour\n\nCranes unload tea, see [[quay]].\n", "quay.md": "# Quay\n\nStone.\n"}
    vault = indexed_vault({**crowd, **far})
    (route,) = vault.json("graph", "path", "tea/7.md", "quay.md")["routes"]
    assert [step["by"] for step in route].count("meaning") == 1


def test_no_step_by_meaning_joins_notes_about_different_things(indexed_vault):
    vault = indexed_vault({"tea.md": "# Tea\n\nSteep in a pot.\n", "quay.md": "# Quay\n\nCranes unload.\n"})
    answer = vault.json("graph", "path", "Tea", "Quay")
    assert (answer["routes"], answer["partial"]) == ([], [])
    shown = vault.run("graph", "path", "Tea", "Quay").stdout
    assert shown == "No path: no links lead there, and no notes on the two sides are similar in meaning.\n"


def test_a_file_from_another_folder_is_either_end_of_a_path(graph):
    folder = graph.root / ".obsidian"
    folder.mkdir(exist_ok=True)
    done = graph.daemon.run("graph", "path", "../pump.md", "../seal.md", "-n", "1", "--json", cwd=folder)
    assert [step["path"] for step in json.loads(done.stdout)["routes"][0]] == ["pump.md", "seal.md"]


def test_more_paths_than_there_can_be_are_refused_with_the_bound(graph):
    done = graph.run("graph", "path", "Pump", "Seal", "-n", "21")
    assert (done.returncode, "1<=x<=20" in done.stderr) == (2, True)


def test_options_before_the_name_of_a_subcommand_count(graph):
    assert graph.json("graph", "-n", "1", "hubs")["hubs"] == graph.json("graph", "hubs", "-n", "1")["hubs"]
    assert len(graph.json("graph", "-n", "1", "hubs")["hubs"]) == 1
    assert json.loads(graph.run("graph", "--json", "hubs").stdout)["hubs"]
    assert "-n" not in graph.run("graph", "--paths", "hubs").stdout
    assert set(graph.run("graph", "--paths", "hubs").stdout.split()) >= {f"{graph.root}/pump.md"}


def test_a_note_that_names_another_should_link_it(graph):
    suggested = {item["path"]: item for item in graph.json("graph", "suggest", "Seal")["suggestions"]}
    assert {"kind": "mentioned", "line": 3} in suggested["anchor.md"]["reasons"]
    assert "mentioned on line 3" in graph.run("graph", "suggest", "Seal").stdout
    everywhere = graph.json("graph", "suggest")["suggestions"]
    assert {"seal.md", "anchor.md"} in [{item["source"]["path"], item["path"]} for item in everywhere]


def test_what_notes_near_in_meaning_link_to_is_suggested(indexed_vault):
    teas = {f"tea{n}.md": f"# Tea {n}\n\nGreen tea steeps in the pot, see [[kettle]].\n" for n in range(4)}
    lone = {
        "steep.md": "# Steeping\n\nGreen tea steeps in the pot.\n",
        "kettle.md": "# Kettle\n\nOf copper.\n",
    }
    vault = indexed_vault({**teas, **lone})
    suggested = {item["path"]: item for item in vault.json("graph", "suggest", "Steeping")["suggestions"]}
    assert {"kind": "followed", "count": 4} in suggested["kettle.md"]["reasons"]
    assert "linked from 4 similar notes" in vault.run("graph", "suggest", "Steeping").stdout


def test_what_is_linked_is_not_suggested(graph):
    assert "valve.md" not in [item["path"] for item in graph.json("graph", "suggest", "Pump")["suggestions"]]


@pytest.mark.parametrize("form", ["gexf", "graphml", "json"])
def test_an_export_is_read_by_networkx(graph, tmp_path, form):
    file = tmp_path / f"notes.{form}"
    assert "6 notes, 4 links" in graph.run("graph", "export", str(file)).stdout
    if form == "json":
        links = networkx.node_link_graph(json.loads(file.read_text()), edges="edges")
    else:
        links = {"gexf": networkx.read_gexf, "graphml": networkx.read_graphml}[form](file)
    assert sorted(links.edges)[0] == ("anchor.md", "chain.md")
    assert links.nodes["pump.md"]["title"] == "Pump"


def test_an_unknown_format_is_named_with_those_that_there_are(graph, tmp_path):
    done = graph.run("graph", "export", str(tmp_path / "notes.dot"))
    assert done.returncode == 2
    assert "--format graphml|gexf|json" in done.stderr


def test_an_export_is_refused_where_it_cannot_or_must_not_be_written(graph, tmp_path):
    done = graph.run("graph", "export", str(tmp_path / "missing" / "x.gexf"))
    assert (done.returncode, "cannot write" in done.stderr, "No such file" in done.stderr) == (2, True, True)
    done = graph.run("graph", "export", str(graph.root / "x.json"))
    assert (done.returncode, "vaultseek never writes" in done.stderr) == (2, True)
    assert not (graph.root / "x.json").exists()


@pytest.mark.parametrize("form", ["graphml", "gexf"])
def test_a_control_character_does_not_spoil_an_export(tmp_path, form):
    node = {"path": "a\x1b.md", "title": "\x00zebra", "modified": "", "rank": 1.0, "cluster": None}
    write_graph({"nodes": [node], "links": [], "clusters": []}, tmp_path / "x", form)
    read = networkx.read_graphml if form == "graphml" else networkx.read_gexf
    assert list(read(tmp_path / "x")) == ["a .md"]


def test_a_vault_without_links_says_so(indexed_vault):
    shown = indexed_vault({"a.md": "# A\n"}).run("graph").stdout
    assert "No links between notes." in shown
    assert "No clusters" in shown
