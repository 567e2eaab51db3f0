"""Untrusted patterns: those that compile, and those that are refused before they use memory."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.limits import PATTERN_CHARS
from vaultseek.base.matching import compiled
from vaultseek.base.patterns import BadPattern, PatternTooLarge, check_size
from vaultseek.content.query.grammar import parse_query
from vaultseek.errors import BadQuery
from work import thread_seconds

HOSTILE = [
    "((a{100}){100}){100}",
    "(((a{100}){100}){100}){100}",
    "((a{100,}){100,200}){100,}?",
    "a{1000000}",
    "[ab]{99999999999}",
    "([)]a{100}){1000}",
    "(([[:alpha:](])a{100}){1000}",
    r"(\\)((a{100}\(){1000}",
    "((?#)a{1000}){1000}",
    "(?x)(a{1000}){1 0 0 0}",
    "((a{1000})(?i){1000})",
    "(?:(?:a{1000}){e<=1}){1000}",
    "(?:a{1000}){e<=1}{1000}",
    "(?=a{1000}){1000}",
    r"(?:\p{99999,}){9}",
    r"(?:(?:\P{9999,}b{150}))",
    r"(?:\N{9999,}){50}",
    r"(?:(?:a{1000}\p{e<=1}){1000}){1000}",
    r"\p{9999,}\p{9999,}",
    "(?if)" + "[a-\uffff]" * 400,
    "(?:(?R)|a)",
    "(?P<x>a|(?&x))",
    "(?P<x>a|(?P>x))",
    "(?P<x>a|(?P&x))",
    "(a|(?-1))",
    "(?+1)(a|b)",
    "(" * 1000 + ")" * 1000,
    "x" * 100_000,
]
USUAL = [
    r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}",
    r"(?i)[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}",
    r"(?P<year>\d{4})(?:-\d\d){0,2}",
    r"\b(?:\d{1,3}\.){3}\d{1,3}\b",
    r"(?<!x)\p{Lu}{2,5}(?=:)",
    r"\p{Script=Greek}{2,}\P{^L}\N{DIGIT ONE}[\p{L}]{1,9}",
    r".{0,2000}end",
    r"(?:boilr){e<=1}",
    "|".join(f"word{number}" for number in range(500)),
]


@pytest.mark.fault("K1", "Invariant 6")
@pytest.mark.parametrize("pattern", HOSTILE, ids=lambda pattern: pattern[:30])
def test_a_pattern_that_takes_much_is_refused_before_it_is_compiled(pattern: str) -> None:
    def compile_it() -> None:
        with pytest.raises(PatternTooLarge):
            compiled(pattern)

    assert thread_seconds(compile_it) < 0.5


@pytest.mark.parametrize("pattern", USUAL, ids=lambda pattern: pattern[:30])
def test_usual_patterns_are_compiled(pattern: str) -> None:
    compiled(pattern, "im")


@pytest.mark.parametrize("pattern", ["[a", "(?au)a", "a{2}{3}", r"\L<x>"])
def test_what_is_wrong_is_named(pattern: str) -> None:
    with pytest.raises(BadPattern):
        compiled(pattern)


@pytest.mark.fault("K1")
def test_a_query_names_the_place_of_a_pattern_that_is_too_large() -> None:
    with pytest.raises(BadQuery, match=r"character 5: the regular expression"):
        parse_query("pump /((a{100}){100}){100}/")


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("/(?R)/", "group calls such as (?R) and the flags f, V and x are not supported"),
        ("/(?x) a/", "group calls such as (?R) and the flags f, V and x are not supported"),
        (
            "/(a{100}){1000}/",
            "the repetition counts expand to more than 10,000 characters; use smaller counts",
        ),
    ],
)
def test_a_query_says_why_a_pattern_cannot_be_used(query: str, said: str) -> None:
    with pytest.raises(BadQuery) as refused:
        parse_query(query)
    assert str(refused.value) == f"character 0: the regular expression cannot be used; {said}"


class Written(NamedTuple):
    """A pattern, and its number of elements once its counts are written out."""

    pattern: str
    size: int


ATOMS = ["a", ".", r"\(", r"\)", r"\\", "[)]", "[](]", "[^[:alpha:](]", r"[\]{9}]", r"\p{L}", "{", "}", "é"]
GROUPS = ["({})", "(?:{})", "(?={})", "(?<={})", "(?P<x>{})", "(?>{})", "(?i:{})", "(?#()(?:{})"]
COUNTS = ["{%d}", "{%d,}", "{%d,}?", "{%d,9999999}"]


def repeated(written: Written, form: str, count: str, times: int) -> Written:
    return Written(form.replace("{}", written.pattern) + count % times, max(1, written.size * times))


def joined(parts: list[Written]) -> Written:
    return Written("".join(part.pattern for part in parts), sum(part.size for part in parts))


TREES = st.recursive(
    st.sampled_from(ATOMS).map(lambda atom: Written(atom, 1)),
    lambda inner: st.lists(
        inner
        | st.builds(
            repeated, inner, st.sampled_from(GROUPS), st.sampled_from(COUNTS), st.sampled_from([1, 7, 300])
        ),
        min_size=1,
        max_size=4,
    ).map(joined),
    max_leaves=20,
)


@pytest.mark.fault("K1")
@given(TREES)
def test_counts_multiply_wherever_they_stand(tree: Written) -> None:
    if tree.size > PATTERN_CHARS:
        with pytest.raises(PatternTooLarge):
            check_size(tree.pattern)
