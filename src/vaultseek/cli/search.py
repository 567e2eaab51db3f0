"""``vaultseek search``: ask, and show what was found."""

from __future__ import annotations

import os
import re
import time

import click

from vaultseek import limits
from vaultseek.cli import FOUND, NOTHING_FOUND
from vaultseek.cli.invocation import JSON, Invocation, as_json, daemon_options, pass_invocation

_SETTINGS = "VAULTSEEK_SEARCH__"
# -draft, -tag:old, -"a phrase": an excluded word, and not the options -h and -n 5
_EXCLUSION = re.compile(r"-(?!-|h$|n\d*$).+", re.DOTALL)
_ESCAPE = "\0"  # no argument of a process can hold one


class _QueryCommand(click.Command):
    """Takes ``-word`` for a part of the query instead of an unknown option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        escaped = [_ESCAPE + arg if _EXCLUSION.fullmatch(arg) else arg for arg in args]
        return super().parse_args(ctx, escaped)


@click.command(cls=_QueryCommand, context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("query", nargs=-1, required=True)
@click.option("-n", "--limit", type=click.IntRange(1, limits.RESULTS), metavar="N", help="At most N results.")
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@click.option("--explain", is_flag=True, help="Say why each result is where it is.")
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "keyword", "semantic"]),
    help="Ask all lanes, words alone or meaning alone.",
)
@click.option("--wait", is_flag=True, help="Answer only when everything on disk has been taken in.")
@daemon_options
@pass_invocation
def search(
    invocation: Invocation,
    query: tuple[str, ...],
    limit: int | None,
    json_: bool,
    explain: bool,
    mode: str | None,
    wait: bool,
) -> int:
    """Search the notes of a vault.

    Words are searched for as they are and by what they mean. Quotes make a phrase, a minus in front
    excludes, tag: path: file: and [property:value] filter.

    \b
    vaultseek search descale the boiler
    vaultseek search '"pressure valve" -draft tag:house'
    vaultseek search -n 3 --json E-4107
    """
    from vaultseek.cli.reach import connect

    params = invocation.params(query=_text(query), explain=explain, wait=wait, settings=settings_of_shell())
    params.update({name: value for name, value in (("limit", limit), ("mode", mode)) if value is not None})
    with connect(invocation) as client:
        answer = client.call("search", params, timeout=None if wait else limits.CALL_SECONDS)
    _print(answer, invocation, json_=json_, explain=explain)
    return FOUND if answer.get("results") else NOTHING_FOUND


def settings_of_shell() -> dict[str, str]:
    """The search settings of this shell's environment, which the daemon's own may not have."""
    found = {}
    for variable, value in os.environ.items():
        if variable.upper().startswith(_SETTINGS) and value:
            found[variable[len(_SETTINGS) :].lower().replace("__", ".")] = value
    return found


def _text(query: tuple[str, ...]) -> str:
    return " ".join(part.removeprefix(_ESCAPE) for part in query)


def _print(answer: JSON, invocation: Invocation, *, json_: bool, explain: bool) -> None:
    if json_:
        as_json(answer)
        return
    from vaultseek.cli.results import page

    print(page(answer, invocation.out, now=time.time(), explain=explain))
