"""Measure the embedded engine and another one side by side: bulk load, searches, memory, disk, and ranking.

    scripts/bench_backends.py speed --passages 100000 --uri postgresql://HOST/DATABASE [--folder DIR]
    scripts/bench_backends.py ranking VAULT QUERIES QRELS --uri postgresql://HOST/DATABASE

``speed`` makes a vault of random words, with three passages to a note, and vectors by the model
"hashing-384". The second engine is filled from the ledger of the first, as ``vaultseek backend migrate``
does. ``ranking`` compares the orders, and nDCG@10 where there are judgements: QUERIES has a JSON object a
line, ``id`` and ``text``, QRELS lines of query, 0, path and grade.
"""

import argparse
import asyncio
import json
import math
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from vaultseek.base.paths import folder_bytes
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.semantic.models.choice import choose_models
from vaultseek.settings.engine import EngineOptions
from vaultseek.settings.model import Settings

WORDS = 50_000
PASSAGES = 3
PASSAGE_WORDS = 90
FOLDER_NOTES = 500
SEARCHES = 40
MODES = ("keyword", "semantic", "hybrid")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    speed = commands.add_parser("speed")
    speed.add_argument("--passages", type=int, default=100_000)
    speed.add_argument("--folder", type=Path)
    ranking = commands.add_parser("ranking")
    ranking.add_argument("vault", type=Path)
    ranking.add_argument("queries", type=Path)
    ranking.add_argument("qrels", type=Path)
    ranking.add_argument("--model", default="bundled")
    ranking.add_argument("--folder", type=Path)
    ranking.add_argument("--most", type=int, default=1000)
    for command in (speed, ranking):
        command.add_argument("--uri", required=True)
    arguments = parser.parse_args()
    folder = arguments.folder or Path(tempfile.mkdtemp(prefix="backends-"))
    if arguments.command == "speed":
        asyncio.run(measure_speed(arguments.passages, folder, engines_of(folder, arguments.uri)))
    else:
        queries = read_queries(arguments.queries)[: arguments.most]
        asyncio.run(
            measure_ranking(
                arguments.vault,
                queries,
                read_qrels(arguments.qrels),
                arguments.model,
                folder,
                engines_of(folder, arguments.uri),
            )
        )


def engines_of(folder: Path, uri: str) -> dict[str, EngineOptions | None]:
    """Return the engines to be compared, by name."""
    other = EngineOptions(uri=uri, prefix="bench", shard=folder.name, seconds=60)
    return {"embedded": None, other.title: other}


