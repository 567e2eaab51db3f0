#!/usr/bin/env python3
"""Measure how well missing links are suggested, and fit the weights of the signals.

    python scripts/bench_links.py [--cache DIR] VAULT...

A tenth of the links between notes is hidden in a copy of each vault by removing their text. Then each
affected note is queried for suggestions. The script prints recall@10 and mean reciprocal rank of each signal
alone and of all signals together. The signals' weights are fitted on every second vault, and tested on the
rest.
"""

import argparse
import asyncio
import random
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from vaultseek.core.graph.suggestions import Evidence, collect_evidence, reciprocal_ranks
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.semantic.models.choice import choose_models
from vaultseek.store.ledger import LinkRow, NoteRow

HIDDEN_SHARE = 0.1
FIRST = 10
SIGNALS = (
    "co-citation",
    "Adamic-Adar",
    "resource allocation",
    "meaning",
    "named in the note",
    "names the note",
    "links to the note",
    "its backlinks",
    "in the same folder",
    "linked by similar notes",
    "words of its name",
)
PENALTY = 0.01
"""Factor of the squared weights, so that redundant signals share one weight."""

Case = tuple[NDArray[np.float64], int | None]
"""The features of each candidate, one row each, and the row of the hidden target; None if it is missing."""


def hide_links(vault: OpenVault, root: Path, seed: int = 1) -> list[tuple[str, str]]:
    """Remove a tenth of a vault's links from the notes in ``root``; return the removed links as (source,
    target)."""
    links: dict[tuple[str, str], list[LinkRow]] = {}
    notes = {row.path: row for row in vault.ledger.notes.by_id(vault.ledger.notes.ids()).values()}
    for link in vault.ledger.links.from_notes([row.id for row in notes.values()]):
        if link.resolved in notes and link.resolved != link.source:
            links.setdefault((link.source, link.resolved), []).append(link)
    in_text = [
        pair for pair, all_links in sorted(links.items()) if all(each.link.place for each in all_links)
    ]
    hidden = random.Random(seed).sample(in_text, max(1, round(HIDDEN_SHARE * len(in_text))))
    for source in {source for source, _ in hidden}:
        places = [each.link.place for pair in hidden if pair[0] == source for each in links[pair]]
        lines = (root / source).read_text(encoding="utf-8").split("\n")
        for place in sorted(filter(None, places), reverse=True):
            line = lines[place.line - 1]
            lines[place.line - 1] = line[: place.start] + line[place.end :]
        (root / source).write_text("\n".join(lines), encoding="utf-8")
    return hidden


async def cases_of(folder: Path, cache: Path) -> list[Case]:
    """Hide links of a vault, and return the candidates for each hidden link, with their features."""
    copy = cache / folder.name / "vault"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    options = VaultOptions(folder.name, copy)
    async with indexed_vault(options, copy.parent / "whole", choose_models("hashing", "off")) as vault:
        hidden = hide_links(vault, copy)
    async with indexed_vault(options, copy.parent / "cut", choose_models("bundled", "off")) as vault:
        graph = vault.graph
        assert graph is not None
        targets: dict[str, list[str]] = {}
        for source, target in hidden:
            targets.setdefault(source, []).append(target)
        cases: list[Case] = []
        for source, wanted in targets.items():
            row = vault.ledger.notes.by_path(source)
            assert row is not None
            cases += _cases(await collect_evidence(row, vault, graph), _ids(wanted, vault))
        return cases


def _ids(wanted: Sequence[str], vault: OpenVault) -> list[int]:
    rows: list[NoteRow | None] = [vault.ledger.notes.by_path(path) for path in wanted]
    return [row.id for row in rows if row is not None]


def _cases(evidence: Mapping[int, Evidence], wanted: Sequence[int]) -> list[Case]:
    """Return a case for each hidden target, without the note's other hidden targets as candidates."""
    cases: list[Case] = []
    for target in wanted:
        ids = [id for id in sorted(evidence) if id == target or id not in wanted]
        features = np.array([evidence[id].features() for id in ids]).reshape(len(ids), len(SIGNALS))
        cases.append((features, ids.index(target) if target in ids else None))
    return cases


def ranks(cases: Sequence[Case], weights: NDArray[np.float64]) -> list[float]:
    """Return the rank of each hidden target; ties count half, and targets without any signal have no rank."""
    placed: list[float] = []
    for features, target in cases:
        scores = reciprocal_ranks(features) @ weights
        if target is None or scores[target] <= 0:
            placed.append(float("inf"))
            continue
        better, equal = (scores > scores[target]).sum(), (scores == scores[target]).sum() - 1
        placed.append(1 + float(better) + float(equal) / 2)
    return placed


def fit(cases: Sequence[Case]) -> NDArray[np.float64]:
    """Return the non-negative weights that make the hidden targets most likely among the candidates."""
    known = [(reciprocal_ranks(features), target) for features, target in cases if target is not None]

    def loss(weights: NDArray[np.float64]) -> float:
        total = PENALTY * len(cases) * float(weights @ weights)
        for fused, target in known:
            scores = fused @ weights
            most = scores.max()
            total += most + float(np.log(np.exp(scores - most).sum())) - scores[target]
        return total

    fitted = minimize(loss, np.ones(len(SIGNALS)), bounds=[(0, None)] * len(SIGNALS))
    return np.asarray(fitted.x, np.float64)


def report(name: str, cases: Sequence[Case], weights: NDArray[np.float64]) -> None:
    """Print recall and mean reciprocal rank of each signal and of all signals together."""
    found = sum(target is not None for _, target in cases) / len(cases)
    print(f"\n{name}: {len(cases)} hidden links, {found:.1%} of them among the candidates")
    rows = [(signal, np.eye(len(SIGNALS))[number]) for number, signal in enumerate(SIGNALS)]
    for signal, each in [*rows, ("together", weights)]:
        placed = ranks(cases, each)
        recall = sum(rank <= FIRST for rank in placed) / len(placed)
        reciprocal = sum(1 / rank for rank in placed) / len(placed)
        print(f"  {signal:<22} recall@{FIRST} {recall:.3f}   MRR {reciprocal:.3f}")


async def main() -> None:
    """Measure the vaults given as arguments."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("vaults", nargs="+", type=Path)
    parser.add_argument("--cache", type=Path, default=Path(".cache/links"))
    arguments = parser.parse_args()
    cases = {folder.name: await cases_of(folder, arguments.cache) for folder in arguments.vaults}
    names = sorted(cases)
    fitted = [case for name in names[::2] for case in cases[name]]
    weights = fit(fitted)
    for name in names:
        report(name, cases[name], weights)
    print(f"\nfitted on {', '.join(names[::2])}; weights {', '.join(f'{each:.2f}' for each in weights)}")
    report("fitted", fitted, weights)
    report("tested", [case for name in names[1::2] for case in cases[name]], weights)


if __name__ == "__main__":
    asyncio.run(main())
