"""Property text is text: searches by word, phrase and meaning find it, and results show that a property
matched."""

import asyncio
from typing import Any

import pytest

from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

NOTES = {
    "Ada.md": '---\ncreated: 2026-03-01\nrole: Product manager\nteam: "[[Core]]"\n---\nMet at the fair.\n',
    "Bo.md": "---\nrole: Gardener\n---\nProduct of the year: a manager wrote about it.\n",
    "Cy.md": "# Cy\n\nA product manager told me about pumps, and another product manager did not.\n",
    "Di.md": "---\nphone: 555-0199\n---\n",
    "Em.md": "---\ntitle: The Grower\naliases: Digger\ntags: [garden, home]\n---\nTomatoes.\n",
}


def search(index: OpenVault, query: str, **options: Any) -> list[dict[str, Any]]:
    answer = asyncio.run(Searcher(index).search(SearchRequest(query, SearchSettings(), **options)))
    return list(answer["results"])


def paths(index: OpenVault, query: str, **options: Any) -> list[str]:
    return [result["path"] for result in search(index, query, **options)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"Product manager"', {"Ada.md", "Cy.md"}),
        ('"role: product manager"', {"Ada.md"}),
        ('"product manager team"', set()),
        ('"555-0199"', {"Di.md"}),
    ],
)
def test_a_phrase_may_stand_in_a_property(opened, query, expected):
    assert set(paths(opened, query)) == expected


def test_a_word_may_be_the_name_of_a_property(opened):
    assert set(paths(opened, "role", mode="keyword")) == {"Ada.md", "Bo.md"}


def test_an_excluded_word_may_stand_in_a_property(opened):
    assert "Bo.md" not in paths(opened, "product -gardener")


def test_a_result_says_that_a_property_matched(opened):
    result = next(each for each in search(opened, "product manager") if each["path"] == "Ada.md")
    assert (result["property"], result["preview"]) == ("role", "role: Product manager")
    assert [result["preview"][a:b] for a, b in result["highlights"]] == ["Product", "manager"]
    assert (result["start_line"], result["line"], result["end_line"]) == (2, 3, 5)
    assert (result["chunk_id"], result["heading_path"]) == (None, [])
    text = next(each for each in search(opened, "product manager") if each["path"] == "Cy.md")
    assert text["property"] is None
    assert text["chunk_id"]


@pytest.mark.parametrize(
    ("query", "shown", "marked", "line"),
    [
        ("[team]", "team: Core", ["team"], 4),
        ('[role:"product manager"]', "role: Product manager", ["role", "Product manager"], 3),
        ("[created:>2026-01]", "created: 2026-03-01", ["created"], 2),
        ("/role: Pro/", "role: Product manager", ["role: Pro"], 3),
        ("/^team:/", "team: Core", ["team:"], 4),
    ],
)
def test_a_filter_by_a_property_shows_that_property(opened, query, shown, marked, line):
    (result,) = search(opened, query)
    assert (result["path"], result["property"]) == ("Ada.md", shown.partition(":")[0])
    assert (result["line"], result["line_text"]) == (line, shown)
    assert [result["preview"][low:high] for low, high in result["highlights"]] == marked


@pytest.mark.parametrize(
    "query", ["/^tags: garden, /", "/garden.*home/", "/ALIASES: Digger$/", "/^title: The G/"]
)
def test_an_expression_finds_tags_and_names_as_they_are_written(opened, query):
    assert paths(opened, query) == ["Em.md"]


def test_an_expression_finds_text_before_properties(opened):
    assert {each["path"]: each["property"] for each in search(opened, "/product/")} == {
        "Ada.md": "role",
        "Bo.md": None,
        "Cy.md": None,
    }


def test_a_note_without_text_is_shown_by_its_property(opened):
    assert [each["preview"] for each in search(opened, "555-0199", mode="keyword")] == ["phone: 555-0199"]


def test_meaning_knows_a_note_by_its_properties(opened):
    first = search(opened, "gardener", mode="semantic")[0]
    assert first["path"] == "Bo.md"
