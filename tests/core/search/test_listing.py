"""A query of operators alone is a list: every matching note, the last modified first."""

import asyncio
from typing import Any

import pytest

from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

NOTES = {
    **{f"{n:02}.md": f"# Log {n}\n\nNothing.\n\n# Night\n\nThe alarm of pump {n}." for n in range(30)},
    "cake.md": "# Cake\n\nFor his birthday: 🎂, and a ☀\ufe0f on top.\n",
    "hidden.md": "# River\n\nSeen.\n\n%%\nA remark.\nThe otter swims.\n%%\n",
    "task.md": "Nothing. " * 200 + "\n\n# Work\n\n- [ ] call about the *alarm*\n",
}


def answered(index: OpenVault, query: str, **options: Any) -> dict[str, Any]:
    return asyncio.run(Searcher(index).search(SearchRequest(query, SearchSettings(), **options)))


@pytest.mark.parametrize(
    "query", ["content:alarm -path:task", "line:(pump alarm)", "block:(alarm pump)", "section:(night pump)"]
)
def test_operators_that_look_into_texts_list_every_note(opened, query):
    answer = answered(opened, query)
    assert (answer["total"], answer["search_method"]) == (30, "filter")
    times = [result["modified"] for result in answer["results"]]
    assert times == sorted(times, reverse=True)
    assert len(times) == 30


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "semantic"])
def test_a_listed_note_is_shown_where_it_has_the_words(opened, mode):
    (result,) = answered(opened, "task-todo:(call alarm)", mode=mode)["results"]
    assert result["heading_path"] == ["Work"]
    assert [result["preview"][low:high] for low, high in result["highlights"]] == ["call", "alarm"]


def test_excluded_words_are_not_shown(opened):
    result = answered(opened, "content:nothing -line:pump")["results"][0]
    assert {result["preview"][low:high] for low, high in result["highlights"]} == {"Nothing"}


def test_beside_words_those_of_operators_rank_too(opened):
    answer = answered(opened, "night line:(pump alarm)")
    assert (answer["interpreted"]["rank_text"], len(answer["results"])) == ("night pump alarm", 10)


def test_signs_list_the_notes_that_have_them(opened):
    for query, expected in (("🎂", ["cake.md"]), ("🎂 ☀", ["cake.md"]), ("🥞", []), ("path:task 🎂", [])):
        assert [result["path"] for result in answered(opened, query)["results"]] == expected, query
    assert answered(opened, "🚀\ufe0f")["results"] == []
    assert answered(opened, "🚀\ufe0f", typing=True)["results"] == []


@pytest.mark.parametrize(
    "query", ["line:otter", 'line:"otter swims"', "line:ott*", "/otter/", "line:/otter/"]
)
def test_words_that_are_hidden_name_the_line_where_they_are_written(opened, query):
    (result,) = answered(opened, query)["results"]
    assert (result["line"], result["column"], result["line_text"]) == (7, 1, "The otter swims.")
