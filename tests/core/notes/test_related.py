"""Related notes, and the minimum score of one."""

import pytest

from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import indexed_vault
from vaultseek.core.notes.related import related
from vaultseek.semantic.models.choice import choose_models

pytestmark = pytest.mark.model

NOTES = {
    "Boiler.md": "# Boiler\n\nThe heating keeps losing pressure; I refill water every week.",
    "Radiators.md": "# Radiators\n\nThe radiator in the hall leaks at the valve, so the heating loses water.",
    "Bread.md": "# Bread\n\nFlour, salt, water and a long night. See [[Oven]].",
    "Oven.md": "# Oven\n\nThe stone is hot after forty minutes.",
    "Mozart.md": "# Mozart\n\nThe clarinet concerto was written for Anton Stadler.",
}


async def test_a_note_that_has_nothing_to_do_with_it_is_not_related(vault, tmp_path):
    options = VaultOptions("notes", vault(NOTES))
    async with indexed_vault(options, tmp_path / "index", choose_models("bundled", "off")) as open_vault:
        ledger = open_vault.ledger

        async def paths(path: str) -> list[str]:
            answer = await related(ledger.notes.by_path(path), open_vault, 10)
            return [result["path"] for result in answer["results"]]

        assert await paths("Boiler.md") == ["Radiators.md"]
        assert (await paths("Bread.md"))[0] == "Oven.md"
        assert await paths("Mozart.md") == []


def a_day(text: str) -> str:
    return (
        "# Daily note\n\n## Tasks\n- [ ] Check the inbox\n\n## What happened\n"
        f"{text}\n\n## Gratitude\nToday I am grateful for\n\n## Tomorrow\nPlan the day, water the plants\n"
    )


async def test_a_note_made_from_a_template_is_related_by_what_is_its_own(vault, tmp_path):
    others = (
        "Baked bread.",
        "Called the bank about the mortgage.",
        "Two fillings at the dentist's.",
        "Read a novel.",
    )
    days = {f"2026-01-{day:02}.md": a_day(others[day % 4]) for day in range(1, 20)}
    days["2026-01-20.md"] = a_day("Up to the slopes early: fresh powder, empty lifts, my bindings held well.")
    topics = {
        "Skiing.md": "# Skiing\n\nSkis and bindings need waxing before winter. Powder needs wide skis.\n",
        "Bread.md": "# Bread\n\nSourdough needs flour and patience.\n",
    }
    options = VaultOptions("notes", vault({**days, **topics}))
    async with indexed_vault(options, tmp_path / "index", choose_models("bundled", "off")) as open_vault:
        answer = await related(open_vault.ledger.notes.by_path("2026-01-20.md"), open_vault, 10)
    assert answer["results"][0]["path"] == "Skiing.md"
