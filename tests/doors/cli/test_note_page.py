"""The output of `vaultseek inspect`."""

from typing import Any

from vaultseek.doors.cli.note_page import page
from vaultseek.doors.cli.terminal import Terminal


def link(target: str, resolved: str | None, **more: Any) -> dict[str, Any]:
    return {
        "kind": "wikilink",
        "target": target,
        "heading": None,
        "block": None,
        "alias": None,
        "line": 4,
        "resolved": resolved,
        **more,
    }


NOTE = {
    "path": "house/Boiler.md",
    "title": "Boiler",
    "frontmatter": {"status": "open", "tags": ["house"], "size": {"w": 1}, "empty": None, "done": False},
    "tags": ["house", "todo"],
    "aliases": ["Heater"],
    "links": [
        link("Valve", "parts/Valve.md", heading="Types"),
        link("Pump", "a/Pump.md", candidates=["b/Pump.md"]),
        link("Nowhere", None, block="b1"),
    ],
    "headings": [{"level": 1, "text": "Boiler", "line": 6}, {"level": 2, "text": "Care", "line": 9}],
    "code_blocks": [{"lang": "sh", "line": 12}, {"lang": None, "line": 20}],
    "blocks": [],
    "tasks": [{"mark": "x", "text": "close the valve", "line": 15}],
    "chunks": [
        {"id": "1", "heading_path": ["Boiler"], "start_line": 6, "end_line": 8, "text": "abc"},
        {"id": "2", "heading_path": ["Boiler", "Care"], "start_line": 9, "end_line": 30, "text": "a" * 1200},
    ],
    "problems": [{"code": "yaml", "message": "the properties are no YAML", "line": 2}],
}


def test_everything_about_a_note() -> None:
    assert page(NOTE, Terminal()).splitlines() == [
        "Boiler  house/Boiler.md",
        "tags: #house #todo",
        "also called: Heater",
        "",
        "Properties",
        "  status  open",
        "  tags    house",
        '  size    {"w": 1}',
        "  empty",
        "  done    false",
        "",
        "Outline",
        "  Boiler  :6",
        "    Care  :9",
        "",
        "Links",
        "  :4 wikilink Valve#Types -> parts/Valve.md",
        "  :4 wikilink Pump -> a/Pump.md (ambiguous, could be b/Pump.md)",
        "  :4 wikilink Nowhere#^b1 -> missing",
        "",
        "Tasks",
        "  [x] close the valve  :15",
        "",
        "Code",
        "  :12 sh",
        "  :20 no language",
        "",
        "Passages",
        "   6-8      3 characters  Boiler",
        "  9-30  1,200 characters  Boiler › Care",
        "",
        "Problems",
        "  :2 the properties are no YAML",
    ]


def test_what_else_is_in_a_note() -> None:
    note = {
        "path": "a.md",
        "title": "a",
        "frontmatter": {"list": [None, True, "x", {"a": None}], "map": {"no": None}},
        "headings": [{"level": 2, "text": "", "line": 3}],
        "callouts": [{"kind": "note", "title": "Hey", "line": 5}],
        "tables": [{"line": 7, "end_line": 9}],
        "footnotes": [{"id": "1", "line": 11}],
    }
    assert page(note, Terminal()).splitlines() == [
        "a  a.md",
        "",
        "Properties",
        '  list  null, true, x, {"a": null}',
        '  map   {"no": null}',
        "",
        "Outline",
        "    (empty)  :3",
        "",
        "Callouts",
        "  [note] Hey  :5",
        "",
        "Tables",
        "  :7-9",
        "",
        "Footnotes",
        "  [^1]  :11",
    ]


def test_an_empty_note_is_its_name() -> None:
    assert page({"path": "a.md", "title": "a"}, Terminal()) == "a  a.md"


def test_nothing_from_a_note_reaches_the_terminal_as_a_command() -> None:
    bad = "\x1b[2J\u202e"
    hostile = {
        "path": bad,
        "title": bad,
        "tags": [bad],
        "aliases": [bad],
        "frontmatter": {bad: bad, "list": [bad], "map": {bad: bad}},
        "links": [link(bad, bad, kind=bad, heading=bad)],
        "headings": [{"level": 1, "text": bad, "line": 1}],
        "code_blocks": [{"lang": bad, "line": 1}],
        "tasks": [{"mark": "\x07", "text": bad, "line": 1}],
        "chunks": [{"start_line": 1, "end_line": 1, "heading_path": [bad], "text": bad}],
        "problems": [{"code": bad, "message": bad, "line": 1}],
    }
    assert not set(page(hostile, Terminal())) & set("\x1b\x07\u202e")
