"""The query language, compared as the plain words of ``interpreted``."""

from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultseek.base import limits
from vaultseek.content.query.filters import Filter, Not, PropertyCompare, Tag
from vaultseek.content.query.grammar import Query, parse_query
from vaultseek.errors import BadQuery

NOW = datetime(2026, 10, 21, 15, 30, tzinfo=UTC)


def read(text: str) -> Query:
    return parse_query(text, now=NOW)


def understood(text: str) -> str:
    """Return the parsed query as ``rank text | condition; condition``."""
    query = read(text)
    return f"{query.rank_text} | {'; '.join(query.interpreted['filters'])}".strip()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # bare words are rank text and require nothing
        ("keel mast", "keel mast |"),
        ("What are the safety requirements?", "What are the safety requirements? |"),
        ("link* to it", "link* to it |"),
        ("don't 'old rope'", "don't 'old rope' |"),
        ("a-b state-of-the-art", "a-b state-of-the-art |"),
        ("12:30 https://x.org/a?b=c C:\\notes", "12:30 https://x.org/a?b=c C:\\notes |"),
        ("foo:bar regex:/x/", "foo:bar regex:/x/ |"),
        ("file:///etc/hosts", "file:///etc/hosts |"),
        ("main() (f(x) y)", "main() f(x) y |"),
        ("[31m [open bracket", "[31m [open bracket |"),
        ("--json -> -- - —", "--json |"),
        ("AND or Or", "AND or Or |"),
        ("note: tag: x", "note: tag: x |"),
        ("[[Square Rig|the rig]] mast", "Square Rig mast |"),
        ("[text](https://x.org)", "[text](https://x.org) |"),
        ("安全要求 🚀", "安全要求 🚀 |"),
        ("(#work)", "#work |"),
        ("tag:(#work)", "| tag #work"),
        ("@todo (@todo)", "@todo @todo |"),
        # phrases are filters and rank text
        ('"square rig" sail', 'square rig sail | text "square rig"'),
        ('"  square \n rig "', 'square rig | text "square rig"'),
        (r'"say \"aye\" now"', 'say "aye" now | text "say "aye" now"'),
        ("“square rig”", 'square rig | text "square rig"'),
        ('5" pipe', '5" pipe |'),
        ('""', "|"),
        # negation
        ("-rope", '| not text "rope"'),
        ("keel -rope -knot", 'keel | not text "rope"; not text "knot"'),
        ('-"old rope"', '| not text "old rope"'),
        ("-rope*", '| not text "rope*"'),
        ("-tag:old", "| not tag old"),
        ("-(rope knot)", '| not (text "rope" and text "knot")'),
        ("-(rope OR knot)", '| not (text "rope" or text "knot")'),
        ("(-rope)", '| not text "rope"'),
        ("keel -[status]", "keel | not property status"),
        ("-(-rope)", '| text "rope"'),
        ("-.pdf", "| not extension pdf"),
        ("-()", "|"),
        ('(H2A)-histone "keel"-like', 'H2A -histone keel -like | text "keel"'),
        # the options of a command
        ("docker run --rm -it image", "docker run --rm -it image |"),
        ('git commit -m "fix kiln"', 'git commit -m fix kiln | text "fix kiln"'),
        ('keel -rope -"m"', 'keel | not text "rope"; not text "m"'),
        ("line:(keel -m)", '| line with (text "keel" and not text "m")'),
        # operators
        ("tag:work", "| tag work"),
        ("tag:#work/today", "| tag #work/today"),
        ("Tag:work", "| tag work"),
        ("tag:(work OR home)", "| (tag work or tag home)"),
        ("path:trips", '| path with "trips"'),
        ('path:"my trips/2024"', '| path with "my trips/2024"'),
        ("path:trips/", '| in folder "trips"'),
        ("path:/secret", '| path with "/secret"'),
        ("file:.png", '| file name with ".png"'),
        ("ext:md", "| extension md"),
        ("ext:.md", "| extension md"),
        ('ext:"png jpg"', "| (extension png or extension jpg)"),
        (".pdf", "| extension pdf"),
        (".net .gitignore", ".net .gitignore |"),
        ("alias:skiff", '| alias with "skiff"'),
        ('heading:"To do"', '| heading with "To do"'),
        ("link:Skiff", '| links to "Skiff"'),
        ("link:[[Square Rig#Masts|rig]]", '| links to "Square Rig"'),
        ("before:2026-01", "| modified before 2026-01-01 00:00"),
        ("after:7d", "| modified since 2026-10-14 15:30"),
        ('created:"last week"', "| created since 2026-10-12 00:00 and before 2026-10-19 00:00"),
        ("modified:2026", "| modified since 2026-01-01 00:00 and before 2027-01-01 00:00"),
        # scopes and tasks
        ("content:keel", '| content with text "keel"'),
        ("section:(keel mast)", '| section with (text "keel" and text "mast")'),
        ('line:(keel -"old rope")', '| line with (text "keel" and not text "old rope")'),
        ("block:(keel OR mast)", '| block with (text "keel" or text "mast")'),
        ("-line:keel", '| not line with text "keel"'),
        ("task:call", '| a task with text "call"'),
        ("task-todo:(call OR mail)", '| an open task with (text "call" or text "mail")'),
        ('task-todo:""', "| an open task"),
        ("task-done:call", '| a finished task with text "call"'),
        ("line:(tag:x)", '| line with text "tag:x"'),
        ("hull line:(keel mast*)", 'hull keel mast* | line with (text "keel" and text "mast*")'),
        ('content:keel "square rig"', 'keel square rig | content with text "keel"; text "square rig"'),
        # or groups and precedence
        ("keel OR mast", "keel mast |"),
        ("keel mast OR sail rope", "keel mast sail rope |"),
        ("tag:a tag:b OR tag:c", "| ((tag a and tag b) or tag c)"),
        ("tag:a (tag:b OR tag:c)", "| tag a; (tag b or tag c)"),
        ("keel mast OR tag:a", 'keel mast | ((text "keel" and text "mast") or tag a)'),
        ("keel (mast OR tag:a)", 'keel mast | (text "mast" or tag a)'),
        ('keel OR "square rig"', 'keel square rig | (text "keel" or text "square rig")'),
        ("tag:a OR -rope", '| (tag a or not text "rope")'),
        ("OR tag:a OR", "OR OR | tag a"),
        ("tag:a OR tag:b or", 'or | (tag a or (tag b and text "or"))'),
        ("tag:a OR ***", "| tag a"),
        ("tag:a OR(tag:b)", "| (tag a or tag b)"),
        ("ORE tag:a", "ORE | tag a"),
        ("((((keel))))", "keel |"),
    ],
)
def test_rank_text_and_filter_of_a_query(text, expected):
    assert understood(text) == expected


