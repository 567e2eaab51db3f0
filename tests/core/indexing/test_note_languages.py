"""Each note is analysed in its own language; the vault's language is that of its present notes."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from keyword_answers import hits_of
from worlds import World, write_files

GERMAN = "Das Schiff liegt seit zwei Tagen im Hafen, aber die Häuser am Ufer sind noch nicht zu sehen."
ENGLISH = "The ship has been in the harbour for two days, and the houses were built with new bricks."
POLISH = "Statek jest w porcie od dwóch dni, ale w bibliotekach nie ma już książek o tym statku."
UNCLEAR = "- Brot\n- Bibliotheksausweis"


@pytest.fixture
def vault_of(tmp_path: Path) -> Iterator[Callable[[dict[str, str]], World]]:
    """``vault_of(files)`` creates a vault of these notes; each vault has its own folders."""
    with ExitStack() as stack:
        number = iter(range(9))

        def make(files: dict[str, str]) -> World:
            folder = tmp_path / str(next(number))
            folder.mkdir()
            world = World(write_files(folder / "vault", files), folder)
            stack.callback(world.close)
            return world

        yield make


def matches(world: World, query: str) -> list[str]:
    hits = hits_of(world.vault.keyword_index.search(query, 9))
    rows = world.ledger.notes.by_id([hit.note for hit in hits])
    return sorted(rows[hit.note].path for hit in hits)


MIXED = {"de.md": GERMAN, "en.md": ENGLISH, "pl.md": POLISH}


def test_a_query_is_analysed_in_each_language_of_a_mixed_vault(vault_of) -> None:
    world = vault_of(MIXED)
    assert world.ledger.languages() == {"de": 1, "en": 1, "pl": 1}
    assert matches(world, "haus") == ["de.md"]
    assert matches(world, "house brick") == ["en.md"]
    assert matches(world, "książka biblioteka") == ["pl.md"]
    assert matches(world, "tagen") == ["de.md"], "exact words count in any note"


def test_the_stems_of_one_language_do_not_match_words_of_another(vault_of) -> None:
    world = vault_of({"en.md": f"{ENGLISH} It was a book.", "de.md": f"{GERMAN} Es war ein Book."})
    assert matches(world, "booking") == ["en.md"]
    assert matches(world, "book") == ["de.md", "en.md"]


def test_the_words_of_a_note_in_two_languages_are_completed_and_forgiven(vault_of) -> None:
    world = vault_of(MIXED)
    assert matches(world, "hous*") == ["en.md"]
    assert matches(world, "häu*") == ["de.md"]
    assert matches(world, "bibliotekahc") == ["pl.md"]


def test_notes_that_show_no_language_follow_the_language_of_the_vault(vault_of) -> None:
    world = vault_of({"unclear.md": UNCLEAR, "a.md": ENGLISH})
    assert matches(world, "Bibliotheken") == []
    world.write({"b.md": GERMAN, "c.md": f"{GERMAN} Noch einmal."})
    assert matches(world, "Bibliotheken") == ["unclear.md"]
    world.write({"b.md": None, "c.md": None})
    assert matches(world, "Bibliotheken") == []


def test_the_index_does_not_depend_on_how_the_vault_came_to_be(vault_of) -> None:
    final = {"unclear.md": UNCLEAR, "b.md": GERMAN, "c.md": f"{GERMAN} Noch einmal.", "a.md": ENGLISH}
    world = vault_of({"old.md": POLISH, "older.md": f"{POLISH} Tak.", "unclear.md": UNCLEAR})
    world.write({**final, "old.md": None, "older.md": None})
    fresh = vault_of(final)
    queries = ["Bibliotheken", "Haus", "house", "książka", "Brote", "news"]
    assert [matches(world, query) for query in queries] == [matches(fresh, query) for query in queries]
    assert world.ledger.languages() == fresh.ledger.languages() == {"": 1, "de": 2, "en": 1}


def test_a_language_is_counted_as_long_as_a_note_has_it(vault_of) -> None:
    world = vault_of(MIXED)
    world.write({"pl.md": ENGLISH, "de.md": None})
    assert world.ledger.languages() == {"en": 2}


def test_an_index_that_was_left_in_another_language_is_mended_at_the_next_start(vault_of) -> None:
    world = vault_of({"unclear.md": UNCLEAR, "a.md": ENGLISH})
    with world.ledger.commit():
        world.ledger._database.run("UPDATE notes SET language = 'de' WHERE path = 'a.md'")
    world.close()
    world.open()
    world.vault.indexer.load()
    assert matches(world, "Bibliotheken") == ["unclear.md"]
