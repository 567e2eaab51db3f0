"""Filters, note by note."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.currency import NOTHING_STATED, Stated
from vaultseek.base.model import Task
from vaultseek.base.when import When
from vaultseek.content.query.facts import Scope
from vaultseek.content.query.filters import (
    And,
    Contains,
    Dated,
    Filter,
    HasProperty,
    HasTask,
    Linked,
    Not,
    Or,
    PropertyCompare,
    PropertyEquals,
    Tag,
    Within,
    all_of,
    any_of,
    conjuncts,
    matches,
    needs_text,
    negated,
)
from vaultseek.content.query.grammar import parse_query

NOW = datetime(2026, 10, 21, 15, 30, tzinfo=UTC)


@dataclass
class Facts:
    """A note in one expression; blank lines separate blocks, and lines with ``#`` begin sections."""

    path: str = "note.md"
    text: str = ""
    title: str = "Note"
    aliases: Sequence[str] = ()
    tags: Sequence[str] = ()
    properties: Mapping[str, Any] = field(default_factory=dict)
    created: When | None = None
    modified: float | None = None
    links: Sequence[str] = ()
    backlinks: Sequence[str] = ()
    headings: Sequence[str] = ()
    tasks: Sequence[Task] = ()
    stated: Stated = NOTHING_STATED
    has_successor: bool = False
    name_day: str = ""
    day_first: bool | None = None

    def passages(self, scope: Scope) -> Iterable[str]:
        if scope == "content":
            return [self.text]
        return self.text.split({"section": "\n# ", "line": "\n", "block": "\n\n"}[scope])


def found(query: str, **facts: Any) -> bool:
    return matches(parse_query(query, now=NOW).filter, Facts(**facts))


def seconds(*date: int) -> float:
    return datetime(*date, tzinfo=UTC).timestamp()  # type: ignore[misc]


@pytest.mark.parametrize(
    ("query", "tag", "expected"),
    [
        ("tag:work", "work", True),
        ("tag:#work", "work", True),
        ("tag:WORK", "work/Today", True),
        ("tag:work/today", "work/today/am", True),
        ("tag:work/", "work", True),
        ("tag:work", "my/work", False),
        ("tag:work", "workshop", False),
        ("tag:work/today", "work", False),
        ("tag:#1984", "1984", False),
        ("tag:y1984", "y1984", True),
        ("tag:grün", "Gru\u0308n", True),
        ("-tag:work", "work/today", False),
        ("-tag:work", "workshop", True),
    ],
)
def test_tags_match_themselves_and_what_is_nested_under_them(query, tag, expected):
    assert found(query, tags=[tag]) is expected


