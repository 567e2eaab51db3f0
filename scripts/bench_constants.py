"""Measure the ranking with different values of each constant, with cross-validation over judged vaults.

    python scripts/bench_constants.py [--cache DIR] [--vaults DIR] [--constant NAME]... SET...

For each constant, prints nDCG@10 of each SET with several values. Then prints, for each set, the value with
the best mean on the *other* sets, and by how much that value changes the set's nDCG@10. SETs are as for
``bench_quality.py``.
"""

import argparse
import asyncio
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from bench_quality import arguments_for_sets, is_held_out, measure

from vaultseek.core.search import formula
from vaultseek.store.keyword import bm25f
from vaultseek.tools.evaluate.judgements import ALL

CONSTANTS: dict[str, tuple[ModuleType, str, tuple[float, ...]]] = {
    "proximity weight": (formula, "PROXIMITY_WEIGHT", (0.0, 0.1, 0.3)),
    "certain deviations": (formula, "CERTAIN_DEVIATIONS", (3.0, 5.0)),
    "reading exponent": (formula, "READING_EXPONENT", (1, 2)),
    "recency share": (formula, "RECENCY_SHARE", (0.0, 0.5)),
    "passage share (keyword)": (formula, "KEYWORD_PASSAGE_SHARE", (0.2, 0.5)),
    "passage share (semantic)": (formula, "SEMANTIC_PASSAGE_SHARE", (0.5, 0.7)),
    "softness (semantic)": (formula, "SEMANTIC_SOFTNESS", (1.0, 3.0)),
    "ranks per deviation": (formula, "RANKS_PER_DEVIATION", (2.0, 4.0)),
    "whole query": (formula, "WHOLE_QUERY", (0.8, 0.97)),
    "k1": (bm25f, "K1", (0.9, 1.6)),
    "b of the body": (bm25f, "body", (0.35, 0.75)),
}


def replaced(module: ModuleType, name: str, value: float) -> AbstractContextManager[Any]:
    """Use a different value of a constant in a ``with`` block."""
    if name in bm25f.FIELD_B:
        return patch.dict(bm25f.FIELD_B, {name: value})
    return patch.object(module, name, value)


def figures(sets: list[Path], arguments: argparse.Namespace) -> dict[str, float]:
    """Return nDCG@10 of every set with the current constants."""
    ndcg = {}
    for folder in sets:
        report = asyncio.run(measure(folder, arguments))
        ndcg[folder.name] = report.outcomes[0].metrics[ALL]["nDCG@10"].mean
    return ndcg


def left_out(rows: dict[str, dict[str, float]], usual: str) -> str:
    """Format a row with, for each set, the value chosen on the other sets, and by how much it changes
    nDCG@10."""
    cells = []
    for name in rows[usual]:
        others = {value: sum(v for k, v in row.items() if k != name) for value, row in rows.items()}
        best = max(others, key=others.__getitem__)
        cells.append(f"{best} ({rows[best][name] - rows[usual][name]:+.3f})")
    return f"| left out | {' | '.join(cells)} | |"


def main() -> None:
    """Print a table per constant."""
    parser = arguments_for_sets(__doc__)
    parser.add_argument("--constant", action="append", default=[], help="measure only this constant")
    # nDCG@10 depends only on the first ten results.
    parser.set_defaults(compare=[], only=["vaultseek"], limit=10, refusals=False)
    arguments = parser.parse_args()
    for folder in filter(is_held_out, arguments.sets):
        parser.error(f"{folder} is for testing only; constants are chosen without it")
    base = figures(arguments.sets, arguments)
    for title, (module, name, values) in CONSTANTS.items():
        if arguments.constant and title not in arguments.constant:
            continue
        now = bm25f.FIELD_B[name] if name in bm25f.FIELD_B else getattr(module, name)
        rows = {str(now): base}
        for value in values:
            if value != now:
                with replaced(module, name, value):
                    rows[str(value)] = figures(arguments.sets, arguments)
        print(f"| {title} | {' | '.join(base)} | mean |")
        print("|---" * (len(base) + 2) + "|")
        for value, row in sorted(rows.items(), key=lambda item: float(item[0])):
            label = f"**{value}**" if value == str(now) else value
            mean = sum(row.values()) / len(row)
            print(f"| {label} | {' | '.join(f'{each:.3f}' for each in row.values())} | {mean:.4f} |")
        print(left_out(rows, str(now)), end="\n\n", flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
