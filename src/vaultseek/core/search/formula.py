"""The ranking formula: arithmetic on numbers and columns, with each constant next to what it weighs.

In the order in which a search uses it:

1. **A lane's score of a note**: by word (:func:`keyword_score`), on a scale that measures the distance from
   chance (:func:`keyword_scale`), and by meaning (:func:`semantic_score`).
2. **Trust** in each lane (:func:`keyword_trust`, :func:`semantic_trust`).
3. **Fusion**: ``weight / (k + rank)`` (weighted reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR
   2009), where the rank preserves the distance between two scores (:func:`interpolated_rank`). A p-norm
   between sum and maximum joins the lanes (:func:`agreement`; Lee, *Combining multiple evidence*, SIGIR 1995,
   compares both ends). The alternative is a weighted mean of min-max normalised scores (:func:`normalized`).
4. **Links** (:func:`link_evidence`, :func:`joined_score`), and the other signals of ``signals.py``.
5. **Confidence**, separate from the score: the probability that a note answers the query, regardless of the
   other notes (:func:`confidence`).

BM25F is in ``store/keyword/bm25f.py``, the weights of query terms in ``query_terms.py`` and ``searcher.py``
next to it. ``docs/ranking.md`` explains what each part contributes and how the constants were chosen;
``scripts/bench_constants.py`` measures other values.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.models.calibration import DEFAULT

Floats = NDArray[np.floating[Any]]
Number = TypeVar("Number", float, Floats)

SCALE_NOTES = 200
"""Number of best notes of a lane that determine its scale. The lane knows the scores of these notes, even if
only another lane proposes them."""
ROUNDING = 1e-6
"""Cosines with a standard deviation below this count as equal. It is the rounding error of float32."""
KEYWORD_PASSAGE_SHARE = 0.35
"""Weight of the best passage in a keyword score, because a single section of a long note may be the
answer."""
PROXIMITY_WEIGHT = 0.2
"""Weight of two query words near each other, relative to the weight of each word."""
SEMANTIC_PASSAGE_SHARE = 0.4
"""Weight of the best passage in a semantic score; the rest is the weight of the note's own vector."""
SEMANTIC_SOFTNESS = 2.0
"""Softness of the maximum of a passage's and a note's cosine, in standard deviations of the passages'
cosines. If the difference is larger, the smaller cosine hardly counts."""

CERTAIN_DEVIATIONS = 4.0
"""A keyword score that singles out one note counts as much as a semantic score that is this many standard
deviations above the other scores."""
MOST_TRUST = 1.25
"""Maximum trust in the keyword lane, for matches far beyond chance, such as many words of a long question."""
WHOLE_QUERY = 0.9
"""Share of the query's words, by idf, that counts as the whole query."""
CHANCE_NORM = 0.5
"""Amount added to the exponent p of the norm if words may match by chance. With p = 1 the norm is the plain
sum."""
READING_EXPONENT = 3
"""Exponent applied to the share of a query that the model reads. Above 1, because the model understands less
than it reads."""
LEAST_MEANING = 0.05
"""Trust in the semantic lane for a query that the model cannot read at all. It is above zero, because results
need an order even if no word matches."""

RANKS_PER_DEVIATION = 3.0
"""Distance in ranks between two scores that are one standard deviation apart."""
JUDGED_NOTES = 10
"""Number of best notes that decide whether anything was found."""
LEADING_NOTES = 10
"""Number of best notes of each lane that are ranked whatever the limit is. Their neighbours may be added."""
RANKED_NOTES = 60
"""Minimum number of notes that are ranked: the best ones of all lanes together. With a minimum, the order
does not depend on the limit."""
TIME_NOTES = 2000
"""Number of notes that each lane retrieves for a question that names a time. Hundreds of notes may match the
question's other words."""
GRAPH_GAIN = 0.8
"""Maximum gain by links of a note found directly, as a share of the best score."""
GRAPH_CEILING = 0.45
"""Maximum score of a note found only by links, as a share of the best score."""
GRAPH_BELOW_LEADER = 0.99
"""Maximum score of a note found only by links, as a share of the score of each direct lane's first note."""
JOINED_GAIN = 1.0
"""Maximum gain of a note linked to a better note, as a share of its own score, if the two notes together have
all words of the query."""
CONTEXT_SHARE = 0.6
"""Weight of the words around a link in the evidence for a neighbour; the rest is the weight of the
neighbour's title and headings."""
FIRST_NEIGHBOUR_SHARE = 0.05
"""Minimum share of the query's words assumed around a link with the first note. The first note's neighbours
matter even if the link's context has none of the words."""
BELOW_OWN_WORDS = 0.99
"""Maximum score of a note whose name has only another word with the query's stem. It is a share of the lowest
score among the notes that have the query's word itself."""
EXACT_NAME_STEP = 0.05
"""Lead of a note whose name is the query, as a share of the best score. If the query is still being typed, a
note whose name begins with it has twice this lead."""

