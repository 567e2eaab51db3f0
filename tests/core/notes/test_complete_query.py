"""Completion of the filter before the cursor, for every operator, quoted where the grammar requires it."""

import json

import pytest

from vaultseek.content.query.filters import PropertyEquals
from vaultseek.content.query.grammar import parse_query
from vaultseek.content.query.operators import ABOUT, OPERATORS
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.core.notes.complete_query import complete_query

NOTES = {
    "Projects/Sump/Float Switch.md": "---\nstatus: open\n---\n# Float\n## Wiring of it\n#work/pumps",
    "My notes/Sketch.canvas": '{"nodes": []}',
    "Old.md": "---\nstatus: done\n---\n#daily",
}


@pytest.fixture
def completer(world):
    return VaultCompleter(world(NOTES).ledger)


def after(before: str, completer: VaultCompleter) -> list[str]:
    """Return the query up to the cursor after each completion."""
    items = complete_query(before, completer, 20)
    return [before[: len(before) - item["replaces"]] + item["text"] for item in items]


@pytest.mark.parametrize(
    ("before", "completed"),
    [
        ("pump tag:wo", ["pump tag:work", "pump tag:work/pumps"]),
        ("-tag:#wo", ["-tag:#work", "-tag:#work/pumps"]),
        ("a [sta", ["a [status:"]),
        ("-[status:o", ["-[status:open]", "-[status:done]"]),
        ("link:Flo", ["link:Float", 'link:"Float Switch"']),
        ('x link:"Float S', ['x link:"Float Switch"']),
        ("heading:wir", ['heading:"Wiring of it"']),
        ("(path:Sum", ["(path:Projects/Sump/"]),
        ("path:my", ['path:"My notes/"']),
        ("pump -kind:ca", ["pump -kind:canvas"]),
        ("IS:s", ["IS:superseded", "IS:stale"]),
        ("ext:c", ["ext:canvas"]),
        ("modified:last", ['modified:"last week"', 'modified:"last month"']),
        ("-ta", ["-tag:", "-task-todo:", "-task-done:", "-task:"]),
        ("pump ", []),
        ("-", []),
        ("plain words", []),
        ("http://x", []),
        ('"in a phrase', []),
    ],
)
def test_the_filter_at_the_end_is_completed(completer, before, completed):
    assert after(before, completer) == completed


def test_an_empty_query_gets_every_operator_with_its_meaning(completer):
    items = complete_query("", completer, 100)
    assert {item["text"].rstrip(":") for item in items} == OPERATORS.keys() == ABOUT.keys()
    assert all(item["about"] and item["is"] == "operator" for item in items)


@pytest.mark.parametrize("operator", ["kind", "is", "modified", "created", "before", "after", "ext"])
def test_a_completed_value_is_valid(completer, operator):
    for text in after(f"{operator}:", completer):
        query = parse_query(text)
        assert (query.filter is None, query.rank_text, query.notes) == (False, "", ()), text


@pytest.mark.parametrize(
    "value", ["[Draft] Foo", "[[Index]]", 'say "hi] x', "this OR that", "null", ">5", "/re/"]
)
def test_a_completed_value_is_found_as_it_is(world, value):
    completer = VaultCompleter(world({"a.md": f"---\naliases: [{json.dumps(value)}]\n---\n"}).ledger)
    (text,) = after('[aliases:"', completer)
    query = parse_query(text)
    assert query.filter == PropertyEquals("aliases", value)
    assert not query.rank_text


def test_folders_and_extensions_follow_the_vault(world):
    vault = world(NOTES)
    completer = VaultCompleter(vault.ledger)
    assert after("path:new", completer) == after("ext:tx", completer) == []
    vault.write({"New/a.txt": "x", "My notes/Sketch.canvas": None})
    assert after("path:new", completer) == ["path:New/"]
    assert after("ext:", completer) == ["ext:md", "ext:txt"]
