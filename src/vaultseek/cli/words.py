"""``vaultseek tags`` and ``vaultseek properties``."""

from __future__ import annotations

import click

from vaultseek.cli import candidates
from vaultseek.cli.asking import HELP, ask, more, tell
from vaultseek.cli.invocation import JSON, Invocation, daemon_options, pass_invocation
from vaultseek.cli.terminal import Terminal, clean, count, table


@click.command(context_settings=HELP)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@daemon_options
@pass_invocation
def tags(invocation: Invocation, /, json_: bool) -> int:
    """Show every tag with its number of notes; in brackets with those of the tags nested under it."""
    return tell(ask(invocation, "vault/tags"), invocation, "tags", _tags, json_=json_)


@click.command(context_settings=HELP)
@click.argument("name", required=False, shell_complete=candidates.properties)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object.")
@daemon_options
@pass_invocation
def properties(invocation: Invocation, /, name: str | None, json_: bool) -> int:
    """Show every property with its commonest values, or every value of the one called NAME."""
    answer = ask(invocation, "vault/properties", name=name)
    if name is None:
        return tell(answer, invocation, "properties", _properties, json_=json_)
    return tell(answer, invocation, "values", _values, json_=json_)


def _tags(answer: JSON, terminal: Terminal) -> str:
    if not answer["tags"]:
        return "No tags."
    rows = []
    for tag in answer["tags"]:
        nested = f"({tag['total']:,})" if tag["total"] != tag["count"] else ""
        rows.append([f"#{clean(tag['tag'])}", f"{tag['count']:,}", nested])
    return "\n".join(table(rows, right=(1,))) + more(answer)


def _properties(answer: JSON, terminal: Terminal) -> str:
    if not answer["properties"]:
        return "No properties."
    lines = []
    for found in answer["properties"]:
        kinds = ", ".join(found["types"])
        head = f"{terminal.paint(clean(found['name']), 'bold')}  {count(found['count'], 'note')} · {kinds}"
        values = ", ".join(f"{clean(value['value'])} ({value['count']})" for value in found["values"])
        lines += [head, *([f"  {terminal.fit(values, terminal.width - 2)}"] if values else [])]
    return "\n".join(lines) + more(answer)


def _values(answer: JSON, terminal: Terminal) -> str:
    if not answer["values"]:
        return f"No values of {clean(answer['property'])}."
    rows = [[f"{value['count']:,}", clean(value["value"])] for value in answer["values"]]
    return "\n".join(table(rows, right=(0,))) + more(answer)
