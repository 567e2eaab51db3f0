"""Select the results of a ranking: cut it as requested, raise notes opened before, and compute certainties.

The certainty is the probability that a note is right, as seen by a person who reads a list: of four notes at
0.75, three are right. A score compares the notes of one answer, while the confidence judges a note by itself.
A right note found only by meaning has little confidence, but stands out from the others. So the certainty is
a logistic function of both: the confidence, and the difference between the score and the mean of the ten
best. It never increases down the list.

People read a list from the top, so opening a note at a low place means more than opening the first. An open
counts by the inverse of the probability that its place is examined, by the position-based model with ``1 /
place ** EXAMINATION`` (Joachims, Swaminathan and Schnabel, *Unbiased Learning-to-Rank with Biased Feedback*,
WSDM 2017). Opening another note from the same query counts as passing a note over.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from vaultseek.base.model import JSON
from vaultseek.content.query.words import words_of
from vaultseek.core.search.formula import OPENED_GAIN, PINNED_GAIN, SAME_QUERY_GAIN, Floats
from vaultseek.core.search.matching import JUDGED_NOTES
from vaultseek.core.search.ranking import Candidate, Ranking
from vaultseek.core.search.request import ParsedRequest
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.core.search.signals import pinned_to
from vaultseek.semantic.vectors.port import NoteIds
from vaultseek.store.keyword.segment import Bools
from vaultseek.store.ledger import Ledger
from vaultseek.store.ledger.opens import Meaning, Open

COMPLETE_STATES = ("ready", "polling", "paused")
"""States of a vault in which every lane knows all notes."""
NO_SCORE = 0.005
"""Score below which 0.00 is shown."""
INTERCEPT, CONFIDENCE_SLOPE, LEAD_SLOPE = -1.80, 0.45, 8.57
"""Fitted on the development halves of the judged sets by ``scripts/fit_certainty.py``."""
DOUBTFUL_CERTAINTY = 0.5
"""Maximum certainty of a note that has only another word with the query's stem."""
WEAK_CERTAINTY = 0.25
"""Maximum certainty of notes that are only the closest."""
_LEAST_CONFIDENCE = 0.001


@dataclass(frozen=True, slots=True)
class Selection:
    """The candidates that are results, best first; ``nearest`` is set if nothing counts as a match.

    ``weak``: none of the best notes matches exactly; they are only the closest.
    """

    results: Sequence[Candidate]
    nearest: Candidate | None = None
    weak: bool = False


def select_results(
    parsed: ParsedRequest,
    retrieval: Retrieval,
    ranking: Ranking,
    allowed: NoteIds | None,
    index_state: JSON,
) -> Selection:
    """Drop candidates below ``min_confidence``, and all if none is related to the query.

    A filter or an identifier of the query is a match by itself, and a note that a lane does not know yet may
    be the answer: in these cases the nearest notes stay. If a note has the identifier that is the query,
    notes without it are dropped.
    """
    results, matches = _eligible(parsed, ranking), ranking.matches
    indexed = not index_state.get("pending") and index_state.get("state", "ready") in COMPLETE_STATES
    complete = indexed and not (retrieval.partial or ranking.partial)
    best = results[:JUDGED_NOTES]
    weak = bool(best) and not any(matches.exact[each.row] for each in best)
    if not complete or allowed is not None:
        return Selection(_scaled_to_best(results), weak=weak)
    least = parsed.request.settings.nothing_below
    if not results and matches.has_identifier is not None:
        return Selection([], _strongest(ranking.candidates))
    strongest = _strongest(results) if _is_decided(parsed, retrieval) else None
    if strongest is not None and strongest.confidence < least and not matches.has_identifier:
        return Selection([], strongest)
    return Selection(_without_zeros(_scaled_to_best(results), least), weak=weak)


def strongest_confidence(
    parsed: ParsedRequest, retrieval: Retrieval, ranking: Ranking, unfiltered: bool
) -> float | None:
    """Return the best confidence of the notes that decide whether anything is found, in [0, 1].

    None if undecided: there is a filter, a lane is missing, or there are no notes at all. For a query of
    identifiers, which have no meaning, the semantic lane is not missing.
    """
    best = _strongest(_eligible(parsed, ranking))
    return best.confidence if best is not None and unfiltered and _is_decided(parsed, retrieval) else None


def _is_decided(parsed: ParsedRequest, retrieval: Retrieval) -> bool:
    by_word = parsed.request.mode == "hybrid" and parsed.profile.pure_identifier
    return retrieval.keyword is not None and (retrieval.unexpanded is not None or by_word)


def _eligible(parsed: ParsedRequest, ranking: Ranking) -> list[Candidate]:
    """Return the candidates that may be results, in order: with the query's identifier and the minimum
    confidence."""
    matches, least = ranking.matches, parsed.request.settings.min_confidence
    may_be = (matches.eligible & (matches.confidence >= least)).tolist()
    return [each for each in ranking.candidates if may_be[each.row]]


def _without_zeros(results: list[Candidate], least: float) -> list[Candidate]:
    """Cut the list after the last note with a score or a confidence of at least ``least``."""
    end = len(results)
    while end and results[end - 1].score < NO_SCORE and results[end - 1].confidence < least:
        end -= 1
    return results[:end]


def _strongest(results: Sequence[Candidate]) -> Candidate | None:
    return max(results[:JUDGED_NOTES], key=lambda each: each.confidence, default=None)


