#!/usr/bin/env python3
"""Measure what search learns from opened notes, on judged sets with simulated clicks.

    python scripts/bench_opens.py [--cache DIR] [--vaults DIR] SET...

The sets are those of ``bench_quality.py``. Every second question gets clicks, as in the simulation of
Joachims, Swaminathan and Schnabel (WSDM 2017): the user looks at the result at rank k with probability 1 / k,
opens it if it is right, and opens a wrong one by mistake with probability 0.1. A session ends with the first
open; its ranking includes everything learned so far. The script measures the same questions with their words
reordered, the same questions rephrased (framed, or one word shorter), and all other questions, which should
not change. Afterwards, the index of the set contains no opens.
"""

import argparse
import asyncio
import random
import sys
import time
import zlib
from collections.abc import Sequence
from pathlib import Path

from bench_quality import arguments_for_sets, vault_of

from vaultseek.content.query.words import words_of
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.library import indexed_vault, search
from vaultseek.semantic.models.choice import choose_models
from vaultseek.settings.search import SearchSettings
from vaultseek.store.ledger.opens import Meaning, Open
from vaultseek.tools.evaluate.judgements import JudgedQuery, read_queries
from vaultseek.tools.evaluate.metrics import compute_metrics
from vaultseek.tools.evaluate.run import cache_directory

CLICKS = (1, 3, 10)
PLACES = 10
WRONG = 0.1
SESSIONS = 200
CLIENT = "bench"
Figures = dict[str, float]


class Learner:
    """Searches and clicks in one vault."""

    def __init__(self, vault: OpenVault, queries: Sequence[JudgedQuery]) -> None:
        self.vault = vault
        self.asked, self.others = queries[::2], queries[1::2]

    async def paths(self, text: str, *, learn: bool = True) -> list[str]:
        """Return the first results."""
        settings = SearchSettings(learn=learn, nothing_below=0.0)
        answer = await search(self.vault, text, settings=settings, limit=PLACES, plain=True, brief=True)
        return [result["path"] for result in answer["results"]]

    async def open(self, text: str, path: str, place: int) -> None:
        """Record one click."""
        meaning = None
        if not self.vault.spaces.unsupported_language_reason(text):
            answer = await self.vault.spaces.ask(text, 1, None)
            meaning = Meaning(answer.model, answer.vector)
        self.vault.ledger.opens.add(words_of(text), Open(text, path, place, time.time(), CLIENT), meaning)

    async def click(self, query: JudgedQuery, dice: random.Random) -> None:
        """Record the click of a session; no click is recorded if several passes open nothing."""
        results = await self.paths(query.text)
        for _ in range(SESSIONS):
            for place, path in enumerate(results, start=1):
                is_right = query.grades.get(path, 0) > 0
                if dice.random() < (1.0 if is_right else WRONG) / place:
                    await self.open(query.text, path, place)
                    return

    async def ndcg(self, queries: Sequence[tuple[str, JudgedQuery]], *, learn: bool = True) -> float:
        """Return the mean nDCG@5."""
        values = [ndcg(await self.paths(text, learn=learn), query) for text, query in queries]
        return sum(values) / len(values)


def ndcg(paths: Sequence[str], query: JudgedQuery) -> float:
    """Return nDCG@5 of one answer."""
    return compute_metrics({query.id: paths}, {query.id: query.grades})["nDCG@5"][query.id]


def shuffled(query: JudgedQuery) -> str:
    """Return a question with its words in a different order."""
    words = query.text.split()
    random.Random(query.id).shuffle(words)
    return " ".join(words)


def rephrased(query: JudgedQuery) -> list[str]:
    """Return a question in a frame, and without one of its longer words if it has several."""
    words = query.text.split()
    frames = ("where did I write about", "note on", "what do I know about", "I am looking for")
    framed = [f"{frames[zlib.crc32(query.id.encode()) % len(frames)]} {query.text}"]
    if len(words) < 4:
        return framed
    dropped = random.Random(query.id).choice([word for word in words if len(word) > 2] or words)
    return [*framed, " ".join(word for word in words if word != dropped)]


