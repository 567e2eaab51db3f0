"""The arithmetic of the ranking, one number at a time."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.core.search import formula
from vaultseek.core.search.formula import Scale

SHARES = st.floats(0, 1)
SCORES = st.floats(-1e6, 1e6)


def test_a_keyword_score_mixes_note_and_passage_and_adds_proximity():
    share = formula.KEYWORD_PASSAGE_SHARE
    assert formula.keyword_score(10.0, 4.0, 0.0) == pytest.approx((1 - share) * 10 + share * 4)
    assert formula.keyword_score(0.0, 0.0, 5.0) == pytest.approx(5 * formula.PROXIMITY_WEIGHT)


COSINES = st.lists(st.floats(-1, 1), min_size=1, max_size=8)


@given(COSINES, st.floats(-1, 1), st.floats(1e-3, 1))
def test_a_semantic_score_lies_between_the_cosines_and_falls_with_neither(passages, note, deviation):
    score = formula.semantic_score(np.array(passages), np.array(note), deviation)
    assert np.all(score <= np.maximum(passages, note) + 1e-9)
    assert np.all(score >= np.minimum(passages, note) - 1e-9)
    assert np.all(formula.semantic_score(np.array(passages) + 0.1, np.array(note), deviation) >= score)
    assert np.all(formula.semantic_score(np.array(passages), np.array(note) + 0.1, deviation) >= score)


def test_a_note_answers_if_a_passage_or_the_whole_of_it_means_the_query():
    by_passage, by_note, by_both, by_none = formula.semantic_score(
        np.array([0.9, 0.1, 0.9, 0.1]), np.array([0.1, 0.9, 0.9, 0.1]), 0.05
    )
    assert min(by_passage, by_note) > (by_both + by_none) / 2
    assert by_both > max(by_passage, by_note)


def test_words_are_certain_as_far_as_they_are_rare_and_most_of_the_query():
    assert formula.rarity(math.log(1000), 1000) == 1.0
    assert formula.rarity(math.log(1000) / 2, 1000) == pytest.approx(0.5)
    assert formula.rarity(0.0, 0) == 0.0
    assert formula.keyword_trust(99.0) == formula.MOST_TRUST


def test_notes_with_the_whole_query_are_certain_if_they_are_few():
    one, two, half = (formula.certainty_of_few(count, 1000) for count in (1, 2, 500))
    assert one == formula.MOST_TRUST > two > 1.0
    assert half < 0.2
    assert formula.certainty_of_few(1000, 1000) == formula.certainty_of_few(0, 1000) == 0.0


def test_meaning_counts_as_far_as_its_best_note_stands_out():
    flat = np.linspace(0.3, 0.4, 30)
    assert formula.distinction(flat) < 0.8 < formula.distinction(np.append(flat, 0.8)) == 1.0
    assert formula.distinction(np.array([0.5, 0.5, 0.5])) == formula.distinction(np.array([0.5])) == 1.0
    assert formula.semantic_trust(1.0, 0.5) == 0.5


def test_a_few_words_by_chance_add_little_to_the_meaning_and_certain_ones_add_up():
    chance, certain = formula.agreement_norm(0.3), formula.agreement_norm(30.0)
    gains = [np.array([0.4]), np.array([0.1])]
    assert formula.agreement(gains, certain) == pytest.approx([1.0], abs=1e-3)
    assert 0.4 < 0.5 * formula.agreement(gains, chance)[0] < 0.45


@given(st.lists(st.floats(0, 1), max_size=3), st.floats(1, 2))
def test_what_the_lanes_give_together_lies_between_the_most_and_the_sum(gains, norm):
    shares = np.broadcast_to(formula.agreement([np.array([each]) for each in gains], norm), 1)
    together = math.fsum(gains) * shares[0]
    assert max(gains, default=0.0) - 1e-9 <= together <= math.fsum(gains) + 1e-9


def test_the_unit_of_a_score_by_word_does_not_depend_on_the_other_scores():
    unit = math.log(1000) / formula.CERTAIN_DEVIATIONS
    assert formula.keyword_scale([9.0, 0.1], 1000) == formula.keyword_scale([], 1000) == Scale(unit, 0.0)
    many = [2.0] * formula.SCALE_NOTES
    assert formula.keyword_scale([*many, 1.0], 1000) == Scale(unit, 2.0)


def test_the_best_score_of_few_notes_with_the_whole_query_is_worth_as_much_however_low_it_is():
    long_note = formula.keyword_scale([0.5, 0.0], 1000, 1.25)
    assert 0.5 / long_note.deviation == pytest.approx(1.25 * formula.CERTAIN_DEVIATIONS)
    assert formula.keyword_scale([99.0], 1000, 1.25) == formula.keyword_scale([99.0], 1000)


def test_an_interpolated_rank_keeps_the_distance():
    scale = Scale(2.0, 0.0)
    ranks = formula.interpolated_rank(np.array([10.0, 8.0]), 10.0, scale)
    assert ranks.tolist() == [1.0, 1.0 + formula.RANKS_PER_DEVIATION]
    assert formula.interpolated_rank(np.array([3.0]), 9.0, Scale(0.0, 0.0)) == [1.0], "all scores are equal"


def test_min_max_normalisation():
    assert formula.normalized(np.array([10.0, 6.0, 1.0]), 10.0, 2.0).tolist() == [1.0, 0.5, 0.0]
    assert formula.normalized(np.array([3.0]), 3.0, 3.0) == [1.0]
    assert 0.0 <= formula.normalized(np.array([1e308]), 1.7e308, -1.7e308)[0] <= 1.0


def test_hubs_damp_a_link_on_either_side():
    assert formula.link_strength(1.0, 1, 1) > formula.link_strength(1.0, 50, 1)
    assert formula.link_strength(1.0, 50, 1) == formula.link_strength(1.0, 1, 50)
    assert formula.link_evidence(1.0, 1.0, 1.0) == pytest.approx(1.0)
    assert formula.link_evidence(0.5, 1.0, 0.0) == pytest.approx(0.5 * formula.CONTEXT_SHARE)


def confidence(cosine: float | None, coverage: float | None) -> float:
    """Return the confidence of one note; None where a lane has no score for it."""
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
