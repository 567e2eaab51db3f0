"""What an open vault says of itself while something stands in its way."""

from __future__ import annotations

import asyncio
import errno
import sqlite3
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from semantic_here import WorkerHere
from vaultseek.daemon.open_vault import Keeper, VaultPlace
from vaultseek.errors import WorkerUnavailable
from vaultseek.indexing import embed as embedding
from vaultseek.indexing.embed import Recipe
from vaultseek.models.catalogue import find_model


class RefusingWorker(WorkerHere):
    """Stores nothing as long as there is a reason not to."""

    trouble: Exception | None = None

    async def apply(self, *arguments: Any, **more: Any) -> None:
        if self.trouble is not None and more.get("ids"):
            raise self.trouble
        await super().apply(*arguments, **more)


@pytest.fixture
async def kept(vault: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """``await kept(trouble)`` is a keeper that can store no vectors for this reason, and its worker."""
    monkeypatch.setattr(embedding, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(embedding, "EMBED_RETRY_SECONDS", 0.02)
    opened: list[Keeper] = []

    async def open_vault(trouble: Exception) -> tuple[Keeper, RefusingWorker]:
        worker = RefusingWorker()
        worker.trouble = trouble
        model = find_model("hashing")
        recipe = Recipe(model.fingerprint, model.counter(), model.window)
        place = VaultPlace("notes", vault({"a.md": "# Pump", "b.md": "# Valve"}))
        keeper = Keeper(place, worker, recipe, lambda keeper, paths: None)
        await keeper.open()
        opened.append(keeper)
        return keeper, worker

    yield open_vault
    for keeper in opened:
        await keeper.close()


async def until(condition: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        (WorkerUnavailable("it is down"), "it is down"),
        (OSError(errno.ENOSPC, "No space"), "the disk is full; free some space, it goes on by itself"),
        (sqlite3.OperationalError("database or disk is full"), "the disk is full; free some space"),
        (ValueError("odd"), "storing vectors failed (ValueError); see the log"),
    ],
)
async def test_texts_that_wait_say_what_for(kept, caplog, trouble, said):
    keeper, worker = await kept(trouble)
    await until(lambda: keeper.status()["reason"] and keeper.state == "ready")
    for told in (keeper.status(), keeper.index_state()):
        assert told["reason"].startswith(f"texts cannot be embedded: {said}")
        assert told["pending"]
    await asyncio.sleep(0.2)  # several attempts
    assert len([record for record in caplog.records if record.name == "vaultseek.indexing.embed"]) <= 1
    worker.trouble = None
    await until(lambda: not keeper.pending())
    assert keeper.status()["reason"] is None
