"""The explanation of a note's rank, read from the trace of one search."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from semantic_here import open_here
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.notes.why import why
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.errors import IndexDamaged
from vaultseek.settings.search import SearchSettings

NOTES = {f"Pump {number}.md": "pump " * (30 - number) + "filler " * number for number in range(30)} | {
    "Soup.md": "# Soup\n\nTomato soup with basil.",
    "Drinks.md": "---\ntags: [drinks]\n---\nA pump for beer.",
}


@pytest.fixture
def opened(vault: Callable[[dict[str, str]], Path], tmp_path: Path) -> Iterator[OpenVault]:
    """The notes, indexed by word and link."""
    index = open_here(vault(NOTES), tmp_path / "index")
    index.indexer.apply(index.indexer.reconcile())
    yield index
    index.close()


def ask(index: OpenVault, query: str, note: str, **options: Any) -> dict[str, Any]:
    settings = options.pop("settings", SearchSettings())
    row = index.ledger.notes.by_path(note)
    return asyncio.run(
        why(row, SearchRequest(query, settings, mode="keyword", explain=True, **options), index)
    )


def test_a_result_is_found_at_its_rank(opened):
    answer = ask(opened, "pump beer", "Drinks.md")
    assert (answer["verdict"], answer["code"]) == ("found", "found")
    assert answer["result"]["rank"] == 1
    assert answer["explain"]["weights"]["keyword"] > 0


def test_it_says_what_the_answer_says_of_itself(opened):
    answer = ask(opened, "beer quicksilver zeppelin tungsten", "Drinks.md")
    assert (answer["verdict"], answer["weak"]) == ("found", True)
    assert not ask(opened, "beer", "Drinks.md")["weak"]
    (remark,) = ask(opened, "beerr", "Drinks.md")["interpreted"]["notes"]
    assert remark.startswith('no note has "beerr"')


def test_a_note_that_a_condition_excludes(opened):
    answer = ask(opened, "pump tag:drinks", "Soup.md")
    assert answer["verdict"] == "filtered"
    assert [condition["satisfied"] for condition in answer["filters"]] == [False]


def test_a_note_without_any_of_the_words(opened):
    answer = ask(opened, "pump", "Soup.md")
    assert answer["verdict"] == "no_lane"
    assert answer["lanes"]["keyword"]["code"] == "no_match"


def test_a_note_below_the_limit_has_the_rank_of_a_longer_answer(opened):
    longer = asyncio.run(
        Searcher(opened).search(SearchRequest("pump", SearchSettings(), limit=40, mode="keyword"))
    )
    last = longer["results"][-1]
    answer = ask(opened, "pump", last["path"], limit=1)
    assert answer["verdict"] == "below_limit"
    assert answer["result"]["rank"] == last["rank"]
    assert answer["lanes"]["keyword"]["rank"] == last["rank"]


def test_a_note_of_too_little_confidence_is_cut(opened):
    answer = ask(opened, "pump beer glass", "Pump 3.md", settings=SearchSettings(min_confidence=0.99))
    assert (answer["verdict"], answer["code"]) == ("cut", "below_minimum")


def test_a_lane_has_one_rank_for_a_note(opened):
    for number in (1, 9, 17, 25):
        answer = ask(opened, "pump filler", f"Pump {number}.md", limit=3)
        ranks = {answer["lanes"]["keyword"]["rank"]} if "lanes" in answer else set()
        ranks |= {answer["result"]["lanes"]["keyword"]["rank"]} - {None}
        assert len(ranks) == 1


def test_the_lanes_are_searched_once(opened, monkeypatch):
    searches: list[str] = []
    search = type(opened.keyword_index).search

    def counted(self: Any, text: str, *rest: Any, **options: Any) -> Any:
        searches.append(text)
        return search(self, text, *rest, **options)

    monkeypatch.setattr(type(opened.keyword_index), "search", counted)
    for note in ("Drinks.md", "Pump 29.md", "Soup.md"):
        searches.clear()
        ask(opened, "pump", note, limit=2)
        assert searches == ["pump"]


def test_a_lane_that_breaks_while_it_is_asked_again_says_so(opened, monkeypatch):
    search = type(opened.keyword_index).search
    calls: list[int] = []

    def breaking(self: Any, text: str, k: int, *rest: Any, **options: Any) -> Any:
        calls.append(k)
        if len(calls) > 1:
            raise IndexDamaged("a segment is cut short")
        return search(self, text, 1, *rest)

    monkeypatch.setattr(type(opened.keyword_index), "search", breaking)
    answer = ask(opened, "pump", "Pump 29.md")
    assert answer["verdict"] == "no_lane"
    assert answer["lanes"]["keyword"]["code"] == "index_damaged"
    assert calls[1] > calls[0]


def test_meaning_has_a_say_about_a_query_of_identifiers_alone(opened):
    async def embed_and_ask() -> dict[str, Any]:
        while await opened.embedding.step():
            pass
        row = opened.ledger.notes.by_path("Soup.md")
        return await why(row, SearchRequest("E-4107", SearchSettings()), opened)

    answer = asyncio.run(embed_and_ask())
    place = answer["lanes"]["semantic"]
    assert answer["reason"].endswith(f"; semantic: {place['reason']}"), "no rank of a lane that did not count"
    assert place["code"] == "not_searched"
    assert 1 <= place["rank"] <= place["of"]
