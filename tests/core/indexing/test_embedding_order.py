"""The order in which a vault's texts get their vectors: what a search misses most comes first."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from semantic_here import WorkerHere, open_vault
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