async def measure_speed(passages: int, folder: Path, engines: Mapping[str, EngineOptions | None]) -> None:
    vault = folder / "vault"
    if not vault.is_dir():
        write_vault(vault, passages // PASSAGES)
    words = random.Random(7)
    queries = [" ".join(random_words(words, 3)) for _ in range(SEARCHES)]
    for name, engine in engines.items():
        cache = folder / name.replace(" ", "-")
        if engine is not None and not cache.exists():
            copy_ledger(folder / "embedded", cache)
        began = time.monotonic()
        options = VaultOptions("bench", vault, engine=engine)
        async with indexed_vault(options, cache, choose_models("hashing-384", "off"), quiet) as open_vault:
            counts = open_vault.ledger.counts()
            loaded = time.monotonic() - began
            disk = sum(folder_bytes(each) for each in parts_of(cache, engine))
            print(f"{name}: {counts.notes:,} notes, {counts.embedded:,} passages")
            print(
                f"  load {loaded:.0f} s, disk {disk / 1e6:.0f} MB, memory {memory() / 1e6:.0f} MB", flush=True
            )
            for mode in MODES:
                spent = await times_of(open_vault, queries, mode)
                p95 = sorted(spent)[int(0.95 * len(spent))]
                print(f"  {mode}: p50 {statistics.median(spent):.0f} ms, p95 {p95:.0f} ms", flush=True)
            filtered = [f"{query} tag:t{number % 20}" for number, query in enumerate(queries)]
            spent = await times_of(open_vault, filtered, "hybrid")
            print(f"  hybrid with a tag: p50 {statistics.median(spent):.0f} ms", flush=True)
            print(f"  memory after searches {memory() / 1e6:.0f} MB", flush=True)


async def measure_ranking(
    vault: Path,
    queries: Mapping[str, str] | Sequence[tuple[str, str]],
    qrels: Any,
    model: str,
    folder: Path,
    engines: Mapping[str, EngineOptions | None],
) -> None:
    orders: dict[str, dict[tuple[str, str], list[str]]] = {}
    for name, engine in engines.items():
        cache = folder / name.replace(" ", "-")
        if engine is not None and not cache.exists():
            copy_ledger(folder / "embedded", cache)
        options = VaultOptions("bench", vault, engine=engine)
        async with indexed_vault(options, cache, choose_models(model, "off"), quiet) as open_vault:
            orders[name] = {
                (id, mode): [path async for path in results(open_vault, text, mode)]
                for id, text in queries
                for mode in MODES
            }
    for mode in MODES:
        figures = []
        for name, of_engine in orders.items():
            values = [ndcg(of_engine[id, mode], qrels[id]) for id, _ in queries if id in qrels]
            figures.append(f"{name} {statistics.mean(values):.4f}" if values else name)
        same = sum(
            len({tuple(of_engine[id, mode]) for of_engine in orders.values()}) == 1 for id, _ in queries
        )
        print(
            f"{mode}: nDCG@10 {', '.join(figures)}; same first ten for {same} of {len(queries)}", flush=True
        )


async def results(vault: OpenVault, text: str, mode: Any) -> Any:
    trace = await Searcher(vault).run(SearchRequest(text, Settings().search, limit=10, mode=mode, plain=True))
    for candidate in trace.results:
        yield candidate.note


async def times_of(vault: OpenVault, queries: Sequence[str], mode: Any) -> list[float]:
    """Return the milliseconds of each search, after one that is not counted."""
    searcher, settings = Searcher(vault), Settings().search
    await searcher.run(SearchRequest(queries[0], settings, mode=mode))
    spent = []
    for query in queries:
        began = time.perf_counter()
        trace = await searcher.run(SearchRequest(query, settings, mode=mode))
        spent.append(1000 * (time.perf_counter() - began))
        if trace.partial:
            print(f"  partial: {trace.partial}")
    return spent


def write_vault(folder: Path, notes: int) -> None:
    words = random.Random(1)
    for number in range(notes):
        file = folder / f"folder {number // FOLDER_NOTES}" / f"note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        sections = [
            f"## {' '.join(random_words(words, 3))}\n\n{' '.join(random_words(words, PASSAGE_WORDS))}\n"
            for _ in range(PASSAGES)
        ]
        head = f"---\ntags: [t{number % 20}, area/t{number % 7}]\nnumber: {number}\n---\n"
        file.write_text(f"{head}# Note {number}\n\n" + "\n".join(sections))


def random_words(source: random.Random, count: int) -> list[str]:
    """Return made words, of which few are frequent."""
    return [f"w{int(source.paretovariate(0.6)) % WORDS:x}q" for _ in range(count)]


def copy_ledger(source: Path, target: Path) -> None:
    """Copy the ledger of a cache: the other engine is filled from it, and nothing is embedded again."""
    target.mkdir(mode=0o700, parents=True)
    for file in source.glob("ledger.sqlite*"):
        shutil.copy2(file, target / file.name)


def parts_of(cache: Path, engine: EngineOptions | None) -> list[Path]:
    """Return the folders of an engine, without the ledger."""
    if engine is None:
        return [cache / "keyword", cache / "semantic"]
    return [cache / "engine"]


def memory() -> int:
    """Return the resident memory of this process and of those that it started."""
    process = psutil.Process()
    processes = [process, *process.children(recursive=True)]
    return sum(each.memory_info().rss for each in processes if each.is_running())


def read_queries(file: Path) -> list[tuple[str, str]]:
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]
    return [(str(row.get("id", row.get("_id"))), row.get("text", row.get("query"))) for row in rows]


def read_qrels(file: Path) -> dict[str, dict[str, float]]:
    qrels: dict[str, dict[str, float]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        parts = line.split("\t")
        if len(parts) >= 3 and parts[-1].strip().isdigit():
            qrels.setdefault(parts[0], {})[parts[-2]] = float(parts[-1])
    return qrels


def ndcg(order: Sequence[str], grades: Mapping[str, float]) -> float:
    gains = [grades.get(path, 0.0) / math.log2(rank + 1) for rank, path in enumerate(order[:10], 1)]
    ideal = sorted(grades.values(), reverse=True)[:10]
    best = sum(grade / math.log2(rank + 1) for rank, grade in enumerate(ideal, 1))
    return sum(gains) / best if best else 0.0


def quiet(phase: str, counts: object) -> None:
    """Say nothing of the progress."""


if __name__ == "__main__":
    main()
