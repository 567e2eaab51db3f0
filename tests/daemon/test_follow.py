"""The reports of a followed vault, and its recovery from failures."""

import asyncio
import contextlib
import errno
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from semantic_here import WorkerHere
from vaultseek.core.indexing import embed, reconcile
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.daemon import folder_source, sources
from vaultseek.daemon.follow import VaultFollower
from vaultseek.errors import IndexDamaged, Unavailable, VaultMissing, WorkerUnavailable
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.worker import SemanticAnswer
from worlds import until

NOTES = {"a.md": "# Pump", "b.md": "# Valve"}


class RefusingWorker(WorkerHere):
    """A worker that stores nothing while there is a ``trouble``."""

    def __init__(self, trouble: Exception | None) -> None:
        super().__init__()
        self.trouble = trouble
        self.refused = 0

    async def apply(self, *arguments: Any, **more: Any) -> None:
        if self.trouble is not None and more.get("numbers"):
            self.refused += 1
            raise self.trouble
        await super().apply(*arguments, **more)


@pytest.fixture
async def follow(
    vault: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Callable[..., VaultFollower]]:
    """``follow(worker, files)`` is a started follower of a vault with these files."""
    monkeypatch.setattr(embed, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(embed, "EMBED_RETRY_SECONDS", 0.02)
    followers: list[VaultFollower] = []

    def start(worker: WorkerHere, files: Mapping[str, str] = NOTES, **options: Any) -> VaultFollower:
        model = find_model("hashing")
        spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window)
        opened = OpenVault.open(
            VaultOptions("notes", vault(files), **options), tmp_path / "index", worker, spec
        )
        follower = VaultFollower(opened, worker, lambda follower, paths: None)
        follower.start()
        followers.append(follower)
        return follower

    yield start
    for follower in followers:
        await follower.close()


@pytest.mark.fault("B1")
@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (WorkerUnavailable("it is down"), "it is down"),
        (
            OSError(errno.ENOSPC, "No space"),
            "the disk is full; free some space so that indexing can continue",
        ),
        (sqlite3.OperationalError("database or disk is full"), "the disk is full; free some space"),
        (ValueError("odd"), "storing vectors failed (ValueError); see the log"),
    ],
)
async def test_texts_that_wait_say_what_for(follow, caplog, trouble, said):
    worker = RefusingWorker(trouble)
    follower = follow(worker)
    await until(lambda: follower.status().as_json()["reason"] and follower.state == "ready")
    for status in (follower.status().as_json(), follower.vault.index_state()):
        assert status["reason"].startswith(f"passages cannot be embedded: {said}")
        assert status["pending"]
    await until(lambda: worker.refused > 5)
    assert len([record for record in caplog.records if record.name == "vaultseek.core.indexing.embed"]) <= 1
    worker.trouble = None
    await until(lambda: not follower.pending)
    assert follower.status().as_json()["reason"] is None


async def test_a_request_of_a_client_ends_the_pause_after_a_failure(follow, monkeypatch):
    monkeypatch.setattr(folder_source, "pause_after", lambda failures: 3600.0)
    follower = follow(WorkerHere())
    with monkeypatch.context() as disk:
        disk.setattr(
            follower.vault.indexer, "apply", Mock(side_effect=OSError(errno.EIO, "the disk is broken"))
        )
        await until(lambda: follower.state == "failing")
        for _ in range(3):
            with pytest.raises(Unavailable):
                await follower.rescan()
    await follower.rescan()
    assert follower.state == "ready"
    assert follower.vault.ledger.counts().notes == len(NOTES)


