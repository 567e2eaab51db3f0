"""An open vault through its public interface: opened, indexed, queried, closed."""

import asyncio
import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keyword_answers import hits_of
from semantic_answers import notes_of
from semantic_here import WorkerHere
from vaultseek.base.model import Reason
from vaultseek.core.indexing import storage
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.scoped_vault import ScopedVault
from vaultseek.core.indexing.spaces import Patience
from vaultseek.core.indexing.status import Activity
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.core.search.pipeline import Searcher
from vaultseek.core.search.request import SearchRequest
from vaultseek.errors import AlreadyRunning, IndexDamaged, Unavailable
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.worker.state import WorkerState
from vaultseek.settings.search import SearchSettings
from vaultseek.store.keyword.index import KeywordIndex

NOTES = {"pump.md": "# Pump\n\nThe float [[switch]] sticks.", "switch.md": "# Switch\n\nA copper contact."}
Open = Callable[..., OpenVault]


@pytest.fixture
def opened(vault: Callable[..., Path], tmp_path: Path) -> Iterator[Open]:
    """``opened()`` is an open vault with two notes; nothing is indexed yet."""
    with contextlib.ExitStack() as closing:

        def make(worker: Any = None, patience: Patience | None = None, **options: Any) -> OpenVault:
            model = find_model("hashing")
            spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window)
            configured = VaultOptions("notes", vault(NOTES), **options)
            opening = OpenVault.open(
                configured, tmp_path / "index", worker or WorkerHere(), spec, patience=patience
            )
            closing.callback(opening.close)
            return opening

        yield make


async def index(vault: OpenVault) -> None:
    """Index notes and vectors."""
    await vault.in_writer(vault.indexer.load)
    await vault.in_writer(vault.indexer.apply, vault.indexer.reconcile())
    while await vault.embedding.step():
        pass


def paths(vault: OpenVault, query: str) -> list[str]:
    """Return the notes that the keyword index finds for a query."""
    hits = hits_of(vault.keyword_index.search(query, 10))
    return [vault.ledger.notes.by_id([hit.note])[hit.note].path for hit in hits]


async def test_an_indexed_vault_answers_in_every_lane(opened):
    vault = opened()
    await index(vault)
    assert paths(vault, "copper") == ["switch.md"]
    assert vault.graph is not None
    assert len(list(vault.graph.edges())) == 1
    assert (vault.keyword_reason(), vault.spaces.reason()) == (None, None)
    answer = await vault.spaces.ask("a copper contact", 5, None)
    numbers = {row.path: row.id for row in vault.ledger.notes.by_id(vault.ledger.notes.ids()).values()}
    assert notes_of(answer)[0].note == numbers["switch.md"]
    only = await vault.spaces.ask("a copper contact", 5, np.array([numbers["pump.md"]], np.int64))
    assert {hit.note for hit in notes_of(only)} == {numbers["pump.md"]}
    assert set(await vault.spaces.note_vectors(list(numbers.values()))) == set(numbers.values())


async def test_what_is_indexed_is_there_after_the_next_opening(opened):
    first = opened()
    await index(first)
    first.close()
    second = opened()
    assert paths(second, "copper") == ["switch.md"]
    second.indexer.load()
    assert second.indexer.apply(second.indexer.reconcile()) == []


def test_only_one_process_opens_an_index(opened):
    opened()
    with pytest.raises(AlreadyRunning):
        opened()


def test_a_failed_opening_closes_what_it_opened(opened, monkeypatch):
    def fail(*arguments: Any) -> None:
        raise OSError(5, "broken")

    with monkeypatch.context() as patch:
        patch.setattr(storage, "KeywordSync", fail)
        with pytest.raises(OSError, match="broken"):
            opened()
    opened()


async def test_only_the_writer_thread_writes(opened):
    vault = opened()
    name = await vault.in_writer(lambda: threading.current_thread().name)
    assert name.startswith("writer-notes")


async def test_a_damaged_keyword_index_is_rebuilt_in_the_background(opened):
    vault = opened()
    await index(vault)
    damaged = vault.keyword_index
    vault.rebuild_keyword_index()
    vault.rebuild_keyword_index()
    await vault.in_writer(lambda: None)
    assert vault.keyword_index is not damaged
    assert vault.keyword_reason() is None
    assert paths(vault, "copper") == ["switch.md"]


async def test_a_damaged_vector_store_is_discarded_and_rebuilt(opened, monkeypatch):
    worker = WorkerHere()
    vault = opened(worker)
    await index(vault)
    vault.embedding.wake.clear()

    async def damaged(*arguments: Any, **more: Any) -> None:
        raise IndexDamaged("vectors: torn")

    with monkeypatch.context() as patch:
        patch.setattr(worker, "query", damaged)
        with pytest.raises(IndexDamaged):
            await vault.spaces.ask("copper", 5, None)
    assert vault.embedding.wake.is_set()
    reason = vault.spaces.reason()
    assert reason is not None
    assert reason.code == "being_built"
    while await vault.embedding.step():
        pass
    assert vault.spaces.reason() is None


async def test_a_measurement_waits_for_a_worker_that_a_search_does_without(opened):
    worker = WorkerHere()
    worker.state = WorkerState("starting")
    vault = opened(worker)
    await index(vault)
    assert vault.spaces.reason() is not None
    vault.close()
    patient = opened(worker, Patience(complete=True))
    await index(patient)
    assert patient.spaces.reason() is None


