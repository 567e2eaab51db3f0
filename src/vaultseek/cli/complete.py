"""``vaultseek complete``: what could be meant, for editors and shells without a client of their own."""

from __future__ import annotations

import click

from vaultseek import limits
from vaultseek.cli.asking import HELP, ask, tell
from vaultseek.cli.invocation import JSON, Invocation, daemon_options, pass_invocation
from vaultseek.cli.terminal import Terminal, clean


@click.command(context_settings=HELP)
@click.argument("text", default="")
@click.option(
    "--kind",
    type=click.Choice(["note", "heading", "block", "tag", "property", "value"]),
    default="note",
    help="What is being typed; a note by default.",
)
@click.option("--note", metavar="NOTE", help="For a heading or block: of which note.")
@click.option("--property", "name", metavar="NAME", help="For a value: of which property.")
@click.option("-n", "--limit", type=click.IntRange(1, limits.COMPLETIONS), metavar="N", help="At most N.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
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
    """Complete a title, alias, heading, block, tag, property or value, one a line.

    \b
    vaultseek complete flo
    vaultseek complete --kind value --property status
    """
    answer = ask(invocation, "complete", text=text, kind=kind, note=note, property=name, limit=limit)
    return tell(answer, invocation, "items", _items, json_=json_)


def _items(answer: JSON, terminal: Terminal) -> str:
    return "\n".join(clean(item["text"]) for item in answer["items"])
