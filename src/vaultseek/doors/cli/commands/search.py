"""``vaultseek search``."""

from typing import Any

import click

from vaultseek.doors.cli.arguments import SEARCH
from vaultseek.doors.cli.completion_values import complete_query
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import QueryCommand, completed_by, daemon_options, table_options, unescaped
from vaultseek.doors.cli.search_call import SearchCall


@click.command(cls=QueryCommand)
@click.argument("query", nargs=-1, shell_complete=completed_by(complete_query))
@table_options(SEARCH)
@daemon_options
def search(invocation: Invocation, /, query: tuple[str, ...], **options: Any) -> int:
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
    return SearchCall(map(unescaped, query), options).run(invocation)
