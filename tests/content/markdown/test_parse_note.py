"""A whole note: its title, lines, limits and problems."""

import pytest

from vaultseek.base.limits import (
    NOTE_HEADINGS,
    NOTE_LINES,
    NOTE_LINKS,
    NOTE_PARSE_BYTES,
    NOTE_PROBLEMS,
    NOTE_TAGS,
)
from vaultseek.base.model import Problem
from vaultseek.content.markdown.parse import parse


@pytest.mark.parametrize(
    ("text", "title", "source"),
    [
        ("---\ntitle: A b\n---\n# C", "A b", "frontmatter"),
        ('---\ntitle: "R&amp;D **plan** of [[Net|brass]]"\n---\n# C', "R&D plan of brass", "frontmatter"),
        ("---\nTitle: 007\n---\n# C", "007", "frontmatter"),
        ("---\ntitle: ''\n---\n# C", "C", "heading"),
        ("---\ntitle: [a]\n---\n# C", "C", "heading"),
        ("# The **real** [[n|one]] `x` ^id", "The real one x", "heading"),
        ("# Leek soup #recipe/soup", "Leek soup", "heading"),
        ("# #draft Plan for #2027 and C#", "Plan for #2027 and C#", "heading"),
        ("# #draft", "#draft", "heading"),
        ("# First\n# Second", "Day one", "name"),
        ("\n\nOver\ntwo lines\n===", "Over two lines", "heading"),
        ("<!-- c\n\nc -->\n%%\nc\n%%\n%% c %%\n\n[a]: b.md\n\n# T", "T", "heading"),
        ("---\na: b\n---\n\n<!-- c -->\n# T", "T", "heading"),
        ("<!-- c --> seen\n# T", "Day one", "name"),
        ("<!--<!-- never closed\n\n# T", "Day one", "name"),
        ("text\n\n# T", "Day one", "name"),
        ("#tag\n\n# T", "Day one", "name"),
        ("![](a.png)\n# T", "T", "heading"),
        ("![[a.png|100]]\n\n# T", "T", "heading"),
        ("[![CI](a.svg)](b) [![Docs][c]][d]\n![e](f.png)\n\n# T", "T", "heading"),
        ('<p align="center">\n<img src="a.svg" alt="Logo"><br/>\n</p>\n\n# T', "T", "heading"),
        ("<div>\n\n# T", "T", "heading"),
        ("[^1]: A footnote\nof two lines.\n\n# T", "T", "heading"),
        ("![](a.png) seen\n# T", "Day one", "name"),
        ("[a](b.md)\n# T", "Day one", "name"),
        ("<p>seen</p>\n\n# T", "Day one", "name"),
        ("> # T", "Day one", "name"),
        ("- # T", "Day one", "name"),
        ("## small\n# Big", "Day one", "name"),
        ("Small\n---\n# Big", "Day one", "name"),
        ("#\n# T", "Day one", "name"),
        ("# ![[a.png]]<!-- c -->", "a.png", "heading"),
        ("# <!-- c -->", "Day one", "name"),
        ("text", "Day one", "name"),
        ("", "Day one", "name"),
    ],
)
def test_sources_of_the_title(text: str, title: str, source: str) -> None:
    note = parse(text, "Trips/Day one.md")
    assert (note.title, note.title_source) == (title, source)


@pytest.mark.fault("D1")
@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ()),
        ("\ufeff", ()),
        ("a", ("a",)),
        ("a\n\nb\n", ("a", "", "b")),
        ("a\r\nb\rc\n\rd", ("a", "b", "c", "", "d")),
        ("a\u2028b\x85c\x0bd\x0ce", ("a\u2028b\x85c\x0bd\x0ce",)),
        ("a\0b\ud800", ("a\ufffdb\ufffd",)),
    ],
)
def test_lines_end_where_editors_end_them(text: str, lines: tuple[str, ...]) -> None:
    assert parse(text, "n.md").lines == lines


@pytest.mark.parametrize(
    ("text", "kind", "bound"),
    [
        ("[[a]] " * (NOTE_LINKS + 1), "links", NOTE_LINKS),
        (" ".join(f"#t{n}" for n in range(NOTE_TAGS + 1)), "tags", NOTE_TAGS),
        ("# a\n" * (NOTE_HEADINGS + 1), "headings", NOTE_HEADINGS),
    ],
)
def test_elements_beyond_the_limit_are_dropped_with_a_problem(text: str, kind: str, bound: int) -> None:
    note = parse(text, "n.md")
    assert len(getattr(note, kind)) == bound
    assert [problem.code for problem in note.problems] == [f"too_many_{kind}"]


def test_a_note_beyond_the_bound_is_not_read() -> None:
    note = parse("é" * (NOTE_PARSE_BYTES // 2 + 1), "a/Big.md")
    assert (note.title, note.lines, [problem.code for problem in note.problems]) == ("Big", (), ["too_large"])


def test_lines_beyond_the_bound_are_text_without_structure() -> None:
    note = parse("a\n\n" * (NOTE_LINES // 2) + "# late [[link]]\n", "n.md")
    assert (note.headings, note.links) == ((), ())
    assert note.spans[-1].kind == "other"
    assert [problem.code for problem in note.problems] == ["too_long"]


def test_decoding_problems_come_first_and_are_bounded() -> None:
    decoding = [Problem("bad_encoding", "x")] * NOTE_PROBLEMS
    assert parse("---\na: [\n---\n", "n.md", decoding).problems == tuple(decoding)
    assert [problem.code for problem in parse("---\na: [\n---\n", "n.md", decoding[:1]).problems] == [
        "bad_encoding",
        "bad_frontmatter",
    ]
