"""``vaultseek duplicates``: pairs of notes that are nearly the same."""

from __future__ import annotations

import time

import click

from vaultseek.doors.cli.connect import connect
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.listing import place
from vaultseek.doors.cli.options import daemon_options, json_option, limit_option
from vaultseek.doors.cli.output import print_answer
from vaultseek.doors.cli.terminal import Terminal, age, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON

SHOWN_PAIRS = 10


@click.command()
@limit_option(f"Show at most N pairs, by default {SHOWN_PAIRS}.")
@json_option()
@daemon_options
def duplicates(invocation: Invocation, /, limit: int | None) -> int:
    """Show the notes that are most alike, in pairs.

    Ordered by shared text and by meaning, the most alike first. You decide which are duplicates: the list
    does not stop where they end.

    \b
    vaultseek duplicates -n 20
    """
    with connect(invocation) as client:
        params = invocation.params(limit=limit or SHOWN_PAIRS)
        answer = client.call("vault/duplicates", params, timeout=None)
    return print_answer(answer, invocation, "pairs", _page)


def _page(answer: JSON, terminal: Terminal) -> str:
    lines: list[str] = []
    for pair in answer["pairs"]:
        alike = f"same text {pair['text']:.0%} · same meaning {pair['meaning']:.0%}"
        rank = terminal.paint(f"{pair['rank']:>2}", "dim")
        lines.append(f"{rank}  {terminal.bar(pair['score'])}  {terminal.paint(alike, 'dim')}")
        lines += [_note(note, answer, terminal) for note in pair["notes"]]
        lines.append("")
    for lane in answer["partial"]:
        remark = f"compared by text alone: {clean(lane['reason'])}"
        lines += terminal.wrapped(terminal.paint(remark, "yellow"))
    if not answer["pairs"]:
        lines.append("No two notes are alike.")
    return "\n".join(lines).removesuffix("\n")


def _note(note: JSON, answer: JSON, terminal: Terminal) -> str:
    title = clean(note["title"])
    parts = [title if title not in note["path"] else "", age(note["modified"], time.time())]
    details = " · ".join(part for part in parts if part)
    room = max(20, terminal.width - len(clean(note["path"])) - 6)
    return f"    {place(note, terminal, answer)}  {terminal.paint(terminal.fit(details, room), 'dim')}"
