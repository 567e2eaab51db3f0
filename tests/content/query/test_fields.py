"""Filters as fields of a request: they equal the filters of the operators."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base import limits
from vaultseek.content.query.fields import from_fields
from vaultseek.content.query.grammar import parse_query
from vaultseek.errors import BadQuery

NOW = datetime(2026, 10, 21, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("fields", "query"),
    [
        ({}, ""),
        ({"tag": None, "phrase": []}, ""),
        ({"tag": "work"}, "tag:work"),
        ({"tag": ["a", "#b"]}, "tag:a tag:#b"),
        ({"not_tag": ("a", "b")}, "-tag:a -tag:b"),
        ({"path": "trips/"}, "path:trips/"),
        ({"path": "trips"}, "path:trips"),
        ({"not_path": "old trips"}, '-path:"old trips"'),
        ({"property": "status=open"}, "[status:open]"),
        ({"property": " due date = x=y "}, '["due date":x=y]'),
        ({"property": ["n<5", "n>=2"]}, "[n:<5] [n:>=2]"),
        ({"property": "status=null"}, "[status:null]"),
        ({"has_property": "status"}, "[status]"),
        ({"created_before": "2026-01", "modified_before": "2026-01"}, None),
        ({"modified_after": "7d"}, "after:7d"),
        ({"modified_before": "last week"}, 'before:"last week"'),
        ({"links_to": "Skiff"}, "link:Skiff"),
        ({"links_to": "Skiff#Sails"}, "link:Skiff"),
        ({"phrase": "square rig"}, '"square rig"'),
        ({"exclude": ["rope", "old rig", "link*"]}, '-rope -"old rig" -link*'),
    ],
)
def test_fields_make_the_filters_of_the_language(fields, query):
    if query is not None:
        assert from_fields(fields, now=NOW) == parse_query(query, now=NOW).filter


def test_dates_and_backlinks_that_the_language_has_no_word_for():
    fields = {"created_after": "2026-01-15", "created_before": "2026-02", "linked_from": "Index"}
    assert str(from_fields(fields, now=NOW)) == (
        '(created since 2026-01-15 00:00 and created before 2026-02-01 00:00 and linked from "Index")'
    )


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"colour": "red"}, "colour"),
        ({"tag": 5}, "tag"),
        ({"tag": True}, "tag"),
        ({"tag": {"a": 1}}, "tag"),
        ({"tag": ["a", None]}, "tag"),
        ({"tag": "  "}, "tag"),
        ({"phrase": "\x00"}, "phrase"),
        ({"property": "status"}, "property"),
        ({"property": "=open"}, "property"),
        ({"property": "n>abc"}, "'abc' cannot be compared"),
        ({"property": ""}, "property"),
        ({"created_after": "someday"}, "created_after"),
        ({"modified_before": "31 february 2026"}, "modified_before"),
        ({"phrase": "x" * (limits.QUERY_CHARS + 1)}, "phrase"),
        ({"exclude": ["x"] * (limits.QUERY_TERMS + 1)}, "filters"),
    ],
)
def test_a_bad_field_is_named(fields, named):
    with pytest.raises(BadQuery, match=named) as caught:
        from_fields(fields, now=NOW)
    assert "\n" not in str(caught.value)


@given(
    st.dictionaries(
        st.sampled_from(
            ["tag", "path", "property", "created_after", "phrase", "exclude", "links_to", "nonsense"]
        ),
        st.none() | st.text(max_size=20) | st.integers() | st.lists(st.text(max_size=8), max_size=3),
    )
)
def test_any_fields_are_read_or_refused(fields):
    try:
        condition = from_fields(fields, now=NOW)
    except BadQuery:
        return
    assert (condition is None) == all(value is None or value == [] for value in fields.values())


def test_a_path_with_a_hash_is_that_of_a_note():
    assert str(from_fields({"links_to": "Rig/C# notes.md"}, now=NOW)) == 'links to "Rig/C# notes.md"'
    assert str(parse_query('link:"Rig/C# notes.md"', now=NOW).filter) == 'links to "Rig/C# notes.md"'