async def measured(learner: Learner) -> Figures:
    """Return the gains of repeated, rephrased and other questions after some clicks."""
    kinds = {
        "repeated": [(shuffled(query), query) for query in learner.asked],
        "rephrased": [(text, query) for query in learner.asked for text in rephrased(query)],
        "others": [(query.text, query) for query in learner.others],
    }
    before = {kind: await learner.ndcg(queries, learn=False) for kind, queries in kinds.items()}
    figures = {f"{kind} before": value for kind, value in before.items()}
    dice, done = random.Random(1), 0
    for clicks in CLICKS:
        for _ in range(done, clicks):
            for query in learner.asked:
                await learner.click(query, dice)
        done = clicks
        for kind, queries in kinds.items():
            figures[f"{kind} {clicks}"] = await learner.ndcg(queries) - before[kind]
    learner.vault.ledger.opens.forget()
    return figures


async def corrected(learner: Learner) -> Figures:
    """Return three shares of questions: those no worse after one wrong and three right clicks, those whose
    eighth result comes first after being opened once, and those where it does after eight of ten opens."""
    kept, once, eighth = [], [], []
    for query in learner.asked:
        before = await learner.paths(query.text, learn=False)
        wrong = [place for place, path in enumerate(before, 1) if not query.grades.get(path)]
        right = [path for path in before if query.grades.get(path)]
        if wrong and right:
            place = random.Random(query.id).choice(wrong)
            await learner.open(query.text, before[place - 1], place)
            for _ in range(3):
                results = await learner.paths(query.text)
                await learner.open(query.text, right[0], results.index(right[0]) + 1)
            kept.append(ndcg(await learner.paths(query.text), query) >= ndcg(before, query))
            learner.vault.ledger.opens.forget()
        if len(before) >= 8:
            for number in range(10):
                target = before[0] if number in (3, 7) else before[7]
                results = await learner.paths(query.text)
                if target not in results:
                    break
                await learner.open(query.text, target, results.index(target) + 1)
                if number == 0:
                    once.append((await learner.paths(query.text))[0] == target)
            eighth.append((await learner.paths(query.text))[0] == before[7])
            learner.vault.ledger.opens.forget()
    return {
        "wrong forgotten": sum(kept) / max(1, len(kept)),
        "eighth first after one": sum(once) / max(1, len(once)),
        "eighth first": sum(eighth) / max(1, len(eighth)),
    }


async def figures_of(folder: Path, arguments: argparse.Namespace) -> Figures:
    """Return the figures of one set."""
    root = vault_of(folder, arguments.vaults)
    queries = read_queries(folder / "queries.jsonl", folder / "qrels.tsv", plain=True)
    queries = [query for query in queries if any(grade > 0 for grade in query.grades.values())]
    queries = queries[: arguments.most]
    options, cache = VaultOptions(root.name, root), cache_directory(root, arguments.cache)
    async with indexed_vault(options, cache, choose_models(arguments.model)) as vault:
        learner = Learner(vault, queries)
        vault.ledger.opens.forget()
        return await measured(learner) | await corrected(learner)


def main() -> None:
    """Print a table with a row for each set, and a row for the mean."""
    parser = arguments_for_sets(__doc__)
    parser.add_argument("--most", type=int, default=120, help="questions of a set")
    arguments = parser.parse_args()
    rows: dict[str, Figures] = {}
    for folder in arguments.sets:
        rows[folder.name] = asyncio.run(figures_of(folder, arguments))
        print(folder.name, file=sys.stderr)
    names = list(next(iter(rows.values())))
    rows["mean"] = {name: sum(row[name] for row in rows.values()) / len(rows) for name in names}
    print(f"| set | {' | '.join(names)} |\n|{'---|' * (len(names) + 1)}")
    for name, row in rows.items():
        print(f"| {name} | {' | '.join(_cell(key, value) for key, value in row.items())} |")


def _cell(name: str, value: float) -> str:
    if name.startswith(("wrong", "eighth")):
        return f"{value:.0%}"
    return f"{value:+.3f}" if name.split()[-1].isdecimal() else f"{value:.3f}"


if __name__ == "__main__":
    main()
