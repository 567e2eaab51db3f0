"""Related notes, and the floor below which a note is none."""

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
