"""Expansion of saved searches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.core.search.request import unknown_searches, with_saved_searches

SEARCHES = {"todo": "task-todo:x OR tag:open", "Week": "modified:7d", "loop": "@todo"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("@todo", "task-todo:x OR tag:open"),
        (" @todo  boiler ", "(task-todo:x OR tag:open) boiler"),
        ("@week @TODO boiler", "(modified:7d) (task-todo:x OR tag:open) boiler"),
        ("@loop", "@todo"),
        ("@other @todo", "@other @todo"),
        ("ask ana@todo", "ask ana@todo"),
        ("@todo.", "@todo."),
        ("boiler @todo", "boiler @todo"),
        ("@", "@"),
        ("", ""),
    ],
)
def test_a_name_at_the_beginning_stands_for_its_query(query: str, expected: str) -> None:
    assert with_saved_searches(query, SEARCHES) == expected


@given(st.text(max_size=30))
def test_without_saved_searches_a_query_is_what_it_is(query: str) -> None:
    assert with_saved_searches(query, {}) == query
    assert unknown_searches(query, {}) == []
