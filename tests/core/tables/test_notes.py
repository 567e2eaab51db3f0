"""Tables of the notes that a query finds."""

import pytest

from vaultseek.core.tables.run import table_of_notes
from vaultseek.errors import UsageError
from worlds import World, write_files


def table(world, *columns, ids=None, **more):
    ids = world.ledger.notes.ids() if ids is None else ids
    return table_of_notes(ids, world.ledger, world.root, columns=columns, most=100, **more)


def first_cells(answer):
    return [next(iter(row["cells"].values())) for row in answer["rows"]]


def test_columns_are_properties_facts_or_expressions(world):
    answer = table(world, "title, rating", "(price * 2).round()", "due-date", "file.ext", sort=["-rating"])
    assert [column["id"] for column in answer["columns"]] == [
        *("title", "rating", "(price * 2).round()", "due-date", "file.ext")
    ]
    assert list(answer["rows"][0]["cells"].values()) == ["Dune", 9, 25, "2026-04-01", "md"]
    assert list(answer["rows"][1]["cells"].values()) == ["Emma", 7, 16, None, "md"]
    assert answer["problems"] == []
    assert all(row["modified"] >= row["created"] > "2" for row in answer["rows"])


def test_without_columns_the_commonest_properties_are_shown(world):
    columns = [column["id"] for column in table(world)["columns"]]
    assert columns[:2] == ["title", "status"]
    assert "tags" not in columns
    assert len(columns) == 6


def test_rows_are_by_path_or_as_ranked(world):
    assert first_cells(table(world, "path")) == sorted(first_cells(table(world, "path")))
    ids = list(reversed(world.ledger.notes.ids()))
    ranked = table(world, "path", ids=ids, ranked=True)
    assert [world.note(path).id for path in first_cells(ranked)] == ids


def test_groups_and_summaries(world):
    answer = table(world, "title", group="-status", sort=["title"], summaries={"rating": "Average"})
    assert [(group["value"], group["count"]) for group in answer["groups"]] == [
        ("open", 2),
        ("done", 1),
        (None, 3),
    ]
    assert answer["summaries"] == [{"column": "rating", "name": "Average", "value": 8}]
    assert answer["group"] == "status"


def test_a_column_has_as_many_figures_as_are_asked_for(world):
    answer = table(world, "title", summaries={"rating": ["min", "Max"], "price": "Sum"})
    assert [(each["column"], each["name"], each["value"]) for each in answer["summaries"]] == [
        ("rating", "min", 7),
        ("rating", "Max", 9),
        ("price", "Sum", 20.5),
    ]


def test_dates_without_zeros_are_compared_as_dates(tmp_path):
    notes = {f"{day}.md": f"---\ndue: 2026-{day}\n---\n" for day in ("9-1", "10-03", "9-15")}
    here = World(write_files(tmp_path / "vault", notes), tmp_path)
    here.index()
    answer = table(here, "due", sort=["due"], summaries={"due": "Earliest"})
    assert [row["path"] for row in answer["rows"]] == ["9-1.md", "9-15.md", "10-03.md"]
    assert answer["summaries"][0]["value"] == "2026-09-01"
    here.close()


def test_a_property_is_a_column_whatever_signs_its_name_has(tmp_path):
    text = '---\n"cost €": 1\n"it\'s": 2\n"emoji😀": 3\n"a, b": 4\n---\n'
    here = World(write_files(tmp_path / "vault", {"a.md": text}), tmp_path)
    for number, name in enumerate(("cost €", "it's", "emoji😀", "a, b"), start=1):
        assert list(table(here, name)["rows"][0]["cells"].items()) == [(name, number)]
    answer = table(here, "title, cost €", sort=["-cost €, title"])
    assert [column["id"] for column in answer["columns"]] == ["title", "cost €"]
    assert answer["problems"] == []
    here.close()


def test_what_no_note_has_is_named_and_what_is_no_expression_an_error(world):
    answer = table(world, "titel, raiting")
    assert answer["problems"] == [
        "column titel: no note has this property; did you mean title?",
        "column raiting: no note has this property; did you mean rating?",
    ]
    for column, told in (("foo()", "unknown function"), ("rating +", "ends where"), ('"x', "not closed")):
        with pytest.raises(UsageError, match=told):
            table(world, column)


def test_links_of_every_row_are_read_whatever_the_order(world):
    ids = sorted(
        world.ledger.notes.ids(), key=lambda id: world.ledger.notes.by_id([id])[id].path, reverse=True
    )
    links = {row["path"]: row["cells"]["links"] for row in table(world, "path, links", ids=ids)["rows"]}
    assert links["2026-03-14.md"] == ["[[Dune#Spice|some]]"]
    assert links["People/Frank Herbert.md"] == ["[[Dune]]"]
    assert len(links["Books/Dune.md"]) == 4


def test_a_base_has_no_links_and_tags_as_in_obsidian(tmp_path):
    files = {
        "a.md": "---\ntags: x\n---\n",
        "b.base": "filters: file.hasTag('x') || file.hasLink(link('[[a]]'))\n",
    }
    world = World(write_files(tmp_path / "vault", files), tmp_path)
    rows = table(world, "path, links, tags, backlinks")["rows"]
    assert [list(row["cells"].values()) for row in rows] == [["a.md", [], ["x"], []], ["b.base", [], [], []]]
    world.close()


def test_a_column_is_named_like_a_fact_only_if_no_property_is(world):
    assert first_cells(table(world, "tags", ids=[world.note("Emma").id])) == [["book", "novel"]]
    assert first_cells(table(world, "backlinks", ids=[world.note("Emma").id])) == [["[[Books/Dune|Dune]]"]]


def test_a_property_whose_name_json_escapes_is_a_column(tmp_path):
    names = 'k\x1by "z"\\'
    root = write_files(tmp_path / "vault", {"a.md": '---\n"k\\ey \\"z\\"\\\\": 1\n---\n'})
    small = World(root, tmp_path)
    assert [column["id"] for column in table(small)["columns"]] == ["title", names]
    small.close()
