"""Order and certainty agree: no bar is longer than the one above it, and bars show the probability of being
right."""

import asyncio
import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from semantic_here import index_here
from vaultseek.base.model import less_certain
from vaultseek.core.search import selection as certainty
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.core.search.selection import certainties, features
from vaultseek.settings.search import SearchSettings

SAMPLE = Path(__file__).parents[2] / "data" / "vault"
shares = st.floats(0, 1, allow_nan=False)
notes = st.lists(st.tuples(shares, shares, shares | st.just(math.nan)), min_size=1, max_size=30)


@given(notes, st.booleans())
def test_certainty_falls_and_a_weak_answer_has_little(pairs, weak):
    scores, confidences, coverages = zip(*pairs, strict=True)
    values = certainties(features(sorted(scores, reverse=True), confidences, coverages), weak=weak)
    assert len(values) == len(pairs)
    assert all(0 <= right <= left <= 1 for left, right in pairwise(values))
    assert max(values) <= (certainty.WEAK_CERTAINTY if weak else 1)
    assert 0 <= less_certain(values) < len(values)


@given(notes, st.integers(10, 30))
def test_what_stands_further_down_changes_nothing_above_it(pairs, length):
    columns = [np.array(column) for column in zip(*pairs, strict=True)]
    columns[0] = np.sort(columns[0])[::-1]
    whole = certainties(features(*columns), weak=False)
    assert certainties(features(*(column[:length] for column in columns)), weak=False) == whole[:length]


def test_what_stands_out_is_more_certain_and_so_is_what_is_near():
    def first(confidence, *others, coverage=0.0):
        notes = 1 + len(others)
        columns = features([1.0, *others], [confidence] * notes, [coverage] * notes)
        return certainties(columns, weak=False)[0]

    crowd, alone = [0.9] * 9, [0.2] * 9
    assert first(0.1, *crowd) < first(0.1, *alone) < first(0.9, *alone)
    assert first(0.9) > 0.95
    assert first(0.5, *alone, coverage=0.7) < first(0.5, *alone), "confidence from words alone is worth less"
    # A relevant note found by meaning alone has little confidence, and looks relevant.
    assert first(0.1, *[0.3] * 9) > 0.8


def test_the_less_certain_ones_are_at_the_end_and_the_first_never_is():
    assert less_certain([0.9, 0.3, 0.02, 0.01]) == 2
    assert less_certain([0.01, 0.01]) == 1
    assert less_certain([]) == 0


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
        values = [result["certainty"] for result in longest]
        assert values == sorted(values, reverse=True)
        for limit, answer in shown.items():
            assert [each["certainty"] for each in answer["results"]] == values[:limit]
            assert answer["less_certain"] == less_certain(values[:limit])
            assert answer["weak"] == shown[10]["weak"], (query, limit)


def test_results_in_short_and_listings_have_a_certainty_too(ask):
    whole, brief = ask("heating pump"), ask("heating pump", brief=True)
    assert [each["certainty"] for each in brief["results"]] == [
        each["certainty"] for each in whole["results"]
    ]
    assert {(each["start_line"], *each["heading_path"]) for each in brief["results"]} == {(1,)}
    listing = ask("ext:md")
    assert {each["certainty"] for each in listing["results"]} == {1.0}
    assert listing["less_certain"] == 0


def test_the_verdict_is_about_what_ranked_and_not_about_what_is_shown(ask):
    weak = SearchSettings(nothing_below=0.0)
    for query, expected in (("asdfghjkl", True), ("heating pump", False)):
        for limit in (1, 10, 30):
            answer = ask(query, limit=limit, settings=weak)
            assert answer["weak"] is expected
            assert (answer["results"][0]["certainty"] <= certainty.WEAK_CERTAINTY) is expected


def test_one_common_word_of_several_is_a_weak_answer(ask):
    settings = SearchSettings(nothing_below=0.0)
    query = "zeppelin pump observatory nebula"
    assert ask(query, settings=settings, mode="keyword")["results"]
    assert ask(query, settings=settings, mode="keyword")["weak"]
    assert not ask("pump", settings=settings, mode="keyword")["weak"]


def test_a_filter_makes_no_words_likely_but_an_identifier_is_certain_wherever_it_is(ask):
    filtered = ask("tag:work zeppelin pump observatory nebula", mode="keyword")
    assert filtered["weak"]
    assert filtered["results"][0]["certainty"] <= certainty.WEAK_CERTAINTY
    assert not ask("tag:work pump", mode="keyword")["weak"]
    both = ask("E-4710 E-4071")
    assert not both["weak"]
    assert both["results"][0]["certainty"] > certainty.WEAK_CERTAINTY


def test_words_that_stand_in_for_others_are_named(ask):
    answer = ask("accumulatr", mode="keyword")
    assert answer["interpreted"]["notes"] == ['no note has "accumulatr"; searched for "accumulator" instead']
    assert answer["substitutes"]
    assert "substitutes" not in ask("pressure Accumulatr", mode="keyword")
    assert ask("pressure Accumulatr", mode="keyword")["interpreted"]["notes"] == [
        'no note has "Accumulatr"; searched for "accumulator" instead'
    ]
    far = ask("path:Recipes accumulatr oven", mode="keyword")
    assert (bool(far["results"]), far["interpreted"]["notes"]) == (True, []), "none of these notes has it"