@pytest.mark.parametrize(
    ("query", "path", "expected"),
    [
        ("path:trips", "Old Trips/a.md", True),
        ("path:trips/", "Trips/2024/a.md", True),
        ("path:trips/", "Old Trips/a.md", False),
        ("path:trips/", "trips.md", False),
        ("path:trips/2024/", "trips/2024/a.md", True),
        ("path:/trips/", "trips/a.md", True),
        ("path:/trips", "trips.md", True),
        ("path:/trips", "old/xtrips.md", False),
        (r"path:/s\/a|x\.md/", "old/xtrips.md", False),
        (r"path:/s\/a|s\.md/", "old/xtrips.md", True),
        (r"-path:/^x|s\.md/", "old/xtrips.md", False),
        ("path:/^old/", "Old/a.md", True),
        ("path:/caf\u00e9\\./", "cafe\u0301.md", True),
        ("file:/^trips/", "trips/a.md", False),
        ('path:"old trips/a"', "Old Trips/a.md", True),
        ("path:(old a)", "Old Trips/a.md", True),
        ("file:trips", "trips/a.md", False),
        ("file:a.md", "trips/A.md", True),
        ("ext:md", "a.md", True),
        ("ext:m", "a.md", True),
        ("ext:md", "md", False),
        (".can", "board.canvas", True),
        ("ext:(pdf OR md)", "a.md", True),
        ("-ext:pdf", "a.md", True),
    ],
)
def test_paths_names_and_extensions(query, path, expected):
    assert found(query, path=path) is expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("[status]", True),
        ("[Status]", True),
        ("[missing]", False),
        ("[status:draft]", True),
        ("[status:dra]", False),
        ("[status:draft OR final]", True),
        ("[kinds:b]", True),
        ("[kinds:c]", False),
        ("[kinds:(c OR B)]", True),
        ("[empty:null]", True),
        ("[status:null]", False),
        ("[blank:null]", False),
        ("[none:null]", False),
        ("[none]", True),
        ("[length:5]", True),
        ("[length:5.0]", True),
        ("[length:05]", True),
        ("[length:+5]", True),
        ("[length:5e0]", True),
        ("[length:06]", False),
        ("[written:09]", False),
        ("[huge:9007199254740993]", True),
        ("[huge:9007199254740992]", False),
        ("[length:<5]", False),
        ("[length:<=5]", True),
        ("[length:>4.5]", True),
        ("[length:<10]", True),
        ("[written:<10]", True),
        ("[done:true]", True),
        ("[done:1]", False),
        ("[done:>0]", False),
        ("[due:<2026-02-01]", True),
        ("[due:>2026]", True),
        ("[due:>2025]", True),
        ("[due:<=2026]", True),
        ("[due:<=2026-01]", True),
        ("[due:<2026-01]", False),
        ("[due:>2026-01-31]", False),
        ("[due:<=2026-01-31T09:00]", True),
        ("[meeting:<=2026-11-15]", True),
        ("[meeting:>2026-11-15]", True),
        ("[meeting:>2026-11-16]", False),
        ("[meeting:>=2026-11-15T09:00]", True),
        ("[meeting:<2026-11-15T10:31]", True),
        ("[meeting:>9998]", False),
        ("[meeting:<=9999]", True),
        ("[due:<5000]", True),
        ("[status:>2026-01-01]", False),
        ("[length:<2026-01-01]", False),
        ('["due date":2026-03-01]', True),
        ("[author:Ada]", True),
        ("[author:[[Ada]]]", True),
        ("[up:target]", True),
        ('[above:"rope walk"]', True),
        ("[above:yard/old]", True),
        ("[above:[[Old]]]", True),
        ("[above:walk]", False),
        ("[above:yard]", False),
        ("[map:x]", False),
        ("[status:/^dr/]", True),
        ("[status:/^ft/]", False),
        ("[kinds:/^b$/]", True),
        ("[length:/5/]", True),
        ("[empty:/./]", False),
        ('["due date":/^2026-0[1-3]/ OR none]', True),
        ("[length:>.5]", True),
        ("[length:<1e3]", True),
        ("[loose:<2026-02]", True),
        ("[loose:>2026-1-4]", True),
        ("[loose:<2026-1-5]", False),
        ("[loose:2026-01-05]", True),
        ("[loose:2026-01-06]", False),
        ("[due:2026-1-31]", True),
        ("[dotted:2026-03-15]", True),
        ("[dotted:15.3.2026]", True),
        ("[dotted:<15.4.2026]", True),
        ("[dotted:<2026-03]", False),
        ("[slashed:2026-05-04]", False),
        ("[day:2026-01-02]", True),
        ("[day:<=2026-01-02]", True),
        ("[day:<2026-01-02]", False),
        ("[map]", True),
    ],
)
def test_properties(query, expected):
    properties = {
        "status": "Draft",
        "kinds": ["a", "b"],
        "empty": None,
        "blank": "",
        "none": [],
        "length": 5,
        "written": "9",
        "huge": 2**53 + 1,
        "done": True,
        "due": "2026-01-31",
        "meeting": "2026-11-15 10:30",
        "due date": "2026-03-01",
        "author": "[[Ada|the countess]]",
        "map": {"x": 1},
        "up": "[[Target#Part|see]]",
        "loose": "2026-1-5",
        "dotted": "15.03.2026",
        "slashed": "4/5/2026",
        "day": "[[Daily/2026-01-02|x]]",
        "above": ["[[Yard/Rope Walk.md|there]]", "[[Yard/Old]]"],
    }
    assert found(query, properties=properties) is expected


