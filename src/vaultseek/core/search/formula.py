"""The ranking formula: arithmetic on numbers and columns, with each constant next to the value that it
weights.

The formula's parts, in the order in which a search uses them:

1. **A lane's score for a note**: by words (:func:`keyword_score`), on a scale that measures the distance from
   chance (:func:`keyword_scale`), and by meaning (:func:`semantic_score`).
2. **Trust** in each lane (:func:`keyword_trust`, :func:`semantic_trust`).
3. **Fusion**: ``weight / (k + rank)`` (weighted reciprocal rank fusion: Cormack, Clarke and Büttcher, SIGIR
   2009), where the rank preserves the distance between two scores (:func:`interpolated_rank`). A p-norm
   between sum and maximum joins the lanes (:func:`agreement`; Lee, *Combining multiple evidence*, SIGIR 1995,
   compares both extremes). The alternative is a weighted mean of min-max normalised scores
   (:func:`normalized`).
4. **Links** (:func:`link_evidence`, :func:`joined_score`), and the other signals in ``signals.py``.
5. **Confidence**, separate from the score: the probability that a note answers the query, regardless of the
   other notes (:func:`confidence`).

BM25F is in ``store/keyword/bm25f.py``; the weights of query terms are in ``query_terms.py`` and
``searcher.py`` next to it. ``docs/ranking.md`` explains what each part contributes and how the constants were
chosen; ``scripts/bench_constants.py`` measures other values.
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
"""Number of a lane's best notes that determine the scale of its scores. Every lane retrieves at least this
many notes."""
ROUNDING = 1e-6
"""Standard deviation below which all cosines count as equal: the rounding error of float32."""
KEYWORD_PASSAGE_SHARE = 0.35
"""Weight of a note's best passage in its keyword score, because one section of a long note may be the
answer."""
PROXIMITY_WEIGHT = 0.2
"""Weight of two query words that occur near each other, relative to the weight of each word."""
SEMANTIC_PASSAGE_SHARE = 0.4
"""Weight of a note's best passage in its semantic score; the note's own vector has the rest of the weight."""
SEMANTIC_SOFTNESS = 2.0
"""Softness of the soft maximum of two cosines: the passage's and its note's. The unit is the standard
deviation of the passages' cosines. If the two cosines differ by more than this, the smaller one hardly
counts."""

CERTAIN_DEVIATIONS = 4.0
"""Number of standard deviations by which a semantic score must stand out to count as much as a keyword score
that singles out one note."""
MOST_TRUST = 1.25
"""Maximum trust in the keyword lane, for matches far beyond chance, such as many words of a long question."""
WHOLE_QUERY = 0.9
"""Minimum share of the query's words, weighted by idf, that counts as the whole query."""
CHANCE_NORM = 0.5
"""Amount added to the exponent p of the norm if words may match by chance; with p = 1 the norm is a plain
sum."""
READING_EXPONENT = 3
"""Exponent applied to the share of a query that the model reads. It is above 1, because the model understands
less than it reads."""
LEAST_MEANING = 0.05
"""Trust in the semantic lane for a query that the model cannot read at all. It is above zero, because results
need an order even if no word matches."""

RANKS_PER_DEVIATION = 3.0
"""Distance in ranks between two scores that are one standard deviation apart."""
JUDGED_NOTES = 10
"""Number of best notes that decide whether a search has found anything."""
LEADING_NOTES = 10
"""Number of each lane's best notes that are always ranked, whatever the limit. Their linked neighbours may be
added."""
RANKED_NOTES = 60
"""Minimum number of notes to rank, taken from the best of all lanes together. With a minimum, the order of
results does not depend on the limit."""
TIME_NOTES = 2000
"""Number of notes that each lane retrieves for a question that names a time. Hundreds of notes may match the
other words of the question."""
GRAPH_GAIN = 0.8
"""Maximum gain from links for a note that a direct lane found, as a share of the best score."""
GRAPH_CEILING = 0.45
"""Maximum score of a note that was found only by links, as a share of the best score."""
GRAPH_BELOW_LEADER = 0.99
"""Maximum score of a note found only by links, as a share of the score of each direct lane's first note."""
JOINED_GAIN = 1.0
"""Maximum gain of a note linked to a better note, as a share of the note's own score. The maximum is reached
if the two notes together have all words of the query."""
CONTEXT_SHARE = 0.6
"""Weight of the words around a link as evidence for the linked note; the rest is the weight of that note's
title and headings."""
FIRST_NEIGHBOUR_SHARE = 0.05
"""Minimum share of the query's words assumed around a link to or from the first note. Neighbours of that note
matter even if the text around the link has none of the words."""
BELOW_OWN_WORDS = 0.99
"""Maximum score of a note that has another word with the stem of a query word, as a share of the lowest score
among notes that have the word itself or a word derived from it; or of a note that lacks the query's codes, as
a share of the best score among notes that have them."""
DERIVED_LOSS = 0.4
"""Loss of a note that has only words derived from the query's words, as a share of its score, if other notes
have the words themselves."""
CODE_EXPONENT = 4
"""Exponent for notes without the query's codes. Their scores are multiplied by the other words' share of the
query to this power: by 1/16 if the codes are half of the query, by .66 if they are a tenth."""
CODE_WORDS = 10
"""Maximum number of words in a query whose codes affect the order. In a longer one, a code may be
incidental."""
EXACT_NAME_STEP = 0.05
"""Lead of a note whose name is the query, as a share of the best score. While a query is being typed, a note
whose name begins with the query has twice this lead."""

