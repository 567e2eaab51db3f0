"""Fit the certainty curve on judged vaults, and print how often it is right.

    python scripts/fit_certainty.py [--cache DIR] [--vaults DIR] [--foreign SET]... SET...

Certainty is a logistic curve over three figures of each result (``core/search/selection.py``). It is fitted
on the development SETs, each vault with the same weight. The first table uses, for each vault, a curve fitted
without that vault. The table for the sets that are for testing only (``held-out``) uses the curve fitted on
all development sets. Ten questions of each ``--foreign`` set are also asked in every vault; no note answers
them, and together they have a tenth of the weight of the vault's own questions. SETs are as for
``bench_quality.py``.
"""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from bench_quality import arguments_for_sets, foreign_questions, is_held_out, mixed_ages, vault_of
from numpy.typing import NDArray
from scipy.optimize import minimize

from vaultseek.base.model import less_certain
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.core.search import selection as certainty
from vaultseek.core.search.formula import JUDGED_NOTES
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.core.search.response import Trace
from vaultseek.semantic.models.choice import choose_models
from vaultseek.settings.search import SearchSettings
from vaultseek.tools.evaluate.judgements import JudgedQuery, read_queries
from vaultseek.tools.evaluate.run import cache_directory

FOREIGN_WEIGHT = 0.1
"""Total weight of the foreign questions asked in a vault, relative to the weight of the vault's own
questions."""
BINS = (0.0, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)


class Answer(NamedTuple):
    """The first results of a question: the inputs of each result's certainty, which results are right, and
    the maximum certainty of each."""

    vault: str
    foreign: bool
    features: NDArray[np.float64]
    right: NDArray[np.bool_]
    most: NDArray[np.float64]


async def answers(folder: Path, arguments: argparse.Namespace) -> list[Answer]:
    """Ask every question of a set, and the foreign questions. Return the answers that rank the notes of the
    whole vault."""
    root = vault_of(folder, arguments.vaults)
    plain = folder.name not in arguments.operators
    queries = read_queries(folder / "queries.jsonl", folder / "qrels.tsv", plain=plain)
    others = [] if is_held_out(folder) else foreign_questions(folder, arguments.foreign)
    foreign = [JudgedQuery("", text) for text in others]
    found: list[Answer] = []
    cache = cache_directory(root, arguments.cache)
    options, models = VaultOptions(root.name, root), choose_models(arguments.model)
    questions = [query.text for query in queries]
    async with indexed_vault(options, cache, models, lambda phase, counts: None, questions) as vault:
        with mixed_ages(folder):
            for query in [*queries, *foreign]:
                request = SearchRequest(
                    query.text, SearchSettings(), JUDGED_NOTES, fields=query.filters, plain=plain
                )
                trace = await Searcher(vault).run(request)
                if trace.results and trace.query.filtered is None:
                    found.append(_answer(root.name, query, trace))
    return found


def _answer(vault: str, query: JudgedQuery, trace: Trace) -> Answer:
    features = certainty.features_of(trace.results, trace.ranking)
    right = np.array([query.grades.get(each.note, 0) > 0 for each in trace.results])
    doubtful = trace.ranking.notes.doubtful[[each.row for each in trace.results]]
    most = np.full(len(right), certainty.WEAK_CERTAINTY if trace.weak else 1.0)
    most[doubtful] = min(most[0], certainty.DOUBTFUL_CERTAINTY)
    return Answer(vault, not any(query.grades.values()), features, right, most)


Curve = NDArray[np.float64]


def fit(answers: Sequence[Answer]) -> Curve:
    """Return intercept and slopes of the most likely logistic curve. All vaults have the same weight."""
    counts = Counter((answer.vault, answer.foreign) for answer in answers)
    weights: list[float] = []
    for answer in answers:
        weight = (FOREIGN_WEIGHT if answer.foreign else 1.0) / counts[answer.vault, answer.foreign]
        weights += [weight] * len(answer.right)
    x = np.vstack([answer.features for answer in answers])
    y, w = np.concatenate([answer.right for answer in answers]), np.array(weights)

    def loss(curve: Curve) -> float:
        z = curve[0] + x @ curve[1:]
        return float(w @ (np.logaddexp(0, z) - y * z))

    return np.asarray(minimize(loss, np.zeros(1 + x.shape[1])).x)


def predicted(answer: Answer, curve: Curve) -> NDArray[np.float64]:
    """Return the certainties of an answer's results according to ``curve``."""
    values = 1 / (1 + np.exp(-(curve[0] + answer.features @ curve[1:])))
    return np.minimum.accumulate(np.minimum(values, answer.most))


def table(title: str, pairs: Sequence[tuple[Answer, NDArray[np.float64]]]) -> Iterator[str]:
    """Yield a table with the share of right results at each level of certainty."""
    judged = [(answer, values) for answer, values in pairs if not answer.foreign]
    says = np.concatenate([values for _, values in judged])
    right = np.concatenate([answer.right for answer, _ in judged])
    first = np.concatenate([np.arange(len(values)) == 0 for _, values in judged])
    yield f"| {title} | results | mean certainty | right | first results | right |"
    yield "|---|---|---|---|---|---|"
    for low, high in pairwise(BINS):
        inside = (says >= low) & ((says < high) | (high == 1.0))
        cells = [str(inside.sum()), _mean(says[inside]), _mean(right[inside])]
        cells += [str((inside & first).sum()), _mean(right[inside & first])]
        yield f"| {low:g} to {high:g} | {' | '.join(cells)} |"
    shown = [len(values) - less_certain(values.tolist()) for _, values in judged]
    folded = sum(int(answer.right[count:].sum()) for (answer, _), count in zip(judged, shown, strict=True))
    lost = sum(
        answer.right.any() and not answer.right[:count].any()
        for (answer, _), count in zip(judged, shown, strict=True)
    )
    yield (
        f"\nShown of ten: {np.mean(shown):.1f}; folded with them {folded} of {right.sum()} right results, "
        f"and every right one of {lost} of {len(judged)} questions."
    )


def _mean(values: NDArray[np.float64] | NDArray[np.bool_]) -> str:
    return f"{values.mean():.2f}" if len(values) else ""


def main() -> None:
    """Print the curve and the tables."""
    parser = arguments_for_sets(__doc__)
    parser.add_argument("--foreign", action="append", default=[], type=Path)
    arguments = parser.parse_args()
    found = {folder: asyncio.run(answers(folder, arguments)) for folder in arguments.sets}
    developed = [answer for folder, each in found.items() if not is_held_out(folder) for answer in each]
    curve = fit(developed)
    print("intercept, slopes of confidence, lead and coverage:", curve.round(2), end="\n\n")
    left_out: list[tuple[Answer, NDArray[np.float64]]] = []
    for vault in dict.fromkeys(answer.vault for answer in developed):
        others = fit([answer for answer in developed if answer.vault != vault])
        left_out += [(answer, predicted(answer, others)) for answer in developed if answer.vault == vault]
    print("\n".join(table("development, without the vault", left_out)), end="\n\n")
    held = [answer for folder, each in found.items() if is_held_out(folder) for answer in each]
    if held:
        print("\n".join(table("held out", [(answer, predicted(answer, curve)) for answer in held])))
    foreign = [values[0] for answer, values in left_out if answer.foreign]
    if foreign:
        quartiles = np.percentile(foreign, (25, 50, 75, 90)).round(2)
        print(f"\nFirst results of questions without an answer: {quartiles} (quartiles and 90 %)")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
