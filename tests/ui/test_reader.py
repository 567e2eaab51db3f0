"""A note for the page, and the part of it that is shown."""

from __future__ import annotations

import pytest

from vaultseek.errors import NotFound
from vaultseek.ui.answer_graph import NODES, Place, answer_graph
from vaultseek.ui.reader import RENDERED_CHARS, read_note

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