PINNED_GAIN = 2.0
"""Gain of a note pinned to the query, as a share of the best score; it is the largest of all gains."""
SAME_QUERY_GAIN, OPENED_GAIN = 1.4, 0.2
"""Maximum gains of a note that was opened before: from the same query, and from a similar query. Both gains
are shares of the best score. The second gain is roughly the difference between two notes whose scores in a
trusted lane are one standard deviation apart."""

RECENCY_SHARE = 0.25
"""Share of a score to which the recency factor applies. The best scores are close together: a change of a
tenth of the whole score would move a note by several ranks."""

MEANING_CURVE = DEFAULT.meaning_curve
WORDS_CURVE = (-5.0, 6.8)
"""Intercept and slope of the logistic curve from word coverage to confidence; ``MEANING_CURVE`` is the curve
for cosines.

Both curves are fitted on the development sets, with questions from other sets as unanswerable questions.
``MEANING_CURVE`` is for the bundled model; other models have their own curves
(``semantic/models/calibration.py``).
"""
EXACT_NAME_CONFIDENCE = 0.95
"""Minimum confidence of a note whose title, alias or file name is the query."""
OTHER_WORDS, OTHER_WORDS_CONFIDENCE = 0.5, 0.3
"""Share of the query's words, weighted by idf, at which a note with other words of the same stems is in
doubt, and the maximum confidence of such a note."""
PREFIX_NAME_CONFIDENCE = 0.5
"""Minimum confidence of a note whose title, alias or file name begins with a query that is being typed."""
NEAR_MEANING, NEAR_COVERAGE = 0.047, 0.55
"""Minimum confidence from meaning alone, and minimum share of the query's words, weighted by idf.

If none of the best notes reaches either minimum, the answer is weak. A note with only one common word out of
several query words does not reach the second minimum.
"""


@dataclass(frozen=True, slots=True)
class Scale:
    """Scale of a lane's scores: the standard deviation and the minimum of the lane's best scores.

    All other notes are assumed to have the minimum.
    """

    deviation: float
    minimum: float


def scale_of(scores: Sequence[float] | Floats) -> Scale:
    """Return the scale of finite scores. Without scores, return a scale on which all scores are equal."""
    values = np.asarray(scores, np.float64)
    if not len(values):
        return Scale(0.0, 0.0)
    minimum, peak = float(values.min()), float(np.abs(values).max())
    if not peak or minimum == values.max():
        return Scale(0.0, minimum)
    # Divide by the largest value, so that sums and squares do not overflow.
    return Scale(float((values / peak).std()) * peak, minimum)


def keyword_score(note: Number, passage: Number, proximity: Number) -> Number:
    """Combine three keyword scores of a note: BM25F of the whole note, BM25F of its best passage, and the
    proximity bonus.

    Each argument is a number or an array over notes.
    """
    whole: Number = (1 - KEYWORD_PASSAGE_SHARE) * note + KEYWORD_PASSAGE_SHARE * passage
    combined: Number = whole + PROXIMITY_WEIGHT * proximity
    return combined


def semantic_score(passages: Floats, notes: Floats, deviation: float) -> Floats:
    """Combine the cosines of the best passages and of the notes' own vectors by a soft maximum.

    A high cosine of either the passage or the note is enough. ``deviation`` is the standard deviation of the
    passages' cosines.
    """
    unit = SEMANTIC_SOFTNESS * deviation
    by_passage = math.log(SEMANTIC_PASSAGE_SHARE) + passages / unit
    by_note = math.log(1 - SEMANTIC_PASSAGE_SHARE) + notes / unit
    score: Floats = unit * np.logaddexp(by_passage, by_note)
    return score


