"""``vaultseek lsp``: a language server, for every editor that speaks LSP."""

from __future__ import annotations

import click

from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.garbage import collect_as_usual
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, pass_invocation


@click.command()
@click.option("--code-lens", is_flag=True, help="Show the number of backlinks above notes and headings.")
@click.option("--inlay-hints", is_flag=True, help="Show the number of backlinks behind notes and headings.")
@daemon_options
@pass_invocation
def lsp(invocation: Invocation, code_lens: bool, inlay_hints: bool) -> int:
    """Serve an editor: completion, links, backlinks, renaming, diagnostics, and search by meaning.

    The editor starts this command and talks to it over standard input and output, by the Language Server
    Protocol. The vault of each note is the one around it. Nothing is written: the editor makes the edits.

    \b
    vim.lsp.start({ name = "vaultseek", cmd = { "vaultseek", "lsp" } })
    """
    from vaultseek.doors.cli.connect import connect
    from vaultseek.doors.lsp.server import serve
    from vaultseek.doors.lsp.session import Options

    collect_as_usual()
    vault = invocation.params()["vault"]
    options = Options(code_lens=code_lens, inlay_hints=inlay_hints, vault=vault)
    serve(lambda: connect(invocation).close(), options)
    return SUCCESS
