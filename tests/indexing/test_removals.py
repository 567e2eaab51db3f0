"""Removed notes leave the indexes, also after the ledger has forgotten that it had them."""

from __future__ import annotations

import shutil

import pytest

from vaultseek.index.ledger import Ledger
from vaultseek.indexing import reconcile
from vaultseek.indexing.ingest import Intake, Keyword, Reading
from vaultseek.markdown.resolve import Names
from vaultseek.vault.ignore import Ignore


class Vault:
    """Notes on disk with a ledger and a keyword index."""

    def __init__(self, home):
        self.root = home / "vault"
        self.root.mkdir()
        self.ledger = Ledger(home / "ledger.sqlite")
        self.directory = home / "keyword"
        self.keyword = Keyword(self.directory, "en")
        reading = Reading(self.root, lambda text: len(text) // 4 + 1, 254)
        self.intake = Intake(reading, self.ledger, Names(), self.keyword)

    def index(self):
        self.intake.take(reconcile.everything(self.root, Ignore(self.root), self.ledger))

    def paths(self, query):
        hits = self.keyword.index.search(query, 10).hits
        rows = self.ledger.notes.by_id([hit.note for hit in hits])
        return [rows[hit.note].path if hit.note in rows else None for hit in hits]


@pytest.fixture
def vault(tmp_path, monkeypatch):
    monkeypatch.setattr("vaultseek.index.ledger.notes.REMOVED_NOTES", 0)
    made = Vault(tmp_path)
    for name in ("anchor", "bilge", "chain"):
        (made.root / f"{name}.md").write_text(f"harbour {name}")
    made.index()
    yield made
    made.keyword.index.close()
    made.ledger.close()


def test_removals_are_forgotten_when_the_indexes_have_seen_them(vault):
    (vault.root / "bilge.md").unlink()
    vault.index()
    assert vault.ledger.select("SELECT * FROM removed") == []
    assert vault.paths("harbour") == ["anchor.md", "chain.md"]


def test_an_index_from_before_forgotten_removals_is_filled_again(vault, tmp_path):
    shutil.copytree(vault.directory, tmp_path / "backup")
    (vault.root / "bilge.md").unlink()
    vault.index()
    vault.keyword.index.close()
    shutil.rmtree(vault.directory)
    shutil.copytree(tmp_path / "backup", vault.directory)
    vault.keyword = Keyword(vault.directory, "en")
    vault.keyword.catch_up(vault.ledger)
    assert vault.paths("harbour") == ["anchor.md", "chain.md"]
