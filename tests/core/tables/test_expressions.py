"""The language of filters and formulas: the result of each operator, field and function for each value."""

import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.limits import MIB
from vaultseek.core.tables.expression import Language
from vaultseek.core.tables.syntax import BadExpression, parse_expression, split_expressions
from vaultseek.core.tables.values import FormulaError, answer_of, number_text

VALUES = {
    # numbers and operators
    "1 + 2 * 3": 7,
    "(1 + 2) * 3": 9,
    "2 - 3 - 4": -5,
    "-2 * -3": 6,
    "7 / 2": 3.5,
    "6 / 2": 3,
    "-7 % 3": -1,
    "0.1 + 0.2": 0.30000000000000004,
    "1 / 0 > 1000": True,
    "[1 / 0, -1 / 0, 0 / 0]": ["Infinity", "-Infinity", "NaN"],
    "price * 2": 25,
    "price / missing": None,
    "missing + 1": None,
    '"7" * 2': 14,
    "note.rating == 9 && rating != 8": True,
    "rating > 9 || rating >= 9": True,
    "!(rating < 9)": True,
    "missing > 1": False,
    "missing < 1": False,
    'status != "gone"': True,
    "missing == null": True,
    "true == 1": False,
    # texts
    'status + "!"': "done!",
    '"a" + missing + 1': "a1",
    '"x".repeat(3) + "ab".reverse()': "xxxba",
    '"Hello".lower().contains("ell")': True,
    '"hello".containsAll("h", "o") && !"hello".containsAny("x", "y")': True,
    '"hello".startsWith("he") && "hello".endsWith("lo")': True,
    '"hello".slice(1, 4)': "ell",
    '"hello".slice(-3)': "llo",
    '"hello world".title()': "Hello World",
    '"  hi ".trim()': "hi",
    '"a,b,c".split(",", 2)': ["a", "b"],
    '"a1b22c".split(/\\d+/)': ["a", "b", "c"],
    '"a:b:c".replace(":", "-")': "a-b-c",
    '"a:b:c".replace(/:/, "-")': "a-b:c",
    '"a:b:c".replace(/:/g, "-")': "a-b-c",
    '"John Smith".replace(/(\\w+) (\\w+)/, "$2, $1")': "Smith, John",
    '"hello".length': 5,
    '"".isEmpty()': True,
    "'it\\'s \\u00e9'": "it's é",
    'escapeHTML("<b>")': "&lt;b&gt;",
    # numbers
    "(2.5).round()": 3,
    "(-2.5).round()": -2,
    "(2.3333).round(2)": 2.33,
    "(2.1).ceil() + (2.9).floor() + (-5).abs()": 10,
    "(3.14159).toFixed(2)": "3.14",
    "(2.5).toFixed(0)": "3",
    "(1).toFixed(1)": "1.0",
    "5.isEmpty()": False,
    "1.isTruthy()": True,
    "123.toString()": "123",
    'number("3.4")': 3.4,
    "number(true)": 1,
    "max(1, 5, 3) - min(4, 2)": 3,
    # lists and mappings
    "[1, 2, 3].contains(2)": True,
    "[1, 2, 3].containsAll(2, 3) && ![1].containsAny(3, 4)": True,
    "[1, 2, 3, 4].filter(value > 2)": [3, 4],
    "[1, 2, 3].map(value * 2 + index)": [2, 5, 8],
    "[1, 2, 3].reduce(acc + value, 0)": 6,
    "[1, 5, 3].filter(value.isType('number')).reduce(if(acc == null || value > acc, value, acc), null)": 5,
    "[1, [2, [3]]].flat()": [1, 2, 3],
    '[1, 2].join("-")': "1-2",
    "[3, 1, 2].sort()": [1, 2, 3],
    '["c", "a", "b"].sort().reverse()': ["c", "b", "a"],
    '["Zap", "Zebra 2", "Project 10", "Project", "Project 2"].sort()': [
        "Project",
        "Project 2",
        "Project 10",
        "Zap",
        "Zebra 2",
    ],
    "[1, 2, 2, 3].unique().length": 3,
    "[1, 2, 3, 4].slice(1, 3)": [2, 3],
    "[10, 20][1]": 20,
    "[10, 20][5]": None,
    "list(status)": ["done"],
    "list(missing).length": 0,
    "[1e308, 1e308].sum()": "Infinity",
    "[0-1e308, 0-1e308].mean()": "-Infinity",
    "[1e308, 0-1e308].stddev() > 1": True,
    "[1, 2, 3].mean() + [1, 2, 3].sum()": 8,
    '{"a": 1, "b": 2}.keys()': ["a", "b"],
    '{"a": 1}.a + {"b": 2}["b"]': 3,
    "{}.isEmpty()": True,
    "[[1, 2], [3]].map(value.map(value + 1))": [[2, 3], [4]],
    # conditions
    'if(lent, "lent", "here")': "lent",
    "if(missing, 1)": None,
    "if([], 1, 2)": 1,
    "missing.isEmpty() && !missing.isTruthy()": True,
    "missing.lower()": None,
    '"x".isType("string") && (1).isType("number") && read.isType("date") && [].isType("list")': True,
    # dates
    "read": "2026-01-10",
    "read.year * 100 + read.month": 202601,
    'read + "1M"': "2026-02-10",
    'read - "1 week"': "2026-01-03",
    'date("2024-12-01") + "1M" + "4h" + "3m"': "2025-01-01T04:03:00",
    'read < "2026-02-01" && read > date("2026-01-01")': True,
    'read == "2026-01-10"': True,
    '(now() + "1d") - now()': 86_400_000,
    "(today() - read).days": 64,
    "((now() - read).months).round()": 2,
    'now() + (duration("1d") * 2)': "2026-03-17T12:30:00",
    'duration("1d 12h").hours': 36,
    '(now() - read) > "30d" && duration("1d") < "25 hours"': True,
    '(now() - read) > "3 months" || duration("1d") < "soon"': False,
    'date("2026-3-5").day + date("2026/03/05").month': 8,
    'read.format("dddd, D. MMMM YYYY [at] HH:mm")': "Saturday, 10. January 2026 at 00:00",
    'read.format("Do W Q YY")': "10th 2 1 26",
    "now().date()": "2026-03-15",
    "now().time()": "12:30:00",
    "now().hour": 12,
    "read.relative()": "2 months ago",
    '(now() + "3h").relative()': "in 3 hours",
    "today()": "2026-03-15",
    'max(read, date("2026-02-01"), missing)': "2026-02-01",
    'min([read, date("2026-02-01")])': "2026-01-10",
    'date("2026-03-14.md")': "2026-03-14",
    "number(today()) < number(now())": True,
    # properties
    'note["due-date"]': "2026-04-01",
    "due-date - read": 81 * 86_400_000,
    "due-date.day": 1,
    "price-pages": -587.5,
    "PAGES": 600,
    "file.properties.status": "done",
    # files and links
    "file.name": "Dune",
    "file.name.length": 7,
    'file.name == "Dune" && file.name == "Dune.md"': True,
    "file.basename": "Dune",
    "file.path": "Books/Dune.md",
    "file.folder": "Books",
    "file.ext": "md",
    "file.size > 100": True,
    "file.tags": ["book", "book/scifi"],
    'file.tags.contains("#Book")': True,
    'tags.contains("book")': True,
    'file.tags.filter(value.startsWith("#book/"))': ["book/scifi"],
    'file.tags.filter(value.contains("#book")).length': 2,
    "file.links.length": 4,
    "file.embeds[0].containsAny('jpg', 'png')": True,
    "file.backlinks": ["[[2026-03-14]]", "[[People/Frank Herbert|Frank Herbert]]"],
    'file.hasTag("book") && file.hasTag("x", "#book/scifi") && !file.hasTag("scifi")': True,
    'file.inFolder("Books") && !file.inFolder("Book")': True,
    'file.hasProperty("Rating") && !file.hasProperty("x")': True,
    'file.hasLink("Emma") && file.hasLink("Books/Emma.md") && file.hasLink(link("Emma"))': True,
    'file.hasLink(file("map.png")) && !file.hasLink("Nobody")': True,
    'file.hasLink("Sand")': True,
    "author == this": True,
    "list(author).contains(this) && [this].contains(author)": True,
    'author == link("Herbert") && author == file("Herbert")': True,
    'author == "Frank Herbert"': True,
    'author != link("Emma")': True,
    'link("No such") == link("no such")': True,
    "author": "[[Frank Herbert]]",
    'link("Emma", "the book")': "[[Emma|the book]]",
    'link("https://obsidian.md", "site")': "[site](https://obsidian.md)",
    "file.asLink()": "[[Books/Dune|Dune]]",
    "author.asFile().properties.born.year": 1920,
    "author.linksTo(file)": True,
    "this.file.name": "Frank Herbert",
    "this.born.year": 1920,
    "this.file.hasLink(file)": True,
    "topics.map(value.toString()).join('/')": "Sand/power",
    "topics.length": 2,
    "file.title": "Dune",
    # regular expressions
    '/^\\d{4}/.matches("2026") && !/x/.matches("y")': True,
    '/ABC/i.matches("xabcx")': True,
    "/[/]/.matches('a/b')": True,
    "price / 2 / 5": 1.25,
}


