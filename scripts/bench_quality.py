"""Measure ranking on judged vaults and print the tables of docs/ranking.md.

    python scripts/bench_quality.py [--cache DIR] [--vaults DIR] [--compare NAME=KEY:VALUE,...] SET...

A SET is a folder with ``vault/``, ``queries.jsonl`` and ``qrels.tsv``; without ``vault/``, the vault is the
folder of that name in ``--vaults``. The first run embeds all notes, about a minute for two thousand passages;
later runs use the cache.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from vaultseek.evaluate import (
    Report,
    cache_directory,
    evaluate,
    measured_vault,
    read_queries,
    variants,
)
from vaultseek.evaluate.judgements import ALL
from vaultseek.evaluate.report import as_text
from vaultseek.indexing.open_vault import VaultOptions
from vaultseek.models.catalogue import find_model
from vaultseek.settings.model import Settings


async def measure(folder: Path, arguments: argparse.Namespace) -> Report:
    """Measure one set with all variants."""
    inside = folder / "vault"
    vault = inside if inside.is_dir() or arguments.vaults is None else arguments.vaults / folder.name
    root = vault.resolve()
    plain = folder.name not in arguments.operators
    queries = read_queries(folder / "queries.jsonl", folder / "qrels.tsv", plain=plain)
    ways = variants(Settings().search, arguments.compare)
    if arguments.only:
        ways = [way for way in ways if way.name in arguments.only]
    cache = cache_directory(root, arguments.cache)
    options = VaultOptions(root.name, root)
    async with measured_vault(options, cache, find_model("bundled"), lambda phase, counts: None) as vault:
        return await evaluate(vault, queries, ways, plain=plain, limit=arguments.limit)


def summary(reports: dict[str, Report], metric: str) -> str:
    """Format a table with a row per variant and a column per set."""
    names = [outcome.name for outcome in next(iter(reports.values())).outcomes]
    lines = [f"| {metric} | {' | '.join(reports)} |", "|---" * (len(reports) + 1) + "|"]
    for row, name in enumerate(names):
        cells = [f"{report.outcomes[row].metrics[ALL][metric].mean:.4f}" for report in reports.values()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def arguments_for_sets(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the sets and of every option that ``measure`` reads."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--vaults", type=Path)
    parser.add_argument("--operators", action="append", default=["data"], help="set with query operators")
    parser.add_argument("--limit", type=int, default=100)
    return parser


def main() -> None:
    """Measure every set, then print the summaries."""
    parser = arguments_for_sets(__doc__)
    parser.add_argument("--compare", action="append", default=[])
    parser.add_argument("--only", action="append", default=[], help="only the variant of this name")
    arguments = parser.parse_args()
    reports: dict[str, Report] = {}
    for folder in arguments.sets:
        reports[folder.name] = asyncio.run(measure(folder, arguments))
        print(as_text(reports[folder.name]), end="\n\n", file=sys.stderr, flush=True)
    for metric in ("nDCG@10", "nDCG@5", "MRR", "Recall@100"):
        print(summary(reports, metric), end="\n\n")


if __name__ == "__main__":
    main()
