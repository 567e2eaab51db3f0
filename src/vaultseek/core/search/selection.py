"""Select the results from a ranking: apply limits, raise notes opened before, and compute certainties.

The certainty is the probability that a note is the right one, as a person reading the list would judge it: of
four notes at 0.75, three are right. It is a logistic function of three inputs: the confidence, which judges a
note by itself; the share of the query's words in the note, because confidence from words alone is more often
wrong; and the lead over the mean of the ten best scores, because a right note found only by meaning stands
out from the others. The certainty never increases down the list.

People read a list from the top, so opening a note far down means more than opening the first note. An open is
weighted by the inverse of the probability that its position is examined. The probability is modelled as
``1 / position ** EXAMINATION`` (position-based model: Joachims, Swaminathan and Schnabel, *Unbiased
Learning-to-Rank with Biased Feedback*, WSDM 2017). Opening one note counts as passing over the other notes
that were opened from the same query.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from vaultseek.base.model import JSON
from vaultseek.content.query.words import words_of
from vaultseek.core.search.formula import JUDGED_NOTES, OPENED_GAIN, PINNED_GAIN, SAME_QUERY_GAIN, Floats
from vaultseek.core.search.lanes import Evidence
from vaultseek.core.search.ranking import Candidate, Ranking
from vaultseek.store.keyword.segment import Bools
from vaultseek.store.ledger.opens import Meaning, Open

COMPLETE_STATES = ("ready", "polling", "paused")
"""States of a vault in which every lane covers all notes."""
NO_SCORE = 0.005
"""Score below which 0.00 is displayed."""
INTERCEPT, SLOPES = -0.10, (0.89, 6.54, -2.23)
"""Coefficients of the logistic function for the certainty: of confidence, lead and coverage. They are fitted
by ``scripts/fit_certainty.py`` on the development halves of the judged sets."""
DOUBTFUL_CERTAINTY = 0.5
"""Maximum certainty of a note that `judge` calls doubtful, such as one with only a similar word."""
WEAK_CERTAINTY = 0.25
"""Maximum certainty of all results if nothing matches exactly."""
_LEAST_CONFIDENCE = 0.001


class Selection(NamedTuple):
    """The candidates chosen as results, best first. ``nearest`` is the best candidate if nothing counts as a
    match.

    ``weak`` is true if none of the best notes matches exactly; the results are then only the closest notes.
    """

    results: Sequence[Candidate]
    nearest: Candidate | None = None
    weak: bool = False


def select_results(query: Evidence, ranking: Ranking, index_state: JSON) -> Selection:
    """Drop candidates below ``min_confidence``, or all candidates if none is related to the query.

    The nearest notes are kept if the query has a filter, if notes have the query's identifier, or while a
    lane does not cover all notes. If the query is an identifier that a note has, notes without it are
    dropped.
    """
    results = _eligible(query, ranking)
    indexed = not index_state.get("pending") and index_state.get("state", "ready") in COMPLETE_STATES
    complete = indexed and not (query.retrieval.partial or ranking.partial)
    best = results[:JUDGED_NOTES]
    weak = bool(best) and not any(ranking.notes.exact[each.row] for each in best)
    if not complete or query.allowed is not None:
        return Selection(_scaled_to_best(results), weak=weak)
    if not results and ranking.has_identifier is not None:
        return Selection([], _strongest(ranking.candidates))
    least = query.settings.nothing_below
    strongest = _strongest(results) if _is_decided(query) else None
    if strongest is not None and strongest.confidence < least and not ranking.has_identifier:
        return Selection([], strongest)
    results = _scaled_to_best(results)
    while results and results[-1].score < NO_SCORE and results[-1].confidence < least:
        results.pop()
    return Selection(results, weak=weak)


def strongest_confidence(query: Evidence, ranking: Ranking) -> float | None:
    """Return the best confidence, from 0 to 1, among the notes that decide whether anything was found.

    Returns None if the query has a filter, if there are no notes, or if a lane that the query needs is
    missing.
    """
    best = _strongest(_eligible(query, ranking))
    return best.confidence if best is not None and query.allowed is None and _is_decided(query) else None


def _is_decided(query: Evidence) -> bool:
    by_word = query.parsed.request.mode == "hybrid" and query.parsed.profile.pure_identifier
    return query.keyword is not None and (query.retrieval.unexpanded is not None or by_word)


def _eligible(query: Evidence, ranking: Ranking) -> list[Candidate]:
    """Return the candidates that have the query's identifier and the minimum confidence, in ranking order."""
    notes = ranking.notes
    may_be = (notes.eligible & (notes.confidence >= query.settings.min_confidence)).tolist()
    return [each for each in ranking.candidates if may_be[each.row]]


def _strongest(results: Sequence[Candidate]) -> Candidate | None:
    return max(results[:JUDGED_NOTES], key=lambda each: each.confidence, default=None)


def _scaled_to_best(results: list[Candidate]) -> list[Candidate]:
    """Divide all scores by the best remaining score, because better notes may have been dropped."""
    best = results[0].score if results else 1.0
    if best in (0.0, 1.0):
        return results
    return [each._replace(score=each.score / best, best=each.best * best) for each in results]


def certainties_of(results: Sequence[Candidate], ranking: Ranking, *, weak: bool) -> dict[int, float]:
    """Return a dict from note id to certainty. Earlier opens are ignored, because opening one note does not
    make another note less certain.
    """
    rows, notes = np.array([each.row for each in results], np.int64), ranking.notes
    certain = certainties(features_of(results, ranking), weak=weak, doubtful=notes.doubtful[rows])
    return dict(zip(notes.ids[rows].tolist(), certain, strict=True))