def keyword_scale(scores: Sequence[float] | Floats, population: float, few: float = 0.0) -> Scale:
    """Return the scale of the keyword lane's scores.

    ``scores`` are the best keyword scores among ``population`` notes, in descending order. The scale's unit
    does not depend on the lower scores; if it did, notes that have a word by chance would be far above the
    rest. If few notes have the whole query, the best score counts as much as a score that singles out one
    note, even if the best score is low. ``few`` is the result of :func:`certainty_of_few`.
    """
    minimum = scores[SCALE_NOTES - 1] if len(scores) >= SCALE_NOTES else 0.0
    singled_out = math.log(max(population, 2))
    if few > 0 and len(scores):
        singled_out = min(singled_out, scores[0] / few)
    return Scale(singled_out / CERTAIN_DEVIATIONS, minimum)


def keyword_trust(certainty: float) -> float:
    """Return the trust in the keyword lane, from 0 to 1.25."""
    return min(MOST_TRUST, certainty)


def agreement_norm(rarity: float) -> float:
    """Return the exponent p for :func:`agreement`, given the rarity of the matched words.

    p is close to 1 for rare words, and larger for words that a note may have by chance, so that such words
    add little to the note's semantic score.
    """
    return 1 + CHANCE_NORM / max(1.0, rarity) ** 3


def agreement(gains: Sequence[Floats], norm: float) -> Floats | float:
    """Return the p-norm of each note's gains from all lanes, as a share of their sum, in (0, 1]; 1 if all
    gains are 0.
    """
    if norm == 1.0 or not gains:
        return 1.0
    total: Floats = sum(gains[1:], gains[0])
    divisor = np.where(total > 0, total, 1.0)
    powers: Floats = sum(((gain / divisor) ** norm for gain in gains), np.zeros(len(total)))
    return np.where(total > 0, powers ** (1 / norm), 1.0)


def chance_population(population: int, notes: int) -> float:
    """Return the effective vault size for words in a language in which only ``notes`` notes are written.

    A word in that language is rare in the vault mainly because the language is rare: only ``ln(1 + notes)``
    out of ``ln(population)`` distinguishes notes in the language from each other.
    """
    everything = max(population, 2)
    share = math.log(1 + notes) / math.log(everything)
    return float(everything ** (1 / min(share, 1.0)))


def rarity(idf: float, population: float) -> float:
    """Return the rarity of words whose idf values add up to ``idf``.

    The rarity is 1 if ``idf`` is ``ln(population)``: about one note then has the words by chance.
    """
    return idf / math.log(max(population, 2))


def certainty_of_few(notes: int, population: float) -> float:
    """Return the certainty of a match, from 0 to 1.25, given the number of notes that have the whole query.

    The certainty is higher for fewer notes.
    """
    if not notes:
        return 0.0
    everything = max(population, 2)
    return MOST_TRUST * max(0.0, 1 - math.log(notes) / math.log(everything))


def interpolated_rank(scores: Floats, best: float, scale: Scale) -> Floats:
    """Return ranks that preserve the distances between the scores; the best score has rank 1."""
    if scale.deviation <= 0:
        return np.ones(len(scores))
    behind = best / scale.deviation - scores / scale.deviation
    ranks: Floats = 1.0 + RANKS_PER_DEVIATION * np.maximum(0.0, behind)
    return ranks


def reciprocal_rank(weight: float, k: float, rank: Number) -> Number:
    """Return ``weight / (k + rank)``."""
    return weight / (k + rank)


def semantic_trust(reading: float, distinction: float) -> float:
    """Return the trust in the semantic lane, from 0 to 1.

    It is low for text that the model cannot read, because the vector of such text is meaningless. ``reading``
    is the result of :func:`vaultseek.semantic.models.calibration.share_read`, ``distinction`` the result of
    :func:`distinction`.
    """
    return float(min(max(reading**READING_EXPONENT, LEAST_MEANING), 1.0) * distinction)


def distinction(scores: Floats) -> float:
    """Return how far the best score stands out from the others, from 0 to 1.

    1 means as far as the highest of n values from a normal distribution: about ``sqrt(2 ln n)`` standard
    deviations above the mean.
    """
    deviation = float(scores.std()) if len(scores) > 2 else 0.0
    if deviation <= ROUNDING:
        return 1.0
    return min(1.0, float(scores.max() - scores.mean()) / deviation / math.sqrt(2 * math.log(len(scores))))


def normalized(scores: Floats, best: float, minimum: float) -> Floats:
    """Return the scores, min-max normalised; all 1 if the scores are equal."""
    width = best / 2 - minimum / 2  # use halves, so that the difference of two floats cannot overflow
    if width <= 0:
        return np.ones(len(scores))
    shares: Floats = np.maximum(0.0, (scores / 2 - minimum / 2) / width)
    return shares


