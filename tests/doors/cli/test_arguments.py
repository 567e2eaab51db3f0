"""The reader of common arguments agrees with click, and leaves arguments that it does not know to click."""

from typing import Any

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.doors.cli.arguments import COMPLETE, FILTERS, SEARCH, Arguments, read
from vaultseek.doors.cli.commands.complete import complete
from vaultseek.doors.cli.commands.search import search
from vaultseek.doors.cli.search_call import CompleteCall, SearchCall

NAMES = [option.name for option in FILTERS]
OPTIONS = [*NAMES, "-n", "--limit", "--mode", "--vault"]
FLAGS = ["--json", "--paths", "--all", "--open", "--explain", "--wait", "--no-start", "--no-color", "--pager"]
WORDS = st.sampled_from(["boiler", "-draft", "-tag:old", "-", "--", "-n", "-n3", "-n0", "-nx", "-h", "", "3"])
VALUES = st.sampled_from(["work", "3", "0", "٣", "+3", "201", "keyword", "Keyword", "-draft", "--json", ""])
ARGUMENTS = st.lists(
    st.one_of(
        WORDS.map(lambda word: [word]),
        st.sampled_from([*FLAGS, "--no-pager", "--config", "--jsn", "--json=yes"]).map(lambda flag: [flag]),
        st.tuples(st.sampled_from(OPTIONS), VALUES).map(list),
        st.tuples(st.sampled_from(OPTIONS), VALUES).map(lambda pair: ["=".join(pair)]),
        st.text(max_size=4).map(lambda text: [text]),
    ),
    max_size=6,
).map(lambda parts: [argument for part in parts for argument in part])


def read_search(arguments: list[str]) -> Arguments | None:
    return read(arguments, SEARCH, excluding=True)


def as_click_reads(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, command: click.Command, kind: type
) -> tuple[Any, Any] | None:
    """Return the fields of the call and of the invocation; None for a mistake or a request for help."""
    calls: list[tuple[Any, Any]] = []
    keep = lambda call, invocation: calls.append((vars(call), vars(invocation)))  # noqa: E731
    with monkeypatch.context() as patched:
        patched.setattr(kind, "run", keep)
        try:
            with command.make_context(str(command.name), list(arguments)) as context:
                command.invoke(context)
        except (click.ClickException, click.exceptions.Exit):
            return None
    return calls[0]


@given(ARGUMENTS)
def test_common_arguments_are_read_as_click_reads_them(arguments):
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.delenv("VAULTSEEK_CONFIG", raising=False)
        found = read_search(arguments)
        if found is not None:
            call, invocation = SearchCall(found.words, found.options), found.invocation
            by_click = as_click_reads(arguments, monkeypatch, search, SearchCall)
            assert by_click == (vars(call), vars(invocation))
            assert list(call.filters) == list(by_click[0]["filters"])


COMPLETIONS = st.lists(
    st.one_of(
        st.sampled_from(["flo", "-", "", "--", "-x", "--json", "--no-start", "--kind"]).map(
            lambda word: [word]
        ),
        st.tuples(st.sampled_from(["--kind", "--note", "--property", "-n", "--vault"]), VALUES).map(list),
        st.sampled_from(["tag", "heading", "notes"]).map(lambda kind: ["--kind", kind]),
    ),
    max_size=4,
).map(lambda parts: [argument for part in parts for argument in part])


@given(COMPLETIONS)
def test_arguments_of_complete_are_read_as_click_reads_them(arguments):
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.delenv("VAULTSEEK_CONFIG", raising=False)
        found = read(arguments, COMPLETE)
        if found is not None and len(found.words) < 2:
            call = CompleteCall("".join(found.words), found.options)
            by_click = as_click_reads(arguments, monkeypatch, complete, CompleteCall)
            assert by_click == (vars(call), vars(found.invocation))


@pytest.mark.parametrize(
    "arguments",
    [
        ["two", "words"],
        ["-n", "3", "--json", "x"],
        ["--tag=a", "--tag", "b", "--paths"],
        ["-draft", "--", "-x"],
    ],
)
def test_a_usual_search_needs_no_click(arguments, monkeypatch):
    monkeypatch.delenv("VAULTSEEK_CONFIG", raising=False)
    assert read_search(arguments) is not None


@pytest.mark.parametrize(
    "arguments",
    [["-h"], ["--config", "x.toml", "x"], ["-n", "ten"], ["--mode", "fast"], ["--tag"], ["--jsn"]],
)
def test_help_another_configuration_and_mistakes_are_left_to_click(arguments, monkeypatch):
    monkeypatch.delenv("VAULTSEEK_CONFIG", raising=False)
    assert read_search(arguments) is None


def test_a_configuration_in_the_environment_is_left_to_click(monkeypatch):
    monkeypatch.setenv("VAULTSEEK_CONFIG", "x.toml")
    assert read_search(["x"]) is None
