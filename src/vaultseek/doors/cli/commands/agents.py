"""``vaultseek agents``: the answers given to agents."""

from __future__ import annotations

import time

import click

from vaultseek.doors.cli.commands.history import switch
from vaultseek.doors.cli.connect import call_vault
from vaultseek.doors.cli.exit_codes import SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.listing import remaining
from vaultseek.doors.cli.options import daemon_options, json_option, limit_option
from vaultseek.doors.cli.output import print_answer, print_result
from vaultseek.doors.cli.terminal import Terminal, age, clean, count
from vaultseek.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from vaultseek.base.model import JSON


SHOWN = 20
"""Number of answers shown if ``--limit`` is not given."""


@click.command()
@click.option("--forget", is_flag=True, help="Forget everything.")
@click.option("--off/--on", "off", default=None, help="Stop or resume recording.")
@limit_option("Show at most N answers.", default=SHOWN)
@json_option()
@daemon_options
def agents(invocation: Invocation, /, forget: bool, off: bool | None, limit: int | None) -> int:
    """Show which of your notes were given to AI agents.

    Each answer is listed with its time, agent, question, tokens, and the lines of each note; a note without
    lines was only mentioned. The latest answers come first. All of this stays in the vault's index. At the
    end, each entry of agents.hide is shown with the number of files that it hides.

    \b
    vaultseek agents
    vaultseek agents --forget
    vaultseek agents --off
    """
    if off is not None:
        if forget:
            raise UsageError(
                "--off and --on cannot be combined with other options; run `vaultseek agents --forget` first"
            )
        kept = "; `vaultseek agents --forget` deletes what was recorded"
        return switch(invocation, "agents", "record", on=not off, kept=kept)
    if forget:
        answer = call_vault(invocation, "agents/forget")
        print_result(answer, invocation, f"forgot {count(answer['forgotten'], 'answer')} to agents")
        return SUCCESS
    answer = call_vault(invocation, "agents/history", limit=limit or SHOWN)
    return print_answer(answer, invocation, "given", _page)


def _page(answer: JSON, terminal: Terminal) -> str:
    off = "" if answer["record"] else "\nNothing is recorded: agents.record is off."
    hiding = [f"{clean(each['entry'])} ({count(each['files'], 'file')})" for each in answer["hidden"]]
    off += f"\nHidden from agents: {', '.join(hiding)}." if hiding else ""
    if not answer["given"]:
        return f"No agent has read anything from {clean(answer['vault'])} yet.{off}"
    now = time.time()
    lines = [line for each in answer["given"] for line in _given(each, now, terminal)]
    return "\n".join(lines) + remaining(answer) + off


def _given(given: JSON, now: float, terminal: Terminal) -> Iterator[str]:
    agent = clean(given["agent"]).removeprefix("vaultseek.")
    question = terminal.paint(clean(given["question"]), "bold")
    about = terminal.paint(f"{agent}, {age(given['time'], now)}, {count(given['tokens'], 'token')}", "dim")
    yield f"{clean(given['tool'])} {question}  {about}"
    notes: dict[str, list[str]] = {}
    for note in given["notes"]:
        start, end = note["start_line"], note["end_line"]
        lines = [] if start is None else [f"{start}" if end in (start, None) else f"{start}-{end}"]
        notes.setdefault(note["path"], []).extend(lines)
    for path, lines in notes.items():
        yield f"  {terminal.paint(clean(path), 'cyan')}{':' if lines else ''}{', '.join(lines)}"
