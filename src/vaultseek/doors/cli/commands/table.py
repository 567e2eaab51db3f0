"""``vaultseek table``: show an Obsidian base, or the notes found by a query, as a table."""

from __future__ import annotations

import os
import re

import click

from vaultseek.base import limits
from vaultseek.doors.cli.completion_values import complete_columns, complete_note, complete_query_or_file
from vaultseek.doors.cli.connect import call_vault
from vaultseek.doors.cli.exit_codes import NO_MATCH, SUCCESS
from vaultseek.doors.cli.invocation import Invocation
from vaultseek.doors.cli.listing import file_of
from vaultseek.doors.cli.options import QueryCommand, completed_by, daemon_options, json_option, unescaped
from vaultseek.doors.cli.output import print_error, print_json
from vaultseek.doors.cli.terminal import Terminal, clean, count, width_of
from vaultseek.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from vaultseek.base.model import JSON


FORMATS = ("table", "csv", "json", "md")
LEAST_COLUMNS = 8
"""Minimum width of each column on a narrow screen, unless its content is narrower."""
_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]")
_EXPONENT = re.compile(r"e([+-])0*")
_GAP = "  "


def printed(answer: JSON, form: str, terminal: Terminal) -> str:
    """Return the tables in ``answer`` as text in the format ``form``: CSV, Markdown or a table for the
    terminal."""
    tables: list[JSON] = answer["tables"]
    if form == "csv":
        return "\r\n".join(map(_csv, tables))
    if form == "md":
        return "\n".join(_markdown(table, heading=len(tables) > 1) for table in tables)
    return "\n\n".join(_text(table, terminal, answer, heading=len(tables) > 1) for table in tables)


