"""``vaultseek search``."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import click

from vaultseek import limits
from vaultseek.cli.completion_values import (
    complete_note,
    complete_property,
    complete_property_value,
    complete_query,
    complete_tag,
)
from vaultseek.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.cli.invocation import Invocation, pass_invocation
from vaultseek.cli.options import daemon_options, json_option, limit_option, mode_option, paths_option
from vaultseek.cli.output import print_json, print_paths
from vaultseek.cli.query_arguments import QueryCommand, environment_settings, naming_the_variable, unescaped
from vaultseek.errors import UsageError
from vaultseek.model import JSON

_FILTERS = (
    ("--tag", "TAG", "Only notes with this tag or a tag nested under it."),
    ("--not-tag", "TAG", "Only notes without this tag."),
    ("--path", "TEXT", "Only notes whose path contains TEXT; FOLDER/ means that folder."),
    ("--not-path", "TEXT", "Only notes whose path does not contain TEXT."),
    ("--property", "NAME=VALUE", "Only notes with this property; also <, <=, >, >= and =null."),
    ("--has-property", "NAME", "Only notes that have the property NAME."),
    ("--created-after", "DATE", "From this date on: 2026-01-31, 2026-01, 7d, 'last week'."),
    ("--created-before", "DATE", "Before this date."),
    ("--modified-after", "DATE", "From this date on."),
    ("--modified-before", "DATE", "Before this date."),
    ("--links-to", "NOTE", "Only notes that link to NOTE."),
    ("--linked-from", "NOTE", "Only notes that NOTE links to."),
    ("--phrase", "TEXT", "Only notes with exactly these words."),
    ("--exclude", "TEXT", "Only notes without this word or phrase."),
)

_COMPLETE = {
    "TAG": complete_tag,
    "NOTE": complete_note,
    "NAME": complete_property,
    "NAME=VALUE": complete_property_value,
}


def _filter_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for name, metavar, help in reversed(_FILTERS):
        option = click.option(
            name, metavar=metavar, multiple=True, help=help, shell_complete=_COMPLETE.get(metavar)
        )
        command = option(command)
    return command


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, shell_complete=complete_query)
@limit_option("Show at most N results.")
@json_option
@paths_option
@click.option("--open", "open_", is_flag=True, help="Open the best note in $VISUAL, $EDITOR or Obsidian.")
@click.option("--explain", is_flag=True, help="Explain the rank of each result.")
@mode_option("Search with all lanes, by words only or by meaning only.")
@click.option("--wait", is_flag=True, help="Wait until every change on disk is indexed.")
@_filter_options
@daemon_options
@pass_invocation
def search(
    invocation: Invocation,
    /,
    query: tuple[str, ...],
    limit: int | None,
    json_: bool,
    paths: bool,
    open_: bool,
    explain: bool,
    mode: str | None,
    wait: bool,
    **filters: tuple[str, ...],
) -> int:
    """Search the notes of a vault.

    Finds notes by their words and by their meaning. Quotes make a phrase, a minus in front excludes a word,
    and tag: path: file: and [property:value] filter. The filters are also options, which may be repeated.
    Filters without words list every note that matches them.

    \b
    vaultseek search descale the boiler
    vaultseek search '"pressure valve" -draft tag:house'
    vaultseek search -n 3 --json E-4107
    vaultseek search --tag work --modified-after 7d --paths
    """
    fields = {name: [unescaped(value) for value in values] for name, values in filters.items() if values}
    if not query and not fields:
        raise UsageError(
            "search needs a word, a phrase or a filter; list the filters with `vaultseek search -h`"
        )
    options = {
        "limit": limit,
        "mode": mode,
        "filters": fields or None,
        "brief": (paths and not json_) or None,
    }
    params: JSON = {"query": " ".join(map(unescaped, query)), "explain": explain, "wait": wait}
    params |= {name: value for name, value in options.items() if value is not None}
    answer = _ask(invocation, params, wait=wait)
    if json_:
        print_json(answer)
    elif paths:
        print_paths(answer)
    else:
        _show(answer, invocation, explain=explain)
    if open_ and answer.get("results"):
        from vaultseek.cli.editor import open_note

        open_note(answer["vault_path"], answer["results"][0])
    return SUCCESS if answer.get("results") else NO_MATCH


def _ask(invocation: Invocation, params: JSON, *, wait: bool) -> JSON:
    from vaultseek.cli.connect import connect

    settings = environment_settings()
    params = invocation.params(**params, settings=settings)
    with connect(invocation) as client, naming_the_variable(settings):
        answer: JSON = client.call("search", params, timeout=None if wait else limits.CALL_SECONDS)
    return answer


def _show(answer: JSON, invocation: Invocation, *, explain: bool) -> None:
    from vaultseek.cli.search_page import page

    invocation.show(page(answer, invocation.out, now=time.time(), explain=explain))
