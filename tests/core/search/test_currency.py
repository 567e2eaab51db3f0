"""The currency of results: successors come first, and outdated notes are marked."""

import asyncio
from typing import Any

import pytest

from vaultseek.core.notes.context import pack_context
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import CurrencySettings, SearchSettings

LOOP = "The float switch is wired as a closed loop with a blue wire to relay 4."
NOTES = {
    "Old wiring.md": f"---\nstatus: deprecated\nsuperseded_by: '[[New wiring]]'\n---\n{LOOP} {LOOP}",
    "New wiring.md": "# New wiring\n\nThe switch goes to the controller by radio.",
    "Brake 2019.md": '---\nsuperseded_by: "[[Brake 2022]]"\n---\nBedding in: forty stops from thirty.',
    "Brake 2022.md": '---\nsuperseded_by: "[[Brake 2026]]"\n---\nBedding in: thirty stops.',
    "Brake 2026.md": "Fresh linings are run in slowly.",
    "Egg.md": '---\nreplaces: "[[Hen]]"\n---\nThe egg hatched by the hearth.',
    "Hen.md": '---\nreplaces: "[[Egg]]"\n---\nThe hen hatched by the hearth.',
    "Visa.md": "---\nstale_after: 2020-03-01\n---\nEmbassy hours are from nine to noon.",
    "Lease.md": "---\nvalid_until: 9000-01-01\n---\nEmbassy lane, the lease of the flat.",
    "Split.md": "Superseded by [[Left half]] and [[Right half]].\n\nDough for the oven on Sundays.",
    "Left half.md": "A poolish.",
    "Right half.md": "A levain.",
    "Gone.md": "---\nsuperseded_by: Nowhere\n---\nThe ferry timetable of the lake.",
    "Toaster.md": "---\nstatus: replaced by warranty\n---\nThe toaster browns crumpets.",
    "Kettle.md": "---\nstatus: superseded by Brake 2026\n---\nThe kettle whistles.",
    "Struck.md": "# Struck\n\nKeys are in the shed.\n\n~~The lantern hangs in the barn.~~",
    "Attic/Sledge.md": "The sledge hangs under the roof.",
    "Cellar/Ladder.md": "Superseded by [[Loft/Ladder]].\n\nEleven oak rungs and a rope.",
    "Loft/Ladder.md": "Aluminium.",
}


def search(index: Any, query: str, **options: Any) -> list[tuple[str, str | None]]:
    """Return the results' paths, each with the remark about its currency."""
    answer = asyncio.run(Searcher(index).search(request(query, **options)))
    return [
        (each["path"], each["currency"] and each["currency"]["text"])
        for each in answer["results"][: options.get("limit", 3)]
    ]


def request(query: str, **options: Any) -> SearchRequest:
    return SearchRequest(query, options.pop("settings", SearchSettings()), **options)


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_the_successor_comes_directly_before_what_it_replaces(opened, mode):
    assert search(opened, "closed loop blue wire relay", mode=mode)[:2] == [
        ("New wiring.md", "replaces Old wiring"),
        ("Old wiring.md", "superseded by New wiring"),
    ]


def test_a_note_asked_for_by_its_name_comes_first_with_the_remark(opened):
    assert search(opened, "old wiring")[:2] == [
        ("Old wiring.md", "superseded by New wiring"),
        ("New wiring.md", "replaces Old wiring"),
    ]


def test_a_chain_is_followed_to_its_end(opened):
    found = search(opened, "bedding in stops", mode="keyword")
    assert found[0] == ("Brake 2026.md", "replaces Brake 2022 and Brake 2019")
    assert sorted(found[1:]) == [
        ("Brake 2019.md", "superseded by Brake 2026"),
        ("Brake 2022.md", "superseded by Brake 2026"),
    ]


def test_notes_that_replace_each_other_keep_their_order(opened):
    found = search(opened, "hen hatched hearth", mode="keyword", limit=2)
    assert found == [
        ("Hen.md", "superseded by Egg, which it in turn supersedes"),
        ("Egg.md", "superseded by Hen, which it in turn supersedes"),
    ]


def test_a_note_with_two_successors_names_both(opened):
    assert search(opened, "dough oven sundays", mode="keyword") == [
        ("Left half.md", "replaces Split"),
        ("Right half.md", "replaces Split"),
        ("Split.md", "superseded by Left half and Right half"),
    ]