PINNED_GAIN = 2.0
"""Gain of a note that is pinned to the query, as a share of the best score; the largest of all gains."""
SAME_QUERY_GAIN, OPENED_GAIN = 1.4, 0.2
"""Maximum gains, as shares of the best score, of a note opened before from the same query, and from a similar
query. The second is roughly the difference between two notes one standard deviation apart in the better
lane."""

RECENCY_SHARE = 0.25
"""Share of a score to which the factor for a note's age applies. The best scores are close together: a change
of a tenth of the whole score would move a note by several places."""

MEANING_CURVE = DEFAULT.meaning_curve
WORDS_CURVE = (-5.0, 6.8)
"""Intercept and slope of the logistic curves from cosine and from coverage to confidence. They are fitted on
the development sets, with questions from other sets as questions without an answer. The curve for cosines is
for the bundled model; other models have their own (``semantic/models/calibration.py``)."""
EXACT_NAME_CONFIDENCE = 0.95
"""Minimum confidence of a note whose title, alias or file name is the query."""
MISNAMED_CONFIDENCE = 0.3
"""Maximum confidence of a note whose name is another word with the query's stem."""
PREFIX_NAME_CONFIDENCE = 0.5
"""Minimum confidence of a note whose title, alias or file name begins with a query that is being typed."""
NEAR_MEANING, NEAR_COVERAGE = 0.047, 0.55
"""Minimum confidence by meaning alone, and minimum share of the query's words, weighted by idf. If none of
the best notes reaches either minimum, the answer is weak. One common word out of several stays below the
minimum."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The standard deviation and the ``minimum`` of a lane's best scores. All other notes are assumed to have
    the minimum.
    """

    deviation: float
    minimum: float


def scale_of(scores: Sequence[float] | Floats) -> Scale:
    """Return the scale of finite scores. If there are none, return a scale on which all scores are equal."""
    values = np.asarray(scores, np.float64)
    if not len(values):
        return Scale(0.0, 0.0)
    minimum, peak = float(values.min()), float(np.abs(values).max())
    if not peak or minimum == values.max():
        return Scale(0.0, minimum)
    # Divided by the largest, so that nothing overflows when it is added up or squared.
    return Scale(float((values / peak).std()) * peak, minimum)


def keyword_score(note: Number, passage: Number, proximity: Number) -> Number:
    """Combine BM25F of the whole note, BM25F of its best passage, and the proximity bonus; each a number or
    an array over notes."""
    whole: Number = (1 - KEYWORD_PASSAGE_SHARE) * note + KEYWORD_PASSAGE_SHARE * passage
    combined: Number = whole + PROXIMITY_WEIGHT * proximity
    return combined


def semantic_score(passages: Floats, notes: Floats, deviation: float) -> Floats:
    """Combine the cosines of the best passages and of the notes' own vectors by a soft maximum, since one of
    the two is enough for an answer. ``deviation``: the standard deviation of the passages' cosines."""
    unit = SEMANTIC_SOFTNESS * deviation
    by_passage = math.log(SEMANTIC_PASSAGE_SHARE) + passages / unit
    by_note = math.log(1 - SEMANTIC_PASSAGE_SHARE) + notes / unit
    score: Floats = unit * np.logaddexp(by_passage, by_note)
    return score


def keyword_scale(scores: Sequence[float] | Floats, population: float, few: float = 0.0) -> Scale:
    """Return the scale of ``scores``, the best keyword scores of ``population`` notes, in descending order.

    The unit of the scale does not depend on the other scores. Otherwise, notes that have a word by chance
    would be far above the rest. If few notes have the whole query, the best score counts as much as a score
    that singles out one note, even if it is low. ``few`` is :func:`certainty_of_few`.
    """
    minimum = scores[SCALE_NOTES - 1] if len(scores) >= SCALE_NOTES else 0.0
    singled_out = math.log(max(population, 2))
    if few > 0 and len(scores):
        singled_out = min(singled_out, scores[0] / few)
    return Scale(singled_out / CERTAIN_DEVIATIONS, minimum)


