"""Measure how soon the notes of a new vault are found by meaning, and print the curve of docs/performance.md.

    python scripts/bench_meaning.py [--cache DIR] [--vaults DIR] [--points N] SET...

A SET is as for ``bench_quality.py``. Its notes are embedded once. Then the store is filled again in the
daemon's order, and the questions are asked repeatedly while it fills. The share of the work is the share of
tokens that the model has read so far; it stands for the model's time, not counting the questions.
"""

from __future__ import annotations

import argparse
import asyncio
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench_quality import arguments_for_sets, vault_of

from vaultseek.core.indexing.embed import Embedding
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import Item
from vaultseek.core.library import indexed_vault
from vaultseek.semantic.models.choice import choose_models
from vaultseek.settings.model import Settings
from vaultseek.tools.evaluate.judgements import ALL, JudgedQuery, read_queries
from vaultseek.tools.evaluate.run import cache_directory, evaluate
from vaultseek.tools.evaluate.variants import DEFAULT, KEYWORD, Variant

METRIC = "nDCG@10"


class Work:
    """The number of tokens that the model has read in all stored items."""

    def __init__(self, vault: OpenVault) -> None:
        self._vault = vault
        self.tokens = 0

    def of(self, items: Sequence[Item]) -> int:
        """Return the number of tokens of the items, each up to the model's window."""
        spec = self._vault.embedding.spec
        texts = (item.text.text for item in items if item.text is not None)
        return sum(min(spec.count(text), spec.window) for text in texts)

    def total(self) -> int:
        """Return the number of tokens of all notes and passages."""
        return self.of(self._vault.embedding.unembedded.of_notes(self._vault.ledger.notes.ids()))


async def curve(vault: OpenVault, queries: Sequence[JudgedQuery], points: int) -> list[tuple[float, float]]:
    """Refill the store and return, after each part, the share of the work and the metric."""
    work, put = Work(vault), Embedding._put
    total = work.total()
    counts = vault.ledger.counts()

    async def counted(self: Embedding, items: Sequence[Item]) -> None:
        work.tokens += work.of(items)
        await put(self, items)

    await vault.embedding.discard_store("it is measured how soon it is full")
    part = -(-(counts.notes + counts.chunks) // points)
    figures = []
    with patch.object(Embedding, "_put", counted), patch("vaultseek.core.indexing.embed.WAITING_TEXTS", part):
        while await vault.embedding.step():
            figures.append((work.tokens / total, await quality(vault, queries)))
    return figures


async def quality(vault: OpenVault, queries: Sequence[JudgedQuery], **mode: Any) -> float:
    """Return the metric over all questions."""
    way = Variant(KEYWORD if mode else DEFAULT, Settings().search, **mode)
    report = await evaluate(vault, queries, [way], plain=True, limit=10, foreign=None)
    return report.outcomes[0].metrics[ALL][METRIC].mean


async def measure(folder: Path, arguments: argparse.Namespace) -> Iterator[str]:
    """Measure one set, and return the rows of its table."""
    root = vault_of(folder, arguments.vaults)
    queries = read_queries(folder / "queries.jsonl", folder / "qrels.tsv", plain=True)
    queries = [query for query in queries if re.search(arguments.questions, query.id)]
    cache = cache_directory(root, arguments.cache)
    options, models = VaultOptions(root.name, root), choose_models(arguments.model)
    async with indexed_vault(options, cache, models) as vault:
        by_word = await quality(vault, queries, mode="keyword")
        figures = await curve(vault, queries, arguments.points)
        gain = figures[-1][1] - by_word
        rows = [f"{folder.name}, {len(queries)} questions, {vault.ledger.counts().notes:,} notes"]
        for share, value in [(0.0, by_word), *figures]:
            gained = f"{(value - by_word) / gain:.0%}" if gain > 0 else ""
            rows.append(f"| {share:.0%} | {value:.4f} | {gained} |")
        return iter([rows[0], f"| work | {METRIC} | of what meaning adds |", "|---|---|---|", *rows[1:]])


def main() -> None:
    """Measure every set, and print a table of each."""
    parser = arguments_for_sets(__doc__)
    parser.add_argument("--points", type=int, default=20, help="parts in which the store is filled")
    arguments = parser.parse_args()
    for folder in arguments.sets:
        print("\n".join(asyncio.run(measure(folder, arguments))), end="\n\n", flush=True)


if __name__ == "__main__":
    main()
