"""``vaultseek search``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from vaultseek.doors.cli.bash_completion import BY_METAVAR
from vaultseek.doors.cli.completion_values import complete_query
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import (
    daemon_options,
    limit_option,
    mode_option,
    pass_invocation,
)
from vaultseek.doors.cli.query_arguments import QueryCommand, unescaped
from vaultseek.doors.cli.search_arguments import FILTERS, FORMATS
from vaultseek.doors.cli.search_call import SearchCall


def _filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, metavar, help in reversed(FILTERS):
        option = click.option(
            name, metavar=metavar, multiple=True, help=help, shell_complete=BY_METAVAR.get(metavar)
        )
        command = option(command)
    return command


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, shell_complete=complete_query)
@limit_option("Show at most N results.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="text",
    help="Print text, one JSON object, paths, or a line path:line:column:text for each result.",
)
@click.option("--json", "json_", is_flag=True, help="Same as --format json.")
@click.option("--paths", is_flag=True, help="Same as --format paths: only the paths, one per line.")
@click.option("--open", "open_", is_flag=True, help="Open the best note in $VISUAL, $EDITOR or Obsidian.")
@click.option("--explain", is_flag=True, help="Explain the rank of each result.")
@mode_option("Search with all lanes, by words only or by meaning only.")
@click.option("--wait", is_flag=True, help="Wait until every change on disk is indexed.")
@click.option("--all-vaults", is_flag=True, help="Search every vault, instead of one.")
@_filter_options
@daemon_options
@pass_invocation
def search(
    invocation: Invocation,
    /,
    query: tuple[str, ...],
    limit: int | None,
    format_: str,
    json_: bool,
    paths: bool,
    open_: bool,
    explain: bool,
    mode: str | None,
    wait: bool,
    all_vaults: bool,
    **filters: tuple[str, ...],
) -> int:
    """Search the notes of a vault.

    Finds notes by their words and by their meaning. Quotes make a phrase, a minus in front excludes a word,
    and tag: path: file: and [property:value] filter. The filters are also options, which may be repeated.
    Filters without words list every note that matches them. @name stands for a saved search of the
    configuration, and - for a text from standard input: notes that are like it are found.

    \b
    vaultseek search descale the boiler
    vaultseek search '"pressure valve" -draft tag:house'
    vaultseek search -n 3 --json E-4107
    vaultseek search --tag work --modified-after 7d --paths
    pbpaste | vaultseek search -
    """
    call = SearchCall()
    call.query = tuple(map(unescaped, query))
    call.limit, call.mode = limit, mode
    call.filters = {
        name: [unescaped(value) for value in values] for name, values in filters.items() if values
    }
    call.explain, call.wait, call.open = explain, wait, open_
    call.all_vaults = all_vaults
    call.json, call.paths, call.format = json_, paths, format_
    return call.run(invocation)