def keyword_trust(certainty: float) -> float:
    """Return the trust in the keyword lane, in [0, 1.25]."""
    return min(MOST_TRUST, certainty)


def agreement_norm(rarity: float) -> float:
    """Return the exponent p for :func:`agreement`. It is close to 1 for rare words, and larger for words that
    a note may have by chance, so that these add little to the note's semantic score."""
    return 1 + CHANCE_NORM / max(1.0, rarity) ** 3


def agreement(gains: Sequence[Floats], norm: float) -> Floats | float:
    """Return the p-norm of each note's gains by lane, as a share of their sum, in (0, 1]; 1 for 0."""
    if norm == 1.0 or not gains:
        return 1.0
    total: Floats = sum(gains[1:], gains[0])
    divisor = np.where(total > 0, total, 1.0)
    powers: Floats = sum(((gain / divisor) ** norm for gain in gains), np.zeros(len(total)))
    return np.where(total > 0, powers ** (1 / norm), 1.0)


def chance_population(population: int, notes: int) -> float:
    """Return the population that counts for words in a language with only this many ``notes``. A word of that
    language is rare in the vault mainly because the language is rare: only ``ln(1 + notes)`` of
    ``ln(population)`` distinguishes these notes."""
    everything = max(population, 2)
    share = math.log(1 + notes) / math.log(everything)
    return float(everything ** (1 / min(share, 1.0)))


def rarity(idf: float, population: float) -> float:
    """Return the rarity of words with this sum of ``idf``: 1 for an idf of ``ln(population)``, at which about
    one note has the words by chance."""
    return idf / math.log(max(population, 2))


def certainty_of_few(notes: int, population: float) -> float:
    """Return, in [0, 1.25], the certainty that follows from the number of ``notes`` with the whole query. It
    is higher for fewer notes."""
    if not notes:
        return 0.0
    everything = max(population, 2)
    return MOST_TRUST * max(0.0, 1 - math.log(notes) / math.log(everything))


def interpolated_rank(scores: Floats, best: float, scale: Scale) -> Floats:
    """Return a rank, 1 for the best, that preserves the distance between scores."""
    if scale.deviation <= 0:
        return np.ones(len(scores))
    behind = best / scale.deviation - scores / scale.deviation
    ranks: Floats = 1.0 + RANKS_PER_DEVIATION * np.maximum(0.0, behind)
    return ranks


def reciprocal_rank(weight: float, k: float, rank: Number) -> Number:
    """Return ``weight / (k + rank)``."""
    return weight / (k + rank)


def semantic_trust(reading: float, distinction: float) -> float:
    """Return the trust in the semantic lane, in [0, 1]. It is low for text that the model cannot read,
    because such text has a meaningless vector.

    ``reading`` is :func:`vaultseek.semantic.models.calibration.share_read`, ``distinction`` is
    :func:`distinction`.
    """
    return float(min(max(reading**READING_EXPONENT, LEAST_MEANING), 1.0) * distinction)


def distinction(scores: Floats) -> float:
    """Return how far the best of these scores stands out, in [0, 1].

    1 means as far as the highest of n values from a normal distribution, which is about ``sqrt(2 ln n)``
    standard deviations above their mean.
    """
    deviation = float(scores.std()) if len(scores) > 2 else 0.0
    if deviation <= ROUNDING:
        return 1.0
    return min(1.0, float(scores.max() - scores.mean()) / deviation / math.sqrt(2 * math.log(len(scores))))


def normalized(scores: Floats, best: float, minimum: float) -> Floats:
    """Return the min-max normalised scores; 1 if all scores are equal."""
    width = best / 2 - minimum / 2  # halves, so that no pair of floats overflows
    if width <= 0:
        return np.ones(len(scores))
    shares: Floats = np.maximum(0.0, (scores / 2 - minimum / 2) / width)
    return shares


def link_contributions(weight: float, evidence: Floats, best: float, direct: NDArray[np.bool_]) -> Floats:
    """Return the gains of notes by links; notes found directly (``direct``) have a larger limit."""
    contributions: Floats = weight * evidence * np.where(direct, GRAPH_GAIN, GRAPH_CEILING) * best
    return contributions


