"""Disable each mechanism of the ranking in turn, and print how much judged vaults lose.

    python scripts/bench_mechanisms.py [--cache DIR] [--vaults DIR] [--mechanism NAME]... SET...

The first row has nDCG@10 of each SET. Each other row has the differences without one mechanism, and how many
questions become better and worse. Each question is embedded once. A mechanism stays if disabling it costs at
least .004 on average, or .015 or more in two sets. SETs are as for ``bench_quality.py``.
"""

import argparse
import asyncio
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from bench_quality import arguments_for_sets, is_held_out, mixed_ages, vault_of

from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.core.search import formula, lanes, links, signals
from vaultseek.semantic.models.choice import choose_models
from vaultseek.settings.load import with_overrides
from vaultseek.settings.search import SearchSettings
from vaultseek.tools.evaluate.judgements import JudgedQuery, read_queries
from vaultseek.tools.evaluate.run import cache_directory, evaluate
from vaultseek.tools.evaluate.variants import Variant

METRIC = "nDCG@10"
LIMIT = 20
"""Results per question: nDCG@10 depends only on the first ten."""
CHANGED = 1e-6

SETTINGS: dict[str, dict[str, str]] = {
    "recency": {"recency.enabled": "false"},
    "anchors": {"anchor_boost": "1.0"},
    "links": {"graph": "false"},
    "ranks that keep distances": {"rrf_ranks": "integer"},
}
"""Mechanisms that a setting disables."""
PATCHES: dict[str, tuple[object, str, Any]] = {
    "trust in words": (formula, "keyword_trust", lambda _: 1.0),
    "few notes with the whole query": (formula, "certainty_of_few", lambda *_: 0.0),
    "norm": (formula, "CHANCE_NORM", 0.0),
    "reading of the query": (formula, "READING_EXPONENT", 0),
    "distinction of meaning": (formula, "distinction", lambda _: 1.0),
    "own vector of a note": (formula, "SEMANTIC_PASSAGE_SHARE", 0.999),
    "vectors of passages": (formula, "SEMANTIC_PASSAGE_SHARE", 0.001),
    "best passage by word": (formula, "KEYWORD_PASSAGE_SHARE", 0.0),
    "proximity": (formula, "PROXIMITY_WEIGHT", 0.0),
    "names": (signals, "match_names", lambda *given: np.zeros(len(given[-1]))),
    "parts of names": (signals.NameParts, "weight", lambda *_: 0.0),
    "codes": (signals.Codes, "weight", lambda *_: 0.0),
    "joined": (formula, "JOINED_GAIN", 0.0),
    "language of the query": (formula, "chance_population", lambda population, _: population),
    "fragments": (lanes, "_is_fragment", lambda _: False),
    "first note's neighbours": (formula, "FIRST_NEIGHBOUR_SHARE", 0.0),
    "hubs": (formula, "_hub_damping", lambda _: 1.0),
    "words around links": (formula, "CONTEXT_SHARE", 0.0),
    "own words": (signals, "is_form", lambda *_: True),
    "bound of other words": (signals.OwnWords, "weight", lambda *_: 0.0),
    "ceiling of links": (links.Ceiling, "weight", lambda *_: 0.0),
    "time in questions": (signals.InTime, "weight", lambda *_: 0.0),
}
"""Mechanisms that are disabled by replacing a constant or a function."""
MECHANISMS = (*SETTINGS, *PATCHES)

Figures = dict[str, Mapping[str, float]]
"""For each disabled mechanism, the figure of each question; the key "" means that all mechanisms are
enabled."""


async def measure(folder: Path, arguments: argparse.Namespace) -> Figures:
    """Measure one set with all mechanisms, then without each mechanism in turn."""
    root = vault_of(folder, arguments.vaults)
    plain = folder.name not in arguments.operators
    queries = read_queries(folder / "queries.jsonl", folder / "qrels.tsv", plain=plain)
    options, models = VaultOptions(root.name, root), choose_models(arguments.model)
    kept, questions = cache_directory(root, arguments.cache), [query.text for query in queries]
    async with indexed_vault(options, kept, models, lambda phase, counts: None, questions) as vault:
        with patch.object(vault.spaces, "ask", _asked_once(vault)), mixed_ages(folder):
            return {name: await _without(name, vault, queries, plain) for name in ("", *arguments.mechanism)}


def _asked_once(vault: OpenVault) -> Any:
    """Return a cached version of the method ``ask`` of the vault's spaces."""
    ask = vault.spaces.ask
    answers: dict[tuple[str, int, tuple[int, ...] | None], Any] = {}

    async def ask_once(text: str, k: int, allowed: Any = None) -> Any:
        key = (text, k, None if allowed is None else tuple(allowed.tolist()))
        if key not in answers:
            answers[key] = await ask(text, k, allowed)
        return answers[key]

    return ask_once


async def _without(
    name: str, vault: OpenVault, queries: list[JudgedQuery], plain: bool
) -> Mapping[str, float]:
    settings = with_overrides(SearchSettings(), SETTINGS.get(name, {}))
    with ExitStack() as stack:
        if name in PATCHES:
            stack.enter_context(patch.object(*PATCHES[name]))
        variant = Variant(name or "vaultseek", settings)
        report = await evaluate(vault, queries, [variant], plain=plain, limit=LIMIT, foreign=None)
    return report.outcomes[0].per_query[METRIC]


def table(figures: Mapping[str, Figures], mechanisms: list[str]) -> Iterator[str]:
    """Yield a row for the whole ranking and one for each mechanism."""
    yield f"| without | {' | '.join(figures)} | mean | better / worse |"
    yield "|---" * (len(figures) + 3) + "|"
    usual = {set_: _mean(by_mechanism[""]) for set_, by_mechanism in figures.items()}
    cells = [f"{value:.3f}" for value in usual.values()]
    yield f"| nothing | {' | '.join(cells)} | {sum(usual.values()) / len(usual):.4f} | |"
    for name in mechanisms:
        differences = [_mean(each[name]) - usual[set_] for set_, each in figures.items()]
        changes = [
            each[name][question] - value for each in figures.values() for question, value in each[""].items()
        ]
        better = sum(change > CHANGED for change in changes)
        worse = sum(change < -CHANGED for change in changes)
        cells = [f"{difference:+.3f}" for difference in differences]
        mean = sum(differences) / len(differences)
        yield f"| {name} | {' | '.join(cells)} | {mean:+.4f} | {better} / {worse} |"


def _mean(figures: Mapping[str, float]) -> float:
    return sum(figures.values()) / len(figures) if figures else 0.0


def main() -> None:
    """Measure every set, and print the table."""
    parser = arguments_for_sets(__doc__)
    parser.add_argument("--mechanism", action="append", choices=MECHANISMS, help="only this one")
    arguments = parser.parse_args()
    for folder in filter(is_held_out, arguments.sets):
        parser.error(f"{folder} is for testing only; mechanisms are chosen without it")
    arguments.mechanism = arguments.mechanism or [*MECHANISMS]
    figures: dict[str, Figures] = {}
    for folder in arguments.sets:
        figures[folder.name] = asyncio.run(measure(folder, arguments))
        print(f"{folder}: {_mean(figures[folder.name]['']):.4f}", file=sys.stderr, flush=True)
    print("\n".join(table(figures, arguments.mechanism)))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
