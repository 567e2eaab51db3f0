"""``vaultseek complete``: completions for editors and scripts that have no client of their own."""

from __future__ import annotations

import click

from vaultseek.base import limits
from vaultseek.doors.cli.complete_arguments import KINDS, CompleteCall
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import daemon_options, json_option, pass_invocation


@click.command()
@click.argument("text", default="")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    default="note",
    help="What to complete. By default a note.",
)
@click.option("--note", metavar="NOTE", help="The note whose headings or blocks to complete.")
@click.option("--property", "name", metavar="NAME", help="The property whose values to complete.")
@click.option(
    "-n", "--limit", type=click.IntRange(1, limits.COMPLETIONS), metavar="N", help="Show at most N."
)
@json_option
@daemon_options
@pass_invocation
def complete(
    invocation: Invocation,
    /,
    text: str,
    kind: str,
    note: str | None,
    name: str | None,
    limit: int | None,
    json_: bool,
) -> int:
    """Complete a note, heading, block, tag, property or value. Prints one per line.

    \b
    vaultseek complete flo
    vaultseek complete --kind value --property status
    """
    call = CompleteCall()
    call.text, call.kind, call.limit = text, kind, limit
    call.note, call.property, call.json = note, name, json_
    return call.run(invocation)
