"""From the hits of several lanes to one order of notes, and the arithmetic behind it.

The direct lanes (keyword, semantic) are fused first:

* ``rrf``: weighted reciprocal rank fusion, the sum of ``weight / (k + rank)`` over the lanes (Cormack, Clarke
  and Büttcher, SIGIR 2009). The rank is the integer place or, which keeps how far apart two scores were,
  ``1 + 50 * (1 - minmax(score))``.
* ``linear``: the weighted mean of the min-max normalised scores; a lane that did not find a note gives it 0.

Graph neighbours come second. One that was also found directly gains at most ``graph_gain`` of the best score;
the others stay below ``graph_ceiling`` of the best and below the leader of every direct lane, whatever their
multipliers are, so that no neighbour displaces a strong direct hit. Recency and anchors multiply. Notes whose
title, alias or file name is the query come before all others. Last, scores are divided by the best one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from vaultseek.model import JSON

INTERPOLATED_RANKS = 50
"""How many ranks lie between the best and the worst score of a lane."""
GRAPH_BELOW = 0.99
"""A neighbour stays below this share of the score of a lane's leader."""
EXACT_STEP = 0.05
"""How far, as a share of the best score, a note of that very name is put before the rest."""


@dataclass(frozen=True, slots=True)
class LaneHit:
    """A note that a lane found, with the lane's own score; any scale, higher is better."""

    note: str
    score: float


@dataclass(frozen=True, slots=True)
class Lane:
    """A lane's hits in any order. ``floor`` is the score that means nothing was found, where a lane has one:

    scores are then spread between it and the best, so that two hits that are both good stay close.
    """

    name: str
    weight: float
    hits: Sequence[LaneHit]
    floor: float | None = None


@dataclass(frozen=True, slots=True)
class Fusion:
    """How to fuse. ``tiers`` are (days, multiplier), youngest first; ``rrf_min_score`` cuts raw scores."""

    method: Literal["rrf", "linear"] = "rrf"
    ranks: Literal["score", "integer"] = "score"
    rrf_k: float = 60.0
    rrf_min_score: float = 0.0
    graph_gain: float = 0.1
    graph_ceiling: float = 0.45
    anchor_boost: float = 1.5
    tiers: tuple[tuple[float, float], ...] = ((7.0, 1.2), (30.0, 1.1))


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of the candidates beside the lanes; notes that are not named have none of it.

    ``age_days`` since the note's date; ``anchors`` the share in [0, 1] of the query's anchors that the note
    contains; ``exact`` the notes whose title, alias or file name is the query (they are candidates even if no
    lane found them).
    """

    age_days: Mapping[str, float] = field(default_factory=dict)
    anchors: Mapping[str, float] = field(default_factory=dict)
    exact: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one lane gave: integer rank from 1, the rank that entered the formula, and the result."""

    rank: int
    fused_rank: float
    score: float
    weight: float
    contribution: float

    def as_json(self) -> JSON:
        """The form of an explanation."""
        return {
            "rank": self.rank,
            "fused_rank": round(self.fused_rank, 3),
            "score": self.score if math.isfinite(self.score) else None,
            "weight": self.weight,
            "contribution": self.contribution,
        }


@dataclass(frozen=True, slots=True)
class Fused:
    """A note in the final order. ``score`` is in [0, 1], the best note has 1; ``raw`` sums up the lanes.

    ``via_graph`` notes were found by no direct lane; ``bound`` is what held such a note under the ceiling.
    """

    note: str
    score: float
    raw: float
    contributions: Mapping[str, Contribution]
    recency: float = 1.0
    anchor: float = 1.0
    bound: float = 1.0
    exact: bool = False
    via_graph: bool = False

    def as_json(self) -> JSON:
        """The form of an explanation."""
        return {
            "raw_score": self.raw,
            "lanes": {name: given.as_json() for name, given in self.contributions.items()},
            "recency": self.recency,
            "anchor": self.anchor,
            "bound": self.bound,
            "exact": self.exact,
            "via_graph": self.via_graph,
        }


def fuse(
    lanes: Sequence[Lane],
    *,
    graph: Lane | None = None,
    fusion: Fusion | None = None,
    signals: Signals | None = None,
) -> list[Fused]:
    """All candidates in their final order: by score, then path.

    ``lanes`` have distinct names. For linear fusion a lane's weight is its share (``alpha`` for semantic, the
    rest for keyword). ``graph`` scores are evidence in [0, 1]. A score that is not a number counts as the
    lane's lowest, and so does a weight as 0.
    """
    fusion, signals = fusion or Fusion(), signals or Signals()
    direct = _direct(lanes, fusion)
    direct = {note: parts for note, parts in direct.items() if _passes(note, parts, fusion, signals)}
    neighbours = _neighbours(graph, direct, fusion)
    candidates = [
        _candidate(note, direct.get(note, {}) | neighbours.get(note, {}), note not in direct, fusion, signals)
        for note in {*direct, *neighbours, *signals.exact}
    ]
    return _finished(candidates, _bound(candidates, direct, fusion))


def recency(age_days: float | None, tiers: Iterable[tuple[float, float]]) -> float:
    """The multiplier of the first tier that the age fits into, 1 for older, unknown and future dates."""
    if age_days is None or math.isnan(age_days) or age_days < -1.0:
        return 1.0
    return next((multiplier for days, multiplier in tiers if age_days <= days), 1.0)


