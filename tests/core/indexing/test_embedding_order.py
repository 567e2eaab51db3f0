"""The order in which a vault's texts get their vectors: what a search misses most comes first."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from semantic_here import WorkerHere
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
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
    root, worker, model = vault({"old.md": OLD, "new.md": NEW}), Recording(), find_model("hashing")
    os.utime(root / "old.md", (1_600_000_000, 1_600_000_000))
    spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window)
    opened = OpenVault.open(VaultOptions("notes", root), tmp_path / "index", worker, spec)
    try:
        await opened.in_writer(opened.indexer.load)
        await opened.in_writer(opened.indexer.apply, opened.indexer.reconcile())
        while await opened.embedding.step():
            pass
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
