"""Tables as text: aligned for a terminal, as CSV, and as Markdown."""

from __future__ import annotations

import re

from vaultseek.doors.cli.terminal import Terminal, clean, count, width_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from vaultseek.base.model import JSON

FORMATS = ("table", "csv", "json", "md")
LEAST_COLUMNS = 8
"""Columns that a narrow screen leaves to each column of a table, if it needs as many."""
_LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]]*))?\]\]")
_EXPONENT = re.compile(r"e([+-])0*")
_GAP = "  "


def printed(answer: JSON, form: str, terminal: Terminal) -> str:
    """Return the tables of an answer in a format."""
    tables: list[JSON] = answer["tables"]
    if form == "csv":
        return "\r\n".join(map(_csv, tables))
    if form == "md":
        return "\n".join(_markdown(table, heading=len(tables) > 1) for table in tables)
    return "\n\n".join(_text(table, terminal, answer, heading=len(tables) > 1) for table in tables)


def cell_text(value: Any) -> str:
    """Return the value of a cell as one line; of a link its words."""
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


# -- a terminal


def _text(table: JSON, terminal: Terminal, answer: JSON, *, heading: bool) -> str:
    lines = [terminal.paint(_title(table), "bold"), ""] if heading else []
    lines += _lines(table, terminal, answer)
    if table["count"] < table["total"]:
        lines.append(f"… and {count(table['total'] - table['count'], 'more', 'more')}")
    if not table["rows"]:
        lines.append("No rows.")
    for problem in table["problems"]:
        lines += terminal.wrapped(terminal.paint(clean(problem), "yellow"), hanging=_GAP)
    return "\n".join(lines)


def _title(table: JSON) -> str:
    place = f"{table['path']}:{table['line']}" if table.get("line") else table.get("path")
    return clean(" · ".join(part for part in (table["name"], place) if part))


def _lines(table: JSON, terminal: Terminal, answer: JSON) -> list[str]:
    """Return the header and the rows, with a line before each group and the summaries after it."""
    columns = table["columns"][: _columns_that_fit(len(table["columns"]), terminal)]
    ids = [column["id"] for column in columns]
    if not (ids and table["rows"]):
        return []
    rows = [[clean(cell_text(row["cells"].get(id))) for id in ids] for row in table["rows"]]
    right = {place for place, id in enumerate(ids) if _is_numeric(table["rows"], id)}
    header = [clean(column["name"]) for column in columns]
    widths = _widths([header, *rows], terminal)
    lines = [terminal.paint(_line(header, widths, right, terminal), "dim")]
    place = 0
    for group in table["groups"] or [{"count": len(rows)}]:
        if "value" in group:
            lines += ["", _group_line(table, group, terminal)]
        for row, cells in zip(table["rows"][place:], rows[place : place + group["count"]], strict=False):
            lines.append(_line(cells, widths, right, terminal, link=_file(row, answer)))
        place += group["count"]
        if group.get("summaries"):
            lines.append(terminal.paint(_summary_line(group["summaries"], table), "dim"))
    if table["summaries"]:
        lines += ["", terminal.paint(_total_line(table), "bold")]
    if len(columns) < len(table["columns"]):
        hidden = count(len(table["columns"]) - len(columns), "more column")
        lines.append(f"… and {hidden}: use a wider screen, or --format csv")
    return lines


def _columns_that_fit(number: int, terminal: Terminal) -> int:
    if not terminal.screen:
        return number
    return min(number, (terminal.width + len(_GAP)) // (LEAST_COLUMNS + len(_GAP)))


def _group_line(table: JSON, group: JSON, terminal: Terminal) -> str:
    value = clean(cell_text(group["value"])) or "none"
    head = f"{clean(table['group'])}: {value}"
    number = f"({group['count']:,})"
    return f"{terminal.paint(head, 'bold')} {terminal.paint(number, 'dim')}"


def _summary_line(summaries: Sequence[JSON], table: JSON) -> str:
    names = {column["id"]: column["name"] for column in table["columns"]}
    texts = []
    for each in summaries:
        column = names.get(each["column"], each["column"])
        texts.append(clean(f"{column}: {each['name']} {cell_text(each['value']) or 'none'}"))
    return " · ".join(texts)


def _total_line(table: JSON) -> str:
    """Return the summaries of all rows, which stand apart from those of the groups."""
    text = _summary_line(table["summaries"], table)
    return f"all · {text}" if table["groups"] else text


def _is_numeric(rows: Sequence[JSON], id: str) -> bool:
    values = [row["cells"].get(id) for row in rows]
    filled = [value for value in values if value not in (None, "")]
    return bool(filled) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in filled
    )


def _widths(rows: Sequence[Sequence[str]], terminal: Terminal) -> list[int]:
    """Return the widths of the columns; on a screen the widest give way until all fit."""
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


def _file(row: JSON, answer: JSON) -> str:
    return f"{answer['vault_path'].rstrip('/')}/{row['path']}"


# -- CSV and Markdown


def _csv(table: JSON) -> str:
    import csv
    import io

    from vaultseek.base.text import escape_controls

    out = io.StringIO()
    writer = csv.writer(out)
    grouped = [table["group"]] if table["group"] and not _is_shown(table) else []
    writer.writerow([*grouped, *(column["name"] for column in table["columns"])])
    for row, group in _rows_with_groups(table):
        cells = [row["cells"].get(column["id"]) for column in table["columns"]]
        values = [*([group] if grouped else []), *cells]
        writer.writerow(["\n".join(map(escape_controls, _plain(value).split("\n"))) for value in values])
    return out.getvalue()


def _plain(value: Any) -> str:
    """Return a value for a spreadsheet: numbers in full, also in lists."""
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
    """Return a number with all its digits, ``1e-7`` as JavaScript writes it."""
    return _EXPONENT.sub(r"e\1", repr(number))


def _is_shown(table: JSON) -> bool:
    return table["group"] in [column["name"] for column in table["columns"]]


def _rows_with_groups(table: JSON) -> Iterator[tuple[JSON, Any]]:
    values = [group["value"] for group in table["groups"] for _ in range(group["count"])]
    for place, row in enumerate(table["rows"]):
        yield row, values[place] if place < len(values) else None


def _markdown(table: JSON, *, heading: bool) -> str:
    columns = table["columns"]
    lines = [f"## {_title(table)}", ""] if heading else []
    if not columns:
        return "\n".join([*lines, ""])
    head = [_row([column["name"] for column in columns]), _row(["---"] * len(columns))]
    place = 0
    for group in table["groups"] or [{"count": len(table["rows"])}]:
        if "value" in group:
            lines += [f"{'###' if heading else '##'} {clean(cell_text(group['value'])) or 'none'}", ""]
        lines += head
        for row in table["rows"][place : place + group["count"]]:
            lines.append(_row([_written(row, column["id"]) for column in columns]))
        place += group["count"]
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
    """Return a cell as it is written in a note: links stay links, and the name of a note becomes one."""
    value = row["cells"].get(id)
    if id in ("file.name", "file.basename", "title"):
        target = row["path"].removesuffix(".md")
        return f"[[{target}|{value}]]" if value and value != target else f"[[{target}]]"
    if isinstance(value, list):
        return ", ".join(str(each) if isinstance(each, str) else cell_text(each) for each in value)
    if isinstance(value, float):
        return _in_full(value)
    return value if isinstance(value, str) else cell_text(value)
