"""``vaultseek stale``: outdated notes, and links to superseded notes."""

from __future__ import annotations

import click

from vaultseek.base import limits
from vaultseek.doors.cli.connect import call_vault
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.listing import place
from vaultseek.doors.cli.options import limit_option, list_options
from vaultseek.doors.cli.output import print_answer
from vaultseek.doors.cli.terminal import Terminal, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON


@click.command()
@limit_option("Show at most N notes.", default=limits.RESULTS)
@list_options
def stale(invocation: Invocation, /, limit: int | None) -> int:
    """Show outdated notes and links to superseded notes.

    A note is superseded if it names its successor, or if another note claims to replace it. Exit code 1 if
    there is nothing to tidy up.
    """
    answer = call_vault(invocation, "vault/stale", limit=limit)
    return print_answer(answer, invocation, "items", _page)


def _page(answer: JSON, terminal: Terminal) -> str:
    if not answer["items"]:
        return "Nothing is stale."
    lines = [
        f"{place(item, terminal, answer)}  {terminal.paint(clean(item['text']), 'dim')}"
        for item in answer["items"]
    ]
    left = answer["total"] - len(answer["items"])
    return "\n".join([*lines, *([f"… and {left:,} more"] if left else [])])