def _scaled_to_best(results: list[Candidate]) -> list[Candidate]:
    """Divide by the best remaining score, in case better notes were dropped."""
    best = results[0].score if results else 1.0
    if best in (0.0, 1.0):
        return results
    return [each._replace(score=each.score / best, best=each.best * best) for each in results]


def certainties_of(
    judged: Sequence[Candidate], shown: Sequence[Candidate], ranking: Ranking, *, weak: bool
) -> dict[int, float]:
    """Return the certainty of each note ``shown``, by id, never above that of the note before it.

    Notes are ``judged`` in their order without earlier opens, since no note is less certain because another
    one was opened before.
    """
    rows = np.array([each.row for each in judged], np.int64)
    notes = ranking.notes
    # A link with a better note says nothing about a note by itself.
    joined = notes.figures.get("joined", np.ones(len(notes)))
    scores = np.array([each.score for each in judged]) / joined[rows]
    confidences, doubtful = ranking.matches.confidence[rows], notes.fact("misnamed")[rows] > 0
    certain = certainties(scores, confidences, weak=weak, doubtful=doubtful)
    by_note = dict(zip(notes.ids[rows].tolist(), certain, strict=True))
    ids = [each.about.id for each in reversed(shown)]
    return dict(zip(ids, accumulate((by_note.get(id, 0.0) for id in ids), max), strict=True))


def certainties(
    scores: Sequence[float] | Floats,
    confidences: Sequence[float] | Floats,
    *,
    weak: bool,
    doubtful: Bools | bool = False,
) -> list[float]:
    """Return the certainty of each note, in [0, 1], never above that of the note before it.

    ``scores`` are shares of the best one. Notes after the first ten do not affect those above. ``doubtful``:
    which notes only have a word like the query's.
    """
    logits, leads = features(scores, confidences).T
    values = 1 / (1 + np.exp(-(INTERCEPT + CONFIDENCE_SLOPE * logits + LEAD_SLOPE * leads)))
    values = np.minimum(values, np.where(doubtful, DOUBTFUL_CERTAINTY, 1.0))
    certain: list[float] = np.minimum.accumulate(np.minimum(values, WEAK_CERTAINTY if weak else 1.0)).tolist()
    return certain


def features(scores: Sequence[float] | Floats, confidences: Sequence[float] | Floats) -> Floats:
    """Return the two inputs of each note's certainty, float64[n, 2]: the logit of its confidence, and its
    lead.

    The lead is the score minus the mean of the best scores; missing notes count as 0.
    """
    inside = np.clip(confidences, _LEAST_CONFIDENCE, 1 - _LEAST_CONFIDENCE)
    leads = np.asarray(scores) - np.sum(scores[:JUDGED_NOTES]) / JUDGED_NOTES
    return np.column_stack([np.log(inside / (1 - inside)), leads])


# -- notes that were opened from the same query before

EXAMINATION = 0.7
HALF_LIFE_SECONDS = 42 * 86_400.0
MOST_OF_ONE = 3.0
"""Maximum count of one open, so that three other opens outweigh it."""
PRIOR = 4.0
"""Number of neutral opens with which a note starts."""
NEAR_COSINE = 0.75
"""Cosine at or above which two queries mean the same."""
AGENT_WEIGHT = 0.5
"""Weight of opens by an agent, which looks at more notes than it needs."""
AGENTS = ("vaultseek.mcp",)


def evidence(opens: Iterable[Open], now: float) -> dict[str, float]:
    """Return, by path, the share in [0, 1] to which a note was opened rather than passed over; zeros are left
    out."""
    opened: dict[str, float] = {}
    times: dict[str, float] = {}
    for each in opens:
        weight = 0.5 ** (max(0.0, now - each.time) / HALF_LIFE_SECONDS)
        if each.client in AGENTS:
            weight *= AGENT_WEIGHT
        opened[each.path] = opened.get(each.path, 0.0) + weight * min(
            max(1, each.position) ** EXAMINATION, MOST_OF_ONE
        )
        times[each.path] = times.get(each.path, 0.0) + weight
    total = sum(times.values())
    passed = {note: total - own for note, own in times.items()}
    return {
        note: (value - passed[note]) / (value + passed[note] + PRIOR)
        for note, value in opened.items()
        if value > passed[note]
    }


def opened_before(parsed: ParsedRequest, retrieval: Retrieval, ledger: Ledger) -> dict[str, float]:
    """Return, by path, the gain, as a share of the best score, of notes pinned to this query or opened from
    it or a similar one."""
    text = parsed.query.rank_text
    pinned = {row.path: PINNED_GAIN for row in ledger.notes.by_id(sorted(pinned_to(text, ledger))).values()}
    if not (parsed.request.settings.learn and text and ledger.keeps_opens):
        return pinned
    now, words, answer = time.time(), words_of(text), retrieval.unexpanded
    same = evidence(ledger.opens.matching([words]), now)
    near: list[str] = []
    if answer is not None and answer.model:
        near = ledger.opens.near(Meaning(answer.model, answer.vector), NEAR_COSINE)
    like = evidence(ledger.opens.matching([words, *near], text if parsed.is_unfinished else ""), now)
    gains = {path: OPENED_GAIN * share for path, share in like.items()}
    gains |= {path: max(SAME_QUERY_GAIN * share, gains.get(path, 0.0)) for path, share in same.items()}
    return gains | pinned


def raised(results: Sequence[Candidate], gains: Mapping[str, float]) -> Sequence[Candidate]:
    """Return the results in their new order, with their gains by earlier opens.

    No note is lost, and all other notes keep their scores.
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