def test_a_number_beyond_all_bounds_is_compared_without_failing():
    for value in (10**5000, float("inf"), float("nan"), -(10**400)):
        assert matches(PropertyEquals("n", "x"), Facts(properties={"n": value})) is False
        assert matches(PropertyCompare("n", "<", "1"), Facts(properties={"n": value})) is False


TEXT = """# Rigging
The square rig was old.
Europe has ropes, c++17 and café bars.

- call the yard
# Hull
keel and mast
mended"""


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"square rig"', True),
        ('"SQUARE  RIG"', True),
        ('"square rigs"', False),
        ('"mast mended"', True),  # across a line break
        ("-rope", True),
        ("-rope*", False),
        ("-ropes", False),
        ("-cafe", True),
        ("-café", False),
        ("-Cafe\u0301", False),
        ("-c++", False),
        ("-skiff", False),  # an alias
        ("-boats", False),  # a folder
        ("-(keel rope)", True),
        ("-(keel mast)", False),
        ("content:keel", True),
        ("content:skiff", False),
        ("line:(keel mast)", True),
        ("line:(keel mended)", False),
        ("section:(keel mended)", True),
        ("section:(keel yard)", False),
        ("block:(square ropes)", True),
        ("block:(square yard)", False),
        ("-line:(keel mended)", True),
        ('line:(square -"old")', False),
        ("line:(yard OR nothing)", True),
    ],
)
def test_words_in_the_text_are_whole_words_of_one_scope(query, expected):
    assert found(query, text=TEXT, aliases=["Skiff"], path="boats/note.md") is expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ('"product manager"', True),
        ('"role: product"', True),
        ('"manager team"', False),
        ('"core team"', True),
        ("-role", False),
        ("-true", False),
        ("-nothing", True),
        ("content:product", False),
    ],
)
def test_words_and_phrases_may_stand_in_a_property(query, expected):
    properties = {"role": "Product manager", "team": ["Ops", "Core team"], "hired": True}
    assert found(query, properties=properties) is expected


def test_scripts_without_spaces_have_no_word_borders():
    assert found('"安全"', text="索道的安全要求")
    assert not found("-安全", text="索道的安全要求")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("task:call", True),
        ("task-todo:call", True),
        ("task-done:call", False),
        ("task-done:mail", True),
        ('task-done:""', True),
        ("task:(call mail)", False),
        ("task:(call OR mail)", True),
        ("task-todo:(-call)", False),
        ("-task-todo:mail", True),
    ],
)
def test_tasks(query, expected):
    assert found(query, tasks=[Task(" ", "Call the yard", 1), Task("-", "mail it", 2)]) is expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("link:Skiff", True),
        ("link:skiff.md", True),
        ("link:boats/skiff", True),
        ("link:[[Skiff#Hull|it]]", True),
        ("link:kiff", False),
        ("link:old/skiff", False),
        ("link:ghost", True),
        ("alias:dory", True),
        ("alias:doryx", False),
        ("heading:hul", True),
        ("heading:mast", False),
    ],
)
def test_links_aliases_and_headings(query, expected):
    facts = {"links": ["boats/Skiff.md", "Ghost"], "aliases": ["The Dory"], "headings": ["The Hull"]}
    assert found(query, **facts) is expected


def test_backlinks():
    assert matches(Linked("maps/Index", "backlinks"), Facts(backlinks=["maps/Index.md"]))
    assert not matches(Linked("maps/Index", "backlinks"), Facts(links=["maps/Index.md"]))


