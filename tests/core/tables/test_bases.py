"""Bases: the output of filters, views, groups and summaries, and the errors and unsupported parts
reported."""

import json
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.limits import LISTED_ITEMS_MOST, MIB, TABLE_SECONDS
from vaultseek.core.tables import scope
from vaultseek.core.tables.base import Base, Group, read_base
from vaultseek.core.tables.expression import Language
from vaultseek.core.tables.files import VaultFiles
from vaultseek.core.tables.narrow import narrowings
from vaultseek.core.tables.place import base_path
from vaultseek.core.tables.run import tables_of
from vaultseek.core.tables.scope import Budget, Scope, Surroundings
from vaultseek.core.tables.table import evaluate
from vaultseek.core.tables.values import answer_of
from vaultseek.errors import NotFound, UsageError
from worlds import World, write_files

from .conftest import NOW

LIBRARY = """
filters:
  or:
    - file.hasTag("essay")
    - and:
        - file.hasTag("book")
        - file.hasLink("Emma")
    - not:
        - file.inFolder("Books")
        - file.inFolder("People")
        - file.ext != "md"
formulas:
  cost: 'if(price, price.toFixed(2) + " euros")'
  per_page: "(price / pages)"
  double: formula.per_page * 2
properties:
  status:
    displayName: State
  note.rating:
    displayName: Stars
  formula.cost:
    displayName: Cost
summaries:
  spread: 'values.filter(value.isType("number")).reduce(acc + value, 0).round(1)'
views:
  - type: table
    name: All
    order: [file.name, status, formula.cost]
  - type: cards
    name: Rated
    filters: rating > 2
    limit: 10
    order: [file.name, note.rating, formula.double, formula.cost]
    summaries:
      rating: Average
      formula.cost: Filled
      price: spread
"""


def table(
    vault: VaultFiles, text: str, view: int = 0, seconds: float = TABLE_SECONDS, most: int = LISTED_ITEMS_MOST
) -> Any:
    base = read_base(text)
    around = Surroundings(NOW, Budget(seconds), vault.at("People/Frank Herbert.md"))
    return evaluate(base, base.views[view], vault.all(), vault, around, most=most)


def paths(answer: Any) -> list[str]:
    return [row["path"] for row in answer["rows"]]


def cells(answer: Any) -> list[list[Any]]:
    return [list(row["cells"].values()) for row in answer["rows"]]


def test_filters_are_nested_and_apply_together(vault):
    answer = table(vault, LIBRARY)
    assert paths(answer) == ["2026-03-14.md", "Books/Dune.md", "Books/Notes on reading.md"]
    assert [column["name"] for column in answer["columns"]] == ["file name", "State", "Cost"]
    assert cells(answer)[1] == ["Dune", "done", "12.50 euros"]
    assert answer["problems"] == []
    rated = table(vault, LIBRARY, 1)
    assert paths(rated) == ["Books/Dune.md"]
    assert cells(rated)[0] == ["Dune", 9, pytest.approx(25 / 600), "12.50 euros"]
    assert [(each["name"], each["value"]) for each in rated["summaries"]] == [
        ("Average", 9),
        ("Filled", 1),
        ("spread", 12.5),
    ]
    assert rated["problems"] == ["views of type cards are shown as tables"]


def test_a_base_without_anything_shows_every_file(vault):
    everything = ["2026-03-14.md", "Books/Dune.md", "Books/Emma.md", "Books/Notes on reading.md"]
    everything += ["Lists/All.base", "People/Frank Herbert.md", "map.png"]
    for text in ("", "views:\n  - type: table\n", "formulas: {}\n"):
        assert paths(table(vault, text)) == everything


def test_rows_are_sorted_grouped_limited_and_summarized(vault):
    answer = table(
        vault,
        """
filters: 'file.hasTag("book", "essay")'
views:
  - type: table
    name: x
    order: [file.name, rating, read, lent]
    groupBy: {property: status, direction: DESC}
    sort:
      - {property: rating, direction: ASC}
    summaries: {rating: Sum, read: Latest, lent: Checked, file.name: Unique, note.price: Empty, title: Odd}
""",
    )
    assert paths(answer) == ["Books/Emma.md", "Books/Notes on reading.md", "Books/Dune.md"]
    assert [(group["value"], group["count"]) for group in answer["groups"]] == [("open", 2), ("done", 1)]
    assert [each["value"] for each in answer["groups"][0]["summaries"]] == [7, "2025-06-01T20:15:00", 0, 2, 1]
    assert [each["value"] for each in answer["summaries"]] == [16, "2026-01-10", 1, 3, 1]
    assert answer["problems"] == ['unknown summary "Odd"']


