"""Properties as text: one line each, as written in the note."""

from typing import Any

import pytest

from vaultseek.content.markdown.property_text import property_lines, property_places


@pytest.mark.parametrize(
    ("properties", "lines"),
    [
        ({"role": "Product manager"}, ["role: Product manager"]),
        ({"authors": ["Ann Lee", "Bo"], "year": 2026}, ["authors: Ann Lee, Bo", "year: 2026"]),
        ({"draft": True, "rating": 4.5, "due": None}, ["draft: true", "rating: 4.5", "due"]),
        ({"tags": ["a/b", "c"], "title": "Pump", "aliases": []}, ["a/b, c", "Pump"]),
        ({"loc": {"lat": 1, "place": "Bern"}}, ["loc: lat: 1, place: Bern"]),
        ({"quote": "two\nlines  here"}, ["quote: two lines here"]),
        ({"a\nb": "foo", "c": 1}, ["a b: foo", "c: 1"]),
        ({}, []),
    ],
)
def test_a_property_is_a_line_with_its_name_and_value(properties: dict[str, Any], lines: list[str]) -> None:
    assert [line.text for line in property_lines(properties)] == lines


@pytest.mark.parametrize(
    ("last", "places"),
    [
        (9, {"tags": 2, "role": 5, "team": 6, "year": 8}),  # each element on a line of its own
        (6, {"tags": 2, "role": 3, "team": 4, "year": 5}),
        (3, {"tags": 2, "role": 3, "team": 4, "year": 5}),
    ],
)
def test_the_line_of_a_property_follows_from_those_before_it(last: int, places: dict[str, int]) -> None:
    properties = {"tags": ["a", "b"], "role": "Product manager", "team": ["Core"], "year": 2026}
    assert property_places(properties, last) == places