@pytest.mark.parametrize(
    ("query", "modified", "expected"),
    [
        ("after:2026-01", seconds(2026, 1, 1), True),
        ("after:2026-01", seconds(2025, 12, 31, 23, 59, 59), False),
        ("before:2026-01", seconds(2025, 12, 31, 23, 59, 59), True),
        ("before:2026-01", seconds(2026, 1, 1), False),
        ("modified:2026-01", seconds(2026, 1, 31, 23), True),
        ("modified:2026-01", seconds(2026, 2, 1), False),
        ("after:7d", seconds(2026, 10, 14, 15, 30), True),
        ("after:7d", seconds(2026, 10, 14, 15, 29), False),
        ("before:2026-01", None, False),
        ("before:2026-01", float("nan"), False),
        ("-before:2026-01", None, True),
        ("created:2026-01", seconds(2026, 1, 1), False),
    ],
)
def test_dates(query, modified, expected):
    assert found(query, modified=modified) is expected


def test_no_filter_admits_every_note():
    assert matches(None, Facts())


def test_only_text_filters_need_the_text():
    assert not needs_text(parse_query("tag:a [b:c] path:x task:y -(tag:z OR link:w) after:7d").filter)
    assert needs_text(parse_query("tag:a -(tag:b OR c)").filter)
    assert needs_text(parse_query("line:a").filter)
    assert not needs_text(None)


def test_combining_is_flat_and_without_repetition():
    a, b, c = Tag("a"), Tag("b"), Tag("c")
    assert all_of([]) is None
    assert all_of([None, a]) == a
    assert all_of([a, And((b, a)), None, c]) == And((a, b, c))
    assert any_of([a, Or((a, b))]) == Or((a, b))
    assert negated(negated(a)) == a
    assert conjuncts(And((a, b))) == (a, b)
    assert conjuncts(a) == (a,)
    assert conjuncts(None) == ()


leaves = st.sampled_from(
    [
        Tag("a"),
        Tag("b"),
        Contains("keel"),
        Contains("ma", prefix=True),
        Within("line", And((Contains("keel"), Not(Contains("mast"))))),
        PropertyEquals("p", "1"),
        PropertyCompare("p", ">", "0"),
        HasProperty("p", is_null=True),
        HasTask("todo", None),
        Dated("created", NOW, None),
    ]
)
filters: st.SearchStrategy[Filter] = st.recursive(
    leaves,
    lambda inner: st.one_of(
        inner.map(Not),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(tuple(parts))),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(tuple(parts))),
    ),
    max_leaves=8,
)
notes = st.builds(
    Facts,
    text=st.sampled_from(["", "keel", "mast\nkeel", "keel mast", "Masts"]),
    tags=st.lists(st.sampled_from(["a", "a/x", "b", "c"]), max_size=2),
    properties=st.dictionaries(
        st.sampled_from(["p", "P", "q"]), st.sampled_from([None, 1, "1", [0, 2], "x"])
    ),
    created=st.sampled_from([None, When(0.0), When(4e9), When(4e9, "day")]),
    tasks=st.lists(st.builds(Task, st.sampled_from([" ", "x"]), st.just("keel"), st.just(1)), max_size=2),
)


@given(filters, filters, notes)
def test_the_laws_of_logic_hold(one, other, note):
    first, second = matches(one, note), matches(other, note)
    assert matches(negated(one), note) is not first
    assert matches(all_of([one, other]), note) is (first and second)
    assert matches(any_of([one, other]), note) is (first or second)
    assert matches(negated(And((one, other))), note) is matches(Or((Not(one), Not(other))), note)
    assert str(one)
    assert hash(one) == hash(one)


@given(st.lists(filters, max_size=4), notes)
def test_the_conjuncts_together_are_the_filter(parts, note):
    whole = all_of(parts)
    assert matches(whole, note) is all(matches(part, note) for part in conjuncts(whole))