@pytest.mark.parametrize(("text", "expected"), VALUES.items())
def test_an_expression_has_its_value(value, text, expected):
    assert answer_of(value(text)) == expected


def test_facts_of_other_files(value):
    assert answer_of(value("series.name + series['number']", "Books/Emma.md")) == "Classics3"
    assert answer_of(value("read", "Books/Emma.md")) == "2025-06-01T20:15:00"
    assert answer_of(value("tags", "Books/Emma.md")) == ["book"]
    assert answer_of(value("file.tags", "Books/Emma.md")) == ["book", "novel"]
    assert answer_of(value("[file.name, file.ext, file.size, file.tags, rating]", "map.png")) == [
        "map.png",
        "png",
        10,
        [],
        None,
    ]
    assert answer_of(value("file.folder", "map.png")) == "/"
    assert answer_of(value("file.backlinks.length", "map.png")) == 1
    assert answer_of(value("date(file.name).format('dddd')", "2026-03-14.md")) == "Saturday"


WRONG = {
    "rating >": "ends where a value is expected",
    "(rating": "a \\) is missing at the end",
    "rating = 9": "write ==",
    "rating === 9": "write ==",
    "rating ? 1 : 2": "write if",
    '"open': "is not closed",
    "foo(1)": 'unknown function "foo\\(\\)"',
    "status.contians('x')": "did you mean contains",
    "file.nmae": "did you mean file.name",
    "formula.total": 'unknown formula "total"',
    "if(1)": "takes 2 to 3 arguments, not 1",
    "now(1)": "takes 0 arguments",
    "/(/.matches('x')": "not a regular expression",
    "rating @ 2": "has no meaning",
    "1 2": "not expected",
    "a.b.": "a name is missing after the dot",
    "(" * 100 + "1" + ")" * 100: "nested too deeply",
    "+".join(["1"] * 200): "too long",
    "x" * 20_000: "use at most",
}


