"""``vaultseek table``: a base of Obsidian, or the notes that a query finds, as a table."""

from __future__ import annotations

import os
import re

import click

from vaultseek.base import limits
from vaultseek.doors.cli.completion_values import complete_columns, complete_note, complete_query_or_file
from vaultseek.doors.cli.connect import call_vault
from vaultseek.doors.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.options import (
    QueryCommand,
    completed_by,
    daemon_options,
    json_option,
    pass_invocation,
    unescaped,
)
from vaultseek.doors.cli.output import print_error, print_json
from vaultseek.doors.cli.table_page import FORMATS, printed
from vaultseek.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON

_FILES = (".base", ".md")
_OPERATOR = re.compile(r"-?[a-z-]+:\S")
"""The beginning of a query such as ``path:a.md``, which is no file."""


@click.command(cls=QueryCommand)
@click.argument(
    "source",
    metavar="FILE.base|NOTE.md|QUERY",
    nargs=-1,
    required=True,
    shell_complete=completed_by(complete_query_or_file),
)
@click.option("--view", metavar="NAME", help="View of a base. By default the first.")
@click.option(
    "--this",
    metavar="NOTE",
    shell_complete=completed_by(complete_note),
    help="Note that the formulas of a base call this.",
)
@click.option(
    "--columns",
    shell_complete=completed_by(complete_columns),
    metavar="LIST",
    multiple=True,
    help="Properties, title, modified, … or expressions.",
)
@click.option(
    "--sort",
    shell_complete=completed_by(complete_columns),
    metavar="LIST",
    multiple=True,
    help="Columns to sort by; -rating is descending.",
)
@click.option(
    "--group", metavar="COLUMN", shell_complete=completed_by(complete_columns), help="Column to group by."
)
@click.option(
    "--summary", metavar="COLUMN=NAME", multiple=True, help="Average, Sum, Earliest, … of a column."
)
@click.option(
    "-n", "--limit", type=click.IntRange(1, limits.LISTED_ITEMS_MOST), metavar="N", help="Most rows."
)
@click.option("--format", "format_", type=click.Choice(FORMATS), default=None, help="By default table.")
@json_option
@daemon_options
@pass_invocation
def table(
    invocation: Invocation,
    /,
    source: tuple[str, ...],
    view: str | None,
    this: str | None,
    columns: tuple[str, ...],
    sort: tuple[str, ...],
    group: str | None,
    summary: tuple[str, ...],
    limit: int | None,
    format_: str | None,
    json_: bool,
) -> int:
    """Show a base of Obsidian, the bases in a note, or the notes that a query finds, as a table.

    A base keeps its own columns; with a query they are chosen here. A column is a property, a fact such as
    title or modified, or an expression of the language of Bases.

    \b
    vaultseek table Books.base --view "Top rated"
    vaultseek table 'tag:book' --columns title,rating,status --sort -rating --group status
    """
    text = " ".join(unescaped(word) for word in source)
    params: JSON = {"limit": limit}
    if text.lower().endswith(_FILES) and not _OPERATOR.match(text):
        _refuse_columns(columns, sort, group, summary)
        params |= {"file": _file(text, invocation), "view": view, "this": this}
    else:
        params |= {"query": text, "view": view, "this": this, "group": group and unescaped(group)}
        params |= {"columns": list(columns) or None, "sort": list(map(unescaped, sort)) or None}
        params["summaries"] = dict(map(_assigned, summary)) or None
    answer = call_vault(invocation, "vault/table", **params)
    for lane in answer["partial"]:
        print_error(f"rows may be missing: {lane['reason']}")
    form = "json" if json_ else format_ or "table"
    if form == "json":
        print_json(answer)
    elif form == "table":
        invocation.show(printed(answer, form, invocation.out))
    else:
        print(printed(answer, form, invocation.out), end="")
        for each in answer["tables"]:
            for problem in each["problems"]:
                print_error(problem)
    return SUCCESS if answer["count"] else NO_MATCH


def _file(name: str, invocation: Invocation) -> str:
    """Return a base or note as the daemon takes it; a file of the current folder tells the vault, too."""
    if not os.path.isfile(name):
        return name
    path = os.path.realpath(name)
    if invocation.vault is None:
        invocation.folder = os.path.dirname(path)
    return path


def _refuse_columns(*given: object) -> None:
    if any(given):
        raise UsageError(
            "a base has its own columns and order: edit it, or use --columns, --sort, --group and --summary"
            " with a query"
        )


def _assigned(text: str) -> tuple[str, str]:
    column, sign, name = text.rpartition("=")
    if not (sign and column.strip() and name.strip()):
        raise UsageError(f"--summary {text} names no figure; write it as rating=Average")
    return column.strip(), name.strip()
