"""Fuse the hits of several lanes into one order of notes.

:func:`combine` fuses the direct lanes (keyword, semantic); :func:`order` adds linked neighbours and the
factors beside the lanes and sorts; :func:`fuse` is both. The arithmetic on single numbers is in
``formula.py``.

A candidate is a note that any lane proposes. The other lanes add what they know of it (``Lane.known``), so
that the order does not depend on where a lane was cut. With ``rrf`` a note gets what the lane gives it beyond
what it gives to a note that it does not know: a lane without an answer has all notes close together and
decides little. With ``linear`` a lane that does not know a note gives it 0.

A neighbour that was also found directly gains at most ``GRAPH_GAIN`` of the best score. The others stay below
``GRAPH_CEILING`` of the best and below the leader of every direct lane, whatever their factors are, so that
no neighbour displaces a strong direct hit. Last, scores are divided by the best one.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from vaultseek.search.formula import (
    Scale,
    affinities,
    anchor_factor,
    exact_name_score,
    final_score,
    interpolated_rank,
    link_bound,
    link_contribution,
    normalized,
    recency_factor,
    reciprocal_rank,
    regularized,
    scale_of,
)


class LaneHit(NamedTuple):
    """A note that a lane proposes, with the lane's own score; any scale, higher is better."""

    note: str
    score: float


@dataclass(frozen=True, slots=True)
class Lane:
    """Proposals of a lane, in any order, and its ``scale``; that of the hits by default.

    ``known`` are its scores of further notes, should another lane propose them.
    """

    name: str
    weight: float
    hits: Sequence[LaneHit]
    scale: Scale | None = None
    known: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fusion:
    """Options of the fusion. ``tiers`` are (days, factor), youngest first; ``rrf_min_score`` cuts raw scores.

    ``regularization`` is the share of a score that comes from similar candidates.
    """

    method: Literal["rrf", "linear"] = "rrf"
    ranks: Literal["score", "integer"] = "score"
    rrf_k: float = 60.0
    rrf_min_score: float = 0.0
    regularization: float = 0.3
    anchor_boost: float = 1.5
    tiers: tuple[tuple[float, float], ...] = ((7.0, 1.2), (30.0, 1.1))


@dataclass(frozen=True, slots=True)
class Signals:
    """Facts about the candidates beside the lanes; a note that is missing has none.

    ``age_days`` since the note's date; ``anchors`` the share in [0, 1] of the query's anchors that the note
    contains; ``exact`` the notes whose title, alias or file name is the query (candidates even if no lane
    proposes them); ``similarity`` cosines between notes, both ways.
    """

    age_days: Mapping[str, float] = field(default_factory=dict)
    anchors: Mapping[str, float] = field(default_factory=dict)
    exact: Collection[str] = ()
    similarity: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class Contribution(NamedTuple):
    """One lane's part in a note's score: 1-based place, rank that entered the formula, result.

    ``rank`` is None for a note that the lane knows and did not propose. ``gain`` is what counts: the
    contribution less what the lane gives to a note that it does not know.
    """

    rank: int | None
    fused_rank: float
    score: float
    weight: float
    contribution: float
    gain: float


Parts = Mapping[str, Contribution]
"""Contributions to one note, by lane."""


class Candidate(NamedTuple):
    """A note in the final order. ``score`` is in [0, 1], the best note has 1; ``raw`` sums up the lanes.

    ``via_graph`` notes were proposed by no direct lane; ``bound`` is the factor that holds such a note under
    the ceiling, ``regularization`` the gain or loss by similar candidates.
    """

    note: str
    score: float
    raw: float
    contributions: Parts
    recency: float = 1.0
    anchor: float = 1.0
    regularization: float = 0.0
    bound: float = 1.0
    exact: bool = False
    via_graph: bool = False


@dataclass(frozen=True, slots=True)
class Combined:
    """The direct lanes fused: by note the contributions, their sum, the sum of their gains, and what
    regularization adds to that."""

    parts: Mapping[str, Parts]
    raws: Mapping[str, float]
    gains: Mapping[str, float]
    regularization: Mapping[str, float]


def fuse(
    lanes: Sequence[Lane],
    *,
    graph: Lane | None = None,
    fusion: Fusion | None = None,
    signals: Signals | None = None,
) -> list[Candidate]:
    """Return all candidates in their final order: by score, then path. See :func:`combine`, :func:`order`."""
    fusion, signals = fusion or Fusion(), signals or Signals()
    return order(combine(lanes, fusion, signals), graph, fusion, signals)


