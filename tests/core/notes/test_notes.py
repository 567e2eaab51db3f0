"""Questions about notes, answered from a ledger."""

import contextlib
import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.core.notes.links import backlinks, neighbours, orphans, outgoing, unresolved
from vaultseek.core.notes.lookup import vault_path
from vaultseek.core.notes.mentions import mentions_of, names_of, unlinked
from vaultseek.core.notes.read import note
from vaultseek.core.notes.targets import problems
from vaultseek.errors import BadPath, NotFound, Unavailable, UsageError
from worlds import World, write_files


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("a.md", "a.md"),
        ("A", "a.md"),
        ("x/b", "x/b.md"),
        ("b", "x/b.md"),
        ("B.MD", "x/b.md"),
        ("The Letter", "a.md"),
        ("the letter", "a.md"),
        ("Brief", "x/b.md"),
        ("straße", "Strasse.md"),
        ("./x//b.md", "x/b.md"),
        ("c", "c.md"),
        ("y/c", "y/c.md"),
        ("pumps/sump", "pages/pumps___sump.md"),
        ("pumps___sump", "pages/pumps___sump.md"),
        ("why?", "why%3F.md"),
        ("dev.pump", "dev.pump.md"),
    ],
)
def test_a_note_goes_by_path_title_alias_and_file_name(world, name, path):
    notes = {
        "a.md": "# The Letter",
        "x/b.md": "---\naliases: Brief\n---",
        "Strasse.md": "",
        "c.md": "",
        "y/c.md": "",
        "pages/pumps___sump.md": "# Sump",
        "why%3F.md": "",
        "dev.pump.md": "---\ntitle: Pump\n---",
    }
    assert world(notes).note(name).path == path


def test_what_could_be_several_notes_or_none_is_reported(world):
    here = world({"x/log.md": "", "y/log.md": "", "z.md": "# Log", ".hidden.md": ""})
    with pytest.raises(UsageError, match=r"3 notes.*z.md, x/log.md, y/log.md"):
        here.note("log")
    assert here.note("x/log").path == "x/log.md"
    with pytest.raises(NotFound, match="nothing"):
        here.note("nothing")
    with pytest.raises(NotFound):
        here.note(str(here.root / "none.md"))


@given(st.lists(st.sampled_from([*"ab./\\ ~\0\n", "..", "../", "/etc"]), max_size=8).map("".join))
def test_a_path_never_leads_out_of_the_vault(name):
    root = Path("/home/ana/notes")
    with contextlib.suppress(BadPath):
        path = vault_path(name, root)
        assert path
        assert not path.startswith("/")
        assert ".." not in path.split("/")
        assert "\0" not in path


def test_an_absolute_path_inside_is_taken_without_looking():
    root = Path("/nowhere/notes")
    assert vault_path("/nowhere/notes/a/b.md", root) == "a/b.md"
    for outside in ("/nowhere/notes", "/nowhere/notes2/a.md", "/nowhere/notes/../a.md", "/a.md"):
        with pytest.raises(BadPath):
            vault_path(outside, root)


def test_a_note_is_read_by_lines_as_it_is_now(world):
    here = world({"a.md": "---\nn: 1e999\nm: [.inf, 1.5]\n---\r\n# One\r\ntwo\r\nthree"})
    row = here.note("a")
    whole = note(row, here.ledger, here.root)
    assert (whole["lines"], whole["start_line"], whole["end_line"]) == (7, 1, 7)
    json.dumps(whole, allow_nan=False)
    part = note(row, here.ledger, here.root, 6, 6)
    assert (part["text"], part["start_line"], part["end_line"]) == ("two", 6, 6)
    beyond = note(row, here.ledger, here.root, 50, 60)
    assert (beyond["text"], beyond["end_line"]) == ("", 49)
    (here.root / "a.md").write_text("changed")
    assert note(row, here.ledger, here.root)["text"] == "changed"
    (here.root / "a.md").unlink()
    with pytest.raises(NotFound):
        note(row, here.ledger, here.root)
    (here.root / "a.md").symlink_to("/etc/passwd")
    with pytest.raises(Unavailable):
        note(row, here.ledger, here.root)


