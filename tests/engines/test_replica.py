"""A searcher's copy of a shard: exact, by revision, and clear about what it cannot have."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from engines import lite_engine
from semantic_here import WorkerHere
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.library import index_vault
from vaultseek.engines import replica as shard_copy
from vaultseek.engines.heartbeat import Heartbeat
from vaultseek.engines.milvus import connection as milvus_connection
from vaultseek.engines.milvus import schema
from vaultseek.engines.milvus.backend import MilvusBackend
from vaultseek.engines.milvus.shard_rows import CopyTable
from vaultseek.engines.port import Kind
from vaultseek.errors import Unavailable
from vaultseek.settings.engine import MilvusOptions
from vaultseek.store.ledger import NoteCopy
from worlds import write_files

NOTES = {
    "pumps.md": "---\ntags: [work/pumps]\nyear: 2020\n---\n# Pumps\n\nSee [[later#part|a]], [[later]] ^id",
    "brakes.md": "# Brakes\n\n- [ ] grease them, see ![[pumps]]\n\n```py\nx = 1\n```",
    "empty.md": "",
    "sub/日本.md": "# 日本\n\n\N{PILE OF POO} [x](../pumps.md)",
}


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusOptions]:
    with lite_engine(tmp_path_factory.mktemp("milvus"), seconds=30.0) as options:
        yield options


@contextlib.contextmanager
def opened(
    root: Path, directory: Path, engine: MilvusOptions, *, is_replica: bool, model: str = "test"
) -> Iterator[OpenVault]:
    spec = EmbeddingSpec(model, lambda text: len(text) // 4 + 1, 254)
    options = VaultOptions(root.name, root, engine=engine, is_replica=is_replica)
    with contextlib.closing(OpenVault.open(options, directory, WorkerHere(), spec)) as vault:
        vault.indexer.load()
        yield vault


@contextlib.contextmanager
def indexer_and_searcher(tmp_path: Path, engine: MilvusOptions) -> Iterator[tuple[OpenVault, OpenVault]]:
    tmp_path.mkdir(exist_ok=True)
    root = write_files(tmp_path / "vault", NOTES)
    with (
        opened(root, tmp_path / "a", engine, is_replica=False) as indexer,
        opened(tmp_path / "none", tmp_path / "b", engine, is_replica=True) as searcher,
    ):
        asyncio.run(index_vault(indexer))
        yield indexer, searcher


def copies_of(vault: OpenVault) -> dict[int, NoteCopy]:
    """Return all that a ledger has of its notes."""
    return vault.ledger.copies.of_notes(vault.ledger.notes.ids())


def step(searcher: OpenVault) -> bool:
    assert searcher.replica is not None
    changed = searcher.replica.step()
    searcher.indexer.load()
    return changed


def test_a_copy_has_all_that_the_ledger_has(tmp_path, lite, monkeypatch):
    monkeypatch.setattr(schema, "PART_CHARS", 200)  # so that a copy takes several rows
    with indexer_and_searcher(tmp_path, replace(lite, shard="exact")) as (indexer, searcher):
        assert step(searcher)
        assert not step(searcher)
        assert copies_of(searcher) == copies_of(indexer)
        assert searcher.ledger.counts() == indexer.ledger.counts()
        assert searcher.ledger.links.edges() == indexer.ledger.links.edges()
        assert searcher.keyword_index.terms() == indexer.keyword_index.terms()

        # A link that leads elsewhere, a time, a note that goes, one that moves, and one that shrinks.
        root = tmp_path / "vault"
        write_files(root, {"later.md": "# Later\n\n## part", "brakes.md": "# Brakes"})
        (root / "empty.md").unlink()
        os.utime(root / "pumps.md", (10**9, 10**9))
        (root / "sub" / "日本.md").rename(root / "moved.md")
        asyncio.run(index_vault(indexer))
        assert step(searcher)
        assert copies_of(searcher) == copies_of(indexer)
        assert searcher.ledger.links.edges() == indexer.ledger.links.edges()
        assert searcher.ledger.counts() == indexer.ledger.counts()
        assert searcher.keyword_index.terms() == indexer.keyword_index.terms()


def test_another_ledger_of_the_same_shard_is_replica_anew(tmp_path, lite):
    engine = replace(lite, shard="anew")
    with indexer_and_searcher(tmp_path, engine) as (indexer, searcher):
        assert step(searcher)
        indexer.close()
        write_files(tmp_path / "vault", {"another.md": "# Another"})
        with opened(tmp_path / "vault", tmp_path / "c", engine, is_replica=False) as other:
            asyncio.run(index_vault(other))
            assert step(searcher)
            assert copies_of(searcher) == copies_of(other)


def test_a_shard_that_is_dropped_is_missing_and_the_others_are_not(tmp_path, lite):
    gone, there = replace(lite, shard="gone"), replace(lite, shard="there")
    with (
        indexer_and_searcher(tmp_path / "1", gone) as (indexer, searcher),
        indexer_and_searcher(tmp_path / "2", there) as (_, other),
    ):
        assert step(searcher)
        assert step(other)
        assert indexer.engine is not None
        indexer.engine.backend.drop()
        with pytest.raises(Unavailable, match="the engine has no shard gone"):
            step(searcher)
        assert not step(other)
        assert copies_of(searcher)  # filters are still answered


def test_a_shard_in_another_format_is_said_to_be_one(tmp_path, lite, monkeypatch):
    engine = replace(lite, shard="newer", prefix="newer")
    with indexer_and_searcher(tmp_path, engine):
        monkeypatch.setattr(schema, "VERSION", 99)
        none = tmp_path / "none"
        with (
            opened(none, tmp_path / "c", engine, is_replica=True) as older,
            pytest.raises(Unavailable, match=r"no shard newer; .*format \d, and this vaultseek reads 99"),
        ):
            step(older)


def test_a_copy_that_cannot_be_read_is_named(tmp_path, lite, monkeypatch):
    monkeypatch.setattr(milvus_connection, "PAUSE_SECONDS", 0.0)
    with indexer_and_searcher(tmp_path, replace(lite, shard="odd")) as (_, searcher):
        monkeypatch.setattr(CopyTable, "texts", lambda self, notes: ["no copy"])
        with pytest.raises(Unavailable, match="another version of vaultseek"):
            step(searcher)


def test_a_searcher_of_another_version_or_model_says_so(tmp_path, lite, monkeypatch):
    engine = replace(lite, shard="other")
    with indexer_and_searcher(tmp_path, engine) as (indexer, searcher):
        assert indexer.engine is not None
        indexer.engine.publish(Heartbeat(time.time(), "far", "ready"))
        step(searcher)
        assert searcher.replica is not None
        assert searcher.replica.reason() is None
        with opened(tmp_path / "none", tmp_path / "c", engine, is_replica=True, model="else") as other:
            step(other)
            assert other.replica is not None
            assert "its vectors are of another model; set model.name" in str(other.replica.reason())
        monkeypatch.setattr(shard_copy, "ANALYZER_VERSION", 99)
        step(searcher)
        assert re.search(r"analyses words otherwise \(\d+, here 99\)", str(searcher.replica.reason()))


def test_a_copied_index_that_takes_a_shard_over_is_replica_anew(tmp_path, lite):
    """Both count their revisions on from the same one, so that these alone would hide the difference."""
    engine = replace(lite, shard="over")
    root = tmp_path / "vault"
    with indexer_and_searcher(tmp_path, engine) as (indexer, searcher):
        step(searcher)
        indexer.close()
        shutil.copytree(tmp_path / "a", tmp_path / "copied")
        write_files(root, {"brakes.md": "# Theirs"})
        with opened(root, tmp_path / "a", engine, is_replica=False) as first:
            asyncio.run(index_vault(first))
            step(searcher)
            assert copies_of(searcher) == copies_of(first)
        with opened(root, tmp_path / "copied", engine, is_replica=False) as other:
            for text in ("# Ours", "# Ours, later"):
                write_files(root, {"brakes.md": text} if text == "# Ours" else {"empty.md": text})
                asyncio.run(index_vault(other))
            assert step(searcher)
            assert copies_of(searcher) == copies_of(other)


def test_vectors_that_are_not_there_yet_are_asked_for_a_few_notes_at_a_time(tmp_path, lite, monkeypatch):
    monkeypatch.setattr(shard_copy, "PAGE_NOTES", 1)
    monkeypatch.setattr(shard_copy, "PAGES_IN_VAIN", 2)
    asked: list[list[int]] = []
    numbers = MilvusBackend.numbers

    def noted(backend: MilvusBackend, space: str, kind: Kind, notes: list[int]) -> list[int]:
        asked.append(list(notes))
        return numbers(backend, space, kind, notes)

    monkeypatch.setattr(MilvusBackend, "numbers", noted)
    with indexer_and_searcher(tmp_path / "x", replace(lite, shard="late")) as (indexer, searcher):
        write_files(indexer.options.root, {f"{number}.md": f"# Late {number}" for number in range(7)})
        indexer.indexer.apply(indexer.indexer.reconcile())  # by word alone
        step(searcher)
        assert searcher.ledger.counts().pending == 14
        waits = set()
        for _ in range(6):
            asked.clear()
            step(searcher)
            assert len(asked) <= 4
            waits |= {note for notes in asked for note in notes}
        assert len(waits) == 7, "each of them has its turn"
        asyncio.run(index_vault(indexer))
        for _ in range(2):
            step(searcher)
        assert searcher.ledger.counts().pending == 0
