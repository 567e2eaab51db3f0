"""Regular expressions in queries, and the letters required by every match."""

import itertools
import time
from functools import partial

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base import pattern_process
from vaultseek.base.matching import pattern_error
from vaultseek.content.query import expression
from vaultseek.content.query.filters import expressions_of, patterns_of
from vaultseek.content.query.grammar import parse_query
from vaultseek.content.query.syntax import may_have_expressions
from vaultseek.errors import BadQuery


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (r"boiler", "boiler"),
        (r"^E-\d{4}$", "E"),
        (r"colou?r", "colo"),
        (r"ab+c", "ab"),
        (r"a*bcd*", "bc"),
        (r"one|two", None),
        (r"(one|two)three", "three"),
        (r"(ab(c)d)*", None),
        (r"x\bword\d", "word"),
        (r"[a-z]+ing", "ing"),
        (r"[]a]bc", "bc"),
        (r"(?i)x(?x) a b", None),
        (r"(?P<year>\d+) end", None),
        (r"foo{2}bar", "bar"),
        (r"\x41bc", None),
        (r"\p{Lu}bc", None),
        (r"\pLfoo", "foo"),
        (r"x\PNfoo", "foo"),
        (r"", None),
    ],
)
def test_the_letters_that_every_match_has(pattern: str, literal: str | None) -> None:
    assert expression.literal_of(pattern) == literal


def test_quotes_in_an_expression_are_those_that_were_written() -> None:
    assert patterns_of(parse_query("“old rig” /“hello”/").filter) == ("“hello”",)


PIECES = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        "ba",
        "é",
        "1",
        ".",
        "\\d",
        "\\.",
        "[ab]",
        "[^a]",
        "(",
        ")",
        "(?:",
        "|",
        "*",
        "+",
        "?",
        "{2}",
        "^",
        "$",
    ]
)


@given(st.lists(PIECES, max_size=8).map("".join), st.text(alphabet="aAbBéÉ1. \n", max_size=12))
def test_what_matches_has_the_letters(pattern: str, text: str) -> None:
    literal = expression.literal_of(pattern)
    if literal is None or pattern_error(pattern) is not None:
        return  # most patterns; assuming otherwise sometimes fails a health check
    if expression.find(pattern, text) is not None:
        assert str(literal).casefold() in text.casefold()


SLOW = r"^(x|xx)+$"
LONG = "|".join(f"word{number}" for number in range(100))


def test_an_expression_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expression, "EXPRESSION_SECONDS", 0.02)
    with pytest.raises(BadQuery, match="takes too long"):
        expression.find(SLOW, "x" * 60 + "!")
    assert list(expression.find_all(SLOW, "x" * 60 + "!")) == []


def test_the_expressions_of_a_request_share_their_time() -> None:
    slow = ("x" * number + "!" for number in range(40, 1000))
    budget = expression.Budget(time.monotonic() + 60, matching=0.05)
    with expression.within(budget):
        assert expression.find("b", "abc") == (1, 2)
        with pytest.raises(BadQuery, match="takes too long"):
            list(map(partial(expression.find, SLOW), slow))
        assert budget.left() <= 0
        with pytest.raises(BadQuery, match="takes too long"):
            expression.find("b", "abc")
    assert expression.find("b", "abc") == (1, 2)
    with expression.within(expression.Budget(time.monotonic())), pytest.raises(BadQuery):
        expression.find("b", "abc")


@pytest.mark.fault("L2")
def test_l2_waiting_for_a_busy_machine_is_not_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    def found_late(*_: object) -> pattern_process.Answer:
        time.sleep(0.05)
        return pattern_process.Answer(0.001, [((0, 1),)])

    monkeypatch.setattr(pattern_process, "matches", found_late)
    with expression.within(expression.Budget(matching=0.04, total=0.04)):
        assert [expression.find(LONG, "a") for _ in expression.in_time(range(3), LONG)] == [(0, 1)] * 3


@pytest.mark.fault("L2")
def test_l2_reading_what_is_matched_is_charged() -> None:
    budget = expression.Budget(total=0.02)
    with expression.within(budget), pytest.raises(BadQuery, match="takes too long"):
        for _ in expression.in_time(itertools.count(), "a"):
            pass
    assert budget.total <= 0


@pytest.mark.parametrize(
    ("query", "expressions"),
    [
        ("-/a/ b", ["a"]),
        ("file:/a/ -[p:/b/]", ["a", "b"]),
        ("line:(/a/ -/b/) OR -task:/c/", ["a", "b", "c"]),
        ("task-todo:x word", []),
    ],
)
def test_expressions_that_exclude_or_are_of_names_count_too(query: str, expressions: list[str]) -> None:
    parsed = parse_query(query)
    assert list(expressions_of(parsed.filter)) == expressions
    assert may_have_expressions(query) == bool(expressions)


@pytest.mark.parametrize(
    ("query", "patterns"),
    [
        (r"/a b/ c", ("a b",)),
        (r"/a\/b/", ("a/b",)),
        (r"-/a/", ()),
        (r"line:(/a/ -/b/)", ("a",)),
        (r"/a/ OR task:/b/", ("a", "b")),
        (r"/usr/local/bin/", ()),
        (r"path:/a/", ()),
        (r"and/or a / b / c //", ()),
        (r'"/a/"', ()),
    ],
)
def test_what_stands_between_slashes(query: str, patterns: tuple[str, ...]) -> None:
    assert patterns_of(parse_query(query).filter) == patterns
    assert may_have_expressions(query) or not patterns


@given(st.text(alphabet="/\\ab()[]*+?{}|^$ -", max_size=20))
def test_any_slashes_can_be_asked_for(query: str) -> None:
    for pattern in expressions_of(parse_query(query).filter):
        regex.compile(pattern)
        assert may_have_expressions(query)
