"""Row: the link graph compared with SQLite, on a ledger of generated links.

Run as ``python -m benchmark.rows_links LEDGER``, it measures in a separate process and prints JSON.
"""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmark.figures import MILLISECONDS, Figure, Times, number
from benchmark.registry import row
from benchmark.worlds import Bench
from vaultseek.core.graph.louvain import louvain
from vaultseek.core.graph.vault_structure import VaultStructure
from vaultseek.store.graph import Graph
from vaultseek.store.ledger import Ledger

NOTES, LINKS, SEARCHES = 38_000, 120_000, 200
SEEDS, MOST = 8, 200
"""Number of a search's notes whose neighbours are read, and the maximum number of neighbours."""
NEAR = """
WITH near AS (
  SELECT t.id AS note FROM links l JOIN notes t ON t.path = l.resolved WHERE l.note = ?1
  UNION SELECT l.note FROM links l WHERE l.resolved = (SELECT path FROM notes WHERE id = ?1))
SELECT note, (SELECT count(DISTINCT resolved) FROM links WHERE note = near.note)
  + (SELECT count(DISTINCT note) FROM links WHERE resolved = (SELECT path FROM notes WHERE id = near.note))
FROM near WHERE note != ?1
"""
"""Statement that returns the neighbours of a note, and the number of links to each neighbour."""
UNLINKED = """
SELECT id FROM notes n WHERE NOT EXISTS (SELECT 1 FROM links l WHERE l.resolved = n.path AND l.note != n.id)
"""


@row("links")
def links(bench: Bench) -> Iterator[Figure]:
    """Build, update and query the graph, and query SQLite for the same."""
    notes, count = (NOTES // 20, LINKS // 20) if bench.quick else (NOTES, LINKS)
    file = bench.folder / "links.db"
    make_ledger(file, notes, count)
    program = [sys.executable, "-m", "benchmark.rows_links", str(file)]
    folder = Path(__file__).parents[1]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    what = f"link graph, {notes:,} notes, {count:,} links"
    size = f"{found['megabytes']:.1f} MB, networkx itself {found['import_megabytes']:.1f} MB"
    built = f"{number(found['build_ms'])} ms, plus {number(found['import_ms'])} ms to import networkx"
    yield Figure("links", f"{what}: memory", size, numbers=found)
    yield Figure("links", f"{what}: read at start", built)
    saved = Times.of(found["save"])
    yield Figure("links", f"{what}: after a save", str(saved))
    for name, question in (
        ("structure", "hubs, clusters and components, in another process"),
        ("bridges", "bridges, in another process"),
        ("path", "three shortest paths"),
    ):
        yield Figure("links", f"{what}: {question}", str(Times.of(found[name])))
    louvain, theirs = Times.of(found["louvain"]), Times.of(found["louvain_networkx"])
    yield Figure(
        "links", f"{what}: clusters", str(louvain), f"NetworkX: {theirs}", ratio=louvain.p50 / theirs.p50
    )
    for name, question in (
        ("near", f"neighbours of {SEEDS} notes, as in a search"),
        ("unlinked", "orphans"),
    ):
        graph, sqlite = Times.of(found[name]), Times.of(found[f"{name}_sqlite"])
        yield Figure(
            "links",
            f"{what}: {question}",
            str(graph),
            f"SQLite: {sqlite}",
            ratio=graph.p50 / sqlite.p50,
            numbers=graph.numbers("graph") | sqlite.numbers("sqlite"),
        )


def make_ledger(file: Path, notes: int, count: int) -> None:
    """Write a ledger in which some notes have a thousand backlinks and most have few."""
    chance = random.Random(1)
    edges: set[tuple[int, int]] = set()
    while len(edges) < count:
        source, target = chance.randrange(notes) + 1, int(notes * chance.random() ** 3) + 1
        if source != target:
            edges.add((source, target))
    ledger = Ledger(file)
    values = "(id, path, revision, title, title_source, hash, aliases, tags, headings, tasks, properties"
    zeros = (
        ", size, mtime_ns, ctime_ns, inode, racy, modified, created, created_kind, turn, language, blocks,"
        " currency, name_day)"
    )
    with ledger.commit() as revision:
        for id in range(1, notes + 1):
            ledger.select(
                f"INSERT INTO notes {values}{zeros} VALUES (?, ?, ?, ?, 'file', x'', '[]', '[]', '[]', '[]',"
                " '{}', 0, 0, 0, 0, 0, 0, 0, 'moment', 0, 'en', '[]', '[]', '')",
                *(id, f"{id}.md", revision, str(id)),
            )
        for ordinal, (source, target) in enumerate(sorted(edges)):
            ledger.select(
                "INSERT INTO links (note, ordinal, kind, target, line, key, resolved)"
                " VALUES (?, ?, 'wikilink', ?, 1, ?, ?)",
                *(source, ordinal, str(target), str(target), f"{target}.md"),
            )
    ledger.close()


def _measure(file: Path) -> dict[str, Any]:
    ledger = Ledger(file)
    ids = ledger.notes.ids()
    ledger.links.edges(ids[:100])
    process = psutil.Process()
    resident, began = process.memory_info().rss, time.perf_counter()
    import networkx

    imported, import_ms = process.memory_info().rss, (time.perf_counter() - began) * MILLISECONDS
    began = time.perf_counter()
    graph = Graph.of(ledger)
    build_ms = (time.perf_counter() - began) * MILLISECONDS
    megabytes = (process.memory_info().rss - imported) / 1e6
    chance = random.Random(2)
    seeds = [[chance.choice(ids) for _ in range(SEEDS)] for _ in range(SEARCHES)]
    undirected: Any = networkx.Graph(graph.edges())
    undirected.add_nodes_from(ids)
    pairs = np.array(graph.edges()) - 1
    communities = networkx.community.louvain_communities
    return {
        "structure": [_timed(lambda: VaultStructure().of(graph, ledger)) for _ in range(3)],
        "bridges": [_timed(lambda: VaultStructure().bridges(graph, ledger))],
        "louvain": [_timed(lambda: louvain(len(ids), pairs, 1)) for _ in range(3)],
        "louvain_networkx": [_timed(lambda: communities(undirected, seed=1))],
        "path": [_timed(lambda few=few: graph.shortest(few[0], few[1], 3)) for few in seeds],
        "import_ms": import_ms,
        "import_megabytes": (imported - resident) / 1e6,
        "build_ms": build_ms,
        "megabytes": megabytes,
        "save": [_save(ledger, graph, few[0]) for few in seeds],
        "near": [_timed(lambda few=few: graph.neighbourhoods(few, MOST)) for few in seeds],
        "near_sqlite": [_timed(lambda few=few: _near(ledger, few)) for few in seeds],
        "unlinked": [_timed(graph.unlinked) for _ in range(10)],
        "unlinked_sqlite": [_timed(lambda: ledger.select(UNLINKED)) for _ in range(10)],
    }


def _save(ledger: Ledger, graph: Graph, note: int) -> float:
    with ledger.commit() as revision:
        ledger.mark_changed([note], revision)
    return _timed(lambda: graph.sync(ledger, [note]))


def _near(ledger: Ledger, notes: Sequence[int]) -> dict[int, dict[int, int]]:
    found = {note: dict(ledger.select(NEAR, note)) for note in notes}
    return {note: near for note, near in found.items() if len(near) <= MOST}


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * MILLISECONDS


if __name__ == "__main__":
    print(json.dumps(_measure(Path(sys.argv[1]))))
