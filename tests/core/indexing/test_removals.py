"""Removed notes leave the indexes, even after the ledger has forgotten them."""

import shutil

import pytest

from keyword_answers import hits_of


def paths(world, query):
    hits = hits_of(world.vault.keyword_index.search(query, 10))
    rows = world.ledger.notes.by_id([hit.note for hit in hits])
    return [rows[hit.note].path if hit.note in rows else None for hit in hits]


@pytest.fixture
def harbour(world, monkeypatch):
    monkeypatch.setattr("vaultseek.store.ledger.notes.REMOVED_NOTES", 0)
    return world({f"{name}.md": f"harbour {name}" for name in ("anchor", "bilge", "chain")})


def test_removals_are_forgotten_when_the_indexes_have_seen_them(harbour):
    (harbour.root / "bilge.md").unlink()
    harbour.index()
    assert harbour.ledger.select("SELECT * FROM removed") == []
    assert sorted(paths(harbour, "harbour")) == ["anchor.md", "chain.md"]


def test_an_index_from_before_forgotten_removals_is_rebuilt(harbour, tmp_path):
    shutil.copytree(harbour.directory / "keyword", tmp_path / "backup")
    (harbour.root / "bilge.md").unlink()
    harbour.index()
    harbour.close()
    shutil.rmtree(harbour.directory / "keyword")
    shutil.copytree(tmp_path / "backup", harbour.directory / "keyword")
    harbour.open()
    assert sorted(paths(harbour, "harbour")) == ["anchor.md", "chain.md"]
