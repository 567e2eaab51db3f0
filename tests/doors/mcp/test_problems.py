"""Error messages for agents: one line, without shell commands."""

from pathlib import Path

import pytest
from mcp import Client

from messages_in_source import raised
from vaultseek.base.extras import missing_extra
from vaultseek.client.conversation import unanswered
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.indexing.storage import LOCAL
from vaultseek.daemon.known_vaults import KnownVaults
from vaultseek.doors.mcp.server import Place, server
from vaultseek.errors import NotRunning, Unavailable, VaultseekError, advise
from vaultseek.semantic.models.directories import model_directory
from vaultseek.settings.model import Settings

OF_COMMANDS = ("doors/cli/", "doors/lsp/", "doors/ui/", "tools/")
NOTES = VaultOptions("My notes", Path("/notes"))


def vaults(*opened):
    return KnownVaults(Settings(), opened, frozenset(), lambda settings, root: LOCAL)


def error_of(call, *arguments):
    with pytest.raises(VaultseekError) as caught:
        call(*arguments)
    return caught.value


ERRORS = {
    "start": NotRunning,
    "stop": lambda: unanswered("/run/vaultseek.sock"),
    "add": lambda: error_of(vaults().around, None),
    "choose": lambda: error_of(vaults(NOTES).named, "none", None),
    "resume": NOTES.paused_reason.error,
    "index": lambda: Unavailable("12 notes are gone; index the vault", advice=advise("index", "My notes")),
    "fetch": lambda: error_of(model_directory, "owner/none"),
    "install": lambda: missing_extra("ocr", "a picture"),
}


def test_no_message_outside_the_doors_names_a_command():
    assert [
        message
        for message in raised()
        if not message.place.startswith(OF_COMMANDS)
        if "`vaultseek" in message.text or " --" in message.text
    ] == []


@pytest.mark.parametrize("kind", ERRORS)
async def test_an_agent_gets_no_command_but_whom_to_ask(kind):
    async def ask(method, params):
        raise error

    error = ERRORS[kind]()
    assert error.advice["kind"] == kind
    async with Client(server(ask, Place(None, "/home/ana"))) as agent:
        answer = await agent.call_tool("search", {"query": "x"})
    (block,) = answer.content
    assert answer.is_error
    assert block.text == str(error) + ("" if kind == "choose" else " (ask the user)")
    assert [each for each in ("`", "vaultseek ", "--") if each in block.text] == []
