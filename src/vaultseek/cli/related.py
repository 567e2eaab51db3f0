"""``vaultseek related``: notes like a note."""

from __future__ import annotations

import time

import click

from vaultseek import limits
from vaultseek.cli import candidates
from vaultseek.cli.asking import HELP, ask_about, asking_options, tell
from vaultseek.cli.invocation import JSON, Invocation, pass_invocation
from vaultseek.cli.terminal import Terminal


@click.command(context_settings=HELP)
@click.argument("note", shell_complete=candidates.notes)
@click.option("-n", "--limit", type=click.IntRange(1, limits.RESULTS), metavar="N", help="At most N notes.")
@asking_options
@pass_invocation
def related(invocation: Invocation, /, note: str, limit: int | None, json_: bool, paths: bool) -> int:
    """Show notes like a note.

    Like it in meaning, by links between them or to the same notes, and by words. NOTE is a path, the end of
    one, a title, an alias or a file name.

    \b
    vaultseek related "Float Switch Wiring"
    vaultseek related Projects/Sump/High\\ Water\\ Night.md -n 3 --paths
    """
    answer = ask_about(invocation, "note/related", note, limit=limit)
    return tell(answer, invocation, "results", _page, json_=json_, paths=paths)


def _page(answer: JSON, terminal: Terminal) -> str:
    from vaultseek.cli.results import page

    return page({**answer, "query": answer["path"]}, terminal, now=time.time())
