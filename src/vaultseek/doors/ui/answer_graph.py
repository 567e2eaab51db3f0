"""The graph of an answer: its results, the notes they link to or are linked from, and the links between."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from vaultseek.base.model import JSON
from vaultseek.errors import VaultseekError

NODES = 200
"""Notes drawn at most."""
SEEDS = 40
"""Results whose neighbours are asked for."""
NEIGHBOURS = 60
"""Neighbours of one result."""

Ask = Callable[[str, JSON], Awaitable[JSON]]


class Place(NamedTuple):
    """A note: the folder of its vault, and its path there."""

    vault: str
    path: str


async def answer_graph(seeds: Sequence[Place], ask: Ask) -> JSON:
    """Return ``nodes`` and ``edges``, pairs of indices into them; the seeds are the first nodes.

    Of the neighbours those come first that most results have. A seed that is gone meanwhile has none.
    """
    seeds = list(dict.fromkeys(seeds))[:NODES]
    around = await asyncio.gather(*(_neighbours(seed, ask) for seed in seeds[:SEEDS]))
    titles = {Place(vault, note["path"]): note["title"] for vault, notes, _ in around for note in notes}
    shared = Counter(Place(vault, note["path"]) for vault, notes, _ in around for note in notes)
    others = sorted(shared.keys() - set(seeds), key=lambda place: (-shared[place], place))
    nodes = [*seeds, *others[: NODES - len(seeds)]]
    numbers = {place: number for number, place in enumerate(nodes)}
    pairs = {
        (numbers.get(Place(vault, source)), numbers.get(Place(vault, target)))
        for vault, _, edges in around
        for source, target in edges
    }
    return {
        "nodes": [{"vault": p.vault, "path": p.path, "title": titles.get(p)} for p in nodes],
        "edges": sorted((a, b) for a, b in pairs if a is not None and b is not None and a != b),
        "left_out": max(0, len(others) - (NODES - len(seeds))),
    }


async def _neighbours(seed: Place, ask: Ask) -> tuple[str, list[JSON], list[list[str]]]:
    try:
        answer = await ask("graph/neighbors", {"vault": seed.vault, "note": seed.path, "limit": NEIGHBOURS})
    except VaultseekError:
        return seed.vault, [], []
    return seed.vault, answer["notes"], answer["edges"]