def cell_text(value: Any) -> str:
    """Return a cell's value on one line; a link is reduced to its text."""
    if value is None or isinstance(value, bool):
        return {None: "", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return f"{value:.4f}".rstrip("0").rstrip(".") if abs(value) >= 1e-3 else str(value)
    if isinstance(value, list):
        return ", ".join(map(cell_text, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {cell_text(each)}" for name, each in value.items())
    return _LINK.sub(
        lambda link: link[2] or link[1].partition("#")[0].rpartition("/")[2] or link[1], str(value)
    )


# -- for the terminal


def _text(table: JSON, terminal: Terminal, answer: JSON, *, heading: bool) -> str:
    lines = [terminal.paint(_title(table), "bold"), ""] if heading else []
    lines += _lines(table, terminal, answer)
    if table["count"] < table["total"]:
        lines.append(f"… and {count(table['total'] - table['count'], 'more', 'more')}")
    if not table["rows"]:
        lines.append("No rows.")
    for row in (row for row in table["rows"][: limits.SHOWN_RESULTS] if row.get("currency")):
        lines += terminal.wrapped(
            terminal.paint(f"{clean(row['title'])}: {clean(row['currency']['text'])}", "magenta"),
            hanging=_GAP,
        )
    for problem in table["problems"]:
        lines += terminal.wrapped(terminal.paint(clean(problem), "magenta"), hanging=_GAP)
    return "\n".join(lines)


def _title(table: JSON) -> str:
    place = f"{table['path']}:{table['line']}" if table.get("line") else table.get("path")
    return clean(" · ".join(part for part in (table["name"], place) if part))


def _lines(table: JSON, terminal: Terminal, answer: JSON) -> list[str]:
    """Return the table's lines: header, rows, a line before each group, and summaries."""
    columns = table["columns"][: _columns_that_fit(len(table["columns"]), terminal)]
    ids = [column["id"] for column in columns]
    if not (ids and table["rows"]):
        return []
    rows = [[clean(cell_text(row["cells"].get(id))) for id in ids] for row in table["rows"]]
    right = {place for place, id in enumerate(ids) if _is_numeric(table["rows"], id)}
    header = [clean(column["name"]) for column in columns]
    widths = _widths([header, *rows], terminal)
    lines = [terminal.paint(_line(header, widths, right, terminal), "dim")]
    shown = iter(rows)
    for group, members in _groups(table):
        if "value" in group:
            value = clean(cell_text(group["value"])) or "none"
            head = f"{clean(table['group'])}: {value}"
            number = f"({group['count']:,})"
            lines += ["", f"{terminal.paint(head, 'bold')} {terminal.paint(number, 'dim')}"]
        for row in members:
            lines.append(_line(next(shown), widths, right, terminal, link=file_of(row, answer)))
        if group.get("summaries"):
            lines.append(terminal.paint(_summary_line(group["summaries"], table), "dim"))
    if table["summaries"]:
        lines += ["", terminal.paint(_total_line(table), "bold")]
    if len(columns) < len(table["columns"]):
        hidden = count(len(table["columns"]) - len(columns), "more column")
        lines.append(f"… and {hidden}: use a wider screen, or --format csv")
    return lines


def _groups(table: JSON) -> Iterator[tuple[JSON, Sequence[JSON]]]:
    """Yield each group with its rows or, if there are no groups, all rows as one group without a value."""
    place = 0
    for group in table["groups"] or [{"count": len(table["rows"])}]:
        yield group, table["rows"][place : place + group["count"]]
        place += group["count"]


def _columns_that_fit(number: int, terminal: Terminal) -> int:
    if not terminal.screen:
        return number
    return min(number, (terminal.width + len(_GAP)) // (LEAST_COLUMNS + len(_GAP)))


def _summary_line(summaries: Sequence[JSON], table: JSON) -> str:
    names = {column["id"]: column["name"] for column in table["columns"]}
    texts = []
    for each in summaries:
        column = names.get(each["column"], each["column"])
        texts.append(clean(f"{column}: {each['name']} {cell_text(each['value']) or 'none'}"))
    return " · ".join(texts)


def _total_line(table: JSON) -> str:
    """Return the summaries of all rows on one line, marked as totals if groups have their own summaries."""
    text = _summary_line(table["summaries"], table)
    return f"all · {text}" if table["groups"] else text


def _is_numeric(rows: Sequence[JSON], id: str) -> bool:
    values = [row["cells"].get(id) for row in rows]
    filled = [value for value in values if value not in (None, "")]
    return bool(filled) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in filled
    )


def _widths(rows: Sequence[Sequence[str]], terminal: Terminal) -> list[int]:
    """Return the width of each column; on a screen, the widest columns are narrowed until the table fits."""
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    if not terminal.screen:
        return widths
    room = terminal.width - len(_GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths) > LEAST_COLUMNS:
        widest = max(widths)
        others = max((width for width in widths if width < widest), default=LEAST_COLUMNS)
        number = widths.count(widest)
        excess = -(-(sum(widths) - room) // number)
        narrower = max(widest - excess, others, LEAST_COLUMNS)
        widths = [min(width, narrower) for width in widths]
    return widths


def _line(
    cells: Sequence[str], widths: Sequence[int], right: set[int], terminal: Terminal, *, link: str = ""
) -> str:
    parts = []
    for place, (cell, width) in enumerate(zip(cells, widths, strict=True)):
        shown = terminal.fit(cell, width)
        gap = " " * (width - width_of(shown))
        shown = terminal.link(shown, link) if place == 0 and link else shown
        parts.append(gap + shown if place in right else shown + gap)
    return _GAP.join(parts).rstrip()


# -- CSV and Markdown


def _csv(table: JSON) -> str:
    import csv
    import io

    from vaultseek.base.text import escape_controls

    out = io.StringIO()
    writer = csv.writer(out)
    names = [column["name"] for column in table["columns"]]
    grouped = bool(table["group"]) and table["group"] not in names
    writer.writerow([table["group"], *names] if grouped else names)
    for group, rows in _groups(table):
        for row in rows:
            cells = [row["cells"].get(column["id"]) for column in table["columns"]]
            values = [group.get("value"), *cells] if grouped else cells
            writer.writerow(["\n".join(map(escape_controls, _plain(value).split("\n"))) for value in values])
    return out.getvalue()


def _plain(value: Any) -> str:
    """Return a value for use in a spreadsheet, with all numbers in full precision, even in lists."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return _in_full(value)
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_plain(each)}" for name, each in value.items())
    return cell_text(value)


def _in_full(number: float) -> str:
    """Return a number in full precision, in exponent notation only where JavaScript would use it, as in
    ``1e-7``."""
    return _EXPONENT.sub(r"e\1", repr(number))


def _markdown(table: JSON, *, heading: bool) -> str:
    columns = table["columns"]
    lines = [f"## {_title(table)}", ""] if heading else []
    if not columns:
        return "\n".join([*lines, ""])
    head = [_row([column["name"] for column in columns]), _row(["---"] * len(columns))]
    for group, rows in _groups(table):
        if "value" in group:
            lines += [f"{'###' if heading else '##'} {clean(cell_text(group['value'])) or 'none'}", ""]
        lines += head
        lines += (_row([_written(row, column["id"]) for column in columns]) for row in rows)
        lines.append("")
        if group.get("summaries"):
            lines += [_summary_line(group["summaries"], table), ""]
    if table["summaries"]:
        lines += [_total_line(table), ""]
    return "\n".join(lines[:-1]) + "\n"


def _row(cells: Sequence[str]) -> str:
    escaped = (clean(cell).replace("\\|", "|").replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _written(row: JSON, id: str) -> str:
    """Return a cell in Markdown: links remain links, and a note's name becomes a link."""
    value = row["cells"].get(id)
    if id in ("file.name", "file.basename", "title"):
        target = row["path"].removesuffix(".md")
        return f"[[{target}|{value}]]" if value and value != target else f"[[{target}]]"
    if isinstance(value, list):
        return ", ".join(str(each) if isinstance(each, str) else cell_text(each) for each in value)
    if isinstance(value, float):
        return _in_full(value)
    return value if isinstance(value, str) else cell_text(value)


@click.command(cls=QueryCommand)
@click.argument(
    "source",
    metavar="FILE.base|NOTE.md|QUERY",
    nargs=-1,
    required=True,
    shell_complete=completed_by(complete_query_or_file),
)
@click.option("--view", metavar="NAME", help="View of the base; by default, the first one.")
@click.option(
    "--this",
    metavar="NOTE",
    shell_complete=completed_by(complete_note),
    help="The note that `this` refers to in the formulas of a base.",
)
@click.option(
    "--columns",
    shell_complete=completed_by(complete_columns),
    metavar="LIST",
    multiple=True,
    help="Columns to show: properties, title, modified, …, or expressions.",
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
    "--summary", metavar="COLUMN=NAME", multiple=True, help="Summary of a column: Average, Sum, Earliest, …"
)
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, limits.LISTED_ITEMS_MOST),
    metavar="N",
    help=f"Show at most N rows, by default {limits.LISTED_ITEMS_MOST}, or {limits.RESULTS} "
    "if the query has words.",
)
@click.option(
    "--format", "format_", type=click.Choice(FORMATS), default=None, help="Output format, a table by default."
)
@json_option()
@daemon_options
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
) -> int:
    """Show an Obsidian base, or the notes that match a query.

    A note may contain several bases; each is shown as a table. A base defines its own columns; for a query,
    choose them with --columns. A column is a property, a fact such as title or modified, or an expression in
    the language of Bases.

    \b
    vaultseek table Books.base --view "Top rated"
    vaultseek table 'tag:book' --columns title,rating --sort -rating
    """
    from vaultseek.doors.addresses import is_table_file

    if summary and format_ == "csv":
        raise UsageError("--summary does not work with CSV; use --format md or json")
    text = " ".join(unescaped(word) for word in source)
    params: JSON = {"limit": limit}
    if is_table_file(text):
        _refuse_columns(columns, sort, group, summary)
        params |= {"file": _file(text, invocation), "view": view, "this": this}
    else:
        params |= {"query": text, "view": view, "this": this, "group": group and unescaped(group)}
        params |= {"columns": list(columns) or None, "sort": list(map(unescaped, sort)) or None}
        summaries: dict[str, list[str]] = {}
        for column, name in map(_assigned, summary):
            summaries.setdefault(column, []).append(name)
        params["summaries"] = summaries or None
    answer = call_vault(invocation, "vault/table", **params)
    for lane in answer["partial"]:
        print_error(f"rows may be missing: {lane['reason']}")
    form = "json" if invocation.json else format_ or "table"
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
    """Return the path or name of a base or note for the daemon. The path of an existing file determines the
    vault."""
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
        raise UsageError(f"--summary {text}: unknown summary; write it as rating=Average")
    return column.strip(), name.strip()