@pytest.mark.parametrize(("text", "told"), WRONG.items())
def test_what_is_wrong_is_named(text, told):
    with pytest.raises(BadExpression, match=told):
        Language().compiled(text)


FAILING = {
    "[1] - 1": "cannot combine list and number",
    'date("soon")': "is not a date",
    'number("x")': "is not a number",
    "rating.contains(1)": "a number has no contains",
    "status.year": "has no",
    'status.filter(value == "d")': "works on lists",
    'date("9999-01-01") + "1y"': "out of range",
    '"x".repeat(1000000000)': "contains more than",
    "[1,2,3,4,5,6,7,8,9].map('xxxxxxxxxx'.repeat(9999))": "contains more than",
    "[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3].reduce([acc, acc], 1)": "contains more than",
    "[1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3].reduce(acc + acc, 'ab')": "contains more than",
    '/^(x|xx)+$/.matches("x".repeat(60) + "!")': "takes too long",
}


@pytest.mark.parametrize(("text", "told"), FAILING.items())
def test_an_expression_without_a_value_says_why(value, text, told):
    with pytest.raises(FormulaError, match=told):
        value(text)


def test_numbers_are_written_as_in_javascript():
    written = {
        1.0: "1",
        1e21: "1e+21",
        1e20: "1" + "0" * 20,
        1.5e-7: "1.5e-7",
        1e-6: "0.000001",
        2**60: str(2**60),
    }
    for number, text in written.items():
        assert number_text(number) == text