def test_a_long_text_is_cut_at_a_line_and_says_so(world, monkeypatch):
    monkeypatch.setattr("vaultseek.core.notes.read.NOTE_TEXT_CHARS", 10)
    here = world({"a.md": "one\ntwo\nthree\nfour\n"})
    cut = note(here.note("a"), here.ledger, here.root)
    assert (cut["text"], cut["truncated"], cut["end_line"], cut["lines"]) == ("one\ntwo\nth", True, 3, 4)


LINKED = {
    "a.md": "[[b]] and [[b#Head|again]]\n[[gone]] ![[pic.png]] [[#here]]\n",
    "b.md": "---\nup: '[[a]]'\n---\n# Head\n[[c]]\n",
    "c.md": "[d](d.md)",
    "d.md": "",
    "e.md": "[[e]]",
    "pic.png": "x",
}


def test_links_out_in_and_nowhere(world):
    here = world(LINKED)
    out = [
        (link["target"], link["heading"], link["resolved"]) for link in outgoing(here.note("a"), here.ledger)
    ]
    assert out == [
        ("b", None, "b.md"),
        ("b", "Head", "b.md"),
        ("gone", None, None),
        ("pic.png", None, "pic.png"),
        ("", "here", "a.md"),
    ]
    into = [(link["path"], link["line"], link["text"]) for link in backlinks(here.note("b"), here.ledger)]
    assert into == [("a.md", 1, "[[b]] and [[b#Head|again]]")] * 2
    by_property = backlinks(here.note("a"), here.ledger)
    assert [(link["path"], link["property"]) for link in by_property] == [("b.md", "up")]
    assert [link["target"] for link in unresolved(here.ledger)] == ["gone"]
    assert unresolved(here.ledger, here.note("b")) == []


def test_the_headings_of_a_note_with_a_suffix_in_capitals_are_checked(world):
    here = world({"a.md": "[[b#Head]] [[b#Gone]]", "b.MD": "# Head"})
    found = problems(here.ledger, here.vault.indexer.names)
    assert [(item["code"], item["column"]) for item in found] == [("missing_heading", 12)]


def test_neighbours_by_distance(world):
    here = world(LINKED)

    def around(name: str, depth: int, limit: int = 10) -> list[tuple[Any, ...]]:
        found = neighbours(here.note(name), here.graph(), here.ledger, depth, limit)["notes"]
        return [(n["path"], n["depth"], n["direction"], n["via"]) for n in found]

    assert around("a", 1) == [("b.md", 1, "both", None)]
    assert around("b", 1) == [("a.md", 1, "both", None), ("c.md", 1, "out", None)]
    assert around("a", 3) == [
        ("b.md", 1, "both", None),
        ("c.md", 2, None, "b.md"),
        ("d.md", 3, None, "c.md"),
    ]
    assert around("e", 5) == []
    few = neighbours(here.note("a"), here.graph(), here.ledger, 3, 1)
    assert (len(few["notes"]), few["total"]) == (1, 3)
    assert few["edges"] == [["a.md", "b.md"], ["b.md", "a.md"]]


def test_orphans_and_isolated_notes(world):
    here = world(LINKED)
    assert [item["path"] for item in orphans(here.graph(), here.ledger)] == ["e.md"]
    here = world({"f.md": "[[d]]"})
    assert [item["path"] for item in orphans(here.graph(), here.ledger)] == ["e.md", "f.md"]
    assert [item["path"] for item in orphans(here.graph(), here.ledger, isolated=True)] == ["e.md"]


