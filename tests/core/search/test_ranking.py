"""The order of notes from the lanes' scores and the signals."""

import math
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from vaultseek.base.when import When
from vaultseek.core.search.formula import RECENCY_SHARE, Scale, recency_gain, scale_of
from vaultseek.core.search.lanes import Fusion, Lane, Table
from vaultseek.core.search.links import Neighbours, add_links
from vaultseek.core.search.ranking import SIGNALS, Candidate, Ranking
from vaultseek.core.search.retrieve import Retrieval
from vaultseek.core.search.signals import DAY_SECONDS
from vaultseek.settings.search import SearchSettings
from vaultseek.store.ledger import NoteRow


@dataclass(frozen=True)
class Given:
    """One lane's scores by note, and the scores of further notes that the lane knows but does not propose."""

    name: str
    scores: Mapping[str, float]
    weight: float = 1.0
    scale: Scale | None = None
    known: Mapping[str, float] = field(default_factory=dict)

    def lane(self) -> Lane:
        proposed = sorted(self.scores.items(), key=lambda each: (-each[1], each[0]))
        best = proposed[0][1] if proposed else 0.0
        known = sorted(
            ((note, min(score, best)) for note, score in self.known.items() if note not in self.scores),
            key=lambda each: -each[1],
        )
        scores = np.array([score for _, score in (*proposed, *known)], np.float64)
        scale = self.scale or scale_of([*self.scores.values()])
        return Lane(self.name, _ids(note for note, _ in (*proposed, *known)), scores, scale, self.weight)


@dataclass(frozen=True)
class Signals:
    """Facts about the notes apart from the lanes."""

    age_days: Mapping[str, float] = field(default_factory=dict)
    anchors: Mapping[str, int] = field(default_factory=dict)
    """The number of four anchors that a note has."""
    exactly_named: Collection[str] = ()
    prefix_named: Sequence[str] = ()
    other_words: Collection[str] = ()
    with_word: Collection[str] = ()
    joined: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


_NUMBERS: dict[str, int] = {}


def _ids(notes: Any) -> Any:
    return np.array([_NUMBERS.setdefault(note, len(_NUMBERS) + 1) for note in notes], np.int64)


def _row(note: str, signals: Signals) -> NoteRow:
    modified = time.time() - signals.age_days.get(note, 1e6) * DAY_SECONDS
    return NoteRow(
        int(_ids([note])[0]), note, note, True, (), (), "[]", {}, modified, When(f"{2020}-01-01", "day")
    )


def fuse(
    lanes: Sequence[Given],
    *,
    graph: Given | None = None,
    fusion: Fusion | None = None,
    signals: Signals | None = None,
) -> list[Candidate]:
    signals = signals or Signals()
    proposed = {note for each in (*lanes, *([graph] if graph else [])) for note in each.scores}
    notes = [*dict.fromkeys([*sorted(proposed), *signals.exactly_named, *signals.prefix_named])]
    rows = {row.id: row for row in (_row(note, signals) for note in notes)}
    depth = max((len(each.scores) for each in lanes), default=1)
    fusion = replace(fusion or Fusion(), lanes=[each.lane() for each in lanes], depth=depth)
    table = Table.of(rows, fusion)
    anchors = [f"anchor{number}" for number in range(4)]
    table.words = {
        word: np.array([signals.anchors.get(note, 0) > number for note in notes], np.bool_)
        for number, word in enumerate(anchors)
    } | {"word": np.array([note in {*signals.joined} for note in notes], np.bool_)}
    begun = {note: 1 - place / len(signals.prefix_named) for place, note in enumerate(signals.prefix_named)}

    def are(those: Collection[str]) -> Any:
        return np.array([note in those for note in notes], np.float64)

    table.facts = {
        "exact": are(signals.exactly_named),
        "named": are(signals.exactly_named),
        "begun": np.array([begun.get(note, 0.0) for note in notes], np.float64),
        "other words": are(signals.other_words),
        "own words": are(signals.with_word),
    }
    by_id = {note: int(number) for note, number in zip(notes, table.ids.tolist(), strict=True)}
    strengths = {
        by_id[note]: {by_id[other]: share for other, share in others.items() if other in by_id}
        for note, others in signals.joined.items()
        if note in by_id
    }
    links = {} if graph is None else {by_id[note]: score for note, score in graph.scores.items()}
    add_links(table, Neighbours(links, {}, strengths), 0.0 if graph is None else graph.weight)
    query: Any = SimpleNamespace(
        settings=SearchSettings(),
        keyword=object(),
        word_weights={"word": 1.0},
        retrieval=Retrieval(),
        parsed=SimpleNamespace(
            profile=SimpleNamespace(anchors=anchors), time=None, request=SimpleNamespace(typing=True)
        ),
    )
    for signal in SIGNALS:
        signal.apply(query, table)
    return Ranking.of(table).candidates


