"""Run twenty tasks with all agent tools, and with the three tools of the compact mode; print a table of both.

    python scripts/bench_tools.py

The tasks are about the sample vault ``tests/data/vault``. Each task has words that the answers must contain,
and, for each mode, the calls that solve it, if any. Tokens are those of cl100k_base: of the calls' answers,
and of the tool definitions, which are part of every conversation. No language model is involved, so this does
not measure whether a model would choose these calls, or whether it chooses worse among eleven tools.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from count_tokens import counter, definitions
from mcp import Client, StdioServerParameters

VAULT = Path(__file__).parents[1] / "tests" / "data" / "vault"
Calls = Sequence[tuple[str, dict[str, Any]]]


class Task(NamedTuple):
    """A task, words its answer must contain, and the calls with all tools and in the compact mode."""

    asked: str
    words: Sequence[str]
    full: Calls
    compact: Calls | None = None
    """The calls with three tools; None if they cannot solve it."""


def _search(query: str, **more: Any) -> tuple[str, dict[str, Any]]:
    return "search", {"query": query, **more}


def _read(*notes: str) -> tuple[str, dict[str, Any]]:
    return "read_note", {"note": [*notes]}


def _both(asked: str, words: Sequence[str], *calls: tuple[str, dict[str, Any]]) -> Task:
    return Task(asked, words, calls, calls)


_BOOKS = (
    "The Clockmaker of Isfjord", "How Bridges Breathe", "A Short History of Waiting",
)  # fmt: skip
TASKS = (
    _both("at which pressure does E-4107 come?", ["86 bar"], _search("E-4107", limit=3), _read("E-4107")),
    _both("what did the flood teach?", ["pocket knife"], ("context", {"query": "lessons of the flood"})),
    _both("how were the holes of the bellows patched?", ["goat leather"], _read("Bellows#Holes")),
    _both("compare E-4107 and E-4170", ["86 bar", "rope"], _read("E-4107", "E-4170")),
    _both("notes tagged work/pumps/sump", ["High Water Night.md"], _search("tag:work/pumps/sump")),
    _both("days of November", ["2026-11-18.md"], _search("path:Daily/ created:2026-11")),
    _both("how many projects are open?", ["results"], _search("[status:open]", limit=20)),
    Task(
        "which notes link to Float Switch Wiring?",
        ["Sump Pump Replacement.md"],
        [("list_links", {"note": "Float Switch Wiring", "direction": "backlinks"})],
        [_search('link:"Float Switch Wiring"')],
    ),
    Task(
        "what does Sump Pump Replacement link to?",
        ["Funicular Handbook"],
        [("list_links", {"note": "Sump Pump Replacement", "direction": "outgoing"})],
        [_read("Sump Pump Replacement")],
    ),
    Task(
        "the notes in Projects/Sump",
        ["Float Switch Wiring.md", "High Water Night.md"],
        [("list_notes", {"folder": "Projects/Sump"})],
        [_search("path:Projects/Sump/", limit=50)],
    ),
    Task("which notes changed last?", ["changed"], [("list_notes", {})], [_search("ext:md", limit=20)]),
    Task(
        "the books, the best first",
        ["4.5", "5", "3"],
        [("table", {"source": "[rating]", "columns": ["rating"], "sort": ["-rating"]})],
        [_search("[rating]"), _read(*_BOOKS)],
    ),
    Task(
        "notes like Float Switch Wiring",
        ["Sump Pump Replacement.md"],
        [("related_notes", {"note": "Float Switch Wiring"})],
        [_search("float switch wiring in the pump pit")],
    ),
    Task("which tags are there?", ["work/faults"], [("list_tags", {})]),
    Task("which values has status?", ["open"], [("list_properties", {"name": "status"})]),
    Task("which links of Kitchen Map lead nowhere?", ["Pastéis de Nata"], [
        ("list_links", {"note": "Kitchen Map", "direction": "unresolved"}),
    ]),
    Task("the folders, and their sizes", ["Recipes/"], [("list_notes", {"order": "path"})]),
    Task("the hubs of the links", ["hub"], [("graph", {})]),
    Task("how are Bellows and E-4107 connected?", ["path of"], [
        ("graph", {"note": "Bellows", "other": "E-4107"}),
    ]),
    Task("is everything indexed?", ["embedded"], [("vault_status", {})]),
)  # fmt: skip
"""The invented tasks; seven of them are for tools missing from the compact mode."""


async def main() -> None:
    """Run the tasks and print the table."""
    count = counter()
    taken: dict[str, list[str]] = {task.asked: [] for task in TASKS}
    sums = []
    common = [task.asked for task in TASKS if task.compact is not None]
    for options in ([], ["--compact"]):
        async with Client(_server(options)) as client:
            tools = (await client.list_tools()).tools
            solved = total = of_common = 0
            for task in TASKS:
                calls = task.compact if options else task.full
                text = await _answers(client, calls or ())
                missing = [word for word in task.words if word not in text]
                if calls is not None and not missing:
                    solved, total = solved + 1, total + count(text)
                    of_common += count(text) * (task.asked in common)
                    names = ", ".join(name for name, _ in calls)
                    taken[task.asked].append(f"{names} ({count(text)})")
                else:
                    taken[task.asked].append("-" if calls is None else f"without {missing}")
            sums.append(f"{solved} solved: {count(definitions(tools))} + {total}, {of_common} of both")
    print("| task | all tools (tokens) | compact (tokens) |\n|---|---|---|")
    for asked, cells in taken.items():
        print(f"| {asked} | {' | '.join(cells)} |")
    print(f"| definitions + answers | {' | '.join(sums)} |")


def _server(options: Sequence[str]) -> StdioServerParameters:
    program = str(Path(sys.executable).parent / "vaultseek")
    return StdioServerParameters(
        command=program, args=["mcp", "--vault", str(VAULT), *options], env=dict(os.environ)
    )


async def _answers(client: Client, calls: Calls) -> str:
    texts = [block.text for call in calls for block in (await client.call_tool(*call)).content]
    return "\n".join(texts)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for name in ("CONFIG", "DATA", "STATE", "CACHE"):
            os.environ[f"XDG_{name}_HOME"] = f"{folder}/{name.lower()}"
        program = str(Path(sys.executable).parent / "vaultseek")
        os.spawnl(os.P_WAIT, program, program, "index", "--wait", "--vault", str(VAULT))
        try:
            asyncio.run(main())
        finally:
            os.spawnl(os.P_WAIT, program, program, "stop")
