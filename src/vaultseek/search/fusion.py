"""From the hits of several lanes to one order of notes, and the arithmetic behind it.

The direct lanes (keyword, semantic) are fused first. A candidate is a note that any of them put forward; the
others tell what they know of it (``Lane.known``), so that the order does not depend on where a lane was cut.

* ``rrf``: weighted reciprocal rank fusion, the sum of ``weight / (k + rank)`` over the lanes (Cormack, Clarke
  and Büttcher, SIGIR 2009). The rank is the integer place or, which keeps how far apart two scores were,
  ``1 + 3 * (best - score) / deviation``: three ranks for every standard deviation of the lane's scores. A
  lane that finds nothing better than the rest has all its notes close together and decides little; one that
  has an answer puts it far in front. What a note gets is counted from what the lane gives to a note that it
  has not found.
* ``linear``: the weighted mean of the min-max normalised scores; a lane that did not find a note gives it 0.

A note among others that answer the query is more likely to answer it than one that stands alone: the best
candidates get a share of the scores of those that are most like them (``Signals.alike``; score
regularisation, Diaz, CIKM 2005).

Graph neighbours come next. One that was also found directly gains at most ``graph_gain`` of the best score;
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

RANKS_A_DEVIATION = 3.0
"""How many ranks lie between two scores that are a standard deviation apart."""
COMPANY_NARROWNESS = 0.07
"""A candidate whose cosine is less by this counts e times less."""
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
class Scale:
    """What scores of a lane mean for one query: standard deviation and least of its best hundred or so.

    ``least`` is what a note that is not among them is taken to have.
    """

    deviation: float
    least: float


@dataclass(frozen=True, slots=True)
class Lane:
    """What a lane puts forward, in any order, and its ``scale``; that of the hits themselves by default.

    ``known`` are its scores of notes that it did not put forward, should another lane do so.
    """

    name: str
    weight: float
    hits: Sequence[LaneHit]
    scale: Scale | None = None
    known: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fusion:
    """How to fuse. ``tiers`` are (days, multiplier), youngest first; ``rrf_min_score`` cuts raw scores.

    ``company`` is the share of a score that comes from candidates that are alike.
    """

    method: Literal["rrf", "linear"] = "rrf"
    ranks: Literal["score", "integer"] = "score"
    rrf_k: float = 60.0
    rrf_min_score: float = 0.0
    company: float = 0.3
    graph_gain: float = 0.8
    graph_ceiling: float = 0.45
    anchor_boost: float = 1.5
    tiers: tuple[tuple[float, float], ...] = ((7.0, 1.2), (30.0, 1.1))


@dataclass(frozen=True, slots=True)
class Signals:
    """What is known of the candidates beside the lanes; notes that are not named have none of it.

    ``age_days`` since the note's date; ``anchors`` the share in [0, 1] of the query's anchors that the note
    contains; ``exact`` the notes whose title, alias or file name is the query (they are candidates even if no
    lane found them); ``alike`` cosines between notes, to and fro.
    """

    age_days: Mapping[str, float] = field(default_factory=dict)
    anchors: Mapping[str, float] = field(default_factory=dict)
    exact: Collection[str] = ()
    alike: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one lane gave: place from 1, the rank that entered the formula, and the result.

    ``rank`` is None where the lane was only asked what it knew of the note. ``gain`` is what counts: the
    contribution less what the lane gives to a note that it has not found.
    """

    rank: int | None
    fused_rank: float
    score: float
    weight: float
    contribution: float
    gain: float

    def as_json(self) -> JSON:
        """The form of an explanation."""
        return {
            "rank": self.rank,
            "fused_rank": self.fused_rank,
            "score": self.score,
            "weight": self.weight,
            "contribution": self.contribution,
        }


