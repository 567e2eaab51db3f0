"""A vault with books, people and other kinds of files, indexed once for all tests of tables."""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any

import pytest

from vaultseek.core.tables.expression import Language
from vaultseek.core.tables.files import VaultFiles
from vaultseek.core.tables.scope import Budget, Scope, Surroundings
from worlds import World, write_files

NOW = datetime(2026, 3, 15, 12, 30)
NOTES = {
    "Books/Dune.md": (
        "---\ntags: [book, book/scifi]\nauthor: '[[Frank Herbert]]'\nrating: 9\nprice: 12.5\nstatus: done\n"
        "read: 2026-01-10\npages: 600\ntopics: ['[[Sand]]', '[[Power|power]]']\ndue-date: 2026-04-01\n"
        "lent: true\n---\nSpice. See [[Books/Emma]] and ![[map.png]].\n"
    ),
    "Books/Emma.md": (
        "---\ntags: book\nauthor: Jane Austen\nrating: 7\nprice: 8\nstatus: open\nread: 2025-06-01T20:15:00\n"
        "Pages: 400\nlent: false\nseries: {name: Classics, number: 3}\n---\nA match. #novel\n"
    ),
    "Books/Notes on reading.md": "---\ntags: [essay]\nstatus: open\n---\nNo rating.\n",
    "People/Frank Herbert.md": "---\naliases: [Herbert]\nborn: 1920-10-08\n---\nWrote [[Dune]].\n",
    "2026-03-14.md": "Read [[Dune#Spice|some]] today. #diary\n",
    "map.png": "no picture",
    "Lists/All.base": "views: []\n",
}


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """The vault of these tests."""
    home = tmp_path_factory.mktemp("tables")
    world = World(write_files(home / "vault", NOTES), home)
    yield world
    world.close()


@pytest.fixture(scope="session")
def vault(world: World) -> VaultFiles:
    """The files of the vault."""
    return VaultFiles(world.ledger, world.root)


@pytest.fixture(scope="session")
def value(vault: VaultFiles) -> Callable[..., Any]:
    """``value("rating + 1")`` evaluates an expression for Dune; ``path`` selects another file."""

    def evaluate(text: str, path: str = "Books/Dune.md", this: str = "People/Frank Herbert.md") -> Any:
        file = vault.at(path)
        assert file is not None
        around = Surroundings(NOW, Budget(seconds=300), vault.at(this))  # also on a busy machine
        return Language(is_name=vault.has_property).compiled(text)(Scope(file, around))

    return evaluate
