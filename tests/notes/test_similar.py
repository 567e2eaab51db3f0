"""Names suggested for a name that no note has."""

from __future__ import annotations

import pytest

from vaultseek.notes.complete import VaultCompleter
from vaultseek.notes.similar import similar_names

NOTES = {
    "Projects/Float Switch Wiring.md": "# Float Switch Wiring",
    "Garden.md": "---\naliases: [Allotment]\n---",
    "Garden Log.md": "",
    "daily/2026-07-30.md": "",
}


@pytest.mark.parametrize(
    ("name", "best"),
    [
        ("Gardn", "Garden"),
        ("gerden", "Garden"),
        ("garden lgo", "Garden Log"),
        ("Flot Swich Wirring", "Float Switch Wiring"),
        ("Flout Swatch Wiring", "Float Switch Wiring"),
        ("Projects/Flaot Switch Wiring.md", "Float Switch Wiring"),
        ("Alotment", "Allotment"),
        ("2026-07-3", "2026-07-30"),
    ],
)
def test_the_likeliest_name_comes_first(world, name, best):
    assert similar_names(name, VaultCompleter(world(NOTES).ledger))[0] == best


@pytest.mark.parametrize("name", ["zzzz", "x", "", "/", "...", "日本", "a" * 5000])
def test_nothing_is_suggested_for_what_is_like_nothing(world, name):
    assert similar_names(name, VaultCompleter(world(NOTES).ledger)) == []