def test_figures_of_a_part_of_the_rows_are_said_to_be_that(vault):
    text = "views: [{summaries: {rating: Sum}, limit: 3}]"
    assert table(vault, text)["problems"] == []
    answer = table(vault, text, most=2)
    assert answer["problems"] == ["counts and summaries cover only the first 2 of 7 rows"]


def test_an_expression_of_many_hyphens_ends_with_the_time_of_a_table(vault):
    text = "-".join(f"a{number}" for number in range(1500))
    with pytest.raises(UsageError, match="takes longer"):
        table(vault, f"filters: '{text} > 1'\nviews: [{{}}]", seconds=0.01)


def test_empty_values_come_last_in_both_directions(vault):
    for direction, first in (("ASC", "Books/Emma.md"), ("DESC", "Books/Dune.md")):
        sort = f"[{{property: rating, direction: {direction}}}]"
        text = f"views: [{{type: table, name: x, limit: 3, sort: {sort}}}]"
        answer = table(vault, text)
        assert paths(answer)[0] == first
        assert paths(answer)[2] == "2026-03-14.md"
        assert (answer["count"], answer["total"]) == (3, 7)


def test_older_spellings_are_read(vault):
    answer = table(
        vault,
        "display: {note.rating: Stars}\nviews:\n  - {type: table, name: x, order: [rating],"
        " sort: [{column: note.rating, direction: DESC}]}\n",
    )
    assert answer["columns"] == [{"id": "rating", "name": "Stars"}]
    assert cells(answer)[:2] == [[9], [7]]


def test_a_filter_that_cannot_be_used_is_an_error(vault):
    for condition, told in (
        ("foo(file)", "unknown function"),
        ("rating >", "ends where"),
        ("formula.x > 1", "unknown formula"),
    ):
        with pytest.raises(UsageError, match=told):
            table(vault, f"filters:\n  and:\n    - '{condition}'\n")


def test_what_is_wrong_in_formulas_and_columns_is_named_and_the_rest_is_shown(vault):
    answer = table(
        vault,
        """
formulas:
  broken: rating +
  loop: formula.pool
  pool: formula.loop
  some: rating.lower()
filters: file.hasTag("book")
colour: red
views:
  - type: table
    name: x
    order: [file.name, formula.broken, formula.loop, formula.some, formula.none, file.nmae]
    columnSize: {file.name: 300}
    hue: 7
""",
    )
    assert [row[1:] for row in cells(answer)] == [[None] * 5, [None] * 5]
    told = answer["problems"]
    assert any(
        each.startswith("formula broken: the expression ends where a value is expected") for each in told
    )
    assert any(
        "refers to itself" in each and "(2 files, the first is Books/Dune.md)" in each for each in told
    )
    assert any("a number has no lower()" in each for each in told)
    assert any('unknown formula "none"' in each for each in told)
    assert any("did you mean file.name" in each for each in told)
    assert any('the unknown key "colour" is ignored' in each for each in told)
    assert any('the unknown key "hue" is ignored' in each for each in told)
    assert not any("columnSize" in each for each in told)


@pytest.mark.parametrize(
    "text",
    [
        "views: [a, 1, {name: {}}]",
        "views: nonsense",
        "filters: {and: {or: [1, 2]}, xor: []}",
        "formulas: [a]\nsummaries: 3\nproperties: 7\nviews: [{order: {a: b}, sort: 3, limit: x}]",
        "- a\n- b",
        "filters: [" * 60,
        "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]",
        "x" * 300_000,
        "\0\x1b[31m: [",
    ],
)
def test_a_base_is_read_as_far_as_possible(vault, text):
    base = read_base(text)
    assert base.problems or not base.views or base.filter is None
    for view in base.views:
        with suppress(UsageError):
            evaluate(base, view, vault.all(), vault, Surroundings(NOW, Budget()))


