"""A note without any of the words does not rank above one with rare words, whatever its semantic score."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from semantic_here import WorkerHere, index_here
from vaultseek.core.indexing.open_vault import OpenVault
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

SOUPS = {f"Soup {number}.md": f"Tomato soup with basil and water, number {number}." for number in range(30)}
ROUNDUPS = {
    f"2026-0{month}-{day} Ideas.md": "---\nauthor: Eleanor Konik\ntype: roundup\n---\nNews of plugins."
    for month in (1, 2, 3)
    for day in ("07", "21")
}
BIRDS = {"Birds.md": "Many birds live in the valley, most of them small. " * 300 + "One is a kestrel."}


@pytest.fixture
def opened(vault: Callable[[dict[str, str]], Path], tmp_path: Path, monkeypatch: Any) -> Iterator[OpenVault]:
    """Soups and roundups, with a model that treats every question as one about soup."""
    query = WorkerHere.query

    async def about_soup(self: WorkerHere, store: Path, text: Any, k: int, **options: Any) -> Any:
        return await query(self, store, "tomato soup with basil", k, **options)

    monkeypatch.setattr(WorkerHere, "query", about_soup)
    index = index_here(vault({**SOUPS, **ROUNDUPS, **BIRDS}), tmp_path / "index")
    yield index
    index.close()


@pytest.mark.parametrize("query", ["roundup 2026-03", "Eleanor Konik roundup 2026-03"])
def test_the_notes_with_rare_words_come_first(opened, query):
    for limit in (3, 10, 30):
        request = SearchRequest(query, SearchSettings(), limit=limit)
        results = asyncio.run(Searcher(opened).search(request))["results"]
        first = [result["path"] for result in results][:2]
        assert first[0].startswith("2026-03"), first
        assert not any(path.startswith("Soup") for path in first), first


def test_the_only_note_with_the_word_comes_first_however_little_it_is_about_it(opened):
    results = asyncio.run(Searcher(opened).search(SearchRequest("kestrel", SearchSettings())))["results"]
    assert results[0]["path"] == "Birds.md"


def test_capitals_do_not_change_the_answer_for_one_word(opened):
    def answer(query: str) -> list[tuple[str, float, float]]:
        found = asyncio.run(Searcher(opened).search(SearchRequest(query, SearchSettings())))["results"]
        return [(result["path"], result["score"], result["certainty"]) for result in found]

    assert answer("kestrel") == answer("Kestrel")


def test_a_similar_word_gains_nothing_from_being_searched_for_in_place_of_the_only_word(opened):
    def anchors(query: str) -> float:
        request = SearchRequest(query, SearchSettings(), mode="keyword", explain=True)
        results = asyncio.run(Searcher(opened).search(request))["results"]
        assert [result["path"] for result in results] == ["Birds.md"]
        return float(results[0]["arithmetic"]["anchors"])

    assert anchors("kestrel") > anchors("kestrle") == 1
