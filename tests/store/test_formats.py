"""Files of every earlier format are read, or rebuilt without losing vectors."""

import contextlib
import shutil
import sqlite3
from pathlib import Path

import pytest

from keyword_answers import hits_of
from vaultseek.errors import IndexDamaged
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.index import KeywordIndex
from vaultseek.store.ledger import Counts, Ledger
from vaultseek.store.ledger.given import Given
from vaultseek.store.ledger.opens import Open
from vaultseek.store.ledger.schema import SCHEMA_VERSION
from worlds import World

FORMATS = Path(__file__).parents[1] / "data" / "formats"
LEDGERS = sorted(path.name for path in FORMATS.glob("ledger-*"))
KEYWORD_INDEXES = sorted(path.name for path in FORMATS.glob("keyword-*"))
CURRENT_LEDGER = f"ledger-{SCHEMA_VERSION}"
CURRENT_KEYWORD = "keyword-13"

GENERATION = "15394d4c46994c02923b6061da3602af"
PATHS = ["Anchor.md", "Harbour.md", "deck/Bilge Pump.md"]
VECTORS = {"hashing:harbour": b"\x00\x00\x80?\x00\x00\x00\x00"}


@pytest.fixture
def index(tmp_path):
    """The folder of an index, initially empty."""
    folder = tmp_path / "home" / "index"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def open_world(tmp_path, index):
    """A function that opens the notes with the files in ``index`` and updates the index."""
    shutil.copytree(FORMATS / "notes", tmp_path / "vault")
    with contextlib.ExitStack() as stack:

        def make():
            world = World(tmp_path / "vault", index.parent)
            stack.callback(world.close)
            return world

        yield make


def copy_ledger(name, folder):
    return shutil.copy(FORMATS / name / "ledger.sqlite", folder)


def copy_keyword(name, folder):
    return shutil.copytree(FORMATS / name, folder / "keyword")


def paths(world, query):
    hits = hits_of(world.vault.keyword_index.search(query, 10))
    rows = world.ledger.notes.by_id([hit.note for hit in hits])
    return [rows[hit.note].path for hit in hits]


@pytest.mark.fault("B6", "J5")
@pytest.mark.parametrize("name", LEDGERS)
def test_a_ledger_of_any_format_has_the_notes_and_keeps_its_vectors(name, index, open_world):
    copy_ledger(name, index)
    ledger = open_world().ledger
    assert sorted(path for path, _ in ledger.notes.aliases()) == PATHS
    assert ledger.vectors.get(list(VECTORS)) == VECTORS
    assert not list(index.glob("*.bad*")), "nothing holds the old text"


@pytest.mark.fault("B6", "J5")
def test_after_a_downgrade_a_newer_ledger_is_made_again_and_keeps_its_vectors_and_history(index, open_world):
    file = Path(copy_ledger(CURRENT_LEDGER, index))
    with contextlib.closing(Ledger(file)) as ledger:
        ledger.opens.add("ferry", Open("ferry", "Harbour.md", 1, 5.0, "cli"))
        ledger.given.add(Given(5.0, "agent", "search", "ferry?", 7, []))
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as newer:
        for table in ("notes", "vectors", "opens", "given"):
            newer.execute(f"ALTER TABLE {table} ADD COLUMN later TEXT NOT NULL DEFAULT 'x'")
        newer.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    ledger = open_world().ledger
    assert sorted(path for path, _ in ledger.notes.aliases()) == PATHS
    assert ledger.vectors.get(list(VECTORS)) == VECTORS
    assert [opened.path for opened in ledger.opens.latest(5)] == ["Harbour.md"]
    assert [given.question for given in ledger.given.latest(5)] == ["ferry?"]
    assert not list(index.glob("*.bad*")), "nothing holds the old text"


def test_a_ledger_of_the_current_format_is_opened_as_it_is(index):
    assert CURRENT_LEDGER in LEDGERS, "tests/data/formats/README.md says how to add a format"
    with contextlib.closing(Ledger(Path(copy_ledger(CURRENT_LEDGER, index)))) as ledger:
        assert (ledger.generation, ledger.revision, ledger.counts()) == (GENERATION, 3, Counts(3, 3, 3, 0))
        harbour = ledger.notes.by_path("Harbour.md")
        assert (harbour.title, harbour.aliases, harbour.tags) == ("Harbour", ("Port",), ("places/coast",))
        assert ledger.notes.ids_by_name("port") == {harbour.id}
        resolved = [row.resolved for row in ledger.links.from_notes([harbour.id])]
        assert resolved == ["Anchor.md", "deck/Bilge Pump.md"]
        assert [chunk.start_line for chunk in ledger.chunks.by_note([harbour.id])[harbour.id]] == [5]
        assert ledger.space.store() == "hashing/1/1:fixture"


@pytest.mark.fault("B6", "J5")
@pytest.mark.parametrize("name", KEYWORD_INDEXES)
def test_a_keyword_index_of_any_format_finds_the_notes(name, index, open_world):
    copy_ledger(CURRENT_LEDGER, index)
    copy_keyword(name, index)
    world = open_world()
    assert paths(world, "ferry") == ["Harbour.md"]
    assert paths(world, "shackle_pin") == ["Anchor.md"]
    assert paths(world, "E-4107") == ["deck/Bilge Pump.md"]


@pytest.mark.parametrize("name", KEYWORD_INDEXES)
def test_a_keyword_index_of_any_format_opens_at_its_revision_or_counts_as_damaged(name, index):
    directory = copy_keyword(name, index)
    with contextlib.suppress(IndexDamaged) if name != CURRENT_KEYWORD else contextlib.nullcontext():
        opened = KeywordIndex.open(directory, LanguageRules("en"))
        assert (opened.revision, len(opened)) == (f"{GENERATION}:3", 3)
        assert hits_of(opened.search("ferry quay", 1))[0].matched == ("ferry", "quay")
