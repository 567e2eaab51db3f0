"""Tables as text: how they fit a screen, how omitted parts are reported, and the content of a cell."""

import pytest

from vaultseek.doors.cli.commands.table import cell_text, printed
from vaultseek.doors.cli.terminal import Terminal, width_of


def answer(*rows, groups=(), **more):
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = {
        "name": "",
        "type": "table",
        "path": None,
        "line": None,
        "group": "g" if groups else None,
        "columns": [{"id": name, "name": name} for name in names],
        "rows": [{"path": f"{number}.md", "title": "", "cells": row} for number, row in enumerate(rows)],
        "groups": list(groups),
        "summaries": [],
        "count": len(rows),
        "total": len(rows),
        "problems": [],
        "views": [],
        **more,
    }
    return {"vault_path": "/v", "tables": [table], "count": len(rows), "partial": []}


def test_wide_columns_give_way_on_a_narrow_screen():
    rows = [{"title": "word " * 30, "n": 12345, "tags": ["one", "two"] * 9}]
    lines = printed(answer(*rows), "table", Terminal(width=50)).splitlines()
    assert all(width_of(line) <= 50 for line in lines)
    assert "12345" in lines[1]
    assert "…" in lines[1]
    whole = printed(answer(*rows), "table", Terminal(screen=False)).splitlines()
    assert whole[1].startswith("word " * 29 + "word ")


def test_columns_that_do_not_fit_are_counted():
    shown = printed(answer({f"column{n}": "x" * 20 for n in range(20)}), "table", Terminal(width=60))
    assert all(width_of(line) <= 60 for line in shown.splitlines())
    assert "… and 14 more columns: use a wider screen" in shown


def test_a_table_without_rows_says_so_and_names_its_problems():
    shown = printed(answer(problems=["the unknown key is ignored"]), "table", Terminal())
    assert shown == "No rows.\nthe unknown key is ignored"
    assert printed(answer(), "md", Terminal()) == ""


def test_the_summaries_of_all_rows_stand_apart_from_those_of_groups():
    summary = [{"column": "n", "name": "Sum", "value": 3}]
    groups = [{"value": None, "count": 1, "summaries": [{**summary[0], "value": 1}]}]
    groups += [{"value": "b", "count": 1, "summaries": [{**summary[0], "value": 2}]}]
    lines = printed(
        answer({"n": 1}, {"n": 2}, groups=groups, summaries=summary), "table", Terminal()
    ).splitlines()
    assert [line for line in lines if line] == [
        *("n", "g: none (1)", "1", "n: Sum 1", "g: b (1)", "2", "n: Sum 2", "all · n: Sum 3")
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, ""), (True, "yes"), (2.50004, "2.5"), (0.00001, "1e-05"), (3, "3")),
        *(("[[a/B]]", "B"), ("[[a/B#H|shown]] and [[C]]", "shown and C"), ("[[#x]]", "#x")),
        *((["a", ["b"]], "a, b"), ({"a": [1, None]}, "a: 1, ")),
    ],
)
def test_a_cell_is_one_line_of_text(value, text):
    assert cell_text(value) == text


def test_files_for_other_programs_have_numbers_in_full():
    cells = {"third": 1 / 3, "small": 1e-7, "list": [1 / 3, True, {"a": False}]}
    assert printed(answer(cells), "csv", Terminal()).splitlines()[1] == (
        '0.3333333333333333,1e-7,"0.3333333333333333, true, a: false"'
    )
    assert "| 0.3333333333333333 | 1e-7 |" in printed(answer(cells), "md", Terminal())
