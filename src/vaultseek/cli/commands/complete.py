"""``vaultseek complete``: completions for editors and scripts that have no client of their own."""

from __future__ import annotations

import click

from vaultseek import limits
from vaultseek.cli.connect import call_vault
from vaultseek.cli.invocation import Invocation
from vaultseek.cli.options import daemon_options, json_option, pass_invocation
from vaultseek.cli.output import print_answer
from vaultseek.cli.terminal import Terminal, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.model import JSON


@click.command()
@click.argument("text", default="")
@click.option(
    "--kind",
    type=click.Choice(["note", "heading", "block", "tag", "property", "value"]),
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
    answer = call_vault(invocation, "complete", text=text, kind=kind, note=note, property=name, limit=limit)
    return print_answer(answer, invocation, "items", _list, json_=json_)


def _list(answer: JSON, terminal: Terminal) -> str:
    return "\n".join(clean(item["text"]) for item in answer["items"])
