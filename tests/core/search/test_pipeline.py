"""The steps of a search: each returns a new value and modifies no other value, and the trace keeps all
values."""

import asyncio
import copy
from dataclasses import replace
from typing import Any

import pytest

from keyword_answers import content_of, hits_of
from semantic_here import WorkerHere
from vaultseek.base import limits
from vaultseek.base.model import Reason
from vaultseek.core.search.lanes import Evidence, score_lanes
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.ranking import rank
from vaultseek.core.search.request import SearchRequest, parse_request
from vaultseek.core.search.response import Trace
from vaultseek.core.search.retrieve import Retrieval, ask_keyword, ask_semantic, combine_lanes
from vaultseek.core.search.selection import select_results
from vaultseek.errors import IndexDamaged, Unavailable, WorkerUnavailable
from vaultseek.semantic.worker.state import WorkerState
from vaultseek.settings.search import SearchSettings
from vaultseek.store.ledger.filter import filter_notes

NOTES = {
    "Pump.md": "# Pump\n\nThe sump pump has a float switch. [[Valve]]",
    "Valve.md": "# Valve\n\nA check valve keeps the water from coming back.",
    "Garden.md": "---\ntags: [outside]\n---\n# Garden\n\nSlugs eat the lettuce beside the pump.",
    "Soup.md": "# Soup\n\nTomato soup with basil.",
}

LOADING = WorkerState("starting", Reason("loading", "the model is being loaded"))


def request(query: str, **options: Any) -> SearchRequest:
    return SearchRequest(query, options.pop("settings", SearchSettings()), **options)


def run(index: Any, query: str, **options: Any) -> Trace:
    return asyncio.run(Searcher(index).run(request(query, **options)))


def paths(trace: Trace) -> list[str]:
    return [candidate.note for candidate in trace.results]


def test_the_trace_keeps_what_each_step_returned(opened):
    trace = run(opened, "pump tag:outside")
    assert trace.query.parsed.query.rank_text == "pump"
    assert trace.query.filtered is not None
    assert len(trace.query.filtered.ids) == 1
    assert trace.query.retrieval.keyword is not None
    assert [hit.note for hit in hits_of(trace.query.retrieval.keyword)] == trace.query.filtered.ids.tolist()
    assert paths(trace) == ["Garden.md"]
    assert set(trace.milliseconds) >= {"filter", "keyword", "semantic", "fuse", "passages"}


def test_steps_change_nothing_that_they_are_given(opened):
    parsed = parse_request(request("sump pump"))
    semantic = asyncio.run(ask_semantic(parsed, None, opened))
    retrieval = combine_lanes(ask_keyword(parsed, None, opened), semantic)
    fusion = score_lanes(parsed, retrieval, len(NOTES))
    scores = [(lane.name, lane.notes.tolist(), lane.scores.tolist(), lane.weight) for lane in fusion.lanes]
    given = copy.deepcopy((parsed, content_of(retrieval.keyword), scores))
    evidence = Evidence(parsed, retrieval, fusion, None, opened)
    ranking = rank(evidence)
    candidates = list(ranking.candidates)
    select_results(evidence, ranking, opened.index_state())
    scores = [(lane.name, lane.notes.tolist(), lane.scores.tolist(), lane.weight) for lane in fusion.lanes]
    assert (parsed, content_of(retrieval.keyword), scores) == given
    assert list(ranking.candidates) == candidates
    assert rank(evidence) is not ranking


def test_the_same_retrieval_ranks_the_same(opened):
    trace = run(opened, "sump pump")
    again = rank(trace.query)
    assert [each.note for each in again.candidates] == [each.note for each in trace.ranking.candidates]


def test_a_query_of_filters_alone_asks_no_lane(opened):
    trace = run(opened, "tag:outside")
    assert paths(trace) == ["Garden.md"]
    assert trace.query.retrieval == Retrieval()


def test_the_keyword_lane_alone_answers_when_meaning_cannot(opened, monkeypatch):
    async def down(*_: object, **__: object) -> None:
        raise WorkerUnavailable("the worker is down")

    monkeypatch.setattr(WorkerHere, "query", down)
    trace = run(opened, "sump pump")
    assert paths(trace)[0] == "Pump.md"
    assert trace.partial["semantic"].code == "worker_unavailable"
    assert not len(trace.query.fusion.named("semantic").notes)


