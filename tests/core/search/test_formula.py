"""The arithmetic of the ranking, one number at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.core.search import formula
from vaultseek.core.search.formula import Scale

SHARES = st.floats(0, 1)
SCORES = st.floats(-1e6, 1e6)


@given(st.floats(-5, 20), st.floats(0, 20), st.floats(0, 1), st.floats(0, 5))
def test_an_objection_leaves_a_share_that_rises_with_agreement(standing, best, reading, certain):
    left = formula.corroboration(standing, best, reading, certain)
    assert formula.LEAST_AGREEMENT - 1e-9 <= left <= 1
    assert left <= formula.corroboration(standing + 1, best, reading, certain)
    assert left <= formula.corroboration(standing, best, reading, certain + 0.1)
    assert left >= formula.corroboration(standing, best, min(reading + 0.1, 1.0), certain)
    assert formula.corroboration(best, best, reading, certain) == 1


def test_a_keyword_score_mixes_note_and_passage_and_adds_proximity():
    share = formula.KEYWORD_PASSAGE_SHARE
    assert formula.keyword_score(10.0, 4.0, 0.0) == pytest.approx((1 - share) * 10 + share * 4)
    assert formula.keyword_score(0.0, 0.0, 5.0) == pytest.approx(5 * formula.PROXIMITY_WEIGHT)


def test_a_deviation_of_passages_and_of_notes_counts_by_its_share():
    of_passage, of_note = formula.semantic_shares(Scale(0.1, 0.0), Scale(0.4, 0.0))
    assert of_passage * 0.1 == pytest.approx(formula.SEMANTIC_PASSAGE_SHARE)
    assert of_note * 0.4 == pytest.approx(1 - formula.SEMANTIC_PASSAGE_SHARE)


def test_words_are_trusted_for_covering_the_query_or_for_a_score_that_chance_does_not_give():
    assert formula.keyword_trust(formula.TRUSTED_COVERAGE, 0.0, 1000) == 1.0
    assert formula.keyword_trust(0.0, math.log(1000), 1000) == 1.0
    half = formula.keyword_trust(formula.TRUSTED_COVERAGE / 2, 0.0, 1000)
    assert half == pytest.approx(0.5**formula.TRUST_EXPONENT)
    assert formula.keyword_trust(0.0, 0.0, 0) == 0.0


def test_an_interpolated_rank_keeps_the_distance():
    scale = Scale(2.0, 0.0)
    assert formula.interpolated_rank(10.0, 10.0, scale) == 1.0
    assert formula.interpolated_rank(8.0, 10.0, scale) == 1.0 + formula.RANKS_PER_DEVIATION
    assert formula.interpolated_rank(3.0, 9.0, Scale(0.0, 0.0)) == 1.0, "all scores are equal"


def test_min_max_normalisation():
    assert formula.normalized(10.0, 10.0, 2.0) == 1.0
    assert formula.normalized(6.0, 10.0, 2.0) == 0.5
    assert formula.normalized(1.0, 10.0, 2.0) == 0.0
    assert formula.normalized(3.0, 3.0, 3.0) == 1.0
    assert 0.0 <= formula.normalized(1e308, 1.7e308, -1.7e308) <= 1.0


def test_affinity_falls_by_e_for_each_bandwidth():
    near, far = 0.8, 0.8 - formula.AFFINITY_BANDWIDTH
    cosines = np.array([[-np.inf, near, far], [near, -np.inf, 0.1], [far, 0.1, -np.inf]])
    weights = formula.affinities(cosines)
    assert weights[0].tolist() == [0.0, 1.0, pytest.approx(1 / math.e)]
    assert weights.max(axis=1).tolist() == [1.0, 1.0, 1.0]


def test_hubs_damp_a_link_on_either_side():
    assert formula.link_strength(1.0, 1, 1) > formula.link_strength(1.0, 50, 1)
    assert formula.link_strength(1.0, 50, 1) == formula.link_strength(1.0, 1, 50)
    assert formula.link_evidence(1.0, 1.0, 1.0) == pytest.approx(1.0)
    assert formula.link_evidence(0.5, 1.0, 0.0) == pytest.approx(0.5 * formula.CONTEXT_SHARE)


def test_an_anchor_boosts_by_the_share_that_a_note_holds():
    assert formula.anchor_factor(1.5, 0.0) == 1.0
    assert formula.anchor_factor(1.5, 0.5) == 1.25
    assert formula.anchor_factor(1.5, 2.0) == 1.5


def confidence(cosine: float | None, coverage: float | None) -> float:
    """Return the confidence of one note; None where a lane does not know it."""
    evidence = (np.array([np.nan if value is None else value]) for value in (cosine, coverage))
    return float(formula.confidence(*evidence)[0])


@given(cosine=st.none() | SHARES, coverage=st.none() | SHARES)
def test_confidence_is_a_probability_and_more_evidence_never_lowers_it(cosine, coverage):
    likelihood = confidence(cosine, coverage)
    assert 0.0 <= likelihood <= 1.0
    assert confidence(1.0, coverage) >= likelihood
    assert confidence(cosine, 1.0) >= likelihood


def test_a_note_that_no_lane_knows_has_no_confidence():
    assert confidence(None, None) == 0.0


@given(st.lists(SCORES, min_size=1, max_size=30))
def test_a_scale_is_the_deviation_and_the_minimum(scores):
    scale = formula.scale_of(scores)
    mean = sum(scores) / len(scores)
    variance = sum((score - mean) ** 2 for score in scores) / len(scores)
    assert scale.minimum == min(scores)
    assert scale.deviation == pytest.approx(math.sqrt(variance), rel=1e-6, abs=1e-6)
