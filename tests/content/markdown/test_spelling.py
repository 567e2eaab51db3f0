"""Spellings of link targets: the shortest unambiguous one, and after a move one in the style of the old
link."""

import pytest

from vaultseek.content.markdown.links import markdown_link, wikilink
from vaultseek.content.markdown.resolve import Names
from vaultseek.content.markdown.spelling import (
    LinkStyle,
    destination,
    linkable_heading,
    moved_target,
    new_target,
    rewritten,
    shortest_target,
    with_fragment,
)


def names(*paths: str, **aliases: str) -> Names:
    made = Names()
    for path in paths:
        made.add(path, [alias for alias, of in aliases.items() if f"{of}.md" == path])
    return made


@pytest.mark.parametrize(
    ("path", "target"),
    [
        ("a/Pump.md", "Pump"),
        ("a/Tea.md", "a/Tea"),
        ("b/Tea.md", "b/Tea"),
        ("x/y.png", "y.png"),
        ("Z.md", "Z"),
    ],
)
def test_the_shortest_target_is_not_ambiguous(path, target):
    assert (
        shortest_target(path, "n.md", names("a/Pump.md", "a/Tea.md", "b/Tea.md", "x/y.png", "Z.md")) == target
    )


@pytest.mark.parametrize(
    ("style", "target"),
    [
        (LinkStyle(), "Pump"),
        (LinkStyle("absolute"), "a/Pump"),
        (LinkStyle("relative"), "../a/Pump"),
        (LinkStyle("relative", True), "../a/Pump.md"),
        (LinkStyle("shortest", True), "Pump.md"),
    ],
)
def test_a_new_link_is_written_as_the_vault_wants(style, target):
    assert new_target("a/Pump.md", "b/n.md", names("a/Pump.md", "b/n.md"), style) == target


@pytest.mark.parametrize(
    ("written", "source", "after"),
    [
        ("Pump", "n.md", "Valve"),
        ("Pump.md", "n.md", "Valve.md"),
        ("a/Pump", "n.md", "b/Valve"),
        ("/a/Pump", "n.md", "/b/Valve"),
        ("./a/Pump", "n.md", "./b/Valve"),
        ("../a/Pump", "c/n.md", "../b/Valve"),
        ("Other", "n.md", "Other"),
    ],
)
def test_a_link_keeps_its_manner_when_its_note_moves(written, source, after):
    link = wikilink(written, "wikilink", 1)
    assert link is not None
    now = names("b/Valve.md", "n.md", "c/n.md", "Other.md")
    before = names("a/Pump.md", "n.md", "c/n.md", "Other.md")
    path = before.resolve(written, source).path
    moves = {"a/Pump.md": "b/Valve.md"}
    assert moved_target(link, (source, path), (source, moves.get(path, path)), now) == after


def test_a_markdown_link_stays_relative_when_its_own_note_moves():
    link = markdown_link("Pump.md", "markdown", "x", 1)
    assert link is not None
    now = names("a/Pump.md", "b/n.md", "b/Pump.md")
    assert moved_target(link, ("a/n.md", "a/Pump.md"), ("b/n.md", "a/Pump.md"), now) == "../a/Pump.md"


@pytest.mark.parametrize(
    ("written", "markdown", "new"),
    [
        ("Pump", False, "Valve"),
        ("Pump#Alarm|x", False, "Valve#Alarm|x"),
        ("Pump\\|x", False, "Valve\\|x"),
        ("Pump.md#alarm", True, "Valve#alarm"),
        ("Bob&#39;s%20note.md#a&#39;s", True, "Valve#a&#39;s"),
        ("Bob&#x27;s.md", True, "Valve"),
        ("a&#alarm", True, "Valve#alarm"),
    ],
)
def test_fragment_and_text_of_a_link_stay(written, markdown, new):
    assert rewritten(written, "Valve", markdown=markdown) == new


def test_a_destination_is_encoded_where_it_has_to_be():
    assert destination("ä b/(c) 50%.md") == "ä%20b/%28c%29%2050%25.md"
    assert rewritten("a b.md", "c d.md", markdown=True) == "c d.md"
    assert rewritten("a.md", "c d.md", markdown=True) == "c%20d.md"


def test_a_fragment_is_written_as_before():
    assert with_fragment("Pump#Alarm|x", "New name", markdown=False) == "Pump#New name|x"
    assert with_fragment("Pump.md#old-name", "New name", markdown=True) == "Pump.md#new-name"
    assert with_fragment("Pump.md#Old%20name", "New name", markdown=True) == "Pump.md#New%20name"
    assert with_fragment("Bob&#39;s.md#old-name", "New name", markdown=True) == "Bob&#39;s.md#new-name"
    assert linkable_heading("A [b] | c#d ^e") == "A b c d e"
