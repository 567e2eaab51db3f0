"""``vaultseek tags`` and ``vaultseek properties``."""

from __future__ import annotations

import click

from vaultseek.doors.cli.completion_values import complete_property
from vaultseek.doors.cli.connect import call_vault
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.listing import remaining
from vaultseek.doors.cli.options import completed_by, daemon_options, json_option
from vaultseek.doors.cli.output import print_answer
from vaultseek.doors.cli.terminal import Terminal, clean, count, cut, table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultseek.base.model import JSON

VALUE_COLUMNS = 40
"""Maximum width in columns of a property's value when all properties are listed."""


@click.command()
@json_option()
@daemon_options
def tags(invocation: Invocation, /) -> int:
    """Show every tag and its number of notes.

    The most common come first. The number in brackets includes nested tags.
    """
    return print_answer(call_vault(invocation, "vault/tags"), invocation, "tags", _tags)


@click.command()
@click.argument("name", required=False, shell_complete=completed_by(complete_property))
@json_option()
@daemon_options
def properties(invocation: Invocation, /, name: str | None) -> int:
    """Show the properties and their most common values.

    The most common property comes first. With NAME, shows all values of that property.
    """
    answer = call_vault(invocation, "vault/properties", name=name)
    if name is None:
        return print_answer(answer, invocation, "properties", _properties)
    return print_answer(answer, invocation, "values", _values)


def _tags(answer: JSON, terminal: Terminal) -> str:
    if not answer["tags"]:
        return "No tags."
    rows = []
    for tag in sorted(answer["tags"], key=lambda tag: (-tag["total"], tag["tag"])):
        total = f"({tag['total']:,})" if tag["total"] != tag["count"] else ""
        rows.append([f"#{clean(tag['tag'])}", f"{tag['count']:,}", total])
    return "\n".join(table(rows, right=(1,))) + remaining(answer)


def _properties(answer: JSON, terminal: Terminal) -> str:
    if not answer["properties"]:
        return "No properties."
    lines = []
    for item in sorted(answer["properties"], key=lambda item: (-item["count"], item["name"])):
        kinds = ", ".join(item["types"])
        head = f"{terminal.paint(clean(item['name']), 'bold')}  {count(item['count'], 'note')} · {kinds}"
        values = ", ".join(
            f"{cut(clean(value['value']), VALUE_COLUMNS)} ({value['count']})" for value in item["values"]
        )
        lines += [head, *([f"  {terminal.fit(values, terminal.width - 2)}"] if values else [])]
    return "\n".join(lines) + remaining(answer)


def _values(answer: JSON, terminal: Terminal) -> str:
    if not answer["values"]:
        name = clean(answer["property"])
        return f"No note has the property {name}. List the properties with `vaultseek properties`."
    rows = [[f"{value['count']:,}", clean(value["value"])] for value in answer["values"]]
    return "\n".join(table(rows, right=(0,))) + remaining(answer)