def lane(name: str, scores: Mapping[str, float], weight: float = 1.0, scale: Scale | None = None) -> Given:
    return Given(name, scores, weight, scale)


def order(results: list[Candidate]) -> list[str]:
    return [result.note for result in results]


def part(result: Candidate, lane: str, column: str) -> Any:
    parts = result.ranking.notes.parts
    return getattr(parts[lane], column)[result.row] if lane in parts else 0.0


def raw(results: list[Candidate]) -> dict[str, float]:
    """The sum of the lanes' scores per note."""
    return {
        result.note: sum(float(each.contribution[result.row]) for each in result.ranking.notes.parts.values())
        for result in results
    }


def by_link(result: Candidate) -> bool:
    return bool(result.ranking.notes.fact("by link")[result.row])


RECENT = 1 + RECENCY_SHARE * 0.2
INTEGER = Fusion(ranks="integer")


def test_textbook_rrf_adds_weighted_reciprocal_ranks():
    results = fuse(
        [
            lane("keyword", {"a": 9.0, "b": 5.0}, weight=1.5),
            lane("semantic", {"b": 0.9, "c": 0.1}, weight=0.5),
        ],
        fusion=INTEGER,
    )
    given = raw(results)
    assert given == pytest.approx({"a": 1.5 / 61, "b": 1.5 / 62 + 0.5 / 61, "c": 0.5 / 62})
    assert order(results) == ["b", "a", "c"]
    assert results[0].score == 1.0
    assert results[1].score == pytest.approx(given["a"] / given["b"])


def test_score_ranks_keep_how_far_apart_two_scores_were():
    results = fuse([lane("keyword", {"a": 10.0, "b": 9.0, "c": 0.0}, scale=Scale(2.0, 0.0))])
    ranks = {result.note: part(result, "keyword", "fused_rank") for result in results}
    assert ranks == pytest.approx({"a": 1.0, "b": 2.5, "c": 16.0})
    assert [part(result, "keyword", "rank") for result in results] == [1, 2, 3]
    assert part(results[1], "keyword", "contribution") == pytest.approx(1 / 62.5)
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
    assert part(known, "semantic", "known")
    assert part(known, "semantic", "rank") == 0
    textbook = fuse([words, knowing], fusion=INTEGER)
    assert not part(next(result for result in textbook if result.note == "b"), "semantic", "known")


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
    assert raw(results) == pytest.approx({"a": 0.3, "b": 0.3 * 0.5 + 0.7, "c": 0.0, "d": 0.0})


@pytest.mark.parametrize(
    ("age", "multiplier"),
    [
        (0, 1.2),
        (7, 1.2),
        (7.1, 1.1),
        (30, 1.1),
        (31, 1.0),
        (-0.5, 1.2),
        (-1.1, 1.0),
        (None, 1.0),
    ],
)
def test_recency_tiers(age, multiplier):
    tiers = [(tier.days, tier.factor) for tier in SearchSettings().recency.tiers]
    ages = np.array([np.nan if age is None else age])
    assert 1 + recency_gain(ages, tiers)[0] == pytest.approx(multiplier)


def test_recency_multiplies_a_share_of_the_score():
    results = fuse(
        [lane("keyword", {"old": 1.0, "new": 1.0})], signals=Signals(age_days={"old": 99, "new": 1})
    )
    assert order(results) == ["new", "old"]
    assert results[0].figure("recency") == pytest.approx(RECENT)
    assert results[1].score == pytest.approx(1 / RECENT)


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
        assert all(undated[later] <= undated[note] * RECENT + 1e-9 for later in dated[place:])


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
    assert order(fuse(lanes, signals=Signals(anchors={"d40": 4})))[0] == "d40"
    half = fuse(lanes, signals=Signals(anchors={"d40": 2}))
    assert next(result for result in half if result.note == "d40").figure("anchors") == 1.25


