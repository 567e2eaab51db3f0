"""``vaultseek why``: why a note has its rank in a search, or why the search does not return it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from vaultseek.doors.cli.completion_values import complete_query
from vaultseek.doors.cli.connect import call_note
from vaultseek.doors.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.doors.cli.invocation import Invocation, environment_settings, naming_the_variable
from vaultseek.doors.cli.listing import place
from vaultseek.doors.cli.options import (
    QueryCommand,
    completed_by,
    daemon_options,
    json_option,
    limit_option,
    mode_option,
    note_argument,
    unescaped,
)
from vaultseek.doors.cli.output import print_json
from vaultseek.doors.cli.search_page import CLOSEST, lane_table
from vaultseek.doors.cli.terminal import Terminal, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON

_VERDICT_COLORS = {
    "found": "green",
    "filtered": "yellow",
    "no_lane": "red",
    "below_limit": "yellow",
    "cut": "yellow",
}


@click.command(cls=QueryCommand)
@click.argument("query", shell_complete=completed_by(complete_query))
@note_argument
@limit_option("Limit of the search.")
@mode_option("Mode of the search.")
@json_option()
@daemon_options
def why(invocation: Invocation, /, query: str, note: str, limit: int | None, mode: str | None) -> int:
    """Explain why a search ranks a note where it does, or why it does not return it.

    Exit code 1 if the search does not return the note.

    \b
    vaultseek why "float switch" Garden
    """
    settings = environment_settings()
    params = {"query": unescaped(query), "limit": limit, "mode": mode, "settings": settings}
    with naming_the_variable(settings):
        answer = call_note(invocation, "search/why", unescaped(note), **params)
    if invocation.json:
        print_json(answer)
    else:
        invocation.show("\n".join(_page(answer, invocation.out)))
    return SUCCESS if answer["verdict"] == "found" else NO_MATCH


def _page(answer: JSON, terminal: Terminal) -> Iterator[str]:
    verdict = answer["verdict"]
    color = _VERDICT_COLORS.get(verdict, "bold")
    label = terminal.paint(verdict.replace("_", " "), "bold", color)
    yield f"{terminal.paint(clean(answer['title']), 'bold')}  {place(answer, terminal)}"
    yield from terminal.wrapped(f"{label}: {clean(answer['reason'])}")
    for remark in (*answer["interpreted"]["notes"], *([CLOSEST] if answer["weak"] else [])):
        yield from terminal.wrapped(terminal.paint(clean(remark), "yellow"))
    for condition in answer.get("filters") or ():
        yield f"  {'yes' if condition['satisfied'] else 'no '}  {clean(condition['condition'])}"
    if verdict in ("found", "below_limit") and "arithmetic" in (answer.get("result") or {}):
        yield from lane_table(answer["result"], terminal)
    else:
        yield from (terminal.paint(line, "dim") for line in _lane_table(answer, terminal))
    for lane in answer.get("partial") or ():
        missing = f"{clean(lane['lane'])} was left out: {clean(lane['reason'])}"
        yield from terminal.wrapped(terminal.paint(missing, "yellow"))


def _lane_table(answer: JSON, terminal: Terminal) -> list[str]:
    lanes = answer.get("lanes") or (answer.get("result") or {}).get("lanes") or {}
    rows = [["lane", "rank", "score", ""]]
    for name, lane in lanes.items():
        if lane:
            figures = ["" if lane.get(key) is None else f"{lane[key]:.4g}" for key in ("rank", "score")]
            rows.append([clean(name), *figures, clean(lane.get("reason") or "")])
    return terminal.tabled(rows, right=(1, 2)) if len(rows) > 1 else []
