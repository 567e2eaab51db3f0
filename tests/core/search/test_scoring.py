"""Scores of each lane, their weights and the confidence, from hand-made answers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from vaultseek.core.search import formula
from vaultseek.core.search.request import SearchRequest, parse_request
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.core.search.scoring import (
    ScoredLane,
    ScoredLanes,
    confidence,
    keyword_scores,
    keyword_trust,
    lane_weights,
    score_lanes,
    semantic_scores,
    similarity,
)
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.settings.search import SearchSettings
from vaultseek.store.keyword.answer import ChunkHit as KeywordPassage
from vaultseek.store.keyword.answer import KeywordAnswer, KeywordHit


def hit(
    note: int, score: float, *passages: float, coverage: float = 1.0, proximity: float = 0.0
) -> KeywordHit:
    chunks = tuple(KeywordPassage(f"c{number}", passage) for number, passage in enumerate(passages))
    return KeywordHit(note, score, ("pump",), coverage, chunks, proximity)


def by_word(*hits: KeywordHit) -> KeywordAnswer:
    return KeywordAnswer.of_hits(hits)


def by_meaning(passages: dict[int, list[float]], notes: dict[int, float]) -> SemanticAnswer:
    chunks = [(note, note, cosine) for note, cosines in passages.items() for cosine in cosines]
    return SemanticAnswer.of_hits(chunks, list(notes.items()), np.zeros(2, np.float32))


def weights(query: str, retrieval: Retrieval, population: int = 1000, **settings: Any) -> tuple[float, float]:
    parsed = parse_request(SearchRequest(query, SearchSettings(**settings)))
    by_name = lane_weights(parsed, retrieval, population)
    return by_name["keyword"], by_name["semantic"]


def test_a_keyword_score_counts_the_best_passage_and_proximity():
    scores = keyword_scores(by_word(hit(1, 10.0, 8.0, 2.0, proximity=3.0), hit(2, 12.0)), 2).scores
    assert scores == {
        1: pytest.approx(formula.keyword_score(10.0, 8.0, 3.0)),
        2: pytest.approx(formula.keyword_score(12.0, 0.0, 0.0)),
    }


def test_scores_are_ordered_by_score_and_then_by_note():
    assert list(keyword_scores(by_word(hit(3, 1.0), hit(2, 5.0), hit(1, 1.0)), 3).scores) == [2, 1, 3]
    assert ScoredLane("keyword", {2: 5.0, 1: 1.0, 3: 1.0}).first(2) == [2, 1]


@pytest.mark.parametrize(("population", "zeros"), [(2, 0), (5, 3), (10_000, formula.SCALE_NOTES - 2)])
def test_notes_without_the_words_count_as_zero_in_the_scale(population, zeros):
    scored = keyword_scores(by_word(hit(1, 10.0), hit(2, 5.0)), population)
    assert scored.scale == formula.scale_of([*scored.scores.values(), *[0.0] * zeros])


def test_a_semantic_score_takes_the_best_passage_and_the_note_on_their_own_scales():
    scored = semantic_scores(by_meaning({1: [0.2, 0.8], 2: [0.4]}, {1: 0.5, 2: 0.3}))
    of_passage, of_note = formula.semantic_shares(formula.scale_of([0.8, 0.4]), formula.scale_of([0.5, 0.3]))
    total = of_passage + of_note
    assert scored.scores == {
        1: pytest.approx((of_passage * 0.8 + of_note * 0.5) / total),
        2: pytest.approx((of_passage * 0.4 + of_note * 0.3) / total),
    }
    assert scored.scale.deviation == pytest.approx(1 / total)


def test_a_note_that_only_one_index_returned_gets_the_minimum_of_the_other():
    scored = semantic_scores(by_meaning({1: [0.9], 2: [0.5]}, {2: 0.6, 3: 0.4}))
    same = semantic_scores(by_meaning({1: [0.9], 2: [0.5], 3: [0.5]}, {1: 0.4, 2: 0.6, 3: 0.4}))
    assert list(scored.scores) == [1, 2, 3]
    assert scored.scores[2] > scored.scale.minimum
    assert scored.scores[3] == pytest.approx(scored.scale.minimum)
    assert same.scores.keys() == scored.scores.keys()


def test_a_lane_that_was_not_asked_has_no_scores():
    assert keyword_scores(None, 5) == ScoredLane("keyword")
    assert semantic_scores(None) == ScoredLane("semantic")


def test_a_lane_proposes_its_first_notes_and_knows_the_scores_of_other_candidates(world):
    here = world({"a.md": "", "b.md": "", "c.md": ""})
    rows = here.ledger.notes.by_id(here.ledger.notes.ids())
    a, b, c = (next(id for id, row in rows.items() if row.path == f"{name}.md") for name in "abc")
    lane = ScoredLane("keyword", {b: 3.0, a: 2.0, 999: 1.5, c: 1.0}, weight=0.5).proposing(2, rows)
    assert [(each.note, each.score) for each in lane.hits] == [("b.md", 3.0), ("a.md", 2.0)]
    assert (lane.name, lane.weight, lane.known) == ("keyword", 0.5, {"c.md": 1.0})


def test_both_lanes_are_scored_and_weighed():
    parsed = parse_request(SearchRequest("pump", SearchSettings()))
    retrieval = Retrieval(by_word(hit(1, 10.0)), by_meaning({1: [0.8]}, {1: 0.5}))
    lanes = score_lanes(parsed, retrieval, 10)
    weights = lane_weights(parsed, retrieval, 10)
    scored = (keyword_scores(retrieval.keyword, 10), semantic_scores(retrieval.semantic))
    assert lanes == ScoredLanes([replace(lane, weight=weights[lane.name]) for lane in scored], certain=[1])
    few, many = (by_word(*(hit(note, 1.0) for note in range(count))) for count in (3, 4))
    assert score_lanes(parsed, Retrieval(few), 10).certain == [0, 1, 2]
    assert not score_lanes(parsed, Retrieval(many), 10).certain


def test_linear_fusion_weighs_by_alpha():
    settings = {"fusion": "linear", "adaptive": False, "alpha": 0.3}
    assert weights("pump", Retrieval(), **settings) == (0.7, 0.3)


def test_linear_fusion_weighs_by_the_weights_that_are_set():
    assert weights("pump", Retrieval(), fusion="linear", semantic_weight=3.0) == (1.0, 3.0)
    both = {"keyword_weight": 0.2, "semantic_weight": 0.8}
    assert weights("pump", Retrieval(), fusion="linear", alpha=0.1, **both) == (0.2, 0.8)


def test_weights_that_were_set_stay_as_they_are():
    doubtful = Retrieval(by_word(hit(1, 0.1, coverage=0.1)), by_meaning({}, {}))
    assert weights("pump", doubtful, adaptive=False, keyword_weight=2.0, semantic_weight=0.5) == (2.0, 0.5)
    assert weights("pump", doubtful, keyword_weight=2.0, semantic_weight=0.5) == (2.0, 0.5)


def test_words_that_match_little_of_the_query_count_less_if_meaning_was_asked():
    poor = by_word(hit(1, 0.1, coverage=formula.TRUSTED_COVERAGE / 2))
    keyword, semantic = weights("why is the pump loud", Retrieval(poor, by_meaning({}, {})))
    full_keyword, full_semantic = weights("why is the pump loud", Retrieval(poor))
    assert keyword == pytest.approx(full_keyword * 0.5**formula.TRUST_EXPONENT)
    assert semantic == full_semantic


def doubted(*first: int, reading: float = 1.0, score: float = 1.0) -> float:
    """Return the weight of the words if note 1 means the query and their first notes, as good as each other,
    are ``first``."""
    cosines = {note: 0.9 - note / 100 for note in range(1, 8)} | {9: 0.1}
    answer = replace(by_meaning({note: [each] for note, each in cosines.items()}, cosines), reading=reading)
    parsed = parse_request(SearchRequest("why is it loud", SearchSettings()))
    retrieval = Retrieval(by_word(*(hit(note, score) for note in first)), answer)
    return score_lanes(parsed, retrieval, 1000).named("keyword").weight


def test_words_count_less_where_their_first_note_means_something_else():
    assert doubted(1) == doubted(1, score=100.0) == 1.0
    assert doubted(9) == doubted(404) == pytest.approx(formula.LEAST_AGREEMENT)
    assert doubted(9) < doubted(5) <= doubted(1)
    assert doubted(5, 9) == doubted(9, 5) == doubted(5)


def test_meaning_does_not_object_to_certain_words_or_in_a_language_that_the_model_does_not_read():
    assert doubted(9, score=100.0) == 1.0
    assert doubted(9, reading=formula.OBJECTION_READING[0]) == 1.0
    assert doubted(9) < doubted(9, reading=0.9) < 1.0


def test_meaning_counts_less_the_worse_the_model_reads_the_query():
    answers = [replace(by_meaning({1: [0.8]}, {1: 0.5}), reading=reading) for reading in (1.0, 0.4, 0.0)]
    word = by_word(hit(1, 10.0))
    pairs = [weights("насос", Retrieval(word, answer)) for answer in answers]
    assert [semantic / pairs[0][1] for _, semantic in pairs] == [1.0, 0.4, formula.LEAST_MEANING]
    assert len({keyword for keyword, _ in pairs}) == 1
    assert weights("насос", Retrieval(word, answers[2]), profile="balanced") == (1.0, 1.0)


def test_cosines_become_confidence_by_the_curve_of_the_model_that_answered():
    answer = by_meaning({1: [0.8]}, {1: 0.8})
    strict = replace(answer, meaning_curve=(-40.0, 46.0))
    assert confidence([1], None, answer)[1] == pytest.approx(1 / (1 + math.exp(4.5 - 5.7 * 0.8)), abs=1e-4)
    unread = replace(answer, reading=0.5)
    assert confidence([1], None, unread)[1] == pytest.approx(confidence([1], None, answer)[1] / 2)
    assert confidence([1], None, strict)[1] < 0.1 < confidence([1], None, answer)[1]


def test_trust_looks_at_the_first_notes_only():
    covered = [hit(note, 0.1, coverage=0.1) for note in range(formula.TRUSTED_NOTES)]
    late = keyword_trust(by_word(*covered, hit(9, 0.1, coverage=1.0)), 1000)
    assert late == pytest.approx(keyword_trust(by_word(*covered), 1000))
    assert keyword_trust(by_word(*covered[:-1], hit(9, 0.1, coverage=1.0)), 1000) == 1.0
    assert keyword_trust(None, 1000) == keyword_trust(by_word(), 1000) == 1.0


def test_similarity_is_the_cosine_of_the_notes_both_ways(world):
    here = world({"a.md": "", "b.md": ""})
    rows = here.ledger.notes.by_id(here.ledger.notes.ids())
    first, second = sorted(rows)
    vectors = {first: np.array([1.0, 0.0]), second: np.array([0.6, 0.8]), 999: np.array([0.0, 1.0])}
    cosines = similarity(vectors, rows)
    one, other = rows[first].path, rows[second].path
    assert cosines[one] == {one: pytest.approx(1.0), other: pytest.approx(0.6)}
    assert cosines[other] == {one: pytest.approx(0.6), other: pytest.approx(1.0)}
    assert similarity({first: vectors[first]}, rows) == {}


def test_confidence_takes_the_best_cosine_and_the_coverage():
    answer = by_meaning({1: [0.2, 0.7]}, {1: 0.5, 2: 0.6})
    cosines, coverages = np.array([0.7, 0.6, np.nan, np.nan]), np.array([np.nan, np.nan, 0.8, np.nan])
    expected = dict(zip([1, 2, 3, 4], formula.confidence(cosines, coverages).tolist(), strict=True))
    assert confidence([1, 2, 3, 4], by_word(hit(3, 1.0, coverage=0.8)), answer) == pytest.approx(expected)
    assert expected[4] == 0.0