def test_phrases_are_named_unless_they_are_excluded_or_belong_to_an_operator():
    assert read('"a b" -"c d" path:"e f" ("g h" OR i)').phrases == ("a b", "g h")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[status]", "property status"),
        ("[status:draft]", 'property status = "draft"'),
        ("[status: in progress ]", 'property status = "in progress"'),
        ("[status:null]", "property status without value"),
        ('[status:"null"]', 'property status = "null"'),
        ("[length:<5]", "property length < 5"),
        ("[length:>=5.5]", "property length >= 5.5"),
        ("[due:>2026-01-31]", "property due > 2026-01-31"),
        ("[status:draft OR final]", '(property status = "draft" or property status = "final")'),
        ("[status:(draft OR final)]", '(property status = "draft" or property status = "final")'),
        ("[n:(a OR b) OR c]", '(property n = "a" or property n = "b" or property n = "c")'),
        (
            "[n:a OR ((b OR <5) OR (null))]",
            '(property n = "a" or property n = "b" or property n < 5 or property n without value)',
        ),
        ('[n:("a)" OR b (c))]', '(property n = "a)" or property n = "b (c)")'),
        ("[n:(a) b]", 'property n = "(a) b"'),
        ('["due date":"a OR b" OR c]', '(property due date = "a OR b" or property due date = "c")'),
        ("[author:[[Ada Lovelace]]]", 'property author = "[[Ada Lovelace]]"'),
        ("[url:http://x.org]", 'property url = "http://x.org"'),
        ("[status:]", "property status"),
        ('["due date":/^20[0-9]+/]', "property due date matching /^20[0-9]+/"),
        (r"[a:/b\/c/ OR d]", '(property a matching /b/c/ or property a = "d")'),
        ("[a:/b] [c]", 'property a = "/b"; property c'),
        (r"path:/h\.md|l\.md/", r"path matching /h\.md|l\.md/"),
        ("path:/Daily/", 'in folder "Daily"'),
        ("-heading:(/^to do/ OR done)", 'not (heading matching /^to do/ or heading with "done")'),
        (
            "tag:/^a/ file:/b$/ alias:/c d/",
            "tag matching /^a/; file name matching /b$/; alias matching /c d/",
        ),
        ("[x:<foo]", 'property x = "<foo"'),
    ],
)
def test_properties(text, expected):
    assert understood(text) == f"| {expected}"