def link_bound(best: float, leaders: Floats, highest: float) -> float:
    """Return the factor for notes found only by links. ``best`` is the best score of a direct hit,
    ``leaders`` are the scores of the direct lanes' first notes, and ``highest`` is the highest score of the
    notes found only by links."""
    limit = min([GRAPH_CEILING * best, *(GRAPH_BELOW_LEADER * leaders).tolist()])
    return float(min(1.0, limit / highest))


def joined_score(score: Floats, share: Floats, better: Floats) -> Floats:
    """Return the raised scores of notes that are linked to a better note; ``better`` has that note's score,
    and the raised score stays below it. The gain depends on ``share``: the strength of the link times the
    share of the query's words that the two notes have together."""
    raised = np.minimum(score * (1 + JOINED_GAIN * share), GRAPH_BELOW_LEADER * better)
    joined: Floats = np.maximum(score, raised)
    return joined


def shown_score(values: Floats, best: float) -> Floats:
    """Return scores as shares of the best one; 1 if all are 0."""
    return np.minimum(values / best, 1.0) if best > 0 else np.ones(len(values))


def exact_name_score(score: Number, best: float) -> Number:
    """Return the scores of notes whose name is the query: above the ``best`` score, in their own order."""
    return best * (1 + EXACT_NAME_STEP) + EXACT_NAME_STEP * score


def prefix_name_score(order: Floats, best: float) -> Floats:
    """Return scores for notes whose name begins with the query. They are above all other scores, and sorted
    by ``order``, which decreases from 1 for the first of these notes."""
    return best * (1 + EXACT_NAME_STEP * (1 + order))


def link_strength(score: float, seed_degree: int, neighbour_degree: int) -> float:
    """Return the part of a note's ``score`` that a linked note gets. Many links of either note reduce it."""
    return score * _hub_damping(seed_degree) * _hub_damping(neighbour_degree)


def link_evidence(strength: float, context: float, own: float, *, of_first: bool = False) -> float:
    """Combine a link's strength with the query words around the link and in the neighbour's own names.
    ``of_first`` is true if the link joins the neighbour to the first note."""
    share = CONTEXT_SHARE * context + (1 - CONTEXT_SHARE) * own
    return strength * (max(share, FIRST_NEIGHBOUR_SHARE) if of_first else share)


def recency_gain(age_days: Floats, tiers: Iterable[tuple[float, float]]) -> Floats:
    """Return the gain for an age: the factor of the first tier (days, factor) that contains it, minus 1. The
    gain is 0 for an age beyond all tiers, unknown (NaN) or in the future."""
    gains = np.zeros(len(age_days))
    for days, factor in reversed([*tiers]):
        gains[(age_days <= days) & (age_days >= -1.0)] = factor - 1.0
    return gains


def name_share(of_query: float, of_name: float) -> float:
    """Return how well a name matches the query: by the matched words' share of the query and, less important,
    of the name."""
    return of_query**2 * math.sqrt(of_name)


def confidence(
    cosines: Floats,
    coverages: Floats,
    meaning_curve: tuple[float, float] = MEANING_CURVE,
    reading: float = 1.0,
) -> Floats:
    """Return the probabilities in [0, 1] that notes answer the query. A NaN in ``cosines`` or ``coverages``
    marks a note that the lane does not know.

    Either is enough: a passage of the same meaning (its cosine), or most of the query's words by idf (their
    coverage). The result is 1 minus the product of both error probabilities. Meaning counts by the share of
    the query that the model reads, because some passage is always nearest to a vector of random letters.
    """
    wrong: Floats = (1 - reading * _logistic(meaning_curve, cosines)) * (
        1 - _logistic(WORDS_CURVE, coverages)
    )
    return 1 - wrong


def is_near(
    cosines: Floats,
    coverages: Floats,
    meaning_curve: tuple[float, float] = MEANING_CURVE,
    reading: float = 1.0,
) -> NDArray[np.bool_]:
    """Return a mask of the notes that are near in meaning or have many of the query's words; for the
    arguments see :func:`confidence`."""
    by_meaning = reading * _logistic(meaning_curve, cosines) >= NEAR_MEANING
    near: NDArray[np.bool_] = by_meaning | (np.nan_to_num(coverages) >= NEAR_COVERAGE)
    return near


@lru_cache(maxsize=1024)
def _hub_damping(degree: int) -> float:
    return 1.0 / math.sqrt(1.0 + math.log1p(degree))


def _logistic(curve: tuple[float, float], values: Floats) -> Floats:
    probabilities = 1 / (1 + np.exp(-(curve[0] + curve[1] * values)))
    return np.where(np.isnan(values), 0.0, probabilities)
