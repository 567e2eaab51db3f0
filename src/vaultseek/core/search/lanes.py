"""Lanes: what each proposes and knows, and what that gives to a note.

With ``rrf`` a note gets what the lane gives it beyond what it gives to a note that it does not know: a lane
without an answer has all notes close together and decides little. With ``linear`` a lane that does not know a
note gives it 0. The arithmetic on single numbers is in ``formula.py``.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from vaultseek.core.search.formula import (
    Scale,
    agreement,
    interpolated_rank,
    normalized,
    reciprocal_rank,
    scale_of,
)

DIRECT_LANES = ("keyword", "semantic")
"""Names of the lanes that search by the query itself, in the order in which answers list them."""


class LaneHit(NamedTuple):
    """A note that a lane proposes, with the lane's own score; any scale, higher is better."""

    note: str
    score: float


@dataclass(frozen=True, slots=True)
class Lane:
    """Proposals of a lane, in any order, and its ``scale``; that of the hits by default.

    ``known`` are its scores of further notes, should another lane propose them. ``places`` are those of the
    hits, 1 for the best, if these are not all that the lane proposes.
    """

    name: str
    weight: float
    hits: Sequence[LaneHit]
    scale: Scale | None = None
    known: Mapping[str, float] = field(default_factory=dict)
    places: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Fusion:
    """Options of the fusion. ``tiers`` are (days, factor), youngest first.

    ``norm`` is the p of :func:`formula.agreement`, 1 for the sum.
    """

    method: Literal["rrf", "linear"] = "rrf"
    ranks: Literal["score", "integer"] = "score"
    rrf_k: float = 60.0
    norm: float = 1.0
    anchor_boost: float = 1.5
    tiers: tuple[tuple[float, float], ...] = ((7.0, 1.2), (30.0, 1.1))


class Contribution(NamedTuple):
    """One lane's part in a note's score: 1-based place, rank that entered the formula, result.

    ``rank`` is None for a note that the lane knows and did not propose. ``gain`` is what counts: the
    contribution less what the lane gives to a note that it does not know, and less what the other lane gives
    already (:func:`agreeing`).
    """

    rank: int | None
    fused_rank: float
    score: float
    weight: float
    contribution: float
    gain: float

    @property
    def baseline(self) -> float:
        """The part of the contribution that does not count."""
        return self.contribution - self.gain


Parts = Mapping[str, Contribution]
"""Contributions to one note, by lane."""


def contributions(lane: Lane, proposed: Collection[str], fusion: Fusion, total: float) -> Parts:
    """Return what the lane gives to those of the ``proposed`` notes that it knows, by note.

    ``total`` is the weight of all lanes.
    """
    contribute = _reciprocal if fusion.method == "rrf" else _linear
    return contribute(lane, proposed, fusion, total)


def agreeing(parts: Parts, norm: float) -> Parts:
    """Return the contributions with gains that add up to their p-norm."""
    if norm == 1.0 or len(parts) == 1:
        return parts
    share = agreement([each.gain for each in parts.values()], norm)
    return {lane: Contribution(*each[:-1], each.gain * share) for lane, each in parts.items()}


def ranked_scores(lane: Lane) -> dict[str, float]:
    """Return the scores of the lane's proposals, best first."""
    return dict(sorted(lane.hits, key=lambda hit: (-hit[1], hit[0])))


def _reciprocal(lane: Lane, proposed: Collection[str], fusion: Fusion, _: float) -> Parts:
    """Give each note ``weight / (k + rank)``."""
    scores = ranked_scores(lane)
    places = _places(lane, scores)
    if fusion.ranks == "integer":
        values = {note: reciprocal_rank(lane.weight, fusion.rrf_k, place) for note, place in places.items()}
        return {
            note: Contribution(places[note], float(places[note]), scores[note], lane.weight, value, value)
            for note, value in values.items()
            if note in proposed
        }
    scale, best = _scale(lane, scores), max(scores.values(), default=0.0)
    lowest = interpolated_rank(scale.minimum, best, scale)
    unknown = reciprocal_rank(lane.weight, fusion.rrf_k, lowest) if scale.deviation > 0 else 0.0
    parts: dict[str, Contribution] = {}
    for note, score in _known(lane, proposed, scores):
        rank = interpolated_rank(score, best, scale)
        value = reciprocal_rank(lane.weight, fusion.rrf_k, rank)
        gain = max(0.0, value - unknown)
        parts[note] = Contribution(places.get(note), rank, score, lane.weight, value, gain)
    return parts


def _linear(lane: Lane, proposed: Collection[str], fusion: Fusion, total: float) -> Parts:
    scores = ranked_scores(lane)
    scale, best = _scale(lane, scores), max(scores.values(), default=0.0)
    weight = lane.weight / total
    places = _places(lane, scores)
    parts: dict[str, Contribution] = {}
    for note, score in _known(lane, proposed, scores):
        value = weight * normalized(score, best, scale.minimum)
        rank = places.get(note)
        parts[note] = Contribution(rank, float(rank or len(scores) + 1), score, lane.weight, value, value)
    return parts


def _places(lane: Lane, scores: Mapping[str, float]) -> Mapping[str, int]:
    return lane.places or {note: place for place, note in enumerate(scores, start=1)}


def _known(lane: Lane, proposed: Collection[str], scores: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """Yield those of the ``proposed`` notes that the lane knows; none is above the best of its own."""
    best = max(scores.values(), default=math.inf)
    for note in proposed:
        score = scores.get(note, lane.known.get(note))
        if score is not None:
            yield note, min(score, best)


def _scale(lane: Lane, scores: Mapping[str, float]) -> Scale:
    return lane.scale or scale_of(list(scores.values()))
