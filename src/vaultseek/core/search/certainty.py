"""Certainty: how likely each note of a list is right, as people read it: of four at 0.75, three are right.

A score compares the notes of one answer, and the confidence judges a note by itself. A right note found by
meaning alone has little confidence, but stands out from the others. So the certainty is a logistic curve over
both: the confidence, and how far the score is above the mean of the ten best. It falls as the order does.
"""

import math
from collections.abc import Collection, Sequence
from itertools import accumulate

JUDGED_NOTES = 10
"""Best notes whose confidence decides whether anything was found."""
INTERCEPT, CONFIDENCE_SLOPE, LEAD_SLOPE = -1.80, 0.45, 8.57
"""Fitted on the development halves of the judged sets by ``scripts/fit_certainty.py``."""
DOUBTFUL_CERTAINTY = 0.5
"""Maximum certainty of a note that has only another word with the same stem as the query."""
WEAK_CERTAINTY = 0.25
"""Most that the notes of a weak answer have."""
LESS_CERTAIN = 0.04
"""Certainty below which a note is one of the less certain ones, which lists fold."""
_LEAST_CONFIDENCE = 0.001


def certainties(
    scores: Sequence[float],
    confidences: Sequence[float],
    *,
    weak: bool,
    doubtful: Collection[int] = (),
) -> list[float]:
    """Return the certainty of each note, in [0, 1]; none is above that of the note before it.

    The ``scores`` are shares of the best one. Notes after the first ten change nothing above them.
    ``doubtful`` are the places, from 0, of notes that have only a word like the query's.
    """
    most = WEAK_CERTAINTY if weak else 1.0
    leads = features(scores, confidences)
    capped = (
        min(most, DOUBTFUL_CERTAINTY if place in doubtful else 1.0, _certainty(*each))
        for place, each in enumerate(leads)
    )
    return [*accumulate(capped, min)]


def features(scores: Sequence[float], confidences: Sequence[float]) -> list[tuple[float, float]]:
    """Return what the certainty of each note follows from: the logit of its confidence, and its lead.

    The lead is the score less the mean of the best, in which missing notes count as 0.
    """
    mean = sum(scores[:JUDGED_NOTES]) / JUDGED_NOTES
    return [(_logit(own), score - mean) for score, own in zip(scores, confidences, strict=True)]


def less_certain(certainties: Sequence[float]) -> int:
    """Return how many notes at the end of a list are less certain; the first one never is."""
    return sum(certainty < LESS_CERTAIN for certainty in certainties[1:])


def _certainty(logit: float, lead: float) -> float:
    return 1 / (1 + math.exp(-(INTERCEPT + CONFIDENCE_SLOPE * logit + LEAD_SLOPE * lead)))


def _logit(confidence: float) -> float:
    inside = min(max(confidence, _LEAST_CONFIDENCE), 1 - _LEAST_CONFIDENCE)
    return math.log(inside / (1 - inside))
