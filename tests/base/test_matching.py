"""Matching with untrusted patterns: every process finds the same matches, and none runs for long."""

import os
import signal
from contextlib import suppress

import psutil
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from daemons import eventually
from examples import examples
from vaultseek.base import matching
from vaultseek.base.matching import BoundedPattern, compiled
from vaultseek.base.patterns import BadPattern, PatternTooLarge
from vaultseek.content.query.expression import find
from vaultseek.core.tables import patterns
from vaultseek.core.tables.values import Pattern
from vaultseek.errors import BadQuery
from work import thread_seconds

SECONDS = 5.0
LONG = "|".join(f"word{number}" for number in range(300))
SLOW_STEP = "[" + "".join(chr(0x4E00 + 2 * number) for number in range(900)) + "a]*?[xy]"
"""A pattern with one step that compares each character of a text with 900 others."""

PIECES = st.sampled_from(
    ["a", "b", "é", "ß", "😀", ".", r"\d", "(a)", "(?P<n>b)", "[ab]", "|", "*", "?", "^", "$", r"\b"]
)
EXPRESSIONS = st.lists(PIECES, max_size=6).map("".join)
TEXTS = st.text(alphabet="aAbBéß😀1 \n\udcff", max_size=20)


def elsewhere(source: str, flags: str) -> BoundedPattern:
    """Return a pattern that another process matches."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "SHORT_CHARS", -1)
        return BoundedPattern(source, flags)


def processes() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if is_matching_process(child)]


def is_matching_process(child: psutil.Process) -> bool:
    try:
        return "vaultseek.base.pattern_process" in child.cmdline()
    except (psutil.NoSuchProcess, psutil.ZombieProcess):  # it ended, and nobody has waited for it
        return False


@examples(50)
@given(EXPRESSIONS, st.sampled_from(["", "i", "im", "s"]), TEXTS, st.sampled_from([None, 1, 2]))
def test_another_process_finds_the_same_matches(source, flags, text, at_most):
    try:
        here = list(BoundedPattern(source, flags).matches(text, SECONDS, at_most))
    except BadPattern as error:
        with pytest.raises(BadPattern, match=regex.escape(str(error))):
            elsewhere(source, flags)
        return
    there = list(elsewhere(source, flags).matches(text, SECONDS, at_most))
    assert [(tuple(each.spans), each.names) for each in here] == [
        (tuple(map(tuple, each.spans)), each.names) for each in there
    ]


@given(EXPRESSIONS, TEXTS)
def test_formulas_replace_and_split_as_the_module_does(source, text):
    try:
        expected = regex.compile(source)
    except regex.error:
        return
    pattern = Pattern(source, "g")
    assert patterns.replace(pattern, text, "<$&>") == expected.sub(lambda match: f"<{match[0]}>", text)
    parts = [part for part in expected.split(text) if part is not None]
    assert patterns.split(pattern, text) == parts


def test_a_long_list_of_words_is_matched():
    assert find(LONG, "there is Word299") == (9, 14)
    assert find(LONG, "x" * 100) is None
    assert patterns.replace(Pattern(LONG, ""), "a word299 b", "[$&]") == "a [word2]99 b"


def test_a_long_text_is_matched():
    text = "é" * 1_000_000 + "E-4107 end"
    assert find(r"\bE-\d{4}\b", text + "\nE-4108") == (1_000_011, 1_000_017)


@pytest.mark.fault("K1", "Invariant 6", "L2")
@pytest.mark.parametrize("length", [199, 200, 201, 1000, 3000, 9999])
def test_l2_one_letter_repeated_costs_this_process_little(length):
    def match() -> None:
        for form in ("{}", r"\d*?{}", "(?<={})x", "[^x]*{}[xy]"):
            source = form.replace("{}", "a" * (length - len(form) + 2))
            with suppress(TimeoutError):
                list(compiled(source, "i").matches("a" * 12_000, 0.1))

    assert thread_seconds(match) < 1.0


@pytest.mark.fault("K1", "Invariant 6", "L2")
def test_l2_a_step_that_takes_long_is_ended_and_the_next_match_is_found():
    def match() -> None:
        with pytest.raises(BadQuery, match="takes too long; make the expression simpler"):
            find(SLOW_STEP, "a" * 1_000_000)

    assert thread_seconds(match) < 1.0
    assert find(LONG, "word7") == (0, 5)


@pytest.mark.fault("K1", "L2")
def test_l2_a_short_pattern_that_takes_long_is_matched_by_another_process():
    def match() -> None:
        with pytest.raises(TimeoutError):
            list(compiled("(a|(?=c)a|aa)+$").matches("a" * 60 + "!", 0.3))

    assert thread_seconds(match) < 0.2


@pytest.mark.fault("K1", "L2")
def test_l2_matches_found_before_a_slow_one_are_given_once(monkeypatch):
    text = "ab " * 3 + "a" * 24 + "!"
    expected = list(regex.compile("ab|(a|aa)+$").finditer(text))
    monkeypatch.setattr(matching, "HERE_SECONDS", 0.001)
    assert [match[0] for match in compiled("ab|(a|aa)+$").matches(text, SECONDS)] == [m[0] for m in expected]


@pytest.mark.fault("K1", "L2")
def test_l2_a_pattern_that_takes_long_to_compile_is_refused(monkeypatch):
    def late(*arguments):
        raise TimeoutError

    monkeypatch.setattr("vaultseek.base.pattern_process.matches", late)
    with pytest.raises(PatternTooLarge, match="the expression takes too long to compile; make it simpler"):
        BoundedPattern(LONG, "")


@pytest.mark.fault("L2")
def test_l2_a_process_that_has_ended_does_not_stay_as_a_zombie():
    assert find(LONG, "word1") == (0, 5)
    ended = processes()
    for process in ended:
        process.terminate()  # as it does itself when it is idle
    eventually(lambda: not any(psutil.pid_exists(process.pid) for process in ended), "nothing is left")
    assert find(LONG, "word2") == (0, 5)


def test_a_process_that_another_program_ended_is_replaced():
    assert find(LONG, "word1") == (0, 5)
    for process in processes():
        os.kill(process.pid, signal.SIGKILL)
    assert find(LONG, "word2") == (0, 5)


def test_the_process_gets_no_keys(monkeypatch):
    for process in processes():
        os.kill(process.pid, signal.SIGKILL)
    monkeypatch.setenv("VAULTSEEK_TEST_KEY", "secret")
    assert find(LONG, "word3") == (0, 5)
    environments = [process.environ() for process in processes() if process.status() != "zombie"]
    assert environments
    assert not any("VAULTSEEK_TEST_KEY" in environment for environment in environments)
