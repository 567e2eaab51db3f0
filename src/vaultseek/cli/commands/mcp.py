"""``vaultseek mcp``: an MCP server that lets agents search and read the notes."""

from __future__ import annotations

import click

from vaultseek.cli.exit_codes import SUCCESS
from vaultseek.cli.garbage import collect_as_usual
from vaultseek.cli.invocation import Invocation
from vaultseek.cli.options import daemon_options, pass_invocation


@click.command()
@daemon_options
@pass_invocation
def mcp(invocation: Invocation) -> int:
    """Let an agent search and read notes, over the Model Context Protocol.

    The agent's host starts this command and talks to it over standard input and output. It ends when the host
    does. With --vault, the agent sees only that vault. The agent cannot change anything.

    \b
    {"mcpServers": {"notes": {"command": "vaultseek", "args": ["mcp", "--vault", "~/notes"]}}}
    """
    from vaultseek.cli.connect import connect
    from vaultseek.mcp.server import Place, serve

    collect_as_usual()
    params = invocation.params()
    serve(lambda: connect(invocation).close(), Place(params["vault"], params["cwd"]))
    return SUCCESS
