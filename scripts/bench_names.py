"""Measure whether a note comes first that a query calls by its name, in other words beside it or inflected.

    python scripts/bench_names.py [--cache DIR] VAULT...

Each note with a file name of one to four words that no other note has for a name is asked for in four ways.
"""

import argparse
import asyncio
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.semantic.models.choice import choose_models
from vaultseek.settings.model import Settings
from vaultseek.store.ledger import Ledger
from vaultseek.tools.evaluate.run import cache_directory

NAME = re.compile(r"[^\W\d_]{3,}( [^\W\d_]{3,}){0,3}")
WAYS = ("the name", "the other number", "what is it", "in a question")
QUESTIONS = (
    "notes about {}",
    "how does {} work",
    "{} example",
    "where did I write about {}",
    "{} problem",
    "the {} thing again",
)


def named(ledger: Ledger) -> Iterator[tuple[str, str]]:
    """Yield the path and the name, in small letters, of each note that has its name alone."""
    rows = ledger.select("SELECT path, title FROM notes ORDER BY path")
    names = {path: Path(path).stem.lower() for path, _ in rows}
    counts = Counter(name for path, title in rows for name in {names[path], title.lower()})
    for path, name in names.items():
        plain = re.sub("[-_]", " ", name)
        if counts[name] == 1 and NAME.fullmatch(plain):
            yield path, plain


def in_other_number(name: str) -> str:
    """Return an English name in the plural, or in the singular if it is one."""
    if name.endswith("ies"):
        return name[:-3] + "y"
    if name.endswith("s"):
        return name[:-1]
    if re.search(r"[^aeiou]y$", name):
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("ch", "sh", "x")) else "s")


def queries(path: str, name: str) -> tuple[str, ...]:
    """Return the query of each way."""
    question = QUESTIONS[zlib.crc32(path.encode()) % len(QUESTIONS)]
    return name, in_other_number(name), f"what is {name}", question.format(name)


async def measure(root: Path, cache: Path | None) -> None:
    """Print the share of the notes that come first, by way, and the mean reciprocal rank."""
    settings = Settings().search
    options, models = VaultOptions(root.name, root), choose_models("bundled")
    directory = cache_directory(root, cache)
    async with indexed_vault(options, directory, models, lambda phase, counts: None, []) as vault:
        searcher = Searcher(vault)
        notes = list(named(vault.ledger))
        ranks: list[list[float]] = [[] for _ in WAYS]
        for path, name in notes:
            for way, query in zip(ranks, queries(path, name), strict=True):
                answer = await searcher.search(SearchRequest(query, settings, limit=10))
                paths = [result["path"] for result in answer["results"]]
                way.append(1 / (1 + paths.index(path)) if path in paths else 0.0)
    figures = (f"{sum(rank == 1 for rank in way) / len(way):.3f}, {sum(way) / len(way):.3f}" for way in ranks)
    print(f"| {root.name} | {len(notes)} | {' | '.join(figures)} |", flush=True)


def main() -> None:
    """Print a table with a row for each vault: first, and mean reciprocal rank."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vaults", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path)
    arguments = parser.parse_args()
    print(f"| vault | notes | {' | '.join(WAYS)} |\n|---|---|---|---|---|---|")
    for root in arguments.vaults:
        asyncio.run(measure(root, arguments.cache))


if __name__ == "__main__":
    main()
