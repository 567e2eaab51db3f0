"""Fuse the hits of several lanes into one order of notes.

:func:`combine` fuses the direct lanes (keyword, semantic); :func:`order` adds linked neighbours and the
factors beside the lanes and sorts; :func:`fuse` is both. The arithmetic on single numbers is in
``formula.py``, what a lane gives to a note in ``lanes.py``.

A candidate is a note that any lane proposes. The other lanes add what they know of it (``Lane.known``), so
that the order does not depend on where a lane was cut.

A neighbour that gains by a direct lane gains at most ``GRAPH_GAIN`` of the best score by its links. The
others stay below ``GRAPH_CEILING`` of the best and below the leader of every direct lane, whatever their
factors are, so that no neighbour displaces a strong direct hit. Last, scores are divided by the best one.

A :class:`Candidate` keeps every figure of this, and :attr:`Candidate.recomputed` is its score made of them.
"""

import heapq
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from vaultseek.core.search.formula import (
    BELOW_OWN_WORDS,
    anchor_factor,
    exact_name_score,
    final_score,
    joined_score,
    link_bound,
    link_contribution,
    name_factor,
    prefix_name_score,
    recency_factor,
    shown_score,
)
from vaultseek.core.search.lanes import (
    Contribution,
    Fusion,
    Lane,
    Parts,
    agreeing,
    contributions,
    ranked_scores,
)
from vaultseek.core.search.time_in_question import time_factor


@dataclass(frozen=True, slots=True)
class Signals:
    """Facts about the candidates beside the lanes; a note that is missing has none.

    ``age_days`` since the note's date; ``anchors`` the share in [0, 1] of the query's anchors that the note
    contains; ``names`` the share of the query that the note's name is; ``exactly_named`` the notes whose
    title, alias or file name is the query (candidates even if no lane proposes them), and ``prefix_named``
    those with one that begins with what is being typed, in the order in which they come first. ``misnamed``
    notes have another word with the same stem for a name, and ``with_word`` are the notes that have the
    query's own word. ``times`` is how far notes lie in the time of the question. ``joined`` has by note those
    that a link joins to it, with the strength of the link times the share of the query's words that the two
    have together.
    """

    age_days: Mapping[str, float] = field(default_factory=dict)
    anchors: Mapping[str, float] = field(default_factory=dict)
    names: Mapping[str, float] = field(default_factory=dict)
    misnamed: Collection[str] = ()
    with_word: Collection[str] = ()
    exactly_named: Collection[str] = ()
    prefix_named: Sequence[str] = ()
    times: Mapping[str, float] = field(default_factory=dict)
    joined: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


class Candidate(NamedTuple):
    """A note in the final order. ``score`` is in [0, 1], the best note has 1; ``raw`` sums up the lanes.

    ``via_graph`` notes gain by no direct lane; ``bound`` is the factor that holds such a note under the
    ceiling; ``joined`` the factor for a note that a link joins to a better one. ``name_bonus`` is added for
    the note's name, ``opened`` for having been opened before, ``succession`` for what it
    replaces; all scores are divided by ``best``. ``time`` is the factor for the time of the question.
    """

    note: str
    score: float
    raw: float
    contributions: Parts
    recency: float = 1.0
    anchor: float = 1.0
    bound: float = 1.0
    joined: float = 1.0
    exact: bool = False
    via_graph: bool = False
    name_bonus: float = 0.0
    best: float = 0.0
    opened: float = 0.0
    succession: float = 0.0
    time: float = 1.0

    @property
    def gain(self) -> float:
        """The sum of what the lanes and the links give the note."""
        return _gain(self.contributions)

    @property
    def alone(self) -> float:
        """The score without what the note gains by the link with a better one."""
        return self.score / self.joined

    @property
    def recomputed(self) -> float:
        """The score, made of the other figures."""
        value = final_score(self.gain, self.recency, self.anchor) * self.time
        return shown_score(
            value * self.bound * self.joined + self.name_bonus + self.opened + self.succession, self.best
        )


@dataclass(frozen=True, slots=True)
class Combined:
    """The direct lanes fused: by note the contributions, their sum, and the sum of their gains."""

    parts: Mapping[str, Parts]
    lane_sum: Mapping[str, float]
    lane_gain: Mapping[str, float]


