"""Link suggestions for the most recently changed notes, computed in parts on a busy machine."""

import asyncio

from semantic_here import index_here
from vaultseek.core.graph import suggestions
from vaultseek.core.graph.suggestions import best_of, recent_suggestions

PARTS = ["Pump", "Valve", "Seal", "Anchor", "Chain", "Winch", "Mast", "Boom", "Sail", "Oar", "Keel", "Deck"]


def test_what_is_found_after_a_second_and_the_rest_are_all(vault, tmp_path, monkeypatch):
    notes = {
        f"{name}.md": f"# {name}\n\nBeside the {PARTS[place - 1]}.\n" for place, name in enumerate(PARTS)
    }
    opened = index_here(vault(notes), tmp_path / "index")
    whole, rest = asyncio.run(recent_suggestions(opened, opened.graph, 20))
    assert rest is None
    assert len(whole) >= len(PARTS) - 1

    monkeypatch.setattr(suggestions, "SUGGEST_SECONDS", 0.0)
    found, start, parts = [], 0, 0
    while start is not None:
        items, start = asyncio.run(recent_suggestions(opened, opened.graph, 20, start))
        found += items
        parts += 1
    assert parts == len(PARTS)
    assert best_of(found, 20) == whole
    opened.close()


def test_no_link_is_suggested_in_a_file_that_cannot_take_one(vault, tmp_path):
    notes = {
        "Pump.md": "# Pump\n\nA seal.\n",
        "Log.txt": "Beside the Pump and the Valve.\n",
        "Valve.md": "# Valve\n",
    }
    opened = index_here(vault(notes), tmp_path / "index")
    assert "Log.txt" in opened.ledger.paths_of(opened.ledger.notes.ids()).values()
    found, _ = asyncio.run(recent_suggestions(opened, opened.graph, 20))
    assert {item["source"]["path"] for item in found} <= {"Pump.md", "Valve.md"}
    assert "Log.txt" in {item["path"] for item in found}
    opened.close()
