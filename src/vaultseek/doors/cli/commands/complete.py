"""``vaultseek complete``: completions for editors and scripts that have no client of their own."""

from __future__ import annotations

from typing import Any

import click

from vaultseek.doors.cli.arguments import COMPLETE
from vaultseek.doors.cli.complete_call import CompleteCall
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, pass_invocation, table_options


@click.command()
@click.argument("text", default="")
@table_options(COMPLETE)
@daemon_options
@pass_invocation
def complete(invocation: Invocation, /, text: str, **options: Any) -> int:
    """Complete a note, heading, block, tag, property or value. Prints one per line.

    \b
    vaultseek complete flo
    vaultseek complete --kind value --property status
    """
    return CompleteCall(text, options).run(invocation)