def fuse(
    lanes: Sequence[Lane],
    *,
    graph: Lane | None = None,
    fusion: Fusion | None = None,
    signals: Signals | None = None,
) -> list[Candidate]:
    """Return all candidates in their final order: by score, then path. See :func:`combine`, :func:`order`."""
    fusion, signals = fusion or Fusion(), signals or Signals()
    return order(combine(lanes, fusion), graph, fusion, signals)


def combine(lanes: Sequence[Lane], fusion: Fusion) -> Combined:
    """Fuse the direct lanes, which have distinct names.

    For linear fusion a lane's weight is its share (``alpha`` for semantic, the rest for keyword).
    """
    proposed = {hit.note for lane in lanes for hit in lane.hits}
    return _combined(proposed, lanes, fusion)


def complete(combined: Combined, lanes: Sequence[Lane], fusion: Fusion) -> Combined:
    """Add what the lanes know of notes that none of them proposes, but links do.

    So it makes no difference to these notes where the lanes were cut.
    """
    further = {note for lane in lanes for note in lane.known} - combined.parts.keys()
    if not further:
        return combined
    added = _combined(further, lanes, fusion)
    return Combined(
        {**combined.parts, **added.parts},
        {**combined.lane_sum, **added.lane_sum},
        {**combined.lane_gain, **added.lane_gain},
    )


def leaders(
    combined: Combined, fusion: Fusion, signals: Signals, count: int, among: Collection[str] | None = None
) -> dict[str, float]:
    """Return the ``count`` best notes of the direct lanes with their scores, the best of which is 1.

    ``among``: the only notes to look at.
    """
    notes = [*{*combined.parts, *signals.exactly_named}]
    if among is not None:
        notes = [note for note in notes if note in among]
    scores = [
        final_score(combined.lane_gain.get(note, 0.0), *_factors(note, fusion, signals)) for note in notes
    ]
    shown, _, _ = _shown(notes, scores, signals)
    pairs = zip(notes, shown, strict=True)
    return dict(heapq.nsmallest(count, pairs, key=lambda pair: (-pair[1], pair[0])))


def order(combined: Combined, graph: Lane | None, fusion: Fusion, signals: Signals) -> list[Candidate]:
    """Return all candidates, best first. ``graph`` scores are evidence for neighbours in [0, 1]."""
    neighbours = _neighbours(graph, combined)
    named = {*signals.exactly_named, *signals.prefix_named}
    notes = [*{*combined.parts, *neighbours, *named}]
    factors = [_factors(note, fusion, signals) for note in notes]
    by_link = {note: each.gain for note, each in neighbours.items()}
    lane_gain = [combined.lane_gain.get(note, 0.0) + by_link.get(note, 0.0) for note in notes]
    times = [time_factor(signals.times.get(note, 0.0)) for note in notes]
    scores = [
        final_score(gain, *each) * time for gain, each, time in zip(lane_gain, factors, times, strict=True)
    ]
    graph_only = [
        note in neighbours and combined.lane_gain.get(note, 0.0) <= 0 and note not in named for note in notes
    ]
    bound = _bound(dict(zip(notes, scores, strict=True)), graph_only, combined.parts)
    bounds = _below_own_words(notes, scores, [bound if link else 1.0 for link in graph_only], signals)
    scores = [score * each for score, each in zip(scores, bounds, strict=True)]
    joined = _joined(notes, scores, graph_only, signals)
    shown, name_bonuses, best = _shown(
        notes, [score * each for score, each in zip(scores, joined, strict=True)], signals
    )
    candidates = [
        Candidate(
            note,
            shown[place],
            combined.lane_sum.get(note, 0.0) + by_link.get(note, 0.0),
            _with_link(combined.parts.get(note, {}), graph, neighbours.get(note)),
            *factors[place],
            bounds[place],
            joined[place],
            note in signals.exactly_named,
            graph_only[place],
            name_bonuses[place],
            best,
            time=times[place],
        )
        for place, note in enumerate(notes)
    ]
    return sorted(candidates, key=lambda each: (-each.score, each.via_graph, each.note))


def _combined(notes: Collection[str], lanes: Sequence[Lane], fusion: Fusion) -> Combined:
    total = sum(lane.weight for lane in lanes) or 1.0
    parts: dict[str, dict[str, Contribution]] = {}
    for lane in lanes:
        for note, contribution in contributions(lane, notes, fusion, total).items():
            parts.setdefault(note, {})[lane.name] = contribution
    lane_sum = {note: _raw(each) for note, each in parts.items()}
    agreed = {note: agreeing(each, fusion.norm) for note, each in parts.items()}
    return Combined(agreed, lane_sum, {note: _gain(each) for note, each in agreed.items()})


