"""Scores of each lane, their weights and the confidence, from hand-made answers."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from keyword_answers import KeywordHit, answer_of
from semantic_answers import answer_of_hits
from vaultseek.core.search import formula
from vaultseek.core.search.lanes import (
    Fusion,
    Lane,
    keyword_lane,
    lane_weights,
    score_lanes,
    semantic_lane,
    word_evidence,
)
from vaultseek.core.search.matching import nearness
from vaultseek.core.search.request import ParsedRequest, SearchRequest, parse_request
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.semantic.worker import SemanticAnswer
from vaultseek.settings.search import SearchSettings
from vaultseek.store.keyword.answer import ChunkHit as KeywordPassage
from vaultseek.store.keyword.answer import KeywordAnswer, MatchedTerm


def hit(
    note: int, score: float, *passages: float, coverage: float = 1.0, proximity: float = 0.0
) -> KeywordHit:
    chunks = tuple(KeywordPassage(f"c{number}", passage) for number, passage in enumerate(passages))
    return KeywordHit(note, score, ("pump",), coverage, chunks, proximity)


def by_word(*hits: KeywordHit, idf: float = 0.0) -> KeywordAnswer:
    """An answer about one word of the query, with this idf."""
    term = MatchedTerm("pump", ("pump",), "word", False, 1.0, len(hits), idf)
    return replace(answer_of(hits), terms=(term,))


def by_meaning(passages: dict[int, list[float]], notes: dict[int, float]) -> SemanticAnswer:
    chunks = [(note, note, cosine) for note, cosines in passages.items() for cosine in cosines]
    return answer_of_hits(chunks, list(notes.items()))


def asked(query: str, **settings: Any) -> ParsedRequest:
    return parse_request(SearchRequest(query, SearchSettings(**settings)))


def weights(query: str, retrieval: Retrieval, population: int = 1000, **settings: Any) -> tuple[float, float]:
    words, meaning = word_evidence(retrieval.keyword, population), semantic_lane(retrieval.semantic)
    by_name = lane_weights(asked(query, **settings), retrieval, words, meaning)
    return by_name["keyword"], by_name["semantic"]


def scores_of(lane: Lane) -> dict[int, float]:
    return dict(zip(lane.notes.tolist(), lane.scores.tolist(), strict=True))


def confidence(note: int, answer: SemanticAnswer) -> float:
    return float(nearness(np.array([note]), None, answer)[0][0])


def test_a_keyword_score_counts_the_best_passage_and_proximity():
    scored = keyword_lane(by_word(hit(1, 10.0, 8.0, 2.0, proximity=3.0), hit(2, 12.0)), 2)
    assert scores_of(scored) == {
        1: pytest.approx(formula.keyword_score(10.0, 8.0, 3.0)),
        2: pytest.approx(formula.keyword_score(12.0, 0.0, 0.0)),
    }


def test_scores_are_ordered_by_score_and_then_by_note():
    assert keyword_lane(by_word(hit(3, 1.0), hit(2, 5.0), hit(1, 1.0)), 3).notes.tolist() == [2, 1, 3]


def test_the_scale_of_the_words_comes_from_how_many_notes_there_are():
    scored = keyword_lane(by_word(hit(1, 10.0), hit(2, 5.0)), 1000)
    assert scored.scale == formula.keyword_scale(scored.scores, 1000)


def test_a_semantic_score_takes_the_best_passage_and_the_note():
    scored = semantic_lane(by_meaning({1: [0.2, 0.8], 2: [0.4]}, {1: 0.5, 2: 0.3}))
    expected = formula.semantic_score(np.array([0.8, 0.4]), np.array([0.5, 0.3]), 0.2)
    assert scores_of(scored) == {1: pytest.approx(expected[0]), 2: pytest.approx(expected[1])}
    assert scored.scale == formula.scale_of(scored.scores)


def test_a_note_that_only_one_index_returned_gets_the_minimum_of_the_other():
    scored = semantic_lane(by_meaning({1: [0.9], 2: [0.5]}, {2: 0.6, 3: 0.4}))
    same = semantic_lane(by_meaning({1: [0.9], 2: [0.5], 3: [0.5]}, {1: 0.4, 2: 0.6, 3: 0.4}))
    scores = scores_of(scored)
    assert list(scores) == [1, 2, 3]
    assert scores[2] > scored.scale.minimum
    assert scores[3] == pytest.approx(scored.scale.minimum)
    assert scores_of(same).keys() == scores.keys()


def test_a_lane_that_was_not_asked_has_no_scores():
    assert not len(keyword_lane(None, 5).notes)
    assert not len(semantic_lane(None).notes)


def test_a_lane_proposes_its_first_notes_and_knows_the_scores_of_other_candidates():
    lane = keyword_lane(by_word(hit(2, 3.0), hit(1, 2.0), hit(9, 1.5), hit(3, 1.0)), 100)
    part = lane.part(np.array([1, 2, 3, 7]), Fusion(depth=2))
    assert part.rank.tolist() == [2, 1, 0, 0]
    assert part.known.tolist() == [True, True, True, False]
    assert part.score.tolist() == pytest.approx([*lane.scores[[1, 0, 3]], 0.0])


def test_both_lanes_are_scored_and_weighed():
    parsed = asked("pump")
    retrieval = Retrieval(by_word(hit(1, 10.0)), by_meaning({1: [0.8]}, {1: 0.5}))
    lanes = score_lanes(parsed, retrieval, 10).lanes
    words, meaning = word_evidence(retrieval.keyword, 10), semantic_lane(retrieval.semantic)
    weights = lane_weights(parsed, retrieval, words, meaning)
    scored = (keyword_lane(retrieval.keyword, 10, of_few=words.of_few), meaning)
    assert {lane.name: lane.weight for lane in lanes} == weights
    assert [scores_of(lane) for lane in lanes] == [scores_of(lane) for lane in scored]
    assert [lane.scale for lane in lanes] == [lane.scale for lane in scored]


def test_the_lanes_add_up_where_the_words_are_no_chance_or_the_user_chose_the_weights():
    retrieval = Retrieval(by_word(hit(1, 1.0, coverage=0.5), idf=1.0), by_meaning({1: [0.8]}, {1: 0.5}))
    assert score_lanes(asked("pump"), retrieval, 10).norm == 1.5
    rare = by_word(hit(1, 1.0, coverage=0.5), idf=99.0)
    assert score_lanes(asked("pump"), Retrieval(rare, retrieval.semantic), 10).norm < 1.01
    for chosen in ({"semantic_weight": 2.0}, {"fusion": "linear"}, {"rrf_ranks": "integer"}):
        assert score_lanes(asked("pump", **chosen), retrieval, 10).norm == 1.0


def test_the_beginning_of_a_word_has_a_meaning_only_if_something_is_near_to_it():
    whole, fuzzy = (MatchedTerm("funi", ("funicular",), "word", flag, 1.0, 1, 2.0) for flag in (False, True))
    near, far = by_meaning({1: [0.8]}, {1: 0.5}), by_meaning({1: [0.1]}, {1: 0.1})

    def by_terms(term: MatchedTerm, meaning: SemanticAnswer, *, continued: bool = False) -> float:
        answer = replace(by_word(hit(1, 2.0)), terms=(term,))
        return weights("funi", Retrieval(answer, meaning, unexpanded=meaning, continued=continued))[1]

    assert by_terms(fuzzy, far) == by_terms(whole, far, continued=True) == 0.0
    assert by_terms(whole, far) == by_terms(fuzzy, near) == by_terms(whole, near, continued=True) == 1.0


def test_words_of_a_language_that_few_notes_are_in_are_judged_among_those():
    retrieval = Retrieval(by_word(hit(1, 4.0, coverage=0.5), idf=4.0), by_meaning({1: [0.8]}, {1: 0.5}))
    japanese = asked("パン種に灰色の水が浮いたらどうする")

    def keyword_weight(parsed: ParsedRequest, **languages: int) -> float:
        return score_lanes(parsed, retrieval, 100, languages=languages).named("keyword").weight

    assert keyword_weight(japanese, en=99, ja=1) < keyword_weight(japanese, en=51, ja=49)
    # Words that match although no note is in the language are names.
    assert keyword_weight(japanese, en=99, de=1) == keyword_weight(japanese, ja=100)
    assert keyword_weight(asked("pump"), en=99, ja=1) == keyword_weight(asked("pump"), en=100)


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


def test_words_that_chance_could_explain_count_less_if_meaning_was_asked():
    poor = by_word(hit(1, 9.0, coverage=0.5), idf=math.log(1000))
    keyword, semantic = weights("why is the pump loud", Retrieval(poor, by_meaning({}, {})))
    full_keyword, full_semantic = weights("why is the pump loud", Retrieval(poor))
    assert keyword == pytest.approx(full_keyword / 4), "half of the words, and that is half of the rarity"
    assert semantic == full_semantic


def test_the_few_notes_with_all_words_are_certain_however_long_they_are():
    """*Who likes desks?*: two of 46 lists of what people like contain the word, once among forty others."""
    long_lists = by_word(hit(1, 0.4), hit(2, 0.4), hit(3, 0.1, coverage=0.2), idf=2.9)
    words = word_evidence(long_lists, 46)
    assert words.certainty == words.rarity == words.of_few > 1.0
    scored = keyword_lane(long_lists, 46, of_few=words.of_few)
    assert float(scored.scores[0]) / scored.scale.deviation > formula.CERTAIN_DEVIATIONS
    many = by_word(*(hit(note, 0.4) for note in range(40)), idf=0.1)
    assert word_evidence(many, 46).certainty < 0.1
    assert word_evidence(replace(long_lists, columns=many.columns, total=46), 46).of_few == 0.0


def test_a_stop_word_that_no_note_has_is_not_missing():
    who = MatchedTerm("who", (), "word", False, 0.3, 0, 0.0)
    answer = by_word(hit(1, 1.0, coverage=0.6), idf=2.0)
    with_stop_word = word_evidence(replace(answer, terms=(who, *answer.terms)), 50)
    with_word = word_evidence(replace(answer, terms=(who._replace(word="desks"), *answer.terms)), 50)
    assert with_stop_word.certainty > with_word.certainty


def test_the_words_of_a_date_that_some_note_has_are_not_missing():
    day = MatchedTerm("september 12th, 2023", ("2023-09-12",), "whole", False, 1.0, 1, 3.0)
    month = MatchedTerm("september", (), "word", False, 1.0, 0, 0.0)
    answer = by_word(hit(1, 1.0, coverage=0.5), idf=0.0)
    found = word_evidence(replace(answer, terms=(month, day)), 50)
    not_found = word_evidence(replace(answer, terms=(month, day._replace(df=0, idf=0.0))), 50)
    assert found.of_few > not_found.of_few


def test_meaning_counts_less_if_its_best_note_does_not_stand_out():
    word = by_word(hit(1, 1.0, coverage=0.5), idf=1.0)
    flat = {note: [0.3 + note / 100] for note in range(30)}
    one = weights("why is the pump loud", Retrieval(word, by_meaning(flat | {30: [0.9]}, {})))[1]
    assert weights("why is the pump loud", Retrieval(word, by_meaning(flat, {})))[1] < one == 1.0


def test_meaning_counts_less_the_worse_the_model_reads_the_query():
    answers = [replace(by_meaning({1: [0.8]}, {1: 0.5}), reading=reading) for reading in (1.0, 0.4, 0.0)]
    word = by_word(hit(1, 10.0))
    pairs = [weights("насос", Retrieval(word, answer)) for answer in answers]
    assert [semantic / pairs[0][1] for _, semantic in pairs] == pytest.approx(
        [1.0, 0.4**formula.READING_EXPONENT, formula.LEAST_MEANING]
    )
    assert len({keyword for keyword, _ in pairs}) == 1
    assert weights("насос", Retrieval(word, answers[2]), profile="balanced") == (1.0, 1.0)


def test_cosines_become_confidence_by_the_curve_of_the_model_that_answered():
    answer = by_meaning({1: [0.8]}, {1: 0.8})
    strict = replace(answer, meaning_curve=(-40.0, 46.0))
    assert confidence(1, answer) == pytest.approx(1 / (1 + math.exp(4.5 - 5.7 * 0.8)), abs=1e-4)
    unread = replace(answer, reading=0.5)
    assert confidence(1, unread) == pytest.approx(confidence(1, answer) / 2)
    assert confidence(1, strict) < 0.1 < confidence(1, answer)


def test_confidence_takes_the_best_cosine_and_the_coverage():
    answer = by_meaning({1: [0.2, 0.7]}, {1: 0.5, 2: 0.6})
    cosines, coverages = np.array([0.7, 0.6, np.nan, np.nan]), np.array([np.nan, np.nan, 0.8, np.nan])
    expected = formula.confidence(cosines, coverages)
    judged, *_ = nearness(np.array([1, 2, 3, 4]), by_word(hit(3, 1.0, coverage=0.8)), answer)
    assert judged == pytest.approx(expected)
    assert expected[3] == 0.0


def test_a_note_is_near_by_its_meaning_or_by_half_of_the_words():
    answer = by_meaning({1: [0.5], 2: [0.1], 3: [0.1]}, {})
    words = by_word(hit(2, 1.0, coverage=0.6), hit(3, 1.0, coverage=0.4))
    assert nearness(np.array([1, 2, 3, 4]), words, answer)[1].tolist() == [True, True, False, False]
    assert not nearness(np.array([1]), None, replace(answer, reading=0.1))[1].any()