_Parts = dict[str, Contribution]


def _direct(lanes: Sequence[Lane], fusion: Fusion) -> dict[str, _Parts]:
    total = sum(_weight(lane) for lane in lanes) or 1.0
    found: dict[str, _Parts] = {}
    for lane in lanes:
        for place, (hit, share) in enumerate(_spread(lane), start=1):
            rank = float(place) if fusion.ranks == "integer" else 1 + INTERPOLATED_RANKS * (1 - share)
            if fusion.method == "rrf":
                value = _weight(lane) / (fusion.rrf_k + rank)
            else:
                value = _weight(lane) / total * share
            found.setdefault(hit.note, {})[lane.name] = Contribution(
                place, rank, hit.score, lane.weight, value
            )
    return found


def _spread(lane: Lane) -> list[tuple[LaneHit, float]]:
    """The lane's notes, best first, each once, with its score between 0 (worst or floor) and 1 (best)."""
    finite = [hit.score for hit in lane.hits if math.isfinite(hit.score)] or [0.0]
    low, high = min(finite), max(finite)
    best: dict[str, tuple[float, LaneHit]] = {}
    for hit in lane.hits:
        score = low if math.isnan(hit.score) else min(max(hit.score, low), high)
        if hit.note not in best or score > best[hit.note][0]:
            best[hit.note] = (score, hit)
    if lane.floor is not None and math.isfinite(lane.floor):
        low = min(low, lane.floor)
    ordered = sorted(best.values(), key=lambda scored: (-scored[0], scored[1].note))
    width = high / 2 - low / 2  # halves, so that no pair of floats overflows
    return [(hit, (score / 2 - low / 2) / width if width > 0 else 1.0) for score, hit in ordered]


def _weight(lane: Lane) -> float:
    return lane.weight if 0 < lane.weight < math.inf else 0.0


def _passes(note: str, parts: _Parts, fusion: Fusion, signals: Signals) -> bool:
    return fusion.method != "rrf" or note in signals.exact or _sum(parts) >= fusion.rrf_min_score


def _neighbours(graph: Lane | None, direct: Mapping[str, _Parts], fusion: Fusion) -> dict[str, _Parts]:
    """What the graph gives: a bounded gain to direct hits, a score under the ceiling to the others."""
    if graph is None:
        return {}
    best = max(map(_sum, direct.values()), default=1.0)
    weight = min(_weight(graph), 1.0)
    found: dict[str, _Parts] = {}
    for place, (hit, _) in enumerate(_spread(graph), start=1):
        evidence = min(max(hit.score, 0.0), 1.0) if not math.isnan(hit.score) else 0.0
        share = fusion.graph_gain if hit.note in direct else fusion.graph_ceiling
        given = Contribution(place, float(place), hit.score, graph.weight, weight * evidence * share * best)
        found[hit.note] = {graph.name: given}
    return found


def _candidate(note: str, parts: _Parts, is_new: bool, fusion: Fusion, signals: Signals) -> Fused:
    share = signals.anchors.get(note, 0.0)
    raw = _sum(parts)
    fresh = recency(signals.age_days.get(note), fusion.tiers)
    anchor = 1.0 + (fusion.anchor_boost - 1.0) * (min(share, 1.0) if share > 0 else 0.0)
    exact = note in signals.exact
    via_graph = is_new and not exact
    return Fused(note, raw * fresh * anchor, raw, parts, fresh, anchor, exact=exact, via_graph=via_graph)


def _bound(candidates: list[Fused], direct: Mapping[str, _Parts], fusion: Fusion) -> float:
    """What brings neighbours under the ceiling and the leaders of the direct lanes and keeps their order."""
    found = {candidate.note: candidate.score for candidate in candidates if candidate.note in direct}
    highest = max((candidate.score for candidate in candidates if candidate.via_graph), default=0.0)
    if not found or highest <= 0:
        return 1.0
    leaders = [GRAPH_BELOW * found[note] for note, parts in direct.items() if _leads(parts)]
    return min(1.0, min([fusion.graph_ceiling * max(found.values()), *leaders]) / highest)


def _leads(parts: _Parts) -> bool:
    return any(given.rank == 1 and given.contribution > 0 for given in parts.values())


def _finished(candidates: list[Fused], bound: float) -> list[Fused]:
    """Neighbours bounded, notes of that very name put first, scores divided by the best."""
    scores = [each.score * bound if each.via_graph else each.score for each in candidates]
    best = max(scores, default=0.0) or 1.0
    scores = [
        best * (1 + EXACT_STEP) + EXACT_STEP * score if each.exact else score
        for each, score in zip(candidates, scores, strict=True)
    ]
    best = max(scores, default=0.0)
    finished = [
        replace(
            each, score=min(score / best, 1.0) if best > 0 else 1.0, bound=bound if each.via_graph else 1.0
        )
        for each, score in zip(candidates, scores, strict=True)
    ]
    return sorted(finished, key=lambda each: (-each.score, each.via_graph, each.note))


def _sum(parts: Mapping[str, Contribution]) -> float:
    return math.fsum(given.contribution for given in parts.values())
