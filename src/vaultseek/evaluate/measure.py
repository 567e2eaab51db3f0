"""Figures for rankings: metrics by ir_measures, intervals and differences by resampling queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vaultseek.evaluate.judged import Grades

BOOTSTRAP_SAMPLES = 2_000

METRICS = ("nDCG@5", "nDCG@10", "MRR", "Hit@1", "Hit@5", "P@5", "Recall@10", "Recall@100")
_SEED = 20260115
Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over queries and the 95 % interval in which it would lie for other queries of the kind."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """Mean difference of two rankings of the same queries, its 95 % interval, and how likely by chance.

    ``p`` is that of a two-sided paired randomisation test: signs of the differences flipped at random.
    """

    mean: float
    low: float
    high: float
    p: float


def scores(
    rankings: Mapping[str, Sequence[str]], grades: Mapping[str, Grades]
) -> dict[str, dict[str, float]]:
    """Every metric of every judged query: metric to query to value.

    ``rankings`` are paths, best first, by query; a query without one counts as nothing found. Gains are the
    grades themselves (Järvelin and Kekäläinen, 2002); a grade of 1 or more is right for all other metrics.
    """
    import ir_measures

    judged = {id: dict(paths) for id, paths in grades.items() if any(g > 0 for g in paths.values())}
    run = {id: {path: float(-place) for place, path in enumerate(rankings.get(id, ()))} for id in judged}
    measures = {ir_measures.parse_measure(_NAMES.get(name, name)): name for name in METRICS}
    found: dict[str, dict[str, float]] = {name: dict.fromkeys(judged, 0.0) for name in METRICS}
    for value in ir_measures.iter_calc(list(measures), judged, run):
        found[measures[value.measure]][value.query_id] = float(value.value)
    return found


def interval(values: Sequence[float]) -> Interval:
    """The mean and its bootstrap interval; zeros for no values."""
    if not len(values):
        return Interval(0.0, 0.0, 0.0)
    array = np.array(values, np.float64)
    low, high = np.percentile(_resampled_means(array), [2.5, 97.5])
    return Interval(float(array.mean()), float(low), float(high))


def difference(ours: Sequence[float], theirs: Sequence[float]) -> Difference:
    """``ours`` less ``theirs``, query by query."""
    if not len(ours):
        return Difference(0.0, 0.0, 0.0, 1.0)
    deltas = np.array(ours, np.float64) - np.array(theirs, np.float64)
    low, high = np.percentile(_resampled_means(deltas), [2.5, 97.5])
    return Difference(float(deltas.mean()), float(low), float(high), _by_chance(deltas))


def latency(milliseconds: Sequence[float]) -> tuple[float, float]:
    """Median and 95th percentile; zeros for no values."""
    if not len(milliseconds):
        return 0.0, 0.0
    p50, p95 = np.percentile(np.array(milliseconds, np.float64), [50, 95])
    return float(p50), float(p95)


_NAMES = {"MRR": "RR", "Hit@1": "Success@1", "Hit@5": "Success@5", "Recall@10": "R@10", "Recall@100": "R@100"}


def _resampled_means(values: Values) -> Values:
    random = np.random.default_rng(_SEED)
    means = [values[random.integers(0, len(values), len(values))].mean() for _ in range(BOOTSTRAP_SAMPLES)]
    return np.array(means)


def _by_chance(deltas: Values) -> float:
    """How often random signs give a mean as far from 0."""
    random = np.random.default_rng(_SEED)
    seen = abs(deltas.sum()) - 1e-12
    signs = (random.integers(0, 2, len(deltas)) * 2 - 1 for _ in range(BOOTSTRAP_SAMPLES))
    hits = sum(abs((deltas * sign).sum()) >= seen for sign in signs)
    return float((hits + 1) / (BOOTSTRAP_SAMPLES + 1))
