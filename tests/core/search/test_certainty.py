"""Order and certainty are one picture: no bar rises down a list, and what is shown decides no verdict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic_here import index_here
from vaultseek.core.search.certainty import monotone_certainty
from vaultseek.core.search.merge import merge_answers
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.settings.search import SearchSettings

SAMPLE = Path(__file__).parents[2] / "data" / "vault"
confidences = st.lists(st.floats(0, 1, allow_nan=False), max_size=30)


@given(confidences)
def test_certainty_falls_and_stays_what_it_was_where_it_fell(values):
    certainties = monotone_certainty(values)
    assert len(certainties) == len(values)
    assert all(left >= right - 1e-12 for left, right in pairwise(certainties))
    assert sum(certainties) == pytest.approx(sum(values))
    assert monotone_certainty(sorted(values, reverse=True)) == pytest.approx(sorted(values, reverse=True))
    assert all(min(values) - 1e-12 <= each <= max(values) + 1e-12 for each in certainties)


@given(confidences, st.integers(1, 12), st.integers(0, 30))
def test_what_stands_further_down_changes_nothing_above_it(values, pooled, length):
    whole = monotone_certainty(values, pooled)
    assert all(left >= right - 1e-12 for left, right in pairwise(whole))
    if length >= pooled:
        assert monotone_certainty(values[:length], pooled) == pytest.approx(whole[:length])


def test_notes_that_order_and_confidence_see_otherwise_share_what_they_have():
    assert monotone_certainty([0.1, 0.9, 0.2]) == pytest.approx([0.5, 0.5, 0.2])
    assert monotone_certainty([0.9, 0.1, 0.3], pooled=1) == pytest.approx([0.9, 0.1, 0.1])


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., dict[str, Any]]]:
    index = index_here(SAMPLE, tmp_path_factory.mktemp("sample") / "index")

    def answer(query: str, **options: Any) -> dict[str, Any]:
        request = SearchRequest(query, options.pop("settings", SearchSettings()), **options)
        return asyncio.run(Searcher(index).search(request))

    yield answer
    index.close()


QUERIES = [
    "heating pump",
    "bread with rye",
    "how do I bleed a radiator",
    "asdfghjkl",
    "meeting with the doctor",
]


def test_no_certainty_rises_down_the_list_and_none_depends_on_the_limit(ask):
    for query in QUERIES:
        shown = {limit: ask(query, limit=limit) for limit in (1, 3, 10, 30)}
        longest = shown[30]["results"]
        certainties = [result["certainty"] for result in longest]
        assert certainties == sorted(certainties, reverse=True)
        for limit, answer in shown.items():
            assert [each["certainty"] for each in answer["results"]] == certainties[:limit]
            assert answer["weak"] == shown[10]["weak"], (query, limit)


def test_the_verdict_is_about_what_ranked_and_not_about_what_is_shown(ask):
    weak = SearchSettings(nothing_below=0.0)
    for query, expected in (("asdfghjkl", True), ("heating pump", False)):
        for limit in (1, 10, 30):
            assert ask(query, limit=limit, settings=weak)["weak"] is expected


def test_the_list_of_several_vaults_falls_too():
    def answer(vault: str, *confidences: float) -> dict[str, Any]:
        results = [
            {"rank": rank, "path": f"{rank}.md", "score": 1 / rank, "confidence": each}
            for rank, each in enumerate(confidences, start=1)
        ]
        head = {"vault": vault, "vault_path": f"/{vault}", "query": "x", "mode": "hybrid", "took_ms": 1.0}
        rest = {"partial": [], "interpreted": {"notes": []}, "count": len(results), "weak": vault == "weak"}
        return {**head, "results": results, **rest}

    merged = merge_answers([answer("a", 0.4, 0.3), answer("b", 0.8, 0.9)], 10)
    certainties = [result["certainty"] for result in merged["results"]]
    assert certainties == sorted(certainties, reverse=True)
    assert not merged["weak"]
    assert merge_answers([answer("weak", 0.01), answer("empty")], 10)["weak"]
