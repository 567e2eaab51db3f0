"""``vaultseek mcp``: the notes for agents, over the Model Context Protocol."""

from __future__ import annotations

import gc

import click

from vaultseek.cli import FOUND, USUAL_COLLECTIONS
from vaultseek.cli.invocation import Invocation, daemon_options, pass_invocation


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@daemon_options
@pass_invocation
def mcp(invocation: Invocation) -> int:
    """Let an agent search and read notes, over the Model Context Protocol.

    An agent's host starts this and speaks with it through standard input and output; it ends when its host
    does. With --vault, the agent can see that vault only. Nothing can be changed.

    \b
    {"mcpServers": {"notes": {"command": "vaultseek", "args": ["mcp", "--vault", "~/notes"]}}}
    """
    from vaultseek.cli import reach
    from vaultseek.mcp.server import Place, serve

    gc.set_threshold(*USUAL_COLLECTIONS)
    params = invocation.params()
    serve(lambda: reach.connect(invocation).close(), Place(params["vault"], params["cwd"]))
    return FOUND