async def test_only_the_settings_that_are_read_have_the_whole_vault_compared(follow, monkeypatch):
    follower = follow(WorkerHere(), NOTES | {".obsidian/app.json": "{}"})
    root = follower.vault.options.root
    await until(lambda: follower.state == "ready")
    compared = Mock(side_effect=reconcile.compare_vault)
    monkeypatch.setattr(reconcile, "compare_vault", compared)
    (root / ".obsidian/workspace.json").write_text("{}")
    for count, name in enumerate(("c.md", "d.md"), 3):
        (root / name).write_text("# Rope")
        await until(lambda count=count: follower.vault.ledger.counts().notes == count)
    assert not compared.called
    (root / ".obsidian/app.json").write_text('{"userIgnoreFilters": ["b.md"]}')
    await until(lambda: follower.vault.ledger.counts().notes == 3)


async def test_a_folder_becomes_a_vault_of_its_own_and_ceases_to_be_one(follow):
    follower = follow(WorkerHere(), {"a.md": "# Pump", "sub/inner/b.md": "# Valve"})
    await until(lambda: follower.state == "ready" and follower.vault.ledger.counts().notes == 2)
    settings = follower.vault.options.root / "sub/inner/.obsidian"
    settings.mkdir()
    await until(lambda: follower.vault.ledger.counts().notes == 1)
    settings.rmdir()
    await until(lambda: follower.vault.ledger.counts().notes == 2)


@pytest.mark.parametrize(
    ("new", "more", "left"), [(40, {}, 40), (1, {}, 41), (1, {".git/HEAD": "ref: less"}, 1)]
)
async def test_notes_are_gone_at_once_if_as_many_are_new_or_git_is_there(follow, new, more, left):
    follower = follow(WorkerHere(), {f"old{number}.md": f"# Pump {number}" for number in range(40)} | more)
    root, ledger = follower.vault.options.root, follower.vault.ledger
    await until(lambda: follower.state == "ready" and ledger.counts().notes == 40)
    for file in root.glob("*.md"):
        file.unlink()
    for number in range(new):
        (root / f"new{number}.md").write_text(f"# Valve {number}")
    with contextlib.nullcontext() if left == new else pytest.raises(VaultMissing):
        await follower.rescan()
    assert ledger.counts().notes == left


class DamagedStore(WorkerHere):
    """A worker whose store is damaged until it is dropped, if ``is_damaged``."""

    is_damaged = False

    async def version(self, *arguments: Any, **more: Any) -> str | None:
        self.check()
        return await super().version(*arguments, **more)

    async def query(self, *arguments: Any, **more: Any) -> SemanticAnswer:
        self.check()
        return await super().query(*arguments, **more)

    async def drop(self, *arguments: Any, **more: Any) -> None:
        self.is_damaged = False
        await super().drop(*arguments, **more)

    def check(self) -> None:
        if self.is_damaged:
            raise IndexDamaged("the vectors are torn")


@pytest.mark.parametrize("when", ["before it is opened", "while it is open"])
async def test_damaged_vectors_of_a_paused_vault_are_rebuilt(follow, monkeypatch, when):
    monkeypatch.setattr(sources, "RETRY_SECONDS", 0.02)
    worker = DamagedStore()
    followed = follow(worker)
    await until(lambda: followed.state == "ready" and not followed.pending)
    await followed.close()
    worker.is_damaged = when == "before it is opened"
    vault = follow(worker, paused=True).vault
    await until(lambda: vault.embedding.ready)
    if when == "while it is open":
        worker.is_damaged = True
        with pytest.raises(IndexDamaged):
            await vault.spaces.ask("pump", 5, None)
    await until(lambda: vault.embedding.ready and not vault.ledger.counts().pending)
    assert len((await vault.spaces.ask("pump", 5, None)).note_ids) == len(NOTES)


async def test_a_client_that_waits_does_not_take_back_what_another_has_confirmed(follow):
    follower = follow(WorkerHere(), {f"{number}.md": "# Pump" for number in range(40)})
    await until(lambda: follower.state == "ready" and follower.vault.ledger.counts().notes == 40)
    for file in follower.vault.options.root.glob("*.md"):
        file.unlink()
    await asyncio.gather(follower.rescan(accept_loss=True), follower.rescan())
    assert (follower.state, follower.vault.ledger.counts().notes) == ("ready", 0)