@pytest.mark.parametrize(
    ("text", "line", "name"),
    [
        ("Pump", 1, "Pump"),
        ("the PUMP.", 1, "Pump"),
        ("one\n\ntwo bilge pump", 3, "Bilge Pump"),
        ("- [ ] ask about the pump", 1, "Pump"),
        ("[[Pump]] is a link, pump is none", 1, "Pump"),
        ("pumps and pumping", None, None),
        ("[[Pump]] and [[Pump|the pump]]", None, None),
        ("[the pump](Pump.md) `pump` https://pump.example/pump", None, None),
        ("```\npump\n```", None, None),
        ("    pump", None, None),
        ('see [the pump](<a (b> "pump") and [pump [x]](https://a.example/pump_(x)) now', None, None),
        ("#pump [^pump] %%the pump%% <!-- a\npump --> $pump$ <b title='pump'> ^pump", None, None),
        ("> [!pump] and\n\n$$\npump\n$$\n\n%%\npump\n%%", None, None),
        ("> [!note] A pump", 1, "Pump"),
        ("[^1]: A pump for $5 or $6", 1, "Pump"),
        ("%%x%% and `%%` a pump %% and # pump", 1, "Pump"),
        ("a [Pump] and ![pump] and [ PUMP ][]\n\n[pump]: https://pump.example", None, None),
        ("a [Pump] \n\n# Long\n\n" + "and so on " * 900 + "\n\n[pump]: https://pump.example", None, None),
        ("a [pump] and \\[pump]", 1, "Pump"),
        ("a \\[pump]\n\n[pump]: https://pump.example", 1, "Pump"),
        ("a [pump]\n\n```\n[pump]: https://pump.example\n```", 1, "Pump"),
    ],
)
def test_mentions_that_are_no_links(world, text, line, name):
    here = world({"Pump.md": "---\naliases: [Bilge Pump]\n---\nThe pump itself.", "other.md": text})
    found = [(item["path"], item["line"], item["name"]) for item in unlinked(here.note("Pump"), here.ledger)]
    assert found == ([("other.md", line, name)] if line else [])


@pytest.mark.parametrize(
    "before", ["so much, ", "[[Pump]] and ", "[[a very long note about Pump|" + "x" * 50 + "]] "]
)
def test_the_text_of_a_mention_has_the_mention_however_long_its_line(world, before):
    line = "[[Pump]] " + before * (300 // len(before)) + "and the PUMP of today, " + "and so on " * 50
    here = world({"Pump.md": "It.", "long.md": line, "short.md": "Pump, " + "and so on " * 50})
    found = unlinked(here.note("Pump"), here.ledger)
    long, short = (item["text"] for item in found)
    places = [(item["text"], *item["highlights"][0]) for item in found]
    assert [text[start:end] for text, start, end in places] == ["PUMP", "Pump"]
    assert "and the PUMP of today" in long
    assert long.startswith("…")
    assert "Pump" not in long.replace("[[Pump]]", "").replace("[[a very long note about Pump|", "")
    assert short.startswith("Pump, and so on")
    assert len(long) <= 240
    assert len(short) == 240


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Worked on #garden today; the garden is wet.", (29, 35)),
        ("Cost [^garden] and the garden", (23, 29)),
        ("$garden$ and <!-- garden --> and %% garden %% garden", (46, 52)),
        ("[the garden](https://x.example/Garden_(x)) is a Garden", (48, 54)),
        ("  - a   tab\tand the  garden", (19, 25)),
        ("goldgarden \U0001f33c gardens, garden", (22, 28)),
        ("Stra\u00dfe, cafe\u0301 and stra\u00dfe garden", (25, 31)),
    ],
)
def test_the_text_of_a_mention_says_where_the_name_stands(world, text, place):
    here = world({"Garden.md": "It.", "other.md": text})
    (item,) = unlinked(here.note("Garden"), here.ledger)
    assert item["highlights"] == [[*place]]


@pytest.mark.parametrize(
    ("name", "text", "written"),
    [
        ("Caf\u00e9", "no cafe, a cafe\u0301!", "cafe\u0301"),
        ("Brake overhaul", "the brake  \u00a0 overhaul  is done", "brake  \u00a0 overhaul"),
        ("Stra\u00dfe", "\u00df STRASSE \u00df", "STRASSE"),
        ("\u8336", "\u4e91\u5357\u7684\u8336\u5f88\u597d", "\u8336"),
        ("C++", "about E-4107 and c++17", "c++"),
    ],
)
def test_the_place_of_a_mention_is_in_the_text_as_it_is_written(world, name, text, written):
    here = world({"x.md": f"---\naliases: ['{name}']\n---\n", "other.md": text})
    (item,) = unlinked(here.note("x.md"), here.ledger)
    ((start, end),) = item["highlights"]
    assert item["text"][start:end] == written