def combine(lanes: Sequence[Lane], fusion: Fusion, signals: Signals) -> Combined:
    """Fuse the direct lanes, which have distinct names.

    For linear fusion a lane's weight is its share (``alpha`` for semantic, the rest for keyword). A score
    that is not a number counts as the lane's lowest, and so does a weight as 0.
    """
    total = sum(_weight(lane) for lane in lanes) or 1.0
    proposed = {hit.note for lane in lanes for hit in lane.hits}
    parts: dict[str, dict[str, Contribution]] = {}
    for lane in lanes:
        contribute = _reciprocal if fusion.method == "rrf" else _linear
        for note, contribution in contribute(lane, proposed, fusion, total).items():
            parts.setdefault(note, {})[lane.name] = contribution
    raws = {note: _raw(each) for note, each in parts.items()}
    passing = {note: each for note, each in parts.items() if _passes(note, raws[note], fusion, signals)}
    gains = {note: _gain(each) for note, each in passing.items()}
    raws = {note: raws[note] for note in passing}
    return Combined(passing, raws, gains, _regularize(gains, fusion.regularization, signals.similarity))


def leaders(combined: Combined, fusion: Fusion, signals: Signals, count: int) -> dict[str, float]:
    """Return the ``count`` best notes of the direct lanes with their scores, the best of which is 1."""
    notes = [*{*combined.parts, *signals.exact}]
    scores = [
        final_score(
            combined.gains.get(note, 0.0),
            combined.regularization.get(note, 0.0),
            *_factors(note, fusion, signals),
        )
        for note in notes
    ]
    pairs = zip(notes, _normalize(notes, scores, signals), strict=True)
    return dict(heapq.nsmallest(count, pairs, key=lambda pair: (-pair[1], pair[0])))


def order(combined: Combined, graph: Lane | None, fusion: Fusion, signals: Signals) -> list[Candidate]:
    """Return all candidates, best first. ``graph`` scores are evidence for neighbours in [0, 1]."""
    neighbours = _neighbours(graph, combined)
    notes = [*{*combined.parts, *neighbours, *signals.exact}]
    factors = [_factors(note, fusion, signals) for note in notes]
    gains = [combined.gains.get(note, 0.0) + _gain(neighbours.get(note, {})) for note in notes]
    scores = [
        final_score(gain, combined.regularization.get(note, 0.0), *each)
        for note, gain, each in zip(notes, gains, factors, strict=True)
    ]
    by_link = [note not in combined.parts and note not in signals.exact for note in notes]
    bound = _bound(dict(zip(notes, scores, strict=True)), by_link, combined.parts)
    final = _normalize(
        notes, [s * bound if link else s for s, link in zip(scores, by_link, strict=True)], signals
    )
    candidates = [
        Candidate(
            note,
            score,
            combined.raws.get(note, 0.0) + _raw(neighbours.get(note, {})),
            {**combined.parts.get(note, {}), **neighbours.get(note, {})},
            *each,
            combined.regularization.get(note, 0.0),
            bound if link else 1.0,
            note in signals.exact,
            link,
        )
        for note, score, each, link in zip(notes, final, factors, by_link, strict=True)
    ]
    return sorted(candidates, key=lambda each: (-each.score, each.via_graph, each.note))


def _reciprocal(lane: Lane, proposed: Collection[str], fusion: Fusion, _: float) -> Parts:
    """Give each note ``weight / (k + rank)``."""
    scores = _finite_scores(lane)
    places = {note: place for place, note in enumerate(scores, start=1)}
    weight = _weight(lane)
    if fusion.ranks == "integer":
        values = {note: reciprocal_rank(weight, fusion.rrf_k, place) for note, place in places.items()}
        return {
            note: Contribution(places[note], float(places[note]), scores[note], lane.weight, value, value)
            for note, value in values.items()
        }
    scale, best = _scale(lane, scores), max(scores.values(), default=0.0)
    lowest = interpolated_rank(scale.minimum, best, scale)
    unknown = reciprocal_rank(weight, fusion.rrf_k, lowest) if scale.deviation > 0 else 0.0
    parts: dict[str, Contribution] = {}
    for note, score in (scores | _known(lane, proposed, scores)).items():
        rank = interpolated_rank(score, best, scale)
        value = reciprocal_rank(weight, fusion.rrf_k, rank)
        gain = max(0.0, value - unknown)
        parts[note] = Contribution(places.get(note), rank, score, lane.weight, value, gain)
    return parts


def _linear(lane: Lane, proposed: Collection[str], fusion: Fusion, total: float) -> Parts:
    """Give each note its normalised score, times the lane's share of the ``total`` weight."""
    scores = _finite_scores(lane)
    scale, best = _scale(lane, scores), max(scores.values(), default=0.0)
    weight = _weight(lane) / total
    parts: dict[str, Contribution] = {}
    for place, (note, score) in enumerate((scores | _known(lane, proposed, scores)).items(), start=1):
        value = weight * normalized(score, best, scale.minimum)
        rank = place if note in scores else None
        parts[note] = Contribution(rank, float(place), score, lane.weight, value, value)
    return parts