@pytest.mark.parametrize(("patience", "deadline"), [(None, 3.0), (Patience(rerank_seconds=60.0), 60.0)])
async def test_reranking_waits_as_long_as_the_patience_says(opened, monkeypatch, patience, deadline):
    worker = WorkerHere()
    deadlines = []

    async def rerank(query: str, texts: Any, model: str, *, deadline: float) -> Any:
        deadlines.append(deadline)
        return np.zeros(len(texts))

    monkeypatch.setattr(worker, "rerank", rerank)
    assert await opened(worker, patience).rerank("query", ["text"], "model", 3.0) == [0.0]
    assert deadlines == [deadline]


async def test_the_index_state_tells_the_activity(opened):
    vault = opened()
    await index(vault)
    state = vault.index_state()
    assert (state["notes"], state["pending"], state["state"], state["reason"]) == (2, 0, "ready", None)
    vault.activity = Activity("failing", Reason("failing", "see the log"), notes_done=3, notes_total=10)
    state = vault.index_state()
    assert (state["pending"], state["state"], state["code"], state["reason"]) == (
        7,
        "failing",
        "failing",
        "see the log",
    )


async def test_answers_say_that_many_passages_have_no_vectors_yet(opened):
    vault = opened()
    await index(vault)
    assert vault.spaces.lag_reason("copper") is None
    root = vault.options.root
    (root / "few.md").write_text("A few words.")
    await vault.in_writer(vault.indexer.apply, vault.indexer.reconcile())
    assert vault.ledger.counts().pending
    assert vault.spaces.lag_reason("copper") is None, "a save is no reason"
    for number in range(30):
        (root / f"{number}.md").write_text(f"Number {number}.")
    await vault.in_writer(vault.indexer.apply, vault.indexer.reconcile())
    assert vault.spaces.reason("copper") is None
    reason = vault.spaces.lag_reason("copper")
    assert reason is not None
    assert (reason.code, "not embedded yet" in reason.text) == ("not_embedded", True)
    trace = await Searcher(vault).run(SearchRequest("copper", SearchSettings()))
    assert trace.query.retrieval.answered == ["keyword"], "few vectors would mislead the order"
    assert trace.partial == {"semantic": reason}
    assert await vault.embedding.step(), "the notes"
    reason = vault.spaces.lag_reason("copper")
    assert reason is not None
    assert (reason.code, "not embedded yet" in reason.text) == ("being_built", True)
    trace = await Searcher(vault).run(SearchRequest("copper", SearchSettings()))
    assert trace.query.retrieval.answered == ["keyword", "semantic"]
    assert trace.partial == {"vault": reason}, "the lane takes part"
    answer = await vault.spaces.ask("copper", 10, None)
    assert (len(answer.note_ids) > 0, len(answer.passage_numbers)) == (True, 0), "few passages would, too"
    while await vault.embedding.step():
        pass
    assert vault.spaces.lag_reason("copper") is None
    assert len((await vault.spaces.ask("copper", 10, None)).passage_numbers)


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
async def test_a_search_waits_while_the_vectors_are_being_opened(opened, monkeypatch, mode):
    worker, may_answer = WorkerHere(), asyncio.Event()
    first = opened(worker)
    await index(first)
    first.close()
    version = worker.version

    async def late(*arguments: Any) -> str | None:
        await may_answer.wait()
        return await version(*arguments)

    monkeypatch.setattr(worker, "version", late)
    again = opened(worker)
    await again.in_writer(again.indexer.load)
    opening = asyncio.create_task(again.embedding.step())
    await asyncio.sleep(0)
    search = asyncio.create_task(Searcher(again).run(SearchRequest("copper", SearchSettings(), mode=mode)))
    await asyncio.sleep(0)
    may_answer.set()
    trace = await search
    await opening
    assert "semantic" in trace.query.retrieval.answered
    assert trace.partial == {}


async def test_a_keyword_index_that_could_not_be_filled_is_said_to_be_incomplete(opened, monkeypatch):
    vault = opened()
    await index(vault)

    def full(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as during:
        during.setattr(KeywordIndex, "apply", full)
        with pytest.raises(OSError, match="No space"):
            vault.engine.rebuild(vault.ledger)
    reason = vault.keyword_reason()
    assert reason is not None
    assert reason.code == "being_built"
    vault.engine.sync(vault.ledger)
    assert vault.keyword_reason() is None
    assert paths(vault, "copper") == ["switch.md"]


async def test_a_paused_vault_says_how_to_get_concepts(opened):
    vault = opened(paused=True)
    await asyncio.to_thread(vault.indexer.load)
    with pytest.raises(Unavailable, match="the vault notes is paused; resume it"):
        await vault.near_concepts("copper", np.ones(4, np.float32), 3, 0.5)


async def test_until_an_index_of_another_format_is_filled_answers_say_that_it_is_made_anew(
    opened: Open, tmp_path: Path
) -> None:
    first = opened()
    await index(first)
    first.close()
    shutil.rmtree(tmp_path / "index" / "keyword")
    again = opened()
    reason = again.keyword_reason()
    assert reason is not None
    assert reason.code == "being_built"
    await again.in_writer(again.indexer.load)
    assert again.keyword_reason() is None
    assert paths(again, "copper") == ["switch.md"]


async def test_a_part_of_a_vault_has_its_links_as_soon_as_the_vault_has(opened):
    vault = opened()
    (vault.options.root / "House").mkdir()
    for name, text in {"a.md": "[[b]]", "b.md": "Granite."}.items():
        (vault.options.root / "House" / name).write_text(text)
    await vault.in_writer(partial(vault.indexer.load, graph=False))
    await vault.in_writer(vault.indexer.apply, vault.indexer.reconcile())
    part = ScopedVault(vault, ("House",))
    assert part.graph is None
    await vault.in_writer(vault.indexer.load_graph)
    assert part.graph is not None
    assert part.graph is part.graph