def features_of(results: Sequence[Candidate], ranking: Ranking) -> Floats:
    """Return the inputs of the results' certainty, as `features` does."""
    rows, notes = np.array([each.row for each in results], np.int64), ranking.notes
    # A link to a better note is not evidence that the note itself is right.
    joined = notes.figures.get("joined", np.ones(len(notes)))
    scores = np.array([each.score for each in results]) / joined[rows]
    return features(scores, notes.confidence[rows], notes.coverage[rows])


def falling(certain: Mapping[int, float], results: Sequence[Candidate]) -> dict[int, float]:
    """Raise the certainty of each note to at least the highest certainty below it in the list."""
    ids = [each.about.id for each in reversed(results)]
    return dict(zip(ids, accumulate((certain.get(id, 0.0) for id in ids), max), strict=True))


def certainties(inputs: Floats, *, weak: bool, doubtful: Bools | bool = False) -> list[float]:
    """Return the certainty of each note, from 0 to 1. It never exceeds the previous note's certainty.

    ``inputs`` are the notes' `features`; ``doubtful`` marks notes as `judge` does.
    """
    values = 1 / (1 + np.exp(-INTERCEPT - inputs @ SLOPES))
    values = np.minimum(values, np.where(doubtful, DOUBTFUL_CERTAINTY, 1.0))
    certain: list[float] = np.minimum.accumulate(np.minimum(values, WEAK_CERTAINTY if weak else 1.0)).tolist()
    return certain


def features(
    scores: Sequence[float] | Floats,
    confidences: Sequence[float] | Floats,
    coverages: Sequence[float] | Floats,
) -> Floats:
    """Return the inputs of each note's certainty, float64[n, 3]: the logit of its confidence, its lead over
    the mean of the ten best scores, and its coverage.

    ``scores`` are fractions of the best score; if there are fewer than ten, the missing ones count as 0, and
    notes after the tenth do not affect the first ten. A coverage of NaN counts as 0.
    """
    inside = np.clip(confidences, _LEAST_CONFIDENCE, 1 - _LEAST_CONFIDENCE)
    leads = np.asarray(scores) - np.sum(scores[:JUDGED_NOTES]) / JUDGED_NOTES
    return np.column_stack([np.log(inside / (1 - inside)), leads, np.nan_to_num(coverages)])


# -- notes that were opened from the same query before

EXAMINATION = 0.7
HALF_LIFE_SECONDS = 42 * 86_400.0
MOST_OF_ONE = 3.0
"""Maximum weight of one open, so that three opens of other notes outweigh it."""
PRIOR = 4.0
"""Number of neutral opens assumed for every note, so that a few opens have little effect."""
NEAR_COSINE = 0.75
"""Minimum cosine at which two queries count as having the same meaning."""
AGENT_WEIGHT = 0.5
"""Weight of an open by an agent, relative to an open by a person. Agents open more notes than they need."""
AGENTS = ("vaultseek.mcp",)


def evidence(opens: Iterable[Open], now: float) -> dict[str, float]:
    """Return a dict from path to a score from 0 to 1: how often the note was opened rather than passed over.

    Notes with a score of 0 are left out. ``now`` is a Unix time.
    """
    opened: defaultdict[str, float] = defaultdict(float)
    times: defaultdict[str, float] = defaultdict(float)
    for each in opens:
        weight = 0.5 ** (max(0.0, now - each.time) / HALF_LIFE_SECONDS)
        if each.client in AGENTS:
            weight *= AGENT_WEIGHT
        opened[each.path] += weight * min(max(1, each.position) ** EXAMINATION, MOST_OF_ONE)
        times[each.path] += weight
    total = sum(times.values())
    passed = {note: total - own for note, own in times.items()}
    return {
        note: (value - passed[note]) / (value + passed[note] + PRIOR)
        for note, value in opened.items()
        if value > passed[note]
    }


def opened_before(query: Evidence) -> dict[str, float]:
    """Return a dict from path to gain, for notes pinned to this query and notes opened before from this or a
    similar query.

    Gains are fractions of the best score.
    """
    text, ledger = query.parsed.query.rank_text, query.vault.ledger
    pinned = {row.path: PINNED_GAIN for row in ledger.notes.by_id(sorted(query.pinned)).values()}
    if not (query.settings.learn and text and ledger.keeps_opens):
        return pinned
    now, words, answer = time.time(), words_of(text), query.retrieval.unexpanded
    near: list[str] = []
    if answer is not None and answer.model:
        near = ledger.opens.near(Meaning(answer.model, answer.vector), NEAR_COSINE)
    beginning = text if query.parsed.is_unfinished else ""
    opens = ledger.opens.matching([words, *near], beginning)
    like = evidence(opens, now)
    same = evidence(ledger.opens.matching([words]), now) if opens else {}
    gains = {path: OPENED_GAIN * share for path, share in like.items()}
    gains |= {path: max(SAME_QUERY_GAIN * share, gains.get(path, 0.0)) for path, share in same.items()}
    return gains | pinned


def raised(results: Sequence[Candidate], gains: Mapping[str, float]) -> Sequence[Candidate]:
    """Add the gains from earlier opens to the scores, and return the results in their new order.

    No note is lost, and notes without a gain keep their scores.
    """
    if not gains or not any(each.note in gains for each in results):
        return results
    ordered = sorted(results, key=lambda each: -each.score - gains.get(each.note, 0.0))
    return [
        each._replace(score=min(1.0, each.score + gain), opened=gain * each.best)
        if (gain := gains.get(each.note, 0.0))
        else each
        for each in ordered
    ]
