"""The order in which a vault's texts are embedded: the ones most useful to search come first."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from semantic_here import WorkerHere, open_vault
from vaultseek.core.indexing import embed, embedding_queue
from vaultseek.core.indexing.open_vault import VaultOptions
from vaultseek.core.library import index_vault
from vaultseek.errors import WorkerUnavailable
from vaultseek.semantic.models.catalogue import find_model

OLD = "# Kettle\n\nSteam rises.\n\n## Descaling\n\nVinegar helps.\n"
NEW = "# Bicycle\n\nTyres need air.\n\n## Chain\n\nOil it in spring.\n"


class Recording(WorkerHere):
    """A worker that records what was stored in ``stored``: the collection, and the note of each vector."""

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


@pytest.mark.parametrize(("page", "order", "batch"), [(1, 1, 1), (1, 3, 2), (2, 8, 1), (3, 100, 32)])
async def test_every_text_is_stored_once_whatever_the_size_of_a_page(
    vault: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    page: int,
    order: int,
    batch: int,
) -> None:
    monkeypatch.setattr(embedding_queue, "PAGE_TEXTS", page)
    monkeypatch.setattr(embedding_queue, "ORDERED_TEXTS", order)
    monkeypatch.setattr(embed, "BATCH_TEXTS", batch)
    root, worker = vault({f"{number}.md": OLD + NEW + str(number) for number in range(4)}), Recording()
    opened = open_vault(VaultOptions("notes", root), tmp_path / "index", worker, find_model("hashing"))
    try:
        await index_vault(opened)
        counts = opened.ledger.counts()
        assert len(worker.stored) == counts.notes + counts.chunks
        assert await opened.embedding.stored() == (counts.chunks, counts.notes)
        assert not await opened.embedding.step()
        worker.stored.clear()

        (root / "2.md").write_text(OLD + "Scale is chalk.\n")
        await index_vault(opened)
        changed = opened.ledger.notes.numbers(["2.md"])["2.md"]
        assert {note for _, note in worker.stored} == {changed}
    finally:
        opened.close()


async def test_a_note_that_is_stored_meanwhile_does_not_end_the_work(
    vault: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, worker = vault({"old.md": OLD}), Recording()
    opened = open_vault(VaultOptions("notes", root), tmp_path / "index", worker, find_model("hashing"))
    compose, commits = opened.embedding.unembedded.notes, iter(range(3))

    def compose_late(ids: list[int]) -> list[Any]:
        if next(commits, None) is not None:
            with opened.ledger.commit():
                pass
        return compose(ids)

    try:
        opened.indexer.load()
        opened.indexer.apply(opened.indexer.reconcile())
        monkeypatch.setattr(opened.embedding.unembedded, "notes", compose_late)
        while await opened.embedding.step():
            pass
        counts = opened.ledger.counts()
        assert await opened.embedding.stored() == (counts.chunks, counts.notes)
    finally:
        opened.close()


class Ahead(Recording):
    """A worker that records how many texts it has received when vectors are stored."""

    def __init__(self) -> None:
        super().__init__()
        self.received = 0
        self.seen: list[tuple[int, int]] = []

    async def embed(self, texts: Any, **more: Any) -> Any:
        self.received += len(texts)
        return await super().embed(texts, **more)

    async def apply(self, store: Path, collection: str, **more: Any) -> None:
        await super().apply(store, collection, **more)
        self.seen.append((len(self.stored), self.received))


async def test_the_worker_has_the_next_text_while_vectors_are_stored(
    vault: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embed, "BATCH_TEXTS", 1)
    monkeypatch.setattr(embed, "STORE_SECONDS", 0.0)
    root, worker = vault({f"{number}.md": f"# Note {number}\n" for number in range(4)}), Ahead()
    opened = open_vault(VaultOptions("notes", root), tmp_path / "index", worker, find_model("hashing"))
    try:
        await index_vault(opened)
    finally:
        opened.close()
    assert [each for each in worker.seen if 0 < each[0] < 4] == [(1, 2), (2, 3), (3, 4)]


class Faltering(Recording):
    """A worker that embeds nothing at first."""

    failures = 3

    async def embed(self, texts: Any, **more: Any) -> Any:
        if self.failures:
            self.failures -= 1
            raise WorkerUnavailable("it is down")
        return await super().embed(texts, **more)


async def test_what_could_not_be_embedded_is_still_the_first(
    vault: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_queue, "PAGE_TEXTS", 2)
    monkeypatch.setattr(embed, "BATCH_TEXTS", 1)
    root, worker = vault({f"{number}.md": OLD for number in range(6)}), Faltering()
    for number in range(6):
        os.utime(root / f"{number}.md", (1_600_000_000 + number, 1_600_000_000 + number))
    opened = open_vault(VaultOptions("notes", root), tmp_path / "index", worker, find_model("hashing"))
    try:
        opened.indexer.load()
        opened.indexer.apply(opened.indexer.reconcile())
        while worker.failures:
            with pytest.raises(WorkerUnavailable):
                await opened.embedding.step()
        while await opened.embedding.step():
            pass
        ids = opened.ledger.notes.numbers([f"{number}.md" for number in range(6)])
    finally:
        opened.close()
    assert worker.stored[:6] == [("notes", ids[f"{number}.md"]) for number in reversed(range(6))]


async def test_a_paused_vault_stores_every_vector_that_is_known_and_embeds_none(
    vault: Callable[..., Path], tmp_path: Path
) -> None:
    root, worker = vault({"new.md": NEW, "old.md": OLD}), Recording()
    os.utime(root / "old.md", (1_600_000_000, 1_600_000_000))
    opened = open_vault(VaultOptions("notes", root), tmp_path / "index", worker, find_model("hashing"))
    try:
        await index_vault(opened)
        items = opened.embedding.unembedded.of_notes(list(opened.ledger.notes.numbers(["new.md"]).values()))
        opened.ledger.vectors.delete([opened.embedding.unembedded.key(item) for item in items])
        counts = opened.ledger.counts()
        await opened.embedding.discard_store("for the test")
        worker.stored.clear()
        await opened.embedding.copy()
        chunks, notes = await opened.embedding.stored()
        assert (chunks, notes) == (counts.chunks - len(items) + 1, counts.notes - 1)
    finally:
        opened.close()
