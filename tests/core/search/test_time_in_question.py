"""A time named in a question: notes from that time rank higher, and no other is dropped."""

import asyncio
from typing import Any

import pytest

from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

NOTES = {
    **{
        f"2024-{month:02}-14.md": "The brake pads were cleaned, and the brake squealed."
        for month in range(1, 13)
    },
    "Log.md": "On 2023-05-03 the brake squealed.",
    "Pads.md": "---\ndate: 2021-08-02\n---\nThe brake pads squealed.",
    "Move.md": "Brakes since the move are quiet.",
}


def answer(index: Any, query: str, **options: Any) -> Any:
    settings = options.pop("settings", SearchSettings())
    return asyncio.run(Searcher(index).search(SearchRequest(query, settings, **options)))


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("brake squealed in September 2024", "2024-09-14.md"),
        ("brake squealed in March 2024", "2024-03-14.md"),
        ("brake squealed in spring 2023", "Log.md"),
        ("brake squealed in 2021", "Pads.md"),
        ("Bremse brake im Juli 2024", "2024-07-14.md"),
    ],
)
def test_the_note_of_that_time_comes_first(opened, query, first):
    results = answer(opened, query, mode="keyword")["results"]
    assert results[0]["path"] == first
    assert len(results) == 10, "it is not a filter"


def test_the_answer_says_how_the_time_was_read_and_a_term_takes_it_back(opened):
    read = answer(opened, "brake squealed in September 2024", mode="keyword")["interpreted"]
    assert read["time"] == {"text": "in September 2024", "first": "2024-09-01", "last": "2024-09-30"}
    said = (
        "“in September 2024” was read as 2024-09-01 to 2024-09-30; notes from that time rank higher; "
        "add when:any to turn this off"
    )
    assert read["notes"] == [said]
    taken_back = answer(opened, "brake squealed in September 2024 when:any", mode="keyword")["interpreted"]
    assert (taken_back["time"], taken_back["notes"]) == (None, [])
    assert taken_back["rank_text"] == "brake squealed in September 2024"


def test_nothing_is_said_to_rank_higher_above_no_results(opened):
    found = answer(opened, "brake in September 2024 path:Nowhere/", mode="keyword")
    assert (found["results"], found["interpreted"]["notes"]) == ([], [])
    assert found["interpreted"]["time"]["first"] == "2024-09-01"


@pytest.mark.parametrize("query", ['brake "in September 2024"', "brake since the move", "May"])
def test_phrases_and_other_words_name_no_time(opened, query):
    assert answer(opened, query, mode="keyword")["interpreted"]["time"] is None


@pytest.mark.parametrize(
    "query", ["21 October 2022", "21. Oktober 2022", "den 21. Oktober 2022", "October the 21st, 2022"]
)
def test_nothing_is_said_about_a_query_that_is_a_day(index_of, query):
    notes = {"Fair.md": "The fair of October the 21st, 2022.", "2023-05.md": "October fair.", "Other.md": "x"}
    found = answer(index_of(notes), query, mode="keyword")
    assert [result["path"] for result in found["results"]][:1] == ["Fair.md"]
    assert (found["interpreted"]["time"], found["interpreted"]["notes"]) == (None, [])


def test_a_setting_turns_it_off(opened):
    found = answer(opened, "brake in September 2024", settings=SearchSettings(times=False))
    assert found["interpreted"]["time"] is None


def test_an_explanation_makes_the_score(opened):
    trace = asyncio.run(Searcher(opened).run(SearchRequest("brake in September 2024", SearchSettings())))
    assert trace.results[0].figure("time", 0.0) > 0
    for candidate in trace.results:
        assert candidate.recomputed == pytest.approx(candidate.score)


def test_a_wrong_value_of_when_is_named(opened):
    notes = answer(opened, "brake when:soon", mode="keyword")["interpreted"]["notes"]
    assert notes == ["when:soon was treated as words; expected any, to ignore times in the query"]


DIARY = {
    f"2025-{month:02}-{day:02}.md": f"The brakes squeaked, {day} times. Then lunch."
    for month in range(3, 8)
    for day in range(1, 29)
}
"""Many notes that match the words of a question equally well."""


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize(
    ("query", "begin"),
    [
        ("brakes on 17 March 2025", "2025-03-17"),
        ("what happened on 17 March 2025", "2025-03-17"),
        ("squeaked brakes in May 2025", "2025-05-"),
        ("in May 2025", "2025-05-"),
    ],
)
def test_in_a_diary_the_notes_of_that_time_come_first(index_of, query, begin, mode):
    paths = [each["path"] for each in answer(index_of(DIARY), query, mode=mode)["results"]]
    assert all(path.startswith(begin) for path in paths[: 1 if begin[-1] != "-" else 5])
