"""Removed notes leave the indexes, also after the ledger has forgotten that it had them."""

from __future__ import annotations

import shutil

import pytest

from semantic_here import open_here


class Vault:
    """Notes on disk with an index that can be closed and opened again."""

    def __init__(self, home):
        self.root = home / "vault"
        self.root.mkdir()
        self.directory = home / "index"
        self.open()

    def open(self):
        self.opened = open_here(self.root, self.directory)

    def index(self):
        self.opened.indexer.apply(self.opened.indexer.reconcile())

    def paths(self, query):
        hits = self.opened.keyword_index.search(query, 10).hits
        rows = self.opened.ledger.notes.by_id([hit.note for hit in hits])
        return [rows[hit.note].path if hit.note in rows else None for hit in hits]


@pytest.fixture
def vault(tmp_path, monkeypatch):
    monkeypatch.setattr("vaultseek.index.ledger.notes.REMOVED_NOTES", 0)
    world = Vault(tmp_path)
    for name in ("anchor", "bilge", "chain"):
        (world.root / f"{name}.md").write_text(f"harbour {name}")
    world.index()
    yield world
    world.opened.close()


def test_removals_are_forgotten_when_the_indexes_have_seen_them(vault):
    (vault.root / "bilge.md").unlink()
    vault.index()
    assert vault.opened.ledger.select("SELECT * FROM removed") == []
    assert vault.paths("harbour") == ["anchor.md", "chain.md"]


def test_an_index_from_before_forgotten_removals_is_filled_again(vault, tmp_path):
    shutil.copytree(vault.directory / "keyword", tmp_path / "backup")
    (vault.root / "bilge.md").unlink()
    vault.index()
    vault.opened.close()
    shutil.rmtree(vault.directory / "keyword")
    shutil.copytree(tmp_path / "backup", vault.directory / "keyword")
    vault.open()
    assert vault.paths("harbour") == ["anchor.md", "chain.md"]
