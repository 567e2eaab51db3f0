"""Completion as one types: what comes first, what is forgiven, and that it follows the vault."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.notes.complete import Completer, Entry, VaultCompleter
from vaultseek.text import fold


def texts(found: list[dict[str, Any]]) -> list[str]:
    return [item["text"] for item in found]


def of(*names: str, typed: str, limit: int = 10) -> list[str]:
    return [match.entry.text for match in Completer(map(Entry, names)).complete(typed, limit)]


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("ga", ["Gate", "Garden", "The Gate", "Begat"]),
        ("GAR", ["Garden"]),
        ("gdn", ["Garden"]),
        ("gqarden", ["Garden"]),
        ("gaden", ["Garden"]),
        ("the g", ["The Gate"]),
        ("öf", ["Öffnung"]),
        ("zzz", []),
        ("", ["Gate", "Begat", "Garden", "Öffnung", "The Gate"]),
    ],
)
def test_beginnings_come_before_words_before_parts_before_letters_in_order(typed, expected):
    assert of("Garden", "Gate", "Begat", "The Gate", "Öffnung", typed=typed) == expected


def test_heavier_entries_come_first_among_equals():
    found = Completer([Entry("work", 1), Entry("workshop", 9)]).complete("wo", 2)
    assert [match.entry.text for match in found] == ["workshop", "work"]
    assert Completer(()).complete("x", 5) == []


@given(st.lists(st.text(max_size=6), max_size=8), st.text(max_size=4), st.integers(0, 5))
def test_nothing_that_begins_with_what_was_typed_is_missing_while_there_is_room(names, typed, limit):
    found = of(*names, typed=typed, limit=limit)
    beginning = [name for name in names if fold(name).startswith(fold(typed))]
    assert len(found) <= limit
    assert set(found) <= set(names)
    if len(beginning) <= limit:
        assert sorted(beginning) == sorted(found[: len(beginning)])
    else:
        assert all(fold(name).startswith(fold(typed)) for name in found)


def test_titles_aliases_and_file_names_with_their_notes(world):
    here = world({"pump.md": "---\naliases: [Bilge]\n---\n# Float Switch\n", "sub/Pumice.md": ""})
    completer = VaultCompleter(here.ledger)
    assert completer.complete("note", "pum", 10) == [
        {"text": "pump", "match": "prefix", "path": "pump.md", "title": "Float Switch", "is": "name"},
        {"text": "Pumice", "match": "prefix", "path": "sub/Pumice.md", "title": "Pumice", "is": "name"},
    ]
    assert [item["is"] for item in completer.complete("note", "switch", 10)] == ["title"]
    assert [item["path"] for item in completer.complete("note", "bil", 10)] == ["pump.md"]
    assert len(completer.complete("note", "p", 1)) == 1


@pytest.mark.parametrize("recent", [0, 500])
def test_completion_follows_the_vault(world, monkeypatch, recent):
    monkeypatch.setattr("vaultseek.notes.complete.COMPLETION_RECENT", recent)
    here = world({"alpha.md": "", "beta.md": "---\naliases: [Alp]\n---"})
    completer = VaultCompleter(here.ledger)
    assert texts(completer.complete("note", "al", 10)) == ["Alp", "alpha"]
    here.write({"beta.md": "# Alpine", "alpha.md": None, "almond.md": ""})
    assert texts(completer.complete("note", "al", 10)) == ["almond", "Alpine"]
    (here.root / "almond.md").rename(here.root / "walnut.md")
    here.index()
    assert texts(completer.complete("note", "al", 10)) == ["Alpine", "walnut"]


def test_completion_follows_the_vault_after_removals_were_pruned(world, monkeypatch):
    monkeypatch.setattr("vaultseek.index.ledger.notes.REMOVED_NOTES", 0)
    here = world({"alpha.md": "", "almond.md": ""})
    completer = VaultCompleter(here.ledger)
    assert texts(completer.complete("note", "al", 10)) == ["alpha", "almond"]
    here.write({"alpha.md": None})
    assert here.ledger.select("SELECT * FROM removed") == []
    assert texts(completer.complete("note", "al", 10)) == ["almond"]


def test_tags_properties_values_and_headings(world):
    here = world(
        {
            "a.md": "---\nstatus: open\nstage: [one, Two]\ntags: [work/pumps]\n---\n# One\n## Two\n",
            "b.md": "---\nstatus: done\n---\n#work #Water\n",
            "c.md": "---\nStatus: done\n---\n",
        },
    )
    completer = VaultCompleter(here.ledger)
    assert completer.complete("tag", "#w", 10) == [
        {"text": "work", "match": "prefix", "count": 2},
        {"text": "Water", "match": "prefix", "count": 1},
        {"text": "work/pumps", "match": "prefix", "count": 1},
    ]
    assert texts(completer.complete("property", "sta", 10)) == ["status", "stage"]
    assert completer.complete("value", "", 10, name="STATUS") == [
        {"text": "done", "match": "prefix", "count": 2},
        {"text": "open", "match": "prefix", "count": 1},
    ]
    assert texts(completer.complete("value", "t", 10, name="stage")) == ["Two"]
    note = here.ledger.notes.by_path("a.md")
    assert note is not None
    assert completer.complete("heading", "tw", 10, note=note.id) == [
        {"text": "Two", "match": "prefix", "level": 2, "line": 7}
    ]
    here.write({"d.md": "#wind"})
    assert "wind" in texts(completer.complete("tag", "w", 10))
