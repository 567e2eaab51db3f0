"""Measure whether a note comes first when a query is its name or one of its headings.

    python scripts/bench_names.py [--cache DIR] VAULT...

In each vault, up to 150 notes whose file name is unique and has one to four words are searched for by name,
in four ways. Notes are also searched for by unique headings of two to four words.
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
WAYS = ("the name", "the other number", "what is it", "in a question", "a heading")
MOST_HEADINGS = 150
QUESTIONS = (
    "notes about {}",
    "how does {} work",
    "{} example",
    "where did I write about {}",
    "{} problem",
    "the {} thing again",
)


def named(ledger: Ledger) -> Iterator[tuple[str, str]]:
    """Yield the path and the lower-case name of each note with a unique name."""
    rows = ledger.select("SELECT path, title FROM notes ORDER BY path")
    names = {path: Path(path).stem.lower() for path, _ in rows}
    counts = Counter(name for path, title in rows for name in {names[path], title.lower()})
    for path, name in names.items():
        plain = re.sub("[-_]", " ", name)
        if counts[name] == 1 and NAME.fullmatch(plain):
            yield path, plain


def in_other_number(name: str) -> str:
    """Return an English name in the plural, or in the singular if it is a plural."""
    if name.endswith("ies"):
        return name[:-3] + "y"
    if name.endswith("s"):
        return name[:-1]
    if re.search(r"[^aeiou]y$", name):
        return name[:-1] + "ies"
    return name + ("es" if name.endswith(("ch", "sh", "x")) else "s")


def headings(ledger: Ledger) -> Iterator[tuple[str, str]]:
    """Yield the path of a note and each lower-case heading that is unique and not a note's name."""
    rows = ledger.notes.by_id(ledger.notes.ids()).values()
    places = [(row.path, {heading.text.lower() for heading in row.headings}, row) for row in rows]
    counts = Counter(text for _, texts, row in places for text in {*texts, *map(str.lower, row.names)})
    for path, texts, row in places:
        for text in texts - {name.lower() for name in row.names}:
            if counts[text] == 1 and " " in text and NAME.fullmatch(text):
                yield path, text


def queries(ledger: Ledger) -> list[list[tuple[str, str]]]:
    """Return the queries for each way of searching, each with the path of the note that should come first."""
    notes = list(named(ledger))
    places = sorted(headings(ledger), key=lambda place: zlib.crc32("".join(place).encode()))
    return [
        notes,
        [(path, in_other_number(name)) for path, name in notes],
        [(path, f"what is {name}") for path, name in notes],
        [(path, QUESTIONS[zlib.crc32(path.encode()) % len(QUESTIONS)].format(name)) for path, name in notes],
        places[:MOST_HEADINGS],
    ]


async def measure(root: Path, cache: Path | None) -> None:
    """Print, for each way, the share of notes that come first, the mean reciprocal rank and the number of
    queries."""
    options, models = VaultOptions(root.name, root), choose_models("bundled")
    directory = cache_directory(root, cache)
    async with indexed_vault(options, directory, models, lambda phase, counts: None, []) as vault:
        searcher = Searcher(vault)
        figures = []
        for asked in queries(vault.ledger):
            ranks = [await rank(searcher, query, path) for path, query in asked]
            first = sum(each == 1 for each in ranks) / max(len(ranks), 1)
            figures.append(f"{first:.3f}, {sum(ranks) / max(len(ranks), 1):.3f} of {len(ranks)}")
    print(f"| {root.name} | {' | '.join(figures)} |", flush=True)


async def rank(searcher: Searcher, query: str, path: str) -> float:
    """Return the reciprocal rank of the note; 0 if it is not among the first ten."""
    answer = await searcher.search(SearchRequest(query, Settings().search, limit=10))
    paths = [result["path"] for result in answer["results"]]
    return 1 / (1 + paths.index(path)) if path in paths else 0.0


def main() -> None:
    """Print a table with a row for each vault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vaults", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path)
    arguments = parser.parse_args()
    print(f"| vault | {' | '.join(WAYS)} |\n|---|---|---|---|---|---|")
    for root in arguments.vaults:
        asyncio.run(measure(root, arguments.cache))


if __name__ == "__main__":
    main()