def _with_link(parts: Parts, graph: Lane | None, link: Contribution | None) -> Parts:
    return parts if graph is None or link is None else {**parts, graph.name: link}


def _neighbours(graph: Lane | None, combined: Combined) -> dict[str, Contribution]:
    """Return the graph's part: a bounded gain for direct hits, a score under the ceiling for the others."""
    if graph is None:
        return {}
    best = max(combined.lane_gain.values(), default=1.0)
    weight = min(graph.weight, 1.0)
    parts: dict[str, Contribution] = {}
    for place, (note, score) in enumerate(ranked_scores(graph).items(), start=1):
        direct = combined.lane_gain.get(note, 0.0) > 0
        value = link_contribution(weight, score, best, direct=direct)
        parts[note] = Contribution(place, float(place), score, graph.weight, value, value)
    return parts


def _factors(note: str, fusion: Fusion, signals: Signals) -> tuple[float, float]:
    recency = recency_factor(signals.age_days.get(note), fusion.tiers)
    anchor = anchor_factor(fusion.anchor_boost, signals.anchors.get(note, 0.0))
    return recency, anchor * name_factor(signals.names.get(note, 0.0))


def _bound(scores: Mapping[str, float], graph_only: Sequence[bool], direct: Mapping[str, Parts]) -> float:
    """Return the factor that keeps neighbours below the ceiling and the leaders of the direct lanes, in their
    order."""
    links = {note for note, link in zip(scores, graph_only, strict=True) if link}
    highest = max((scores[note] for note in links), default=0.0)
    if not direct or highest <= 0:
        return 1.0
    first = [scores[note] for note, parts in direct.items() if _leads(parts)]
    found = [scores[note] for note in direct if note not in links]
    return link_bound(max(found, default=0.0), first, highest) if found else 1.0


def _below_own_words(
    notes: Sequence[str], scores: Sequence[float], bounds: Sequence[float], signals: Signals
) -> Sequence[float]:
    """Return the bounds, with misnamed notes below all that have the query's own word."""
    if not signals.misnamed:
        return bounds
    of = {note: score * bound for note, score, bound in zip(notes, scores, bounds, strict=True)}
    least = min((of[note] for note in notes if note in signals.with_word and of[note] > 0), default=math.inf)
    return [
        bound * min(1.0, BELOW_OWN_WORDS * least / of[note])
        if note in signals.misnamed and of[note]
        else bound
        for note, bound in zip(notes, bounds, strict=True)
    ]


def _joined(
    notes: Sequence[str], scores: Sequence[float], graph_only: Sequence[bool], signals: Signals
) -> Sequence[float]:
    of = dict(zip(notes, scores, strict=True))
    held = {*signals.misnamed, *(note for note, link in zip(notes, graph_only, strict=True) if link)}
    factors: dict[str, float] = {}
    for note, others in signals.joined.items():
        own = of.get(note, 0.0)
        if own > 0 and others and note not in held:
            factors[note] = (
                max(joined_score(own, share, of.get(seed, 0.0)) for seed, share in others.items()) / own
            )
    return [factors.get(note, 1.0) for note in notes]


def _leads(parts: Parts) -> bool:
    return any(each.rank == 1 and each.contribution > 0 for each in parts.values())


def _shown(
    notes: Sequence[str], scores: Sequence[float], signals: Signals
) -> tuple[list[float], list[float], float]:
    """Put notes of that very name first, and divide by the best.

    Return the scores, what each note is given for its name, and the best.
    """
    best = max(scores, default=0.0)
    name_bonuses = [0.0] * len(scores)
    if signals.exactly_named or signals.prefix_named:
        places = {note: place for place, note in enumerate(signals.prefix_named)}
        name_bonuses = [
            prefix_name_score(places[note], len(places), best or 1.0) - score
            if note in places
            else exact_name_score(score, best or 1.0) - score
            if note in signals.exactly_named
            else 0.0
            for note, score in zip(notes, scores, strict=True)
        ]
        scores = [score + name_bonus for score, name_bonus in zip(scores, name_bonuses, strict=True)]
        best = max(scores, default=0.0)
    return [shown_score(score, best) for score in scores], name_bonuses, best


def _raw(parts: Parts) -> float:
    return math.fsum([each.contribution for each in parts.values()])


def _gain(parts: Parts) -> float:
    return math.fsum([each.gain for each in parts.values()])
