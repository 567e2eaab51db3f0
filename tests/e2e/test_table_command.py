"""``vaultseek table`` with a real daemon: a base, the bases in a note, and a query, in every format."""

import csv
import io

import pytest

NOTES = {
    "Books/Dune.md": "---\ntags: [book]\nrating: 9\nstatus: done\nauthor: '[[Frank Herbert]]'\n---\nSpice\n",
    "Books/Emma.md": "---\ntags: [book]\nrating: 7.5\nstatus: open\nauthor: Jane | Austen\n---\nE-4107\n",
    "Books/Esc.md": '---\ntags: [book]\nrating: 1\nstatus: "\\e[31mred"\n---\nA trick\n',
    "Frank Herbert.md": "```base\nfilters: author == this\nviews: [{type: table, name: Mine}]\n```\n",
    "Shelf.base": (
        "filters: file.hasTag('book')\n"
        "formulas: {stars: '\"*\".repeat(rating / 3)'}\n"
        "properties: {formula.stars: {displayName: Stars}}\n"
        "views:\n"
        "  - {type: table, name: All, order: [file.name, rating, author], summaries: {rating: Average}}\n"
        "  - {type: cards, name: Good, filters: rating > 5, order: [file.name, formula.stars]}\n"
    ),
    "Broken.base": "filters: rating.foo()\n",
}


@pytest.fixture(scope="module")
def shelf(indexed_vault):
    return indexed_vault(NOTES)


def test_a_base_is_shown_in_every_format(shelf):
    shown = shelf.run("table", "Shelf.base")
    assert shown.returncode == 0
    assert shown.stdout.splitlines() == [
        "file name  rating  author",
        "Dune            9  Frank Herbert",
        "Emma          7.5  Jane | Austen",
        "Esc             1",
        "",
        "rating: Average 5.8333",
    ]
    written = shelf.run("table", "Shelf.base", "--format", "md").stdout.splitlines()
    assert written[2] == r"| [[Books/Dune\|Dune]] | 9 | [[Frank Herbert]] |"
    assert written[3] == r"| [[Books/Emma\|Emma]] | 7.5 | Jane \| Austen |"
    rows = list(csv.reader(io.StringIO(shelf.run("table", "Shelf.base", "--format", "csv").stdout)))
    assert rows[0] == ["file name", "rating", "author"]
    assert rows[2] == ["Emma", "7.5", "Jane | Austen"]
    refused = shelf.run("table", "ext:md", "--summary", "rating=Sum", "--format", "csv")
    assert "does not work with CSV" in refused.stderr
    (table,) = shelf.json("table", "Shelf.base", "--view", "good")["tables"]
    assert [row["cells"] for row in table["rows"]] == [
        {"file.name": "Dune", "formula.stars": "***"},
        {"file.name": "Emma", "formula.stars": "**"},
    ]
    assert table["columns"][1]["name"] == "Stars"
    assert "type cards are shown as tables" in shelf.run("table", "Shelf.base", "--view", "Good").stdout


def test_a_base_is_found_from_the_folder_it_is_in(shelf):
    done = shelf.daemon.run("table", "../Shelf.base", "-n", "1", cwd=shelf.root / "Books")
    assert done.stdout.splitlines()[1] == "Dune            9  Frank Herbert"
    assert "… and 2 more" in done.stdout


def test_the_bases_of_a_note_know_it_as_this(shelf):
    assert shelf.run("table", "Frank Herbert.md").stdout == "file name\nDune\n"
    (table,) = shelf.json("table", "Frank Herbert.md")["tables"]
    assert (table["path"], table["line"], table["name"]) == ("Frank Herbert.md", 1, "Mine")


def test_a_query_is_shown_with_columns_of_its_own(shelf):
    done = shelf.run(
        "table",
        "tag:book",
        "--columns",
        "title,rating,(rating*2).round()",
        "--sort",
        "-rating",
        "--group",
        "status",
    )
    assert done.stdout.splitlines() == [
        "title  rating  (rating*2).round()",
        "",
        "status: \\x1b[31mred (1)",
        "Esc         1                   2",
        "",
        "status: done (1)",
        "Dune        9                  18",
        "",
        "status: open (1)",
        "Emma      7.5                  15",
    ]
    found = shelf.json("table", "spice tag:book", "--columns", "title")["tables"][0]
    assert found["rows"][0]["path"] == "Books/Dune.md"
    remarks = shelf.run("table", "E-4108", "--columns", "title").stdout.splitlines()[-2:]
    assert remarks == [
        "no note matches; these are the closest",
        "no note has E-4108; similar notes are shown",
    ]
    assert shelf.run("table", "tag:nothing").returncode == 1
    assert shelf.run("table", "path:Dune.md", "--columns", "title").stdout == "title\nDune\n"
    figures = ("--summary", "rating=Min", "--summary", "rating=Max")
    assert "rating: Min 1 · rating: Max 9" in shelf.run("table", "tag:book", *figures).stdout
    excluded = shelf.json("table", "-tag:book", "ext:md", "--columns", "path")["tables"][0]
    assert [row["path"] for row in excluded["rows"]] == ["Frank Herbert.md"]


def test_what_is_wrong_is_told(shelf):
    for arguments, told in (
        (["Broken.base"], 'the filter "rating.foo()" cannot be used: unknown function "foo()"'),
        (["Nothing.base"], 'no base is called "Nothing.base"; there are "Broken.base", "Shelf.base"'),
        (["Shelf.base", "--view", "x"], 'no view is called "x"; use one of "All", "Good"'),
        (["Books/Dune.md"], "Books/Dune.md has no base"),
        (["Shelf.base", "--columns", "title"], "a base has its own columns"),
        (["tag:book", "--view", "x"], '"view" and "this" are for a base'),
        (["tag:book", "--columns", "foo("], 'the column "foo(" cannot be used'),
        (["tag:book", "--summary", "rating"], "write it as rating=Average"),
        (["../../etc/passwd.base"], "not inside the vault"),
    ):
        done = shelf.run("table", *arguments)
        assert done.returncode in (1, 2), arguments
        assert told in done.stderr, arguments
