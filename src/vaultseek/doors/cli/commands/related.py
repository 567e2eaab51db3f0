"""``vaultseek related``: notes that are similar to a note."""

from __future__ import annotations

import time

import click

from vaultseek.doors.cli.connect import call_note
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import limit_option, list_options, note_argument, pass_invocation
from vaultseek.doors.cli.output import print_answer
from vaultseek.doors.cli.terminal import Terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON


@click.command()
@note_argument
@limit_option("Show at most N notes.")
@list_options
@pass_invocation
def related(invocation: Invocation, /, note: str, limit: int | None, json_: bool, paths: bool) -> int:
    """Show notes that are similar to a note.

    Similar in meaning, in words, or by links between the two or to the same notes. NOTE is a path or the end
    of one, a title, an alias or a file name.

    \b
    vaultseek related "Float Switch Wiring"
    vaultseek related Projects/Sump/High\\ Water\\ Night.md -n 3 --paths
    """
    answer = call_note(invocation, "note/related", note, limit=limit)
    return print_answer(answer, invocation, "results", _page, json_=json_, paths=paths)


def _page(answer: JSON, terminal: Terminal) -> str:
    from vaultseek.doors.cli.search_page import page

    return page({**answer, "query": answer["path"]}, terminal, now=time.time())
