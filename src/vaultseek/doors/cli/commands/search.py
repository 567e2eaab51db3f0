"""``vaultseek search``, ``context`` and ``why``: find notes, gather evidence, and explain a note's rank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from vaultseek.base import limits
from vaultseek.doors.cli.arguments import SEARCH
from vaultseek.doors.cli.completion_values import complete_query
from vaultseek.doors.cli.connect import call_note, call_vault, record_given
from vaultseek.doors.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.doors.cli.invocation import Invocation, environment_settings, naming_the_variable
from vaultseek.doors.cli.listing import currency_lines, place
from vaultseek.doors.cli.options import (
    QueryCommand,
    completed_by,
    daemon_options,
    json_option,
    limit_option,
    mode_option,
    note_argument,
    table_options,
    unescaped,
)
from vaultseek.doors.cli.output import print_answer, print_json, print_remarks
from vaultseek.doors.cli.search_call import SearchCall
from vaultseek.doors.cli.search_page import lane_table, no_match, remark_lines
from vaultseek.doors.cli.terminal import Terminal, clean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON

_VERDICT_COLORS = {
    "found": "green",
    "filtered": "magenta",
    "no_lane": "red",
    "below_limit": "magenta",
    "cut": "magenta",
}


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, shell_complete=completed_by(complete_query))
@table_options(SEARCH)
@daemon_options
def search(invocation: Invocation, /, query: tuple[str, ...], **options: Any) -> int:
    """Search the notes of a vault.

    Finds notes by their words and their meaning. Quotes make a phrase, and a leading minus excludes a word;
    tag:, path:, file: and [property:value] are filters. Filters are also available as options; these and
    --vault can be repeated. Filters without words list every matching note. @name runs a saved search from
    the configuration, and - reads text from standard input and finds similar notes.

    \b
    vaultseek search descale the boiler
    vaultseek search '"pressure valve" -draft tag:house'
    vaultseek search -n 3 --json E-4107
    vaultseek search --tag work --modified-after 7d --paths
    pbpaste | vaultseek search -
    """
    return SearchCall(map(unescaped, query), options).run(invocation)


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, required=True, shell_complete=completed_by(complete_query))
@click.option(
    "--tokens",
    type=click.IntRange(limits.AGENT_TOKENS_LEAST, limits.AGENT_TOKENS_MOST),
    default=limits.AGENT_TOKENS,
    show_default=True,
    metavar="N",
    help="Print at most N tokens.",
)
@json_option()
@daemon_options
def context(invocation: Invocation, /, query: tuple[str, ...], tokens: int) -> int:
    """Print what several notes say about a question.

    Selects the most useful passages for a language model, each with its note, heading, lines and date of
    change. Passages that did not fit are listed at the end. Tokens are estimated at three bytes each, so the
    budget holds for any model.

    \b
    vaultseek context "how do I descale the boiler" --tokens 1000
    """
    invocation.agent = True
    words = " ".join(map(unescaped, query))
    settings = environment_settings()
    with naming_the_variable(settings):
        params = {"query": words, "tokens": tokens, "settings": settings}
        answer = call_vault(invocation, "search/context", **params)
    if not invocation.json:
        print_remarks(answer)
    code = print_answer(answer, invocation, "passages", _text)
    from vaultseek.doors.mcp.results import evidence

    record_given(invocation, evidence(answer), "context", words)
    return code


def _text(answer: JSON, terminal: Terminal) -> str:
    if not answer["passages"]:
        return no_match(answer, terminal)
    return "\n".join(map(clean, answer["text"].split("\n")))


@click.command(cls=QueryCommand)
@click.argument("query", shell_complete=completed_by(complete_query))
@note_argument
@limit_option("Maximum number of results in the explained search.", default=limits.SHOWN_RESULTS)
@mode_option("Kind of search to explain.")
@json_option()
@daemon_options
def why(invocation: Invocation, /, query: str, note: str, limit: int | None, mode: str | None) -> int:
    """Explain a note's rank in a search, or why it is missing.

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
    yield from currency_lines(answer, terminal)
    yield from terminal.wrapped(f"{label}: {clean(answer['reason'])}")
    yield from remark_lines(answer, terminal, "closest", "query")
    for condition in answer.get("filters") or ():
        yield f"  {'yes' if condition['satisfied'] else 'no '}  {clean(condition['condition'])}"
    if verdict in ("found", "below_limit") and "arithmetic" in (answer.get("result") or {}):
        yield from lane_table(answer["result"], terminal)
    else:
        yield from (terminal.paint(line, "dim") for line in _lane_table(answer, terminal))
    for lane in answer.get("partial") or ():
        missing = f"{clean(lane['lane'])} was left out: {clean(lane['reason'])}"
        yield from terminal.wrapped(terminal.paint(missing, "magenta"))


def _lane_table(answer: JSON, terminal: Terminal) -> list[str]:
    lanes = answer.get("lanes") or (answer.get("result") or {}).get("lanes") or {}
    rows = [["lane", "rank", "score", ""]]
    for name, lane in lanes.items():
        if lane:
            figures = ["" if lane.get(key) is None else f"{lane[key]:.4g}" for key in ("rank", "score")]
            rows.append([clean(name), *figures, clean(lane.get("reason") or "")])
    return terminal.tabled(rows, right=(1, 2)) if len(rows) > 1 else []
