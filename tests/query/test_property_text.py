"""Properties as text: one line each, as it is written in the note."""

from __future__ import annotations

from typing import Any

import pytest

from vaultseek.query.property_text import property_lines


@pytest.mark.parametrize(
    ("properties", "lines"),
    [
        ({"role": "Product manager"}, ["role: Product manager"]),
        ({"authors": ["Ann Lee", "Bo"], "year": 2026}, ["authors: Ann Lee, Bo", "year: 2026"]),
        ({"draft": True, "rating": 4.5, "due": None}, ["draft: true", "rating: 4.5", "due"]),
        ({"tags": ["a/b", "c"], "title": "Pump", "aliases": []}, ["a/b, c", "Pump"]),
        ({"loc": {"lat": 1, "place": "Bern"}}, ["loc: lat: 1, place: Bern"]),
        ({"quote": "two\nlines  here"}, ["quote: two lines here"]),
        ({}, []),
    ],
)
def test_a_property_is_a_line_with_its_name_and_value(properties: dict[str, Any], lines: list[str]) -> None:
    assert [line.text for line in property_lines(properties)] == lines