def link_contributions(weight: float, evidence: Floats, best: float, direct: NDArray[np.bool_]) -> Floats:
    """Return the notes' gains from links. Notes that a direct lane found (``direct``) have a higher limit."""
    contributions: Floats = weight * evidence * np.where(direct, GRAPH_GAIN, GRAPH_CEILING) * best
    return contributions


def link_bound(best: float, leaders: Floats, highest: float) -> float:
    """Return the factor that limits the scores of notes found only by links.

    ``best`` is the best score of a direct hit, ``leaders`` are the scores of the direct lanes' first notes,
    and ``highest`` is the highest score of a note found only by links.
    """
    limit = min([GRAPH_CEILING * best, *(GRAPH_BELOW_LEADER * leaders).tolist()])
    return float(min(1.0, limit / highest))


def joined_score(score: Floats, share: Floats, better: Floats) -> Floats:
    """Return the scores, raised for notes that are linked to a better note.

    ``better`` has the better notes' scores; the raised scores stay below them. The gain depends on ``share``:
    the strength of the link times the share of the query's words that the two notes have together.
    """
    raised = np.minimum(score * (1 + JOINED_GAIN * share), GRAPH_BELOW_LEADER * better)
    joined: Floats = np.maximum(score, raised)
    return joined


def shown_score(values: Floats, best: float) -> Floats:
    """Return each score divided by the best score; all 1 if the best score is 0."""
    return np.minimum(values / best, 1.0) if best > 0 else np.ones(len(values))


def exact_name_score(score: Number, best: float) -> Number:
    """Return scores for notes whose name is the query: above the ``best`` score, in the order of their
    previous scores.
    """
    return best * (1 + EXACT_NAME_STEP) + EXACT_NAME_STEP * score


def prefix_name_score(order: Floats, best: float) -> Floats:
    """Return scores for notes whose name begins with the query: above all other scores, sorted by ``order``.

    ``order`` is 1 for the first of these notes and decreases from there.
    """
    return best * (1 + EXACT_NAME_STEP * (1 + order))


def link_strength(score: float, seed_degree: int, neighbour_degree: int) -> float:
    """Return the part of a note's ``score`` that passes to a linked note. It is smaller if either note has
    many links.
    """
    return score * _hub_damping(seed_degree) * _hub_damping(neighbour_degree)


def link_evidence(strength: float, context: float, own: float, *, of_first: bool = False) -> float:
    """Combine the strength of a link with the query words found around it and in the linked note's own names.

    ``context`` and ``own`` are the shares of the query's words in the two places. ``of_first`` is true for a
    link to or from the first note.
    """
    share = CONTEXT_SHARE * context + (1 - CONTEXT_SHARE) * own
    return strength * (max(share, FIRST_NEIGHBOUR_SHARE) if of_first else share)


def recency_gain(age_days: Floats, tiers: Iterable[tuple[float, float]]) -> Floats:
    """Return the gain for each note's age: the factor of the first tier (days, factor) that contains the age,
    minus 1.

    The gain is 0 for an age that is beyond all tiers, unknown (NaN) or in the future.
    """
    gains = np.zeros(len(age_days))
    for days, factor in reversed([*tiers]):
        gains[(age_days <= days) & (age_days >= -1.0)] = factor - 1.0
    return gains


def name_share(of_query: float, of_name: float) -> float:
    """Return how well a name matches the query, from 0 to 1.

    ``of_query`` is the matched words' share of the query; ``of_name`` is their share of the name, which
    counts less.
    """
    return of_query**2 * math.sqrt(of_name)


def confidence(
    cosines: Floats,
    coverages: Floats,
    meaning_curve: tuple[float, float] = MEANING_CURVE,
    reading: float = 1.0,
) -> Floats:
    """Return the probability that each note answers the query, from 0 to 1.

    A passage with the query's meaning (``cosines``) is enough, and so are most of the query's words, weighted
    by idf (``coverages``). The result is 1 minus the product of both error probabilities. NaN means that the
    lane has no value for the note. Meaning is weighted by ``reading``, the share of the query that the model
    reads, because some passage is always nearest to a vector of random letters.
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
    """Return a mask of the notes that are near in meaning or have many of the query's words.

    The arguments are those of :func:`confidence`.
    """
    by_meaning = reading * _logistic(meaning_curve, cosines) >= NEAR_MEANING
    near: NDArray[np.bool_] = by_meaning | (np.nan_to_num(coverages) >= NEAR_COVERAGE)
    return near


@lru_cache(maxsize=1024)
def _hub_damping(degree: int) -> float:
    return 1.0 / math.sqrt(1.0 + math.log1p(degree))


def _logistic(curve: tuple[float, float], values: Floats) -> Floats:
    probabilities = 1 / (1 + np.exp(-(curve[0] + curve[1] * values)))
    return np.where(np.isnan(values), 0.0, probabilities)