def test_a_successor_with_the_same_title_is_named_by_its_path(opened):
    assert search(opened, "eleven oak rungs", mode="keyword") == [
        ("Loft/Ladder.md", "replaces Cellar/Ladder.md"),
        ("Cellar/Ladder.md", "superseded by Loft/Ladder.md"),
    ]


def test_a_missing_successor_is_named(opened):
    assert search(opened, "ferry timetable", mode="keyword") == [
        ("Gone.md", "superseded by Nowhere, which is missing")
    ]


def test_words_of_a_status_are_a_successor_only_if_there_is_such_a_note(opened):
    assert search(opened, "toaster crumpets", mode="keyword") == [("Toaster.md", "marked replaced")]
    assert ("Kettle.md", "superseded by Brake 2026") in search(opened, "kettle whistles", mode="keyword")


def test_a_note_past_its_date_says_since_when(opened):
    found = search(opened, "embassy", mode="keyword")
    assert sorted(found) == [("Lease.md", None), ("Visa.md", "stale since 2020-03-01")]


def test_a_struck_passage_is_marked_where_it_is_shown(opened):
    assert search(opened, "lantern barn", mode="keyword") == [("Struck.md", "line 5 is struck out")]
    assert search(opened, "keys shed", mode="keyword") == [("Struck.md", None)]


def test_settings_name_folders_that_no_longer_hold(opened):
    assert search(opened, "sledge roof", mode="keyword") == [("Attic/Sledge.md", None)]
    settings = SearchSettings(currency=CurrencySettings(folders=("Attic",)))
    marked = [("Attic/Sledge.md", "in the folder Attic")]
    assert search(opened, "sledge roof", mode="keyword", settings=settings) == marked
    assert ("Attic/Sledge.md", "in the folder Attic") in search(
        opened, "is:superseded", settings=settings, limit=20
    )


def test_filters_select_by_currency(opened):
    superseded = {
        "Old wiring.md",
        "Brake 2019.md",
        "Brake 2022.md",
        "Egg.md",
        "Hen.md",
        "Split.md",
        "Gone.md",
        "Toaster.md",
        "Kettle.md",
        "Cellar/Ladder.md",
    }
    assert {path for path, _ in search(opened, "is:superseded", limit=50)} == superseded
    assert {path for path, _ in search(opened, "is:stale", limit=50)} == {"Visa.md"}
    current = {path for path, _ in search(opened, "is:current", limit=50)}
    assert current == NOTES.keys() - superseded - {"Visa.md"}


def test_a_successor_outside_the_filter_stays_out(opened):
    found = search(opened, "closed loop blue wire is:superseded", mode="keyword")
    assert found[0] == ("Old wiring.md", "superseded by New wiring")
    assert "New wiring.md" not in dict(found)


def test_the_order_does_not_depend_on_the_limit(opened):
    whole = search(opened, "loop wire stops hearth dough", limit=10)
    for limit in (1, 2, 3, 5):
        assert search(opened, "loop wire stops hearth dough", limit=limit) == whole[:limit]


@pytest.mark.parametrize("query", ["closed loop blue wire relay", "dough oven sundays"])
def test_a_successor_is_as_certain_as_what_it_replaces_whatever_the_limit(opened, query):
    answers = (
        asyncio.run(Searcher(opened).search(request(query, limit=limit)))["results"] for limit in (1, 2, 3, 9)
    )
    certain = [[round(each["certainty"], 1) for each in results[:2]] for results in answers]
    assert {each[0] for each in certain} == {certain[-1][0]}
    assert {each[1] for each in certain[1:]} == {certain[-1][1]}
    assert certain[0][0] > 0.5


def test_an_explanation_makes_the_score_of_a_successor(opened):
    trace = asyncio.run(Searcher(opened).run(request("closed loop blue wire relay", mode="keyword")))
    for candidate in trace.results:
        assert candidate.recomputed == pytest.approx(candidate.score)
    scores = [candidate.score for candidate in trace.results]
    assert scores == sorted(scores, reverse=True)
    certainties = [trace.certainty(candidate) for candidate in trace.results]
    assert certainties == sorted(certainties, reverse=True)


def test_evidence_names_the_successor(opened):
    trace = asyncio.run(Searcher(opened).run(request("closed loop blue wire relay", mode="keyword")))
    text = pack_context(trace, opened.ledger, 500)["text"]
    assert "| superseded by New wiring" in text
    assert "by radio" in text