@pytest.mark.parametrize(
    ("text", "expected", "repair"),
    [
        ('keel "square rig', 'keel square rig | text "square rig"', "quotation"),
        ("keel (mast (sail", "keel mast sail |", "parenthesis is not closed"),
        ("keel) mast", "keel mast |", "an unmatched closing parenthesis"),
        ("keel [status:draft", 'keel | property status = "draft"', "bracket"),
        (
            "slug before:someday",
            "slug before:someday |",
            "before:someday was treated as words; expected a date",
        ),
        ('slug after:"the flood"', "slug after: the flood |", "was treated as words"),
        ("tag:#", "tag:# |", "was treated as words"),
        ("[n:>abc]", '| property n = ">abc"', "[n:>abc] was compared as plain text; expected a number"),
        ("[n:>7d OR <3]", '| (property n = ">7d" or property n < 3)', "[n:>7d] was compared as plain text"),
        (
            "[n:>2026-11 junk]",
            '| property n = ">2026-11 junk"',
            "[n:>2026-11 junk] was compared as plain text",
        ),
        ("[n:(a OR b]", '| (property n = "(a" or property n = "b")', "[n:(a] was compared as plain text"),
        ("[n:-done]", '| property n = "-done"', "write the - before the bracket"),
        ("[n:a -b]", '| property n = "a -b"', "write the - before the bracket"),
        ("[n:/(/]", '| property n = "/(/"', "it is not a valid regular expression"),
        ("match-case:Foo", "match-case:Foo |", "always ignore case"),
        ("ignore-case:foo", "ignore-case:foo |", "always ignore case"),
        ("keel task-todo:", "keel task-todo: |", "task-todo: was treated as a word"),
        ("tag:", "tag: |", "tag: was treated as a word"),
        ("[n:>=]", '| property n = ">="', "expected a number"),
        ("tags:work", "tags:work |", "tags:work was treated as a word; did you mean tag:work?"),
        ("tag: work", "tag: work |", "tag: was treated as a word; write the value directly after the colon"),
        ("n:>3 keel", "n:>3 keel |", "n:>3 was treated as a word; write a property filter as [n:>3]"),
        ("path:(", "path:( |", "parenthesis"),
        ("OR keel", "OR keel |", "OR was treated as a word; put it between two terms"),
        ("keel OR", "keel OR |", "OR was treated as a word"),
        ("(keel OR) mast", "keel OR mast |", "OR was treated as a word"),
        (
            "keel NOT mast",
            "keel NOT mast |",
            "NOT was treated as a word; write - before a term to exclude it",
        ),
        ("(keel NOT tag:mast) sail", "keel NOT sail | tag mast", "NOT was treated as a word"),
        ("k* mast", "k* mast |", '"k*" was treated as the word "k"; a prefix needs at least two letters'),
        ("keel not mast", "keel not mast |", "not was treated as a word; write -mast to exclude mast"),
        (
            "notes not about the mast",
            "notes not about the mast |",
            "not was treated as a word; write -mast to exclude mast",
        ),
        ("keel without the mast", "keel without the mast |", "write -mast to exclude mast"),
        ("which keel has no mast, without sail", "which keel has no mast, without sail |", "-sail"),
    ],
)
def test_what_does_not_fit_is_repaired_and_said(text, expected, repair):
    assert repair in " ".join(read(text).notes)
    assert understood(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[n:>3]",
        "[n:>1e3]",
        "[n:>.5]",
        "[n:-5]",
        '[n:">abc"]',
        "[n:<2026-01]",
        "[n:>2026-11-15 10:30]",
        "std::vector",
        "todo:sails",
        "at 12:30",
        "OR",
        '"OR" keel',
        "keel or mast OR sail",
        "why does the keel not hold",
        "without",
        "keel NOT",
        "DO NOT ENTER",
        "ke* mast",
        "line:k*",
    ],
)
def test_what_is_understood_is_not_remarked_on(text):
    assert read(text).notes == ()