def test_columns_are_split_at_commas_outside_of_brackets():
    assert split_expressions("title, max(a, b) , [1,2][0],'x,y'") == [
        "title",
        "max(a, b)",
        "[1,2][0]",
        "'x,y'",
    ]


PIECES = (
    *(
        "rating",
        "status",
        "file",
        "this",
        "topics",
        "missing",
        "read",
        "author",
        "1",
        "2.5",
        '"x"',
        "[]",
        "null",
    ),
    *("+", "-", "*", "/", "%", "==", "<", "&&", "!", "(", ")", "[", "]", ",", ".", "{", "}", ":"),
    *(
        "if",
        "date",
        "link",
        "list",
        "file",
        "filter",
        "map",
        "reduce",
        "contains",
        "length",
        "value",
        "/x/",
        "sort",
    ),
    *(".toString()", ".isEmpty()", ".map(value)", ".format('Y')", ".unique()", ".round()", "duration('1M')"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_any_text_has_a_value_or_says_why_not(value, pieces):
    with suppress(BadExpression, FormulaError):
        answer_of(value(" ".join(pieces)))


@given(st.text(max_size=40))
def test_any_characters_are_an_expression_or_not(text):
    with suppress(BadExpression):
        parse_expression(text)


LONG = "'a'.repeat(400000)"
MANY = f"{LONG}.slice(0, 200000).split('')"
GROWING = [
    "'abc'.repeat(1e9)",
    f"{LONG} + {LONG}",
    f"{MANY}.join('b'.repeat(100000))",
    f"{MANY}.map('b'.repeat(100000))",
    f"{MANY}.map(link('a', 'b'.repeat(100000)))",
    f"{MANY}.map(link('a'.repeat(100000), 'b'))",
    f"{MANY}.map(html('b'.repeat(100000)))",
    f"{MANY}.map([1, 2, 3, 4])",
    f"{MANY}.map({{'{'key' * 1000}': 1}})",
    f"{MANY}.reduce(acc + acc, 'ab')",
    f"{MANY}.reduce([acc, acc], 'ab')",
    f"{LONG}.replace('a', 'b'.repeat(100000))",
    f"{LONG}.replace(/a/g, 'b'.repeat(100000))",
    f"{LONG}.replace(/a+/, '$&'.repeat(100000))",
    f"{LONG}.split('')",
    f"[{', '.join([LONG] * 400)}]",
    f"'a'.containsAny({', '.join([LONG] * 400)})",
    "escapeHTML('&'.repeat(400000))",
    "'\u0390'.repeat(400000).upper()",
    "date('2026-01-01').format('dddd '.repeat(90000))",
    "'x'.repeat(400000).title().repeat(2)",
]


@pytest.mark.fault("K2", "Invariant 6")
@pytest.mark.parametrize(
    "text",
    [pytest.param(text, marks=[pytest.mark.slow] * text.startswith(MANY)) for text in GROWING],
    ids=lambda text: text[:40],
)
def test_a_value_that_grows_is_refused_before_it_takes_memory(value, text):
    tracemalloc.start()
    try:
        with pytest.raises(FormulaError, match="contains more than"):
            value(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 * MIB


@pytest.mark.fault("K1")
def test_a_pattern_that_would_take_all_memory_is_wrong(value):
    with pytest.raises(BadExpression, match="expand to more than"):
        value("/(((a{100}){100}){100}){100}/.matches(file.name)")