def test_a_search_waits_for_a_model_that_is_being_loaded(opened, monkeypatch):
    async def loaded(worker: WorkerHere, deadline: float | None = None) -> None:
        assert deadline == limits.LOADING_SECONDS
        monkeypatch.setattr(WorkerHere, "state", WorkerState("ready"))

    monkeypatch.setattr(WorkerHere, "ready", loaded)
    monkeypatch.setattr(WorkerHere, "state", LOADING)
    typed = run(opened, "sump pump", typing=True)
    assert typed.partial["semantic"].code == "loading", "the next letter comes sooner than the model"
    assert run(opened, "sump pump").query.retrieval.answered == ["keyword", "semantic"]


def test_a_search_answers_by_word_if_loading_the_model_takes_longer(opened, monkeypatch):
    async def too_long(worker: WorkerHere, deadline: float | None = None) -> None:
        raise WorkerUnavailable("the semantic worker is starting", "loading")

    monkeypatch.setattr(WorkerHere, "ready", too_long)
    monkeypatch.setattr(WorkerHere, "state", LOADING)
    trace = run(opened, "sump pump")
    assert trace.partial["semantic"].code == "loading"
    assert paths(trace)[0] == "Pump.md"


def test_a_damaged_keyword_index_is_reported_and_left_out(opened, monkeypatch):
    reported: list[bool] = []

    def damaged(*_: object, **__: object) -> None:
        raise IndexDamaged("a segment is cut short")

    monkeypatch.setattr(type(opened.keyword_index), "search", damaged)
    monkeypatch.setattr(type(opened), "rebuild_keyword_index", lambda self: reported.append(True))
    trace = run(opened, "sump pump")
    assert trace.results
    assert trace.partial["keyword"].code == "index_damaged"
    assert reported == [True]


@pytest.mark.fault("H8")
def test_without_any_lane_there_is_no_answer(opened, monkeypatch):
    def damaged(*_: object, **__: object) -> None:
        raise IndexDamaged("a segment is cut short")

    monkeypatch.setattr(type(opened.keyword_index), "search", damaged)
    with pytest.raises(Unavailable, match="a segment is cut short"):
        run(opened, "sump pump", mode="keyword")


def test_an_expired_deadline_leaves_the_semantic_lane_out(opened, monkeypatch):
    async def slow(*_: object, **__: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(WorkerHere, "query", slow)
    trace = run(opened, "sump pump", seconds=0.01)
    assert trace.partial["semantic"].code == "deadline"
    assert paths(trace)[0] == "Pump.md"


def test_what_is_below_the_confidence_asked_for_is_dropped_and_the_rest_is_scaled_to_one(opened):
    trace = run(opened, "sump pump float switch")
    confidences = [each.confidence for each in trace.results]
    strict = SearchSettings(min_confidence=max(confidences), nothing_below=0.0)
    kept = run(opened, "sump pump float switch", settings=strict)
    assert [each.confidence for each in kept.results] == [max(confidences)]
    assert kept.results[0].score == 1.0


def test_nothing_is_a_result_that_names_the_nearest(opened):
    settings = SearchSettings(nothing_below=1.0)
    trace = run(opened, "quicksilver barometer", settings=settings)
    assert trace.results == []
    assert trace.nearest is not None
    filtered = run(opened, "quicksilver barometer tag:outside", settings=settings)
    assert paths(filtered) == ["Garden.md"], "what filters leave was asked for"


def test_a_longer_answer_begins_with_the_shorter_one(opened):
    long = run(opened, "pump valve water", limit=4)
    short = run(opened, "pump valve water", limit=1)
    assert paths(short) == paths(long)[:1]


def test_selecting_again_with_other_settings_needs_no_search(opened):
    trace = run(opened, "sump pump")
    strict = replace(trace.query.parsed.request, settings=SearchSettings(min_confidence=1.0))
    query = replace(trace.query, parsed=replace(trace.query.parsed, request=strict))
    selection = select_results(query, trace.ranking, query.index_state)
    assert selection.results == []


def test_filters_are_decided_without_a_search(opened):
    parsed = parse_request(request("tag:outside"))
    filtered = filter_notes(parsed.query.filter, opened.ledger)
    assert filtered is not None
    assert filtered.steps == (("tag outside", 1),)
