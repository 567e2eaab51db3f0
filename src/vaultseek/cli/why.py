"""``vaultseek why``: why a note is where it is in an answer, or where it was lost."""

from __future__ import annotations

from collections.abc import Iterator

import click

from vaultseek import limits
from vaultseek.cli import FOUND, NOTHING_FOUND, candidates
from vaultseek.cli.asking import HELP, ask_about, place
from vaultseek.cli.invocation import JSON, Invocation, as_json, daemon_options, pass_invocation
from vaultseek.cli.search import QueryCommand, blaming_the_shell, settings_of_shell, unescaped
from vaultseek.cli.terminal import Terminal, clean

_VERDICTS = {
    "found": "green",
    "filtered": "yellow",
    "no_lane": "red",
    "below_limit": "yellow",
    "cut": "yellow",
}


@click.command(cls=QueryCommand, context_settings=HELP)
@click.argument("query", shell_complete=candidates.query)
@click.argument("note", shell_complete=candidates.notes)
@click.option("-n", "--limit", type=click.IntRange(1, limits.RESULTS), metavar="N", help="As in the search.")
@click.option("--mode", type=click.Choice(["hybrid", "keyword", "semantic"]), help="As in the search.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@daemon_options
@pass_invocation
def why(
    invocation: Invocation, /, query: str, note: str, limit: int | None, mode: str | None, json_: bool
) -> int:
    """Say why a note is where it is in the answer to a query, or where it was lost.

    Exit code 1 if the query does not find the note.

    \b
    vaultseek why "float switch" Garden
    """
    shell = settings_of_shell()
    query, note = unescaped(query), unescaped(note)
    more = {"query": query, "limit": limit, "mode": mode, "settings": shell}
    with blaming_the_shell(shell):
        answer = ask_about(invocation, "search/why", note, **more)
    if json_:
        as_json(answer)
    else:
        invocation.show("\n".join(_page(answer, invocation.out)))
    return FOUND if answer["verdict"] == "found" else NOTHING_FOUND


def _page(answer: JSON, terminal: Terminal) -> Iterator[str]:
    verdict = answer["verdict"]
    words = terminal.paint(verdict.replace("_", " "), "bold", _VERDICTS.get(verdict, "bold"))
    yield f"{terminal.paint(clean(answer['title']), 'bold')}  {place(answer, terminal)}"
    yield from terminal.wrapped(f"{words}: {clean(answer['reason'])}")
    for condition in answer.get("filters") or ():
        yield f"  {'yes' if condition['satisfied'] else 'no '}  {clean(condition['condition'])}"
    lanes = answer.get("lanes") or (answer.get("result") or {}).get("lanes") or {}
    rows = [["lane", "rank", "score", ""]]
    for name, lane in lanes.items():
        if lane:
            figures = ["" if lane.get(key) is None else f"{lane[key]:.4g}" for key in ("rank", "score")]
            rows.append([clean(name), *figures, clean(lane.get("reason") or "")])
    if len(rows) > 1:
        yield from (terminal.paint(line, "dim") for line in terminal.tabled(rows, right=(1, 2)))
    for lane in answer.get("partial") or ():
        missing = f"{clean(lane['lane'])} did not take part: {clean(lane['reason'])}"
        yield from terminal.wrapped(terminal.paint(missing, "yellow"))