def test_a_table_has_a_limit_of_time(vault):
    slow = "views: [{type: table, name: x, order: [formula.f]}]\nformulas: {f: '%s'}" % (
        "[1,2,3,4,5,6,7,8,9].map(" * 6 + "value" + ")" * 6
    )
    base = read_base(slow)
    with pytest.raises(UsageError, match="takes longer"):
        evaluate(base, base.views[0], vault.all(), vault, Surroundings(NOW, Budget(0.01)))


@pytest.mark.fault("L2")
def test_l2_a_table_looks_at_the_clock_every_few_patterns(vault):
    base = read_base(
        "views: [{type: table, name: x, order: [formula.f]}]\n"
        "formulas: {f: '[1,2,3,4,5,6,7,8,9,10,11,12].map(/a/.matches(value))'}"
    )
    checks: list[bool] = []
    budget = Budget(cancelled=lambda: checks.append(True) or False)
    rows = evaluate(base, base.views[0], vault.all(), vault, Surroundings(NOW, budget))["rows"]
    assert len(checks) >= len(rows) * 12 // 4


FILTERS = (
    'file.hasTag("book")',
    'file.hasTag("BOOK/scifi", "#diary")',
    'file.inFolder("Books/")',
    'file.inFolder("/")',
    'file.inFolder("B")',
    "rating > 7",
    "7 < rating",
    "PAGES >= 400",
    'note.status == "open"',
    "note['due-date'] > now()",
    'due-date > "2026-01-01"',
    "rating == null",
    "rating < 8 && file.ext == 'md'",
    "rating < 8 || lent",
    "!(rating > 3)",
    "list(author).contains(link('Herbert'))",
    "topics.contains(link('Sand'))",
    "file.name.contains('a')",
    "status != 'open'",
    "missing.contains('x')",
    "!missing.contains('x')",
    "this.born < now()",
)


@given(
    st.recursive(
        st.sampled_from(FILTERS),
        lambda inner: st.builds(
            Group, st.sampled_from(["and", "or", "not"]), st.lists(inner, max_size=3).map(tuple)
        ),
        max_leaves=5,
    )
)
def test_rows_that_are_read_are_those_that_may_pass(vault, condition):
    base = Base(filter=condition)
    around = Surroundings(NOW, Budget(), vault.at("People/Frank Herbert.md"))
    whole = evaluate(base, base.views[0], vault.all(), vault, around)
    narrowed = vault.all(narrowings(condition, vault.has_property))
    assert paths(evaluate(base, base.views[0], narrowed, vault, around)) == paths(whole)


def test_filters_are_narrowed_by_tag_folder_and_property(vault):
    for condition, number in (
        ('file.hasTag("book")', 2),
        ('file.inFolder("Books")', 3),
        ("rating > 0", 2),
        ("list(author).contains(1)", 2),
    ):
        assert len(vault.all(narrowings(condition, vault.has_property))) == number


NOTE = """---
rating: 3
---
Books by this author:

```base
filters: list(author).contains(this)
views:
  - {type: table, name: Mine}
```

![[Lists/Shelf.base#Good]]
![[Lists/Shelf.base#Nowhere]]
![[Gone.base]]

> ```base
> filters: rating == this.rating
> ```
"""


@pytest.fixture
def shelf(tmp_path):
    files: dict[str, str | bytes] = {
        "Author.md": NOTE,
        "Book.md": "---\nauthor: '[[Author]]'\nrating: 5\n---\n",
        "Other.md": "---\nauthor: Nobody\nrating: 3\n---\n",
        "Lists/Shelf.base": "views:\n  - {type: table, name: All}\n"
        "  - {type: list, name: Good, filters: 'rating > 4'}\n",
        "Deep/er/Shelf.base": "filters: 'x('",
        "Lists/Own.base": "filters: file.folder == this.file.folder",
    }
    world = World(write_files(tmp_path / "vault", files), tmp_path)
    yield world
    world.close()


