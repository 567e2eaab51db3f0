"""The order in which a vault's texts get their vectors: what a search misses most comes first."""

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semantic_here import WorkerHere, open_vault
from vaultseek.core.indexing import ingest
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import index_vault
from vaultseek.semantic.models.catalogue import find_model

OLD = "# Kettle\n\nSteam rises.\n\n## Descaling\n\nVinegar helps.\n"
NEW = "# Bicycle\n\nTyres need air.\n\n## Chain\n\nOil it in spring.\n"


class Recording(WorkerHere):
    """A worker that keeps in ``stored`` what was stored: the collection, and the note of each vector."""

    def __init__(self) -> None:
        super().__init__()
        self.stored: list[tuple[str, int]] = []

    async def apply(self, store: Path, collection: str, **more: Any) -> None:
        self.stored += [(collection, int(note)) for note in more.get("notes", ())]
        await super().apply(store, collection, **more)


async def test_notes_come_before_their_passages_and_the_newest_before_older_ones(
    vault: Callable[..., Path], tmp_path: Path
) -> None:
    root, worker = vault({"old.md": OLD, "new.md": NEW}), Recording()
    os.utime(root / "old.md", (1_600_000_000, 1_600_000_000))
    opened = open_vault(VaultOptions("notes", root), tmp_path / "index", worker, find_model("hashing"))
    try:
        await index_vault(opened)
        ids = opened.ledger.notes.numbers(["new.md", "old.md"])
    finally:
        opened.close()
    new, old = ids["new.md"], ids["old.md"]
    whole, passages = worker.stored[:2], worker.stored[2:]
    assert whole == [("notes", new), ("notes", old)]
    assert {collection for collection, _ in passages} == {"chunks"}
    notes = [note for _, note in passages]
    assert set(notes) == {new, old}
    assert notes == sorted(notes, key=[new, old].index)


async def test_many_notes_are_read_before_any_is_embedded(
    vault: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "POOL_NOTES", 10)
    root, worker = vault({f"{number}.md": f"# Note {number}\n" for number in range(20)}), Recording()
    opened = open_vault(VaultOptions("notes", root), tmp_path / "index", worker, find_model("hashing"))
    reading, asked = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def on_progress(done: int, total: int) -> None:
        if done > 10:  # the writer waits here, in the middle of its work
            loop.call_soon_threadsafe(reading.set)
            asked.wait(10)

    try:
        opened.indexer.load()
        assert not await opened.embedding.step()  # the store is made, and there is nothing to embed
        changes = await opened.in_writer(opened.indexer.reconcile)
        applying = asyncio.create_task(opened.in_writer(opened.indexer.apply, changes, on_progress))
        await reading.wait()
        async with asyncio.timeout(5):
            assert not await opened.embedding.step()
        assert worker.stored == []
        asked.set()
        await applying
        assert await opened.embedding.step()
        assert len(worker.stored) == 20
    finally:
        asked.set()
        opened.close()