@dataclass(frozen=True, slots=True)
class Fused:
    """A note in the final order. ``score`` is in [0, 1], the best note has 1; ``raw`` sums up the lanes.

    ``via_graph`` notes were found by no direct lane; ``bound`` is what held such a note under the ceiling,
    ``company`` what a note gained or lost by those that are like it.
    """

    note: str
    score: float
    raw: float
    contributions: Mapping[str, Contribution]
    recency: float = 1.0
    anchor: float = 1.0
    company: float = 0.0
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
            "company": self.company,
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
    company = _company({note: _gain(parts) for note, parts in direct.items()}, fusion, signals)
    candidates = [
        _candidate(
            note,
            direct.get(note, {}) | neighbours.get(note, {}),
            company.get(note, 0.0),
            note not in direct,
            fusion,
            signals,
        )
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
    proposed = {hit.note for lane in lanes for hit in lane.hits}
    found: dict[str, _Parts] = {}
    for lane in lanes:
        give = _reciprocal if fusion.method == "rrf" else _share
        for note, given in give(lane, proposed, fusion, _weight(lane) / total).items():
            found.setdefault(note, {})[lane.name] = given
    return found


def _reciprocal(lane: Lane, proposed: Collection[str], fusion: Fusion, _: float) -> _Parts:
    """Each note's ``weight / (k + rank)``."""
    scores = _finite_scores(lane)
    places = {note: place for place, note in enumerate(scores, start=1)}
    weight = _weight(lane)
    if fusion.ranks == "integer":
        values = {note: weight / (fusion.rrf_k + place) for note, place in places.items()}
        return {
            note: Contribution(places[note], float(places[note]), scores[note], lane.weight, value, value)
            for note, value in values.items()
        }
    scale, best = _scale(lane, scores), max(scores.values(), default=0.0)
    unfound = weight / (fusion.rrf_k + _rank(scale.least, best, scale)) if scale.deviation > 0 else 0.0
    found: _Parts = {}
    for note, score in (scores | _known(lane, proposed, scores)).items():
        rank = _rank(score, best, scale)
        value = weight / (fusion.rrf_k + rank)
        gain = max(0.0, value - unfound)
        found[note] = Contribution(places.get(note), rank, score, lane.weight, value, gain)
    return found


def _share(lane: Lane, proposed: Collection[str], fusion: Fusion, weight: float) -> _Parts:
    """Each note's normalised score, times the lane's share."""
    scores = _finite_scores(lane)
    scale, best = _scale(lane, scores), max(scores.values(), default=0.0)
    width = best / 2 - scale.least / 2  # halves, so that no pair of floats overflows
    found: _Parts = {}
    everything = scores | _known(lane, proposed, scores)
    for place, (note, score) in enumerate(everything.items(), start=1):
        share = max(0.0, (score / 2 - scale.least / 2) / width) if width > 0 else 1.0
        rank = place if note in scores else None
        found[note] = Contribution(rank, float(place), score, lane.weight, weight * share, weight * share)
    return found


def _rank(score: float, best: float, scale: Scale) -> float:
    """A place among the lane's notes that keeps how far apart scores are; 1 for the best."""
    if scale.deviation <= 0:
        return 1.0
    return 1.0 + RANKS_A_DEVIATION * max(0.0, best / scale.deviation - score / scale.deviation)


def _finite_scores(lane: Lane) -> dict[str, float]:
    """What the lane puts forward, best first, each note once, with finite scores."""
    finite = [hit.score for hit in lane.hits if math.isfinite(hit.score)] or [0.0]
    low, high = min(finite), max(finite)
    best: dict[str, float] = {}
    for hit in lane.hits:
        score = low if math.isnan(hit.score) else min(max(hit.score, low), high)
        best[hit.note] = max(score, best.get(hit.note, score))
    return dict(sorted(best.items(), key=lambda item: (-item[1], item[0])))


def _known(lane: Lane, proposed: Collection[str], scores: Mapping[str, float]) -> dict[str, float]:
    """Scores of notes that only other lanes put forward; none is above the lane's own best."""
    best = max(scores.values(), default=math.inf)
    return {
        note: min(score, best)
        for note, score in lane.known.items()
        if note in proposed and note not in scores and math.isfinite(score)
    }


def _scale(lane: Lane, scores: Mapping[str, float]) -> Scale:
    """The lane's scale, or that of its hits."""
    if lane.scale is not None and all(map(math.isfinite, (lane.scale.deviation, lane.scale.least))):
        return lane.scale
    return scale_of(list(scores.values()))


def scale_of(scores: Sequence[float]) -> Scale:
    """The scale of some finite scores; of none, one on which all scores are equal."""
    if not scores:
        return Scale(0.0, 0.0)
    mean = math.fsum(score / len(scores) for score in scores)
    largest = max(abs(score - mean) for score in scores)
    if not 0 < largest < math.inf:
        return Scale(0.0, min(scores))
    # Divided by the largest before they are squared, so that nothing overflows.
    spread = math.fsum(((score - mean) / largest) ** 2 for score in scores) / len(scores)
    return Scale(largest * math.sqrt(spread), min(scores))


def _weight(lane: Lane) -> float:
    return lane.weight if 0 < lane.weight < math.inf else 0.0


def _passes(note: str, parts: _Parts, fusion: Fusion, signals: Signals) -> bool:
    return fusion.method != "rrf" or note in signals.exact or _raw(parts) >= fusion.rrf_min_score


def _neighbours(graph: Lane | None, direct: Mapping[str, _Parts], fusion: Fusion) -> dict[str, _Parts]:
    """What the graph gives: a bounded gain to direct hits, a score under the ceiling to the others."""
    if graph is None:
        return {}
    best = max(map(_gain, direct.values()), default=1.0)
    weight = min(_weight(graph), 1.0)
    found: dict[str, _Parts] = {}
    for place, (note, score) in enumerate(_finite_scores(graph).items(), start=1):
        share = fusion.graph_gain if note in direct else fusion.graph_ceiling
        value = weight * min(max(score, 0.0), 1.0) * share * best
        found[note] = {graph.name: Contribution(place, float(place), score, graph.weight, value, value)}
    return found


def _company(gains: Mapping[str, float], fusion: Fusion, signals: Signals) -> dict[str, float]:
    """What each note gains or loses by the scores of those that are like it."""
    best = sorted(note for note in gains if note in signals.alike)
    changes: dict[str, float] = {}
    for note in best:
        alike = {other: signals.alike[note].get(other, -1.0) for other in best if other != note}
        closest = max(alike.values(), default=0.0)
        shares = {other: math.exp((near - closest) / COMPANY_NARROWNESS) for other, near in alike.items()}
        total = math.fsum(shares.values())
        if total > 0:
            mean = math.fsum(share * gains[other] for other, share in shares.items()) / total
            changes[note] = fusion.company * (mean - gains[note])
    return changes


def _candidate(
    note: str, parts: _Parts, company: float, is_new: bool, fusion: Fusion, signals: Signals
) -> Fused:
    share = signals.anchors.get(note, 0.0)
    raw, gain = _raw(parts), max(0.0, _gain(parts) + company)
    fresh = recency(signals.age_days.get(note), fusion.tiers)
    anchor = 1.0 + (fusion.anchor_boost - 1.0) * (min(share, 1.0) if share > 0 else 0.0)
    exact = note in signals.exact
    via_graph = is_new and not exact
    return Fused(
        note, gain * fresh * anchor, raw, parts, fresh, anchor, company, exact=exact, via_graph=via_graph
    )


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


def _raw(parts: Mapping[str, Contribution]) -> float:
    return math.fsum(given.contribution for given in parts.values())


def _gain(parts: Mapping[str, Contribution]) -> float:
    return math.fsum(given.gain for given in parts.values())
