"""Comparison of texts, values and names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.text import fold
from vaultseek.content.query.compare import comparable, contains, is_named, number_of


@pytest.mark.parametrize(
    ("text", "words", "expected"),
    [
        ("europe", "rope", False),
        ("a rope.", "rope", True),
        ("rope_work", "rope", True),
        ("ropes rope", "rope", True),
        ("c++17", "c++", True),
        ("d401 d40", "d40", True),
        ("d401", "d40", False),
        ("हिन्दी", "हिन्द", False),
        ("索道安全", "道安", True),
        ("서울에서", "서울", True),
        ("x", "", True),
        ("", "x", False),
        ("aaaa", "aa", False),
    ],
)
def test_whole_words(text, words, expected):
    assert contains(text, words) is expected


def test_an_open_word_may_go_on_but_not_begin_earlier():
    assert contains("ropes", "rope", prefix=True)
    assert not contains("europes", "rope", prefix=True)


@given(st.text(min_size=1, max_size=8), st.text(max_size=8), st.text(max_size=8))
def test_words_set_off_by_spaces_are_found(words, before, after):
    needle = fold(words)
    assert contains(f"{before} {needle} {after}", needle)


@pytest.mark.parametrize(
    ("value", "form"),
    [
        *(("Draft ", "draft"), (5, "5"), (5.0, "5"), ("5.0", "5"), ("007", "007"), ("1e5", "1e5")),
        *((True, "true"), ("TRUE", "true"), (None, None), ({}, None), ("[[Ada|x]]", "ada"), (0.1, "0.1")),
        *(("0.10", "0.1"), (-0.0, "0"), (float("inf"), "inf"), ("", "")),
    ],
)
def test_the_comparable_form_of_property_values(value, form):
    assert comparable(value) == form


def test_a_number_too_long_to_print_has_no_form():
    assert comparable(10**5000) is None
    assert number_of(10**400) is None


@given(st.integers() | st.floats())
def test_a_number_equals_itself_written_down(number):
    assert comparable(number) == comparable(str(number)) or "e" in str(number)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5.0),
        ("5", 5.0),
        (" 5.5 ", 5.5),
        (True, None),
        ("x", None),
        (None, None),
        (10**400, None),
        ([], None),
    ],
)
def test_numbers(value, number):
    assert number_of(value) == number


@pytest.mark.parametrize(
    ("path", "name", "expected"),
    [
        ("a/b.md", "b", True),
        ("a/b.md", "B.MD", True),
        ("a/b.md", "a/b", True),
        ("a/b.md", "/a/b.md", True),
        ("a/b.md", "[[b]]", True),
        ("a/b.md", "c/b", False),
        ("a/bb.md", "b", False),
        ("a/b.md", "", False),
        ("a/b.pdf", "b.pdf", True),
    ],
)
def test_names_of_notes(path, name, expected):
    assert is_named(path, name) is expected
