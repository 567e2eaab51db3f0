"""Names suggested in place of a name that no note has."""

import pytest

from vaultseek.content.query.grammar import parse_query
from vaultseek.core.notes.complete import VaultCompleter
from vaultseek.core.notes.lookup import similar_names, unknown_names

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


def test_a_word_in_common_is_not_enough(world):
    notes = {"Garden.md": "", "The allotment of a garden that nobody has dug.md": ""}
    assert similar_names("Garden furniture catalogue", VaultCompleter(world(notes).ledger)) == ["Garden"]


def test_tags_and_properties_that_no_note_has_are_named_with_the_nearest(world):
    notes = {"a.md": "---\nrole: Plumber\n---\n#work/pumps", "b.md": "#garden"}
    completer = VaultCompleter(world(notes).ledger)

    def said(query: str) -> list[str]:
        return list(unknown_names(parse_query(query).filter, completer))

    assert said("[rol:Plumber]") == ['no note has the property "rol"; did you mean "role"?']
    assert said("tag:gardn -tag:work") == ['no note has the tag "gardn"; did you mean "garden"?']
    assert said("[zzz]") == ['no note has the property "zzz"']
    assert said("tag:work/pumps [Role:None] path:x") == said("pump") == []
