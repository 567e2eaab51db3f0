"""Error messages for agents: one line, without shell commands."""

import pytest

from messages_in_source import raised
from vaultseek.doors.mcp.reply import one_line, without_commands
from vaultseek.errors import NotRunning, Unavailable

OF_COMMANDS = ("doors/cli/", "settings/", "semantic/models/", "semantic/inference/", "tools/")


def test_no_message_advises_a_command():
    assert [
        text
        for message in raised()
        if not message.place.startswith(OF_COMMANDS)
        if "`vaultseek" in (text := without_commands(message.text)) or " --" in text
    ] == []


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "which vault? use --vault NAME (known: a, b), or add one: vaultseek vault add DIR",
            "which vault? give vault one of: a, b",
        ),
        (
            "which vault? use --vault DIR, run this inside a vault, or add one: vaultseek vault add DIR",
            "which vault? none is known; the user has to add one",
        ),
        (
            "no vault at /x: no such folder; list the vaults with `vaultseek vault list`",
            "no vault at /x: no such folder",
        ),
        (
            "200 of 210 notes are gone. If that was on purpose, run `vaultseek index`",
            "200 of 210 notes are gone",
        ),
        ("a\nb", "a b"),
        (
            "the query is empty; use a word, a phrase or a filter",
            "the query is empty; use a word, a phrase or a filter",
        ),
    ],
)
def test_clauses_about_the_command_line_are_left_out(message, shown):
    assert without_commands(message) == shown


def test_who_has_to_start_vaultseek():
    assert one_line(NotRunning()) == "vaultseek is not running on this computer; the user has to start it"
    assert one_line(Unavailable("busy")) == "busy"
