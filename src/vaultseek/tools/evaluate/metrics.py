"""Ranking metrics from ir_measures, bootstrap confidence intervals, and randomisation tests of significance.

Sources: nDCG, Järvelin and Kekäläinen, *Cumulated gain-based evaluation of IR techniques* (2002); percentile
bootstrap, Efron and Tibshirani, *An Introduction to the Bootstrap* (1993); paired randomisation test,
Smucker, Allan and Carterette, *A comparison of statistical significance tests for IR evaluation* (2007).
"""

import random
from collections.abc import Mapping, Sequence
from string import ascii_lowercase
from typing import NamedTuple

import numpy as np

from vaultseek.tools.evaluate.judgements import Grades

RESAMPLES = 2_000
"""Number of samples for the bootstrap and for the randomisation test."""

METRICS = ("nDCG@5", "nDCG@10", "MRR", "Hit@1", "Hit@5", "P@5", "Recall@10", "Recall@100")
_SEED = 20260115


class Interval(NamedTuple):
    """A mean over queries, with its 95 % bootstrap confidence interval."""

    mean: float
    low: float
    high: float


class Difference(NamedTuple):
    """The mean difference in a metric between two rankings of the same queries, with its confidence interval.

    ``p`` is the p-value of a two-sided paired randomisation test, which flips the signs of differences at
    random.
    """

    mean: float
    low: float
    high: float
    p: float


def compute_metrics(
    rankings: Mapping[str, Sequence[str]], grades: Mapping[str, Grades]
) -> dict[str, dict[str, float]]:
    """Return every metric for every judged query, in [0, 1], as a mapping from metric and query id to value.

    ``rankings`` maps query ids to paths, best first; a missing ranking counts as no results. The gains of
    nDCG are the grades themselves, discounted by log2(rank + 1). For all other metrics, a note is relevant if
    its grade is 1 or more. Queries without a relevant note are left out.
    """
    import ir_measures

    judged = {id: dict(paths) for id, paths in grades.items() if any(g > 0 for g in paths.values())}
    run = {id: {path: float(-rank) for rank, path in enumerate(rankings.get(id, ()))} for id in judged}
    measures = {ir_measures.parse_measure(_NAMES.get(name, name)): name for name in METRICS}
    values: dict[str, dict[str, float]] = {name: dict.fromkeys(judged, 0.0) for name in METRICS}
    for value in ir_measures.iter_calc(list(measures), judged, run):
        values[measures[value.measure]][value.query_id] = float(value.value)
    return values


def bootstrap_interval(values: Sequence[float]) -> Interval:
    """Return the mean of a metric over queries, with its confidence interval; all zeros if there are no
    values."""
    if not len(values):
        return Interval(0.0, 0.0, 0.0)
    array = np.array(values, np.float64)
    random = np.random.default_rng(_SEED)
    means = [array[random.integers(0, len(array), len(array))].mean() for _ in range(RESAMPLES)]
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(array.mean()), float(low), float(high))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Return the difference between two rankings, ``first`` minus ``second``. Both list one value for each
    query, with the queries in the same order."""
    if not len(first):
        return Difference(0.0, 0.0, 0.0, 1.0)
    deltas = np.array(first, np.float64) - np.array(second, np.float64)
    random = np.random.default_rng(_SEED)
    observed = abs(deltas.sum()) - 1e-12
    signs = (random.integers(0, 2, len(deltas)) * 2 - 1 for _ in range(RESAMPLES))
    hits = sum(abs((deltas * sign).sum()) >= observed for sign in signs)
    return Difference(*bootstrap_interval(deltas.tolist()), (float((hits + 1) / (RESAMPLES + 1))))


def latency_percentiles(milliseconds: Sequence[float]) -> tuple[float, float]:
    """Return the median and the 95th percentile in milliseconds; zeros if there are no values."""
    if not len(milliseconds):
        return 0.0, 0.0
    p50, p95 = np.percentile(np.array(milliseconds, np.float64), [50, 95])
    return float(p50), float(p95)


_NAMES = {"MRR": "RR", "Hit@1": "Success@1", "Hit@5": "Success@5", "Recall@10": "R@10", "Recall@100": "R@100"}


THRESHOLDS = (0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3)
NOISE_QUERIES = 40


class Refusal(NamedTuple):
    """Shares, in [0, 1], of queries that find nothing if the minimum confidence is ``threshold``.

    Noise queries consist of random letters, foreign queries have no right note in the vault, and questions
    have a right note. The worst category is the one that loses the largest share of its questions. A share is
    None if there are no queries of its kind.
    """

    threshold: float
    noise_refused: float | None
    foreign_refused: float | None
    questions_lost: float | None
    worst_category: tuple[str, float] | None


def keyboard_noise() -> list[str]:
    """Return queries of one to four words of random letters; every call returns the same queries."""
    generator = random.Random(_SEED)

    def word() -> str:
        return "".join(generator.choice(ascii_lowercase) for _ in range(generator.randint(3, 9)))

    return [" ".join(word() for _ in range(generator.randint(1, 4))) for _ in range(NOISE_QUERIES)]


def refusals(
    noise: Sequence[float], foreign: Sequence[float], answerable: Mapping[str, Sequence[float]]
) -> list[Refusal]:
    """Return the refusal curve, computed from the best confidence of each query; ``answerable`` is grouped by
    category."""
    everything = [confidence for values in answerable.values() for confidence in values]
    return [
        Refusal(
            threshold,
            _share_below(noise, threshold),
            _share_below(foreign, threshold),
            _share_below(everything, threshold),
            _worst(answerable, threshold),
        )
        for threshold in THRESHOLDS
    ]


def _share_below(confidences: Sequence[float], threshold: float) -> float | None:
    if not confidences:
        return None
    return sum(confidence < threshold for confidence in confidences) / len(confidences)


def _worst(answerable: Mapping[str, Sequence[float]], threshold: float) -> tuple[str, float] | None:
    shares = {name: _share_below(values, threshold) or 0.0 for name, values in answerable.items() if values}
    return max(shares.items(), key=lambda item: item[1], default=None)
