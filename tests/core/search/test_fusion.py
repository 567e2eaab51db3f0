"""The order of notes out of the hits of lanes."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vaultseek.core.search.formula import Scale, recency_factor, recency_share, scale_of
from vaultseek.core.search.fusion import (
    Candidate,
    Signals,
    combine,
    complete,
    fuse,
    leaders,
)
from vaultseek.core.search.lanes import Fusion, Lane, LaneHit


def lane(name: str, scores: dict[str, float], weight: float = 1.0, scale: Scale | None = None) -> Lane:
    return Lane(name, weight, [LaneHit(note, score) for note, score in scores.items()], scale)


def order(results: list[Candidate]) -> list[str]:
    return [result.note for result in results]


INTEGER = Fusion(ranks="integer")


def test_textbook_rrf_adds_weighted_reciprocal_ranks():
    results = fuse(
        [
            lane("keyword", {"a": 9.0, "b": 5.0}, weight=1.5),
            lane("semantic", {"b": 0.9, "c": 0.1}, weight=0.5),
        ],
        fusion=INTEGER,
    )
    raw = {result.note: result.raw for result in results}
    assert raw == pytest.approx({"a": 1.5 / 61, "b": 1.5 / 62 + 0.5 / 61, "c": 0.5 / 62})
    assert order(results) == ["b", "a", "c"]
    assert results[0].score == 1.0
    assert results[1].score == pytest.approx(raw["a"] / raw["b"])


def test_score_ranks_keep_how_far_apart_two_scores_were():
    results = fuse([lane("keyword", {"a": 10.0, "b": 9.0, "c": 0.0}, scale=Scale(2.0, 0.0))])
    given = {result.note: result.contributions["keyword"] for result in results}
    assert {note: each.fused_rank for note, each in given.items()} == pytest.approx(
        {"a": 1.0, "b": 2.5, "c": 16.0}
    )
    assert [each.rank for each in given.values()] == [1, 2, 3]
    assert given["b"].contribution == pytest.approx(1 / 62.5)
    assert results[1].score == pytest.approx((1 / 62.5 - 1 / 76) / (1 / 61 - 1 / 76))


def test_a_lane_that_is_sure_decides_over_one_that_is_not():
    sure = lane("keyword", {"a": 10.0, "b": 2.0}, scale=Scale(1.0, 1.0))
    unsure = lane("semantic", {"b": 0.52, "a": 0.5}, scale=Scale(0.1, 0.3))
    assert order(fuse([sure, unsure])) == ["a", "b"]


def test_a_lane_tells_what_it_knows_of_the_others_notes():
    ignorant = lane("semantic", {"a": 0.9}, scale=Scale(0.1, 0.1))
    knowing = replace(ignorant, known={"b": 0.8, "c": 0.2, "stranger": 0.9})
    words = lane("keyword", {"c": 5.0, "b": 5.0}, scale=Scale(1.0, 0.0))
    assert order(fuse([words, knowing])) == ["b", "a", "c"]
    assert order(fuse([words, ignorant]))[0] == "a"
    known = next(result for result in fuse([words, knowing]) if result.note == "b")
    assert known.contributions["semantic"].rank is None
    textbook = fuse([words, knowing], fusion=INTEGER)
    assert "semantic" not in next(result for result in textbook if result.note == "b").contributions


def test_the_scale_of_scores():
    assert scale_of([3.0, 1.0]) == Scale(1.0, 1.0)
    assert scale_of([]) == scale_of([0.0])
    assert math.isfinite(scale_of([1e308, -1e308, 1e-300]).deviation)


def test_linear_is_the_weighted_mean_of_normalised_scores():
    lanes = [
        lane("keyword", {"a": 20.0, "b": 15.0, "c": 10.0}, weight=0.3),
        lane("semantic", {"b": 0.8, "d": 0.4}, weight=0.7),
    ]
    results = fuse(lanes, fusion=Fusion(method="linear"))
    raw = {result.note: result.raw for result in results}
    assert raw == pytest.approx({"a": 0.3, "b": 0.3 * 0.5 + 0.7, "c": 0.0, "d": 0.0})


@pytest.mark.parametrize(
    ("age", "multiplier"),
    [
        (0, 1.2),
        (7, 1.2),
        (7.1, 1.1),
        (30, 1.1),
        (31, 1.0),
        (-0.5, 1.2),
        (-400, 1.0),
        (None, 1.0),
    ],
)
def test_recency_tiers(age, multiplier):
    assert recency_factor(age, Fusion().tiers) == multiplier


def test_recency_multiplies_a_share_of_the_score():
    results = fuse(
        [lane("keyword", {"old": 1.0, "new": 1.0})], signals=Signals(age_days={"old": 99, "new": 1})
    )
    assert order(results) == ["new", "old"]
    assert results[0].recency == 1.2
    assert results[1].score == pytest.approx(1 / recency_share(1.2))


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), st.tuples(st.floats(0, 20), st.floats(0, 1)), min_size=2),
    st.sets(st.sampled_from("abcdefgh")),
)
def test_recency_lifts_no_note_over_a_clearly_better_one(scores, recent):
    lanes = [
        lane("keyword", {note: words for note, (words, _) in scores.items()}, scale=Scale(2.0, 0.0)),
        lane("semantic", {note: cosine for note, (_, cosine) in scores.items()}, scale=Scale(0.1, 0.0)),
    ]
    undated = {result.note: result.score for result in fuse(lanes)}
    dated = order(fuse(lanes, signals=Signals(age_days=dict.fromkeys(recent, 1.0))))
    for place, note in enumerate(dated):
        assert all(undated[later] <= undated[note] * recency_share(1.2) + 1e-9 for later in dated[place:])


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 20), min_size=2))
def test_a_recent_note_that_answers_nothing_does_not_change_the_order_of_the_others(scores):
    def ask(*recent: str) -> list[str]:
        lanes = [
            lane("keyword", scores, scale=Scale(2.0, 0.0)),
            lane(
                "semantic", {note: score / 40 for note, score in scores.items()} | dict.fromkeys(recent, 0.0)
            ),
        ]
        ages = dict.fromkeys(recent, 1.0)
        scale = Scale(0.1, 0.0)
        return order(fuse([lanes[0], replace(lanes[1], scale=scale)], signals=Signals(age_days=ages)))

    assert [note for note in ask("recent") if note != "recent"] == ask()


def test_anchors_lift_an_exact_identifier_over_its_lookalikes():
    lanes = [
        lane("keyword", {"d40": 8.0, "d41": 7.9, "area": 7.8}, weight=0.5, scale=Scale(2.0, 0.0)),
        lane("semantic", {"area": 0.9, "d41": 0.89, "d40": 0.7}, weight=1.5, scale=Scale(0.2, 0.1)),
    ]
    assert order(fuse(lanes))[0] != "d40"
    assert order(fuse(lanes, signals=Signals(anchors={"d40": 1.0})))[0] == "d40"
    half = fuse(lanes, signals=Signals(anchors={"d40": 0.5}))
    assert next(result for result in half if result.note == "d40").anchor == 1.25


def test_a_note_of_that_name_comes_first_even_if_no_lane_found_it():
    results = fuse([lane("semantic", {"a": 0.9, "b": 0.8})], signals=Signals(exactly_named={"z", "b"}))
    assert order(results) == ["b", "z", "a"]
    assert [result.score for result in results] == sorted((result.score for result in results), reverse=True)


def test_a_neighbour_stays_below_strong_direct_hits_whatever_speaks_for_it():
    results = fuse(
        [lane("keyword", {"a": 9.0, "b": 8.0, "c": 0.5}), lane("semantic", {"b": 0.9, "d": 0.2})],
        graph=lane("graph", {"n": 1.0, "m": 0.9}, weight=5.0),
        signals=Signals(age_days={"n": 0, "m": 0}, anchors={"n": 1.0}),
    )
    assert set(order(results)[:2]) == {"a", "b"}
    assert order(results).index("n") < order(results).index("m")
    neighbour = next(result for result in results if result.note == "n")
    assert neighbour.via_graph
    assert neighbour.bound < 1.0


def test_a_neighbour_stays_below_the_leader_of_a_weak_lane():
    results = fuse(
        [lane("keyword", {"k": 9.0}, weight=0.5), lane("semantic", {"a": 0.9, "b": 0.8}, weight=1.5)],
        graph=lane("graph", {"n": 1.0}),
    )
    assert order(results).index("k") < order(results).index("n")


def test_a_note_comes_up_to_the_better_one_with_which_it_answers_the_query():
    lanes = [lane("keyword", {"a": 9.0, "b": 8.9, "c": 8.8, "d": 8.7, "e": 1.0})]
    joined = Signals(joined={"d": {"a": 0.9}, "a": {"d": 0.9}})
    results = fuse(lanes, signals=joined)
    assert order(results) == ["a", "d", "b", "c", "e"]
    assert results[1].score == pytest.approx(0.99)
    alone = {each.note: each.score for each in fuse(lanes)}
    assert {each.note: each.alone for each in results} == pytest.approx(alone)


def test_a_note_without_any_word_of_the_query_does_not_come_up():
    lanes = [lane("keyword", {"a": 9.0, "b": 8.9}), lane("semantic", {"a": 0.9, "b": 0.8, "c": 0.7})]
    signals = Signals(joined={"c": {"a": 1.0}}, misnamed={"c"})
    assert order(fuse(lanes, signals=signals)) == order(fuse(lanes))


def test_graph_evidence_adds_a_little_to_a_direct_hit():
    lanes = [lane("keyword", {"a": 9.0, "b": 8.9, "c": 1.0})]
    results = fuse(lanes, graph=lane("graph", {"b": 1.0, "c": 1.0}))
    assert order(results) == ["b", "a", "c"]
    assert not results[0].via_graph


def test_neighbours_alone_are_ranked_among_themselves():
    assert order(fuse([], graph=lane("graph", {"a": 0.2, "b": 0.4}))) == ["b", "a"]


def test_nothing_found_is_nothing():
    assert fuse([]) == []
    assert fuse([lane("keyword", {})], graph=lane("graph", {})) == []


NAMES = st.sampled_from([f"{letter}.md" for letter in "abcdefgh"])
scores = st.dictionaries(NAMES, st.floats(0, 100) | st.sampled_from([0.0, 1.0]), max_size=8)
weights = st.floats(0, 5) | st.just(1.0)
lanes_ = st.tuples(
    st.builds(lane, st.just("keyword"), scores, weights),
    st.builds(lane, st.just("semantic"), scores, weights),
).map(list)
fusions = st.builds(
    Fusion,
    method=st.sampled_from(["rrf", "linear"]),
    ranks=st.sampled_from(["score", "integer"]),
    rrf_k=st.floats(1, 100),
    norm=st.floats(1, 2),
)
signals_ = st.builds(
    Signals,
    age_days=st.dictionaries(NAMES, st.floats(-10, 100), max_size=4),
    anchors=st.dictionaries(NAMES, st.floats(0, 1), max_size=4),
    exactly_named=st.sets(NAMES, max_size=2),
    joined=st.dictionaries(NAMES, st.dictionaries(NAMES, st.floats(0, 1), max_size=3), max_size=3),
)
graphs = st.none() | st.builds(
    lane, st.just("graph"), st.dictionaries(NAMES, st.floats(0, 1), max_size=8), weights
)


@given(lanes_, graphs, fusions, signals_)
def test_scores_lie_between_0_and_1_in_order_each_note_once(lanes, graph, fusion, signals):
    results = fuse(lanes, graph=graph, fusion=fusion, signals=signals)
    found = [result.score for result in results]
    assert all(0.0 <= score <= 1.0 for score in found)
    assert found == sorted(found, reverse=True)
    assert not found or found[0] == 1.0
    assert len(set(order(results))) == len(results)
    candidates = {hit.note for each in [*lanes, *([graph] if graph else [])] for hit in each.hits}
    assert set(order(results)) <= candidates | set(signals.exactly_named)


@given(lanes_, graphs, fusions, signals_, st.randoms())
def test_the_order_of_hits_and_lanes_does_not_matter(lanes, graph, fusion, signals, random):
    mixed = [replace(each, hits=random.sample(list(each.hits), len(each.hits))) for each in reversed(lanes)]
    once = fuse(lanes, graph=graph, fusion=fusion, signals=signals)
    again = fuse(mixed, graph=graph, fusion=fusion, signals=signals)
    assert [(r.note, r.score) for r in once] == [(r.note, r.score) for r in again]


@given(lanes_, fusions)
def test_ties_are_broken_by_path(lanes, fusion):
    results = fuse(lanes, fusion=fusion)
    for first, second in pairwise(results):
        assert (-first.score, first.note) < (-second.score, second.note)


@given(lanes_, graphs, fusions, signals_)
def test_notes_of_that_name_come_before_all_others(lanes, graph, fusion, signals):
    flags = [result.exact for result in fuse(lanes, graph=graph, fusion=fusion, signals=signals)]
    assert flags == sorted(flags, reverse=True)
    assert sum(flags) == len(signals.exactly_named)


@given(lanes_, graphs, fusions, signals_)
def test_no_neighbour_stands_before_a_strong_direct_hit(lanes, graph, fusion, signals):
    results = fuse(lanes, graph=graph, fusion=fusion, signals=replace(signals, exactly_named=()))
    neighbours = [place for place, result in enumerate(results) if result.via_graph]
    for place, result in enumerate(results):
        leads = any(
            given.rank == 1 and given.contribution > 0
            for name, given in result.contributions.items()
            if name != "graph"
        )
        if neighbours and not result.via_graph and leads:
            assert place < neighbours[0]


worded_signals = st.builds(
    lambda signals, begun, with_word, misnamed: replace(
        signals, prefix_named=begun, with_word=with_word - misnamed, misnamed=misnamed
    ),
    signals_,
    st.lists(NAMES, unique=True, max_size=3),
    st.sets(NAMES, max_size=3),
    st.sets(NAMES, max_size=4),
)


def test_a_note_named_by_another_word_stays_below_those_with_the_word():
    lanes = [lane("keyword", {"Morale.md": 9.0, "Talk.md": 3.0, "Letter.md": 2.0, "Other.md": 1.0})]
    misnamed = Signals(misnamed={"Morale.md"}, with_word={"Letter.md", "Talk.md"})
    assert order(fuse(lanes))[0] == "Morale.md"
    assert order(fuse(lanes, signals=misnamed)) == ["Talk.md", "Letter.md", "Morale.md", "Other.md"]
    assert order(fuse(lanes, signals=Signals(misnamed={"Morale.md"}))) == order(fuse(lanes))


@given(lanes_, graphs, fusions, worded_signals)
def test_no_misnamed_note_stands_before_one_with_the_word(lanes, graph, fusion, signals):
    signals = replace(signals, exactly_named=(), prefix_named=())
    results = fuse(lanes, graph=graph, fusion=fusion, signals=signals)
    with_word = [each.score for each in results if each.note in signals.with_word and each.score > 0]
    if with_word:
        misnamed = [each.score for each in results if each.note in signals.misnamed]
        assert all(score <= min(with_word) + 1e-9 for score in misnamed)


@given(lanes_, graphs, fusions, worded_signals)
def test_names_that_begin_with_what_is_typed_come_first_in_their_order(lanes, graph, fusion, signals):
    signals = replace(signals, exactly_named=())
    assert order(fuse(lanes, graph=graph, fusion=fusion, signals=signals))[
        : len(signals.prefix_named)
    ] == list(signals.prefix_named)


@given(lanes_, graphs, fusions, worded_signals)
def test_a_score_is_what_its_figures_come_to(lanes, graph, fusion, signals):
    for result in fuse(lanes, graph=graph, fusion=fusion, signals=signals):
        assert result.recomputed == pytest.approx(result.score, abs=1e-9)
        for given_ in result.contributions.values():
            assert given_.gain == pytest.approx(given_.contribution - given_.baseline)


tidy_scores = st.dictionaries(NAMES, st.floats(0, 100), min_size=1, max_size=8)


@given(tidy_scores, tidy_scores, fusions, st.sets(NAMES))
def test_a_note_gains_the_same_whether_a_lane_proposes_or_only_knows_it(keyword, semantic, fusion, known):
    """Where the lanes are cut makes no difference to notes that links lead to."""
    fusion = replace(fusion, ranks="score")
    whole = [
        lane(name, scores, scale=scale_of(list(scores.values())))
        for name, scores in {"keyword": keyword, "semantic": semantic}.items()
    ]
    best = {each.name: max(hit.score for hit in each.hits) for each in whole}
    cut = [
        replace(
            each,
            hits=[hit for hit in each.hits if hit.note not in known or hit.score == best[each.name]],
            known={hit.note: hit.score for hit in each.hits},
        )
        for each in whole
    ]
    less = complete(combine(cut, fusion), cut, fusion)
    assert less.lane_gain == pytest.approx(combine(whole, fusion).lane_gain)


@given(tidy_scores, tidy_scores, st.floats(0.01, 50), fusions, st.data())
def test_a_higher_score_never_lowers_a_note(keyword, semantic, gain, fusion, data):
    note = data.draw(st.sampled_from(sorted(keyword)))
    raised = {**keyword, note: keyword[note] + gain}
    assume(raised[note] > keyword[note])
    scale = Scale(10.0, 0.0)
    before = fuse([lane("keyword", keyword, 1.0, scale), lane("semantic", semantic)], fusion=fusion)
    after = fuse([lane("keyword", raised, 1.0, scale), lane("semantic", semantic)], fusion=fusion)
    # Rounding may part what was equal, so only what was clearly behind must stay behind.
    scores_before = {result.note: result.score for result in before}
    scores_after = {result.note: result.score for result in after}
    for other, score in scores_before.items():
        if score < scores_before[note] - 1e-9:
            assert scores_after[other] <= scores_after[note] + 1e-9


@given(
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 10), min_size=1),
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 1)),
    st.sets(st.sampled_from("abcdefgh"), max_size=2),
)
def test_the_leaders_are_the_first_of_the_order_without_links(keyword, semantic, exact):
    lanes = [lane("keyword", keyword), lane("semantic", semantic)]
    signals = Signals(exactly_named=exact, age_days={"a": 1.0}, anchors={"b": 0.5})
    first = fuse(lanes, signals=signals)[:3]
    combined = combine(lanes, Fusion())
    assert leaders(combined, Fusion(), signals, 3) == {each.note: pytest.approx(each.score) for each in first}