def test_a_note_of_that_name_comes_first_even_if_no_lane_found_it():
    results = fuse([lane("semantic", {"a": 0.9, "b": 0.8})], signals=Signals(exactly_named={"z", "b"}))
    assert order(results) == ["b", "z", "a"]
    assert [result.score for result in results] == sorted((result.score for result in results), reverse=True)


def test_a_neighbour_stays_below_strong_direct_hits_whatever_speaks_for_it():
    results = fuse(
        [lane("keyword", {"a": 9.0, "b": 8.0, "c": 0.5}), lane("semantic", {"b": 0.9, "d": 0.2})],
        graph=lane("graph", {"n": 1.0, "m": 0.9}, weight=5.0),
        signals=Signals(age_days={"n": 0, "m": 0}, anchors={"n": 4}),
    )
    assert set(order(results)[:2]) == {"a", "b"}
    assert order(results).index("n") < order(results).index("m")
    neighbour = next(result for result in results if result.note == "n")
    assert by_link(neighbour)
    assert neighbour.figure("bound") < 1.0


def test_a_neighbour_stays_below_the_leader_of_a_weak_lane():
    results = fuse(
        [lane("keyword", {"k": 9.0}, weight=0.05), lane("semantic", {"a": 0.9, "b": 0.8}, weight=3.0)],
        graph=lane("graph", {"n": 1.0}, weight=5.0),
    )
    assert order(results).index("k") < order(results).index("n")


def test_a_note_comes_up_to_the_better_one_with_which_it_answers_the_query():
    lanes = [lane("keyword", {"a": 9.0, "b": 8.9, "c": 8.8, "d": 8.7, "e": 1.0})]
    joined = Signals(joined={"d": {"a": 0.9}, "a": {"d": 0.9}})
    results = fuse(lanes, signals=joined)
    assert order(results) == ["a", "d", "b", "c", "e"]
    assert results[1].score == pytest.approx(0.99)
    alone = {each.note: each.score for each in fuse(lanes)}
    assert {each.note: each.score / each.figure("joined") for each in results} == pytest.approx(alone)


def test_a_note_without_any_word_of_the_query_does_not_come_up():
    lanes = [lane("keyword", {"a": 9.0, "b": 8.9}), lane("semantic", {"a": 0.9, "b": 0.8, "c": 0.7})]
    signals = Signals(joined={"c": {"a": 1.0}}, other_words={"c"})
    assert order(fuse(lanes, signals=signals)) == order(fuse(lanes))


def test_graph_evidence_adds_a_little_to_a_direct_hit():
    lanes = [lane("keyword", {"a": 9.0, "b": 8.9, "c": 1.0})]
    results = fuse(lanes, graph=lane("graph", {"b": 1.0, "c": 1.0}))
    assert order(results) == ["b", "a", "c"]
    assert not by_link(results[0])


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
    anchors=st.dictionaries(NAMES, st.integers(0, 4), max_size=4),
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
    candidates = {note for each in [*lanes, *([graph] if graph else [])] for note in each.scores}
    assert set(order(results)) <= candidates | set(signals.exactly_named)


@given(lanes_, graphs, fusions, signals_, st.randoms())
def test_the_order_of_hits_and_lanes_does_not_matter(lanes, graph, fusion, signals, random):
    mixed = [
        replace(each, scores=dict(random.sample([*each.scores.items()], len(each.scores))))
        for each in reversed(lanes)
    ]
    once = fuse(lanes, graph=graph, fusion=fusion, signals=signals)
    again = fuse(mixed, graph=graph, fusion=fusion, signals=signals)
    assert order(once) == order(again)
    assert [each.score for each in once] == pytest.approx([each.score for each in again])


@given(lanes_, fusions)
def test_ties_are_broken_by_path(lanes, fusion):
    results = fuse(lanes, fusion=fusion)
    for first, second in pairwise(results):
        assert (-first.score, first.note) < (-second.score, second.note)


@given(lanes_, graphs, fusions, signals_)
def test_notes_of_that_name_come_before_all_others(lanes, graph, fusion, signals):
    notes = order(fuse(lanes, graph=graph, fusion=fusion, signals=signals))
    flags = [note in signals.exactly_named for note in notes]
    assert flags == sorted(flags, reverse=True)
    assert sum(flags) == len(signals.exactly_named)


