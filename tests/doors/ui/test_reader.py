"""A note for the page, and the part that is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from vaultseek.doors.ui.api import NODES, Place, answer_graph
from vaultseek.doors.ui.reader import (
    LINE_CHARS,
    RENDERED_CHARS,
    keeps_line_breaks,
    part_of,
    piece_of,
    read_note,
)
from vaultseek.errors import NotFound

TEXT = (
    "---\nstatus: open\n---\n# Tea\n\nGreen.\n\n"
    "## Steep\n\nThree [[Pump]] minutes.\nStill. ^how\n\n## Drink\n\nHot.\n"
)
HEADINGS = [
    {"level": 1, "text": "Tea", "line": 4},
    {"level": 2, "text": "Steep", "line": 8},
    {"level": 2, "text": "Drink", "line": 13},
]


def daemon(text=TEXT):
    async def ask(method, params):
        if method == "links/outgoing":
            return {"links": [{"target": "Pump", "resolved": "Pump.md"}]}
        lines = text.split("\n")
        return {
            "vault": "notes",
            "vault_path": "/notes",
            "path": "sub/Tea.md",
            "title": "Tea",
            "headings": HEADINGS,
            "lines": len(lines),
            "text": text,
            "truncated": False,
        }

    return ask


async def test_a_note_is_shown_without_its_frontmatter():
    note = await read_note(daemon(), "/notes", "Tea")
    assert "status" not in note["html"]
    assert 'data-note="Pump.md"' in note["html"]
    assert (note["first_line"], note["cut"]) == (4, False)
    assert note["obsidian_url"] == "obsidian://open?path=%2Fnotes%2Fsub%2FTea.md"
    assert "text" not in note


async def test_the_line_that_a_link_names():
    for anchor, line in (("steep", 8), ("Tea#Drink", 13), ("^how", 10), ("nowhere", None), ("", None)):
        assert (await read_note(daemon(), "/notes", "Tea", at=anchor))["at_line"] == line


async def test_a_section_or_a_block_of_a_note():
    steep = await read_note(daemon(), "/notes", "Tea", anchor="steep")
    assert "Three" in steep["html"]
    assert "Green" not in steep["html"]
    assert "Hot" not in steep["html"]
    block = await read_note(daemon(), "/notes", "Tea", anchor="^how")
    assert "Three" in block["html"]
    assert "Steep" not in block["html"]
    for anchor in ("nothing", "^nothing"):
        with pytest.raises(NotFound):
            await read_note(daemon(), "/notes", "Tea", anchor=anchor)


async def test_of_a_long_note_the_lines_around_the_one_that_is_asked_for():
    text = "\n".join(f"line {number} {'x' * 100}\n" for number in range(1, 20_001))
    note = await read_note(daemon(text), "/notes", "Tea", line=20_001)
    assert note["cut"]
    assert note["first_line"] <= 20_001 <= note["last_line"]
    assert len(note["html"]) < 3 * RENDERED_CHARS
    assert "line 10001 " in note["html"]


async def test_the_graph_has_results_first_then_the_neighbours_of_most():
    links = {"a.md": ["b.md", "c.md"], "b.md": ["c.md", "d.md"]}

    async def ask(method, params):
        if params["note"] not in links:
            raise NotFound("gone")
        others = links[params["note"]]
        return {
            "notes": [{"path": path, "title": path.upper()} for path in others],
            "edges": [[params["note"], path] for path in others],
        }

    seeds = [Place("/v", "a.md"), Place("/v", "b.md"), Place("/v", "gone.md"), Place("/v", "a.md")]
    graph = await answer_graph(seeds, ask)
    assert [node["path"] for node in graph["nodes"]] == ["a.md", "b.md", "gone.md", "c.md", "d.md"]
    assert graph["edges"] == [(0, 1), (0, 3), (1, 3), (1, 4)]
    assert graph["left_out"] == 0


async def test_a_graph_has_a_bounded_number_of_notes():
    async def ask(method, params):
        others = [f"{params['note']}-{number}" for number in range(60)]
        return {
            "notes": [{"path": path, "title": path} for path in others],
            "edges": [[params["note"], path] for path in others],
        }

    graph = await answer_graph([Place("/v", f"{number}") for number in range(30)], ask)
    assert len(graph["nodes"]) == NODES
    assert graph["left_out"] == 30 * 60 + 30 - NODES
    assert all(a < NODES and b < NODES for a, b in graph["edges"])


BLOCKS = """\
---
tags: [tea]
---
First. ^first

```
Code. ^late
```

Late. ^late
"""


@pytest.mark.parametrize(("anchor", "lines"), [("^first", (4, 4)), ("^LATE", (10, 10))])
def test_a_block_is_that_of_the_parsed_note(anchor, lines):
    assert part_of(anchor, {"path": "Tea.md", "text": BLOCKS}) == lines


async def test_a_line_that_is_too_long_is_cut_around_the_match():
    text = "# Clip\n" + "a " * RENDERED_CHARS + "needle " + "b " * RENDERED_CHARS + "\nlast"
    column = 2 * RENDERED_CHARS + 1
    note = await read_note(daemon(text), "/notes", "Clip", line=2, column=column)
    assert "needle" in note["html"]
    assert "Clip" in note["html"]
    assert (note["first_line"], note["last_line"], note["cut"], note["cut_lines"]) == (1, 3, False, True)
    assert len(note["html"]) < RENDERED_CHARS


@examples(50)
@given(st.integers(1, 3 * LINE_CHARS), st.integers(1, 3 * LINE_CHARS))
def test_the_piece_of_a_line_has_its_column(length, column):
    line = "x" * length
    marked = line[: column - 1] + "^" + line[column - 1 :] if column <= length else line
    piece = piece_of(marked, column)
    assert len(piece) <= LINE_CHARS + 2
    assert ("^" in piece) == ("^" in marked)


@examples(30)
@given(st.lists(st.integers(0, RENDERED_CHARS), min_size=1, max_size=12), st.integers(1, 12))
async def test_the_line_asked_for_is_always_shown(lengths, line):
    text = "\n".join("x" * length for length in lengths)
    note = await read_note(daemon(text), "/notes", "Tea", line=min(line, len(lengths)))
    assert note["first_line"] <= min(line, len(lengths)) <= note["last_line"]


def test_line_breaks_are_those_of_the_program_of_the_vault(tmp_path):
    assert not keeps_line_breaks(tmp_path)
    (tmp_path / ".obsidian").mkdir()
    assert keeps_line_breaks(tmp_path)
    for written, kept in (("{}", True), ("nonsense", True), ('{"strictLineBreaks": true}', False)):
        (tmp_path / ".obsidian" / "app.json").write_text(written)
        assert keeps_line_breaks(tmp_path) is kept
