"""The name of the search method, given the lanes that found something."""

import itertools

import pytest

from vaultseek.core.search.response import LANES, search_method


@pytest.mark.parametrize(
    ("lanes", "partial", "word"),
    [
        (["keyword", "semantic"], [], "hybrid"),
        (["keyword", "semantic", "graph"], ["rerank", "vault"], "hybrid"),
        (["keyword", "graph"], [], "keyword"),
        (["semantic"], [], "semantic"),
        (["graph"], [], "graph"),
        ([], [], "filter"),
        (["keyword"], ["semantic"], "keyword"),
        (["keyword", "semantic"], ["semantic"], "keyword"),
        (["semantic", "graph"], ["semantic"], "semantic"),
        (["keyword", "semantic"], ["graph"], "keyword+semantic"),
    ],
)
def test_it_names_what_answered(lanes, partial, word):
    assert search_method(lanes, partial) == word


def test_nothing_is_hybrid_while_a_lane_is_missing():
    subsets = [set(each) for size in range(4) for each in itertools.combinations(sorted(LANES), size)]
    assert all(search_method(lanes, {missing}) != "hybrid" for lanes in subsets for missing in LANES)
