"""Positions of links and tags: the text at a position is the link, in every container and every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.base.model import Place
from vaultseek.content.markdown.parse import parse

TEXT = ["🧗", "漢字", "e\u0301", " ", "|", "**", "text", "\t"]
LINKS = [
    "[[a]]",
    "![[b.png]]",
    "[[a#h|c]]",
    "[t](d.md)",
    "![i](<p q.png>)",
    "[r][x]",
    "#tag",
    "`[[no]]`",
    "\\[[n]]",
]
PIECES = st.lists(st.sampled_from([*TEXT, *LINKS]), max_size=8)
STARTS = st.sampled_from(["", "# ", "> ", ">> ", "- ", "- [ ] ", "  - ", "1. ", "| ", "    ", "## [[a]] "])


@given(st.lists(st.tuples(STARTS, PIECES), max_size=6), st.sampled_from(["", "---\nup: '[[a]]'\n---\n"]))
def test_a_link_stands_where_its_place_is(rows, front):
    body = "\n".join(start + "".join(pieces) for start, pieces in rows)
    note = parse(f"{front}{body}\n\n[x]: y.md\n", "n.md")
    for link in note.links:
        assert link.place is not None
        assert link.written is not None
        raw, written = at(note, link.place), at(note, link.written)
        assert link.place.line == link.line
        if raw.startswith(("[[", "![[")):
            assert raw.lstrip("!") == f"[[{written}]]"
        elif raw.endswith("]"):
            assert written == "y.md"
        else:
            assert raw.endswith((f"({written})", f"(<{written}>)")) or link.place.end == len(
                note.lines[link.line - 1]
            )
    for tag, place in note.placed_tags:
        assert at(note, place._replace(start=place.start - 1)) == f"#{tag}"


def at(note, place: Place) -> str:
    return note.lines[place.line - 1][place.start : place.end]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("> - 漢字 [[a]]", (1, 7, 12)),
        ("`[[a]]` [[a]]", (1, 8, 13)),
        ("## x [[a]] ##", (1, 5, 10)),
        ("a\n> b\n> [[a]]", (3, 2, 7)),
        ("| x | [[a\\|b]] |\n| --- | --- |", (1, 6, 14)),
        ("x [[a]]  \n===", (1, 2, 7)),
    ],
)
def test_columns_are_those_of_the_line_in_the_file(text, place):
    (link,) = parse(text, "n.md").links
    assert link.place == place


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ('"see [[a]]": "[[a]]"', [14]),
        ('l: ["[[a]]", "[[a]]"]', [5, 14]),
        ("'[[a]]':\t\t'[[a]]'", [11]),
        ("漢字: ['🧗', &x '[[a]]', '[[a]]']", [14, 23]),
    ],
)
def test_a_link_in_a_property_stands_where_its_value_is(line, columns):
    note = parse(f"---\n{line}\n---\n", "n.md")
    assert [link.place for link in note.links] == [(2, start, start + 5) for start in columns]


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("'[[Bob''s|x]]'", "Bob''s|x"),
        ('"[[The \\"x\\"]]"', 'The \\"x\\"'),
        ("'[it''s](Bob''s.md)'", "Bob''s.md"),
        ('"[\\"x\\"](<Bob\'s note.md>)"', "Bob's note.md"),
        ("['[[Bob''s]]', \"[[Bob's]]\"]", "Bob''s"),
    ],
)
def test_a_link_is_found_between_quotation_marks_that_it_contains(value, written):
    note = parse(f"---\nup: {value}\n---\n", "n.md")
    assert note.links[0].written is not None
    assert at(note, note.links[0].written) == written