def test_the_mentions_of_many_notes_are_those_of_each(world):
    here = world(
        {
            "Pump.md": "---\naliases: [Bilge Pump]\n---\nThe valve and the pump.",
            "Valve.md": "A PUMP, the bilge pump; a valve.\n\n`pump` [[Pump]]",
            "Strasse.md": "# Große Straße\n\n[[Valve]] #valve",
            "log.md": "In der GROSSEN STRASSE: grosse strasse, valve and\npump\n\n```\npump\n```\n",
            "x.md": "",
        }
    )
    rows = list(here.ledger.notes.by_id(here.ledger.notes.ids()).values())
    together = {(each.named, each.note, each.line, each.name) for each in mentions_of(rows, here.ledger)}
    alone = {
        (row.id, here.note(item["path"]).id, item["line"], item["name"])
        for row in rows
        for item in unlinked(row, here.ledger)
    }
    assert together == alone
    assert len(alone) == 5


def test_names_too_short_to_mean_a_note_are_not_looked_for(world):
    here = world({"x.md": "", "琴.md": "", "log.md": "x 琴 and x"})
    assert names_of(here.note("x")) == []
    assert unlinked(here.note("x"), here.ledger) == []
    assert [item["line"] for item in unlinked(here.note("琴"), here.ledger)] == [1]


def test_tags_and_properties_with_their_counts(world):
    here = world(
        {
            "a.md": "---\nStatus: open\ntags: [work/a]\nn: 1\n---\n#Work/A #home",
            "b.md": "---\nstatus: open\nn: [1, two, 1]\nflag: true\nnone:\n---\n#work/b",
            "c.md": "---\nstatus: done\n---\n#work/a",
        }
    )
    vault = VaultCompleter(here.ledger)
    assert vault.tags() == [
        {"tag": "home", "count": 1, "total": 1},
        {"tag": "work", "count": 0, "total": 3},
        {"tag": "work/a", "count": 2, "total": 2},
        {"tag": "work/b", "count": 1, "total": 1},
    ]
    found = {item["name"]: item for item in vault.properties()}
    assert found["status"]["count"] == 3
    assert found["status"]["values"] == [{"value": "open", "count": 2}, {"value": "done", "count": 1}]
    assert found["n"]["types"] == {"number": 1, "list": 1}
    assert found["none"]["types"] == {"null": 1}
    assert vault.values("N") == [
        {"value": "1", "count": 2},
        {"value": "two", "count": 1},
    ]
    assert vault.values("flag") == [{"value": "true", "count": 1}]
    assert vault.values("other") == []


@given(
    st.dictionaries(st.sampled_from(["a.md", "b/c.md"]), st.text(max_size=30), max_size=2),
    st.text(max_size=12),
)
def test_any_name_finds_one_note_or_is_refused_and_any_text_links_to_notes(
    tmp_path_factory, files: Mapping[str, str], name: str
):
    root = write_files(tmp_path_factory.mktemp("vault"), files)
    with closing(World(root, tmp_path_factory.mktemp("home"))) as here:
        assert [here.note(path).path for path in files] == list(files)
        with contextlib.suppress(UsageError, NotFound):
            assert here.note(name).path in files
        rows = here.ledger.notes.by_id(here.ledger.notes.ids()).values()
        assert {row.path for row in rows} == files.keys()
        for row in rows:
            assert {mention["path"] for mention in unlinked(row, here.ledger)} <= files.keys() - {row.path}
            assert {link["resolved"] for link in outgoing(row, here.ledger)} <= {*files, None}
        assert all(item["total"] >= item["count"] for item in VaultCompleter(here.ledger).tags())
        assert all(0 < item["count"] <= len(files) for item in VaultCompleter(here.ledger).properties())


def test_a_file_name_goes_before_a_title_that_is_only_a_heading(world):
    made = world({"Movies.md": "## Favorites", "Templates/Actor.md": "## Movies", "Director.md": "# Movies"})
    assert made.note("movies").path == "Movies.md"
