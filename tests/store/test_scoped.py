"""The part of a ledger that belongs to some folders: no statement, whatever it reads, sees anything else."""

import sqlite3

import pytest

FILES = {
    "Shared/A.md": "# A\n[[B]] and [[Hidden]] #one",
    "Shared/Sub/B.md": "# B\n[[A]] #two",
    "SharedNot/C.md": "# C\n[[A]] #three",
    "Private/Hidden.md": "# Hidden\n[[A]] #four",
    "It's/D.md": "# D\n[[Hidden]]",
}


@pytest.fixture
def ledger(world):
    return world(FILES).vault.ledger


def paths(ledger) -> set[str]:
    return {path for (path,) in ledger.select("SELECT path FROM notes")}


def test_a_folder_is_its_whole_subtree_and_no_other_that_begins_like_it(ledger):
    assert paths(ledger.within(("Shared",))) == {"Shared/A.md", "Shared/Sub/B.md"}
    assert paths(ledger.within(("Shared/Sub", "It's"))) == {"Shared/Sub/B.md", "It's/D.md"}
    assert paths(ledger.within(("shared",))) == paths(ledger.within(())) == set()
    assert paths(ledger) == set(FILES)


def test_every_table_has_rows_of_these_notes_only(ledger):
    part = ledger.within(("Shared",))
    ids = set(part.notes.ids())
    tables = [name for (name,) in ledger.select("SELECT name FROM main.sqlite_master WHERE type = 'table'")]
    assert {"notes", "chunks", "links", "tags", "names", "vectors", "problems"} <= {*tables}
    for table in tables:
        if table == "meta" or table.startswith("sqlite_"):
            continue
        columns = [row[1] for row in ledger.select(f"PRAGMA table_info({table})")]
        for row in part.select(f"SELECT * FROM {table}"):
            values = dict(zip(columns, row, strict=True))
            assert values.get("note", values.get("id")) in ids or values["path"].startswith("Shared/")


def test_links_out_of_the_folders_lead_nowhere(ledger):
    part = ledger.within(("Shared",))
    links = {
        (link.source, link.link.target): link.resolved for link in part.links.from_notes(part.notes.ids())
    }
    assert links == {
        ("Shared/A.md", "B"): "Shared/Sub/B.md",
        ("Shared/A.md", "Hidden"): None,
        ("Shared/Sub/B.md", "A"): "Shared/A.md",
    }
    assert [link.source for link in part.links.to_paths(["Shared/A.md", "Private/Hidden.md"])] == [
        "Shared/Sub/B.md"
    ]
    assert len(part.links.edges()) == 2
    assert part.counts().notes == 2


@pytest.mark.fault("K15")
def test_a_name_that_a_note_outside_has_too_leads_where_it_would_without_that_note(world):
    files = {
        "Shared/A.md": "[[B]] [b](B.md) [[Boss]] [[Hidden]]\n",
        "Shared/Sub/B.md": "---\naliases: [Boss]\n---\n",
        "B.md": "[[A]]\n",
        "Private/Boss.md": "",
        "Private/Hidden.md": "",
    }
    ledger = world(files).vault.ledger
    whole = ledger.links.from_notes(ledger.notes.ids())
    assert {link.resolved for link in whole if link.source == "Shared/A.md"} == {
        "B.md",
        "Private/Boss.md",
        "Private/Hidden.md",
    }
    part = ledger.within(("Shared",))
    links = part.links.from_notes(part.notes.ids())
    assert [(link.link.target, link.resolved) for link in links] == [
        ("B", "Shared/Sub/B.md"),
        ("B.md", "Shared/Sub/B.md"),
        ("Boss", "Shared/Sub/B.md"),
        ("Hidden", None),
    ]
    assert len(part.links.to_paths(["Shared/Sub/B.md"])) == 3
    assert len(part.links.edges()) == 1
    assert ledger.within(("Private",)).links.edges() == []


def test_targets_are_found_by_their_index(ledger):
    part = ledger.within(("Shared",))
    plan = " ".join(
        str(row[3]) for row in part.select("EXPLAIN QUERY PLAN SELECT note FROM links WHERE resolved = 'x'")
    )
    assert "links_by_resolved" in plan


def test_nothing_can_be_written_through_it(ledger):
    part = ledger.within(("Shared",))
    with pytest.raises(sqlite3.OperationalError):
        part.select("DELETE FROM main.notes")
    with pytest.raises(sqlite3.OperationalError):
        part.select("INSERT INTO temp.scope VALUES ('', 'z')")
    assert paths(ledger) == set(FILES)