def _finite_scores(lane: Lane) -> dict[str, float]:
    """Return the lane's proposals, best first, each note once, with finite scores."""
    finite = [hit.score for hit in lane.hits if math.isfinite(hit.score)] or [0.0]
    low, high = min(finite), max(finite)
    best: dict[str, float] = {}
    for hit in lane.hits:
        score = low if math.isnan(hit.score) else min(max(hit.score, low), high)
        best[hit.note] = max(score, best.get(hit.note, score))
    return dict(sorted(best.items(), key=lambda item: (-item[1], item[0])))


def _known(lane: Lane, proposed: Collection[str], scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores of notes that only other lanes propose; none is above the lane's own best."""
    best = max(scores.values(), default=math.inf)
    return {
        note: min(score, best)
        for note, score in lane.known.items()
        if note in proposed and note not in scores and math.isfinite(score)
    }


def _scale(lane: Lane, scores: Mapping[str, float]) -> Scale:
    if lane.scale is not None and all(map(math.isfinite, (lane.scale.deviation, lane.scale.minimum))):
        return lane.scale
    return scale_of(list(scores.values()))


def _weight(lane: Lane) -> float:
    return lane.weight if 0 < lane.weight < math.inf else 0.0


def _passes(note: str, raw: float, fusion: Fusion, signals: Signals) -> bool:
    return fusion.method != "rrf" or note in signals.exact or raw >= fusion.rrf_min_score


def _regularize(
    gains: Mapping[str, float], share: float, similarity: Mapping[str, Mapping[str, float]]
) -> dict[str, float]:
    """Return the gain or loss of each note by the gains of those similar to it."""
    notes = sorted(note for note in gains if note in similarity)
    if len(notes) < 2:
        return {}
    cosines = np.array([[similarity[note].get(other, -1.0) for other in notes] for note in notes])
    np.fill_diagonal(cosines, -np.inf)
    weights = affinities(cosines)
    totals = weights.sum(axis=1)
    own = np.array([gains[note] for note in notes])
    means = weights @ own / totals
    return {
        note: regularized(share, mean, gains[note])
        for note, mean, total in zip(notes, means.tolist(), totals.tolist(), strict=True)
        if total > 0
    }


def _neighbours(graph: Lane | None, combined: Combined) -> dict[str, Parts]:
    """Return the graph's part: a bounded gain for direct hits, a score under the ceiling for the others."""
    if graph is None:
        return {}
    best = max(combined.gains.values(), default=1.0)
    weight = min(_weight(graph), 1.0)
    parts: dict[str, Parts] = {}
    for place, (note, score) in enumerate(_finite_scores(graph).items(), start=1):
        evidence = min(max(score, 0.0), 1.0)
        value = link_contribution(weight, evidence, best, direct=note in combined.parts)
        parts[note] = {graph.name: Contribution(place, float(place), score, graph.weight, value, value)}
    return parts


def _factors(note: str, fusion: Fusion, signals: Signals) -> tuple[float, float]:
    """Return what multiplies a note's score: by its age, and by the query's anchors in it."""
    recency = recency_factor(signals.age_days.get(note), fusion.tiers)
    return recency, anchor_factor(fusion.anchor_boost, signals.anchors.get(note, 0.0))


def _bound(scores: Mapping[str, float], by_link: Sequence[bool], direct: Mapping[str, Parts]) -> float:
    """Return the factor that keeps neighbours below the ceiling and the leaders of the direct lanes, in their
    order."""
    highest = max((score for score, link in zip(scores.values(), by_link, strict=True) if link), default=0.0)
    if not direct or highest <= 0:
        return 1.0
    first = [scores[note] for note, parts in direct.items() if _leads(parts)]
    return link_bound(max(scores[note] for note in direct), first, highest)


def _leads(parts: Parts) -> bool:
    return any(each.rank == 1 and each.contribution > 0 for each in parts.values())


def _normalize(notes: Sequence[str], scores: Sequence[float], signals: Signals) -> list[float]:
    """Put notes of that very name first, and divide by the best."""
    best = max(scores, default=0.0)
    if signals.exact:
        scores = [
            exact_name_score(score, best or 1.0) if note in signals.exact else score
            for note, score in zip(notes, scores, strict=True)
        ]
        best = max(scores, default=0.0)
    return [min(score / best, 1.0) if best > 0 else 1.0 for score in scores]


def _raw(parts: Parts) -> float:
    return math.fsum(each.contribution for each in parts.values())


def _gain(parts: Parts) -> float:
    return math.fsum(each.gain for each in parts.values())
