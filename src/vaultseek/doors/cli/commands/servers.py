"""``vaultseek mcp``, for agents that search and read notes, and ``vaultseek lsp``, for editors with LSP."""

from functools import partial
from pathlib import Path

import click

from vaultseek.base.extras import require_extra
from vaultseek.doors.cli.connect import ensure_running, vault_folder
from vaultseek.doors.cli.garbage import collect_as_usual
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options
from vaultseek.errors import UsageError

DEFAULT_PORT = 7467


@click.command()
@click.option("--http", is_flag=True, help="Serve over HTTP on a local port instead; clients need a token.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="N",
    help=f"Port for --http; {DEFAULT_PORT} by default, 0 for any free port.",
)
@click.option(
    "--structured", is_flag=True, help="Answer with JSON for programs instead of text for the model."
)
@click.option("--compact", is_flag=True, help="Offer only three tools, for models that cannot handle many.")
@daemon_options
def mcp(invocation: Invocation, http: bool, port: int | None, structured: bool, compact: bool) -> None:
    """Let an AI agent search and read notes.

    Uses the Model Context Protocol. The agent's host starts this command and talks to it over standard input
    and output. The command ends when the host ends. With --vault, the agent sees only that vault. The agent
    cannot change anything.

    \b
    {"mcpServers": {"notes": {"command": "vaultseek",
                              "args": ["mcp", "--vault", "~/notes"]}}}

    With --http, the command runs until you stop it, for hosts that connect to a port of this computer with a
    token.
    """
    from vaultseek.doors.mcp.notes import Place

    if port is not None and not http:
        raise UsageError("--port needs --http; add --http, or leave out --port")
    require_extra("mcp", "vaultseek mcp")
    collect_as_usual()
    params = invocation.params()
    place, start = Place(params.get("vault"), params["cwd"]), partial(ensure_running, invocation)
    if http:
        from vaultseek.doors.mcp.http import serve_http

        if invocation.vault is not None:
            vault_folder(invocation)  # refuse a missing vault before announcing the server
        number = DEFAULT_PORT if port is None else port

        def announce(address: str, token_file: Path) -> None:
            click.echo(f"Serving notes to agents at {address} until Ctrl-C.")
            click.echo(
                f'Clients send the header "Authorization: Bearer TOKEN", with the token in {token_file}'
            )

        serve_http(start, place, number, announce, structured=structured, compact=compact)
    else:
        from vaultseek.doors.mcp.server import serve

        serve(start, place, structured=structured, compact=compact)


@click.command()
@click.option("--code-lens", is_flag=True, help="Show the number of backlinks above notes and headings.")
@click.option("--inlay-hints", is_flag=True, help="Show the number of backlinks after notes and headings.")
@daemon_options
def lsp(invocation: Invocation, code_lens: bool, inlay_hints: bool) -> None:
    """Run a language server for editors.

    Offers completion, links, renaming, backlinks, diagnostics and search by meaning. The editor starts this
    command and talks to it over standard input and output, using the Language Server Protocol. Each note
    belongs to the vault whose folder contains it. The server writes nothing: the editor makes all edits.

    \b
    vim.lsp.start({ name = "vaultseek", cmd = { "vaultseek", "lsp" } })
    """
    from vaultseek.doors.lsp.server import serve
    from vaultseek.doors.lsp.session import Options

    collect_as_usual()
    vault = invocation.params().get("vault")
    options = Options(code_lens=code_lens, inlay_hints=inlay_hints, vault=vault)
    serve(partial(ensure_running, invocation), options)