@given(lanes_, graphs, fusions, signals_)
def test_no_neighbour_stands_before_a_strong_direct_hit(lanes, graph, fusion, signals):
    results = fuse(lanes, graph=graph, fusion=fusion, signals=replace(signals, exactly_named=()))
    neighbours = [place for place, result in enumerate(results) if by_link(result)]
    for place, result in enumerate(results):
        leads = any(
            part(result, each.name, "rank") == 1 and part(result, each.name, "contribution") > 0
            for each in lanes
        )
        if neighbours and not by_link(result) and leads:
            assert place < neighbours[0]


worded_signals = st.builds(
    lambda signals, begun, with_word, other_words: replace(
        signals, prefix_named=begun, with_word=with_word - other_words, other_words=other_words
    ),
    signals_,
    st.lists(NAMES, unique=True, max_size=3),
    st.sets(NAMES, max_size=3),
    st.sets(NAMES, max_size=4),
)


def test_a_note_named_by_another_word_stays_below_those_with_the_word():
    lanes = [lane("keyword", {"Morale.md": 9.0, "Talk.md": 3.0, "Letter.md": 2.0, "Other.md": 1.0})]
    misnamed = Signals(other_words={"Morale.md"}, with_word={"Letter.md", "Talk.md"})
    assert order(fuse(lanes))[0] == "Morale.md"
    assert order(fuse(lanes, signals=misnamed)) == ["Talk.md", "Letter.md", "Morale.md", "Other.md"]
    assert order(fuse(lanes, signals=Signals(other_words={"Morale.md"}))) == order(fuse(lanes))


@given(lanes_, graphs, fusions, worded_signals)
def test_no_misnamed_note_stands_before_one_with_the_word(lanes, graph, fusion, signals):
    signals = replace(signals, exactly_named=(), prefix_named=())
    results = fuse(lanes, graph=graph, fusion=fusion, signals=signals)
    with_word = [each.score for each in results if each.note in signals.with_word and each.score > 0]
    if with_word:
        misnamed = [each.score for each in results if each.note in signals.other_words]
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


tidy_scores = st.dictionaries(NAMES, st.floats(0, 100), min_size=1, max_size=8)


@given(tidy_scores, tidy_scores, fusions, st.sets(NAMES))
def test_a_note_gains_the_same_whether_a_lane_proposes_or_only_knows_it(keyword, semantic, fusion, known):
    """The cutoff of the lanes makes no difference to linked notes."""
    fusion = replace(fusion, ranks="score")
    whole = [
        lane(name, scores, scale=scale_of([*scores.values()]))
        for name, scores in {"keyword": keyword, "semantic": semantic}.items()
    ]
    cut = [
        replace(
            each,
            scores={
                note: score
                for note, score in each.scores.items()
                if note not in known or score == max(each.scores.values())
            },
            known=each.scores,
        )
        for each in whole
    ]
    links = lane("graph", dict.fromkeys({*keyword, *semantic}, 0.0))
    gains = [
        {each.note: each.arithmetic["gain"] for each in fuse(lanes, graph=links, fusion=fusion)}
        for lanes in (cut, whole)
    ]
    assert gains[0] == pytest.approx(gains[1])


@given(tidy_scores, tidy_scores, st.floats(0.01, 50), fusions, st.data())
def test_a_higher_score_never_lowers_a_note(keyword, semantic, gain, fusion, data):
    note = data.draw(st.sampled_from(sorted(keyword)))
    raised = {**keyword, note: keyword[note] + gain}
    assume(raised[note] > keyword[note])
    scale = Scale(10.0, 0.0)
    before = fuse([lane("keyword", keyword, 1.0, scale), lane("semantic", semantic)], fusion=fusion)
    after = fuse([lane("keyword", raised, 1.0, scale), lane("semantic", semantic)], fusion=fusion)
    # Rounding may separate equal scores, so only notes that were clearly lower must stay lower.
    scores_before = {result.note: result.score for result in before}
    scores_after = {result.note: result.score for result in after}
    for other, score in scores_before.items():
        if score < scores_before[note] - 1e-9:
            assert scores_after[other] <= scores_after[note] + 1e-9