def test_blocks_and_embeds_of_a_note_are_its_tables(shelf):
    tables = tables_of("Author.md", shelf.ledger, shelf.root)
    assert [(each["line"], each["path"], each["name"]) for each in tables] == [
        (6, "Author.md", "Mine"),
        (12, "Lists/Shelf.base", "Good"),
        (13, "Lists/Shelf.base", ""),
        (16, "Author.md", "Table"),
    ]
    assert [paths(each) for each in tables] == [["Book.md"], ["Book.md"], [], ["Author.md", "Other.md"]]
    assert tables[2]["problems"] == [
        'Lists/Shelf.base: no view is called "Nowhere"; use one of "All", "Good"'
    ]
    (mine,) = tables_of("Author.md", shelf.ledger, shelf.root, "mine")
    assert paths(mine) == ["Book.md"]


def test_a_wrong_view_is_told_before_an_unknown_key_and_an_unread_base_before_a_view(shelf):
    (shelf.root / "Author.md").write_text("![[Own.base#Nope]]")
    (shelf.root / "Lists/Own.base").write_text("views: [{name: Main, colour: red}]")
    with pytest.raises(UsageError, match=r'Own\.base: no view is called "Nope"; use one of "Main"'):
        tables_of("Author.md", shelf.ledger, shelf.root)
    (shelf.root / "Lists/Own.base").write_text("views: [")
    with pytest.raises(UsageError, match=r"Own\.base: the base was not read"):
        tables_of("Lists/Own.base", shelf.ledger, shelf.root, "Nope")


def test_columns_of_a_view_are_read_without_a_complaint():
    base = read_base("views: [{name: Main, columns: [file.name, rating]}]")
    assert base.views[0].columns == ("file.name", "rating")
    assert base.problems == ()


def test_a_base_file_is_found_by_its_name_and_its_views_by_theirs(shelf):
    ledger, root = shelf.ledger, shelf.root
    assert base_path("Own.base", ledger, root) == "Lists/Own.base"
    assert base_path("Shelf.base", ledger, root) == "Lists/Shelf.base"
    assert base_path(f"{root}/Deep/er/Shelf.base", ledger, root) == "Deep/er/Shelf.base"
    with pytest.raises(NotFound, match=r'there are "Lists/Own\.base"'):
        base_path("Nothing.base", ledger, root)
    with pytest.raises(UsageError, match="not inside the vault"):
        base_path("../Secret.base", ledger, root)
    (root / "Just written.base").write_text("views: []")
    assert base_path("Just written.base", ledger, root, lambda path: False) == "Just written.base"
    with pytest.raises(NotFound):
        base_path("Just written.base", ledger, root, lambda path: True)
    (root / "Just written.base").unlink()
    (good,) = tables_of("Lists/Shelf.base", ledger, root, "good")
    assert paths(good) == ["Book.md"]
    assert good["views"] == [{"name": "All", "type": "table"}, {"name": "Good", "type": "list"}]
    with pytest.raises(UsageError, match='use one of "All", "Good"'):
        tables_of("Lists/Shelf.base", ledger, root, "Bad")
    with pytest.raises(UsageError, match="cannot be used"):
        tables_of("Deep/er/Shelf.base", ledger, root)
    with pytest.raises(NotFound, match="has no base"):
        tables_of("Book.md", ledger, root)
    (own,) = tables_of("Lists/Own.base", ledger, root)
    assert paths(own) == ["Lists/Own.base", "Lists/Shelf.base"]


def test_a_base_behind_a_link_is_not_read(shelf, tmp_path):
    (tmp_path / "outside.base").write_text("views: []")
    (shelf.root / "Link.base").symlink_to(tmp_path / "outside.base")
    shelf.index()
    with pytest.raises(NotFound):
        base_path("Link.base", shelf.ledger, shelf.root, lambda path: False)
    (shelf.root / "Lists" / "Own.base").unlink()
    (shelf.root / "Lists" / "Own.base").symlink_to(tmp_path / "outside.base")
    with pytest.raises(Exception, match="cannot be read"):
        tables_of("Lists/Own.base", shelf.ledger, shelf.root)


def test_a_base_of_very_many_conditions_is_answered(vault):
    tags = ", ".join(f'"t{number}"' for number in range(900))
    many = "filters:\n  and:\n" + f"    - 'file.hasTag({tags}) || true'\n" * 3 + "    - rating > 0\n" * 300
    assert paths(table(vault, many)) == ["Books/Dune.md", "Books/Emma.md"]
    base = read_base(many.replace(" || true", ""))
    assert vault.all(narrowings(base.filter, vault.has_property))
    assert vault.all(narrowings(Group("and", ("rating > 0",) * 2000), vault.has_property))