@pytest.mark.parametrize(
    "text", ["", "   ", "\x00\n", "*", "?!", "()", "-", "- -", '"', "[]", "[ ]", ")", "OR -"]
)
def test_nothing_to_search_for_is_empty_and_no_error(text):
    query = read(text)
    assert query.is_empty or query.rank_text == "OR"
    assert not query.is_listing


def test_filters_alone_are_a_listing():
    assert read("tag:x -rope").is_listing
    assert read("tag:x line:(keel mast) OR task:call").is_listing
    assert not read("keel line:(keel mast)").is_listing
    assert not read("keel tag:x").is_listing


def test_interpreted_tells_the_whole_reading():
    assert read('keel "square rig" -rope (x').interpreted == {
        "rank_text": "keel square rig x",
        "phrases": ["square rig"],
        "filters": ['text "square rig"', 'not text "rope"'],
        "notes": ["a parenthesis is not closed: everything after it was read as its content"],
    }


def test_control_characters_and_lone_surrogates_are_white_space():
    assert read("keel\x00mast\ud800\x1bsail\n").rank_text == "keel mast sail"


def test_the_filter_is_made_of_values():
    assert read("-tag:a").filter == Not(Tag("a"))
    assert read("[n:<5]").filter == PropertyCompare("n", "<", "5")


@pytest.mark.fault("H2")
def test_too_long_a_query_is_refused_before_it_is_read():
    assert read("x" * limits.QUERY_CHARS).rank_text
    for text in ("x" * (limits.QUERY_CHARS + 1), "(" * 20_000, "x " * 500_000):
        with pytest.raises(BadQuery, match="characters"):
            read(text)


def test_too_many_conditions_are_refused_and_many_plain_words_are_not():
    assert read("word " * 150).rank_text.count("word") == 150
    assert read("-x " * limits.QUERY_TERMS)
    for text in (
        "".join(f"-w{i} " for i in range(33)),
        "line:(" + " ".join(f"w{i}" for i in range(33)) + ")",
    ):
        with pytest.raises(BadQuery, match="conditions"):
            read(text)


@pytest.mark.fault("H2")
def test_too_deep_a_nesting_is_refused():
    assert read("(" * limits.QUERY_DEPTH + "keel").rank_text == "keel"
    with pytest.raises(BadQuery, match="nest"):
        read("(" * (limits.QUERY_DEPTH + 1) + "keel")


PIECES = [
    *(
        '"',
        "(",
        ")",
        "[",
        "]",
        "[[",
        "]]",
        "-",
        " ",
        "OR",
        " OR ",
        ":",
        "tag:",
        "path:",
        "line:",
        "task-todo:",
    ),
    *(
        "[a:",
        "<",
        "keel",
        "#x",
        "*",
        ".pdf",
        "before:",
        "7d",
        "\\",
        "/",
        "'",
        "\x00",
        "安",
        "\ud800",
        "null",
        "https://",
    ),
]


@pytest.mark.fault("H1")
@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join) | st.text(max_size=120))
@example('tag:"')
@example("-[")
@example("task:([)")
def test_whatever_is_typed_is_understood_somehow(text):
    try:
        query = read(text)
    except BadQuery:
        return
    assert read(text) == query
    assert query.rank_text == " ".join(query.rank_text.split())
    query.rank_text.encode()
    assert all(isinstance(line, str) and line for line in query.interpreted["filters"] + list(query.notes))


@given(st.lists(st.sampled_from(["keel", "mast", "don't", "12:30", "foo:bar", "link*", "a-b"]), min_size=1))
def test_plain_words_go_through_unchanged(words):
    text = " ".join(words)
    assert read(text) == Query(text=text, rank_text=text)


def conditions(filter_: Filter | None) -> str:
    return str(filter_)


@given(st.lists(st.sampled_from(["tag:a", "-b", "[c]", '"d e"', "path:f/"]), min_size=1, max_size=8))
def test_terms_side_by_side_all_hold_whatever_their_order(terms):
    parts = {conditions(read(term).filter) for term in terms}
    assert set(read(" ".join(terms)).interpreted["filters"]) == parts