texts = st.sampled_from(
    (*FILTERS, "rating", "file.name", "formula.f", "-", "", "x(", "Average", "values.sum()", "f")
)
values = st.recursive(
    st.one_of(texts, st.none(), st.booleans(), st.integers(-3, 9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(("and", "or", "not", "property", "f")), inner),
    ),
    max_leaves=6,
)
views = st.dictionaries(
    st.sampled_from(("type", "name", "filters", "order", "sort", "groupBy", "limit", "summaries", "x")),
    values,
)
bases = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("filters", "formulas", "properties", "display", "summaries", "y"), values),
        "views": st.one_of(values, st.lists(views, max_size=2)),
    },
)


@given(bases)
def test_any_yaml_is_a_table_or_says_why_not(vault, content):
    base = read_base(json.dumps(content))
    for view in base.views:
        with suppress(UsageError):
            answer = evaluate(base, view, vault.all(), vault, Surroundings(NOW, Budget()))
            json.dumps(answer)
            assert sum(group["count"] for group in answer["groups"]) in (0, answer["count"])
            for row in answer["rows"]:
                assert list(row["cells"]) == [column["id"] for column in answer["columns"]]


def test_properties_have_the_types_of_the_settings(tmp_path):
    types = {"due": "date", "when": "datetime", "code": "text", "count": "number", "done": "checkbox"}
    note = (
        "---\ndue: 2026-01-31T10:00:00\nwhen: 2026-01-31\ncode: 2026-01-31\ncount: '42'\ndone: 'true'\n"
        "who: '[[Ada]]'\ngenre: crime\n---\n"
    )
    files = {
        ".obsidian/types.json": json.dumps(
            {"types": {**types, "Genre": "multitext", "who": "text", "odd": 1}}
        ),
        "A.md": note,
        "B.md": "---\ndue: soon\ncount: many\ndone: perhaps\n---\n",
    }
    world = World(write_files(tmp_path / "vault", files), tmp_path)
    vault = VaultFiles(world.ledger, world.root)
    expected = {
        "due": "2026-01-31",
        "when": "2026-01-31T00:00:00",
        'code.isType("string")': True,
        "count + 1": 43,
        "done": True,
        'genre.isType("list")': True,
        'who.isType("link")': True,
    }
    around = Surroundings(NOW, Budget())

    def value(path, text):
        return answer_of(Language(is_name=vault.has_property).compiled(text)(Scope(vault.at(path), around)))

    assert {text: value("A.md", text) for text in expected} == expected
    assert [value("B.md", name) for name in ("due", "count", "done")] == ["soon", "many", "perhaps"]
    (world.root / ".obsidian/types.json").write_text("[")
    assert VaultFiles(world.ledger, world.root).types == {}
    world.close()


@pytest.mark.fault("K2")
def test_the_values_of_a_table_are_bounded_together_and_named(vault, monkeypatch):
    monkeypatch.setattr(scope, "TABLE_VALUES_CHARS", 10_000)
    answer = table(
        vault,
        "formulas: {big: \"'x'.repeat(4000)\", small: 1}\n"
        "views: [{type: table, order: [file.name, formula.big, formula.small]}]",
    )
    assert any("the table's values contain more than" in problem for problem in answer["problems"])
    big = [row[1] for row in cells(answer)]
    assert "x" * 4000 in big
    assert None in big


@pytest.mark.fault("K2")
def test_a_value_that_is_refused_is_not_kept_by_its_error(vault):
    tracemalloc.start()
    try:
        answer = table(
            vault,
            "formulas: {big: \"'ΐ'.repeat(400000).upper()\"}\nviews: [{type: table, order: [formula.big]}]",
        )
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert any("contains more than" in problem for problem in answer["problems"])
    assert peak < 8 * MIB


@pytest.mark.fault("K2")
def test_a_long_format_of_a_date_takes_time_of_the_table(vault):
    form = "date('2026-01-01').format('YYYY'.repeat(1000))"
    base = f'formulas: {{f: "{form}"}}\nviews: [{{type: table, order: [formula.f]}}]'
    with pytest.raises(UsageError, match="takes longer"):
        table(vault, base, seconds=0)
