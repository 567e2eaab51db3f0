"""Failures in the background work of a followed vault, in this process."""

import asyncio
import contextlib
import logging
import logging.handlers
import sys
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from keyword_answers import hits_of
from semantic_here import WorkerHere
from vaultseek.base import limits, paths
from vaultseek.content.files import read
from vaultseek.content.files.watch import Watcher
from vaultseek.core.indexing import concepts, embed, open_vault, store_migration, unembedded
from vaultseek.core.indexing.open_vault import OpenVault, VaultOptions
from vaultseek.core.indexing.unembedded import EmbeddingSpec
from vaultseek.daemon import folder_watch, main, maintenance, tasks
from vaultseek.daemon.folder_source import FolderSource
from vaultseek.daemon.folder_watch import FolderWatch
from vaultseek.daemon.follow import VaultFollower
from vaultseek.daemon.maintenance import Maintenance
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.inference.embed import HashingEncoder
from vaultseek.semantic.inference.embed import embed as embed_texts
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.worker import SemanticWorker, WorkerSettings
from worlds import until

Follow = Callable[..., VaultFollower]
NOTES = {"a.md": "# Pump", "b.md": "# Valve"}


@pytest.fixture
async def follow(
    vault: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Follow]:
    """``follow(files)`` is a started follower of a vault with these files."""
    monkeypatch.setattr(tasks, "WORKER_BACKOFF_SECONDS", (0.01,))
    monkeypatch.setattr(embed, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(embed, "EMBED_RETRY_SECONDS", 0.02)
    followers: list[VaultFollower] = []

    def start(files: Mapping[str, str] = NOTES, worker: WorkerHere | None = None) -> VaultFollower:
        worker = worker or WorkerHere()
        model = find_model("hashing")
        spec = EmbeddingSpec(model.fingerprint, model.counter(), model.window)
        options = VaultOptions("notes", vault(files))
        opened = OpenVault.open(options, tmp_path / "index", worker, spec)  # type: ignore[arg-type]
        follower = VaultFollower(opened, worker, lambda follower, paths: None)  # type: ignore[arg-type]
        follower.start()
        followers.append(follower)
        return follower

    yield start
    for follower in followers:
        await follower.close()


async def test_a_reading_that_goes_on_counts_the_notes_that_are_there(follow, vault, monkeypatch):
    monkeypatch.setattr(read, "RACY_NANOSECONDS", 0)
    follower = follow({f"{number}.md": f"Number {number}." for number in range(40)})
    await follower.rescan()
    await follower.close()
    answered: list[str] = []
    real = FolderSource._set_progress

    def listen(self: FolderSource, done: int, total: int) -> None:
        real(self, done, total)
        if (reason := self.degraded_reason()) is not None:
            answered.append(reason.text)

    monkeypatch.setattr(FolderSource, "_set_progress", listen)
    again = follow({f"{number}.md": f"Number {number}." for number in range(40, 100)})
    await again.rescan()
    assert answered[0] == "still reading, 40 of 100 notes so far"


def fails_first(real: Callable[..., Any], times: int) -> Callable[..., Any]:
    """Return an asynchronous function that fails this many times and then works."""
    left = [times]

    async def call(*arguments: Any, **more: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise ValueError("a bug")
        return await real(*arguments, **more)

    return call


@pytest.mark.fault("A16")
@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (FolderSource, "_follow"),
        (FolderWatch, "check"),
        (Maintenance, "merge_segments"),
        (embed, "follow"),
        (concepts, "follow"),
    ],
)
async def test_a16_a_task_that_fails_is_begun_again_and_logged_once(follow, caplog, monkeypatch, owner, name):
    monkeypatch.setattr(owner, name, fails_first(getattr(owner, name), 3))
    follower = follow()
    await until(lambda: follower.state == "ready" and not follower.pending)
    (follower.vault.options.root / "c.md").write_text("granite")
    await until(lambda: hits_of(follower.vault.keyword_index.search("granite", 5)))
    await until(lambda: [record for record in caplog.records if record.levelno >= logging.ERROR])
    await asyncio.sleep(0.1)
    assert len([record for record in caplog.records if record.levelno >= logging.ERROR]) == 1
    assert not [task for task in follower._tasks if task.done() and task.exception()]


@pytest.mark.fault("C16")
async def test_c16_what_changed_while_the_machine_slept_is_found(follow, monkeypatch):
    monkeypatch.setattr(folder_watch, "LIVENESS_SECONDS", 0.05)
    follower = follow()
    await until(lambda: follower.state == "ready" and not follower.pending)
    monkeypatch.setattr(Watcher, "hint", lambda *_: None)  # earlier events were lost
    (follower.vault.options.root / "c.md").write_text("granite")
    time.sleep(0.5)  # noqa: ASYNC251 - nothing runs while a machine sleeps
    await until(lambda: hits_of(follower.vault.keyword_index.search("granite", 5)))


@pytest.mark.fault("H10")
async def test_h10_what_was_saved_is_found_by_the_search_after_a_comparison(follow):
    follower = follow()
    root = follower.vault.options.root
    for number in range(60):
        (root / "saved.md").write_text(f"word{number}")
        await follower.rescan()
        assert len(hits_of(follower.vault.keyword_index.search(f"word{number}", 5))) == 1


@pytest.mark.fault("A9")
@pytest.mark.parametrize(
    ("end", "cause"),
    [
        ("os.kill(os.getpid(), 11)", "signal 11"),
        ("sys.exit('no such library')", "code 1: no such library"),
        ("os.kill(os.getpid(), 4)", "this CPU lacks instructions"),
    ],
)
async def test_a9_who_waits_for_a_worker_that_dies_at_each_start_gets_its_cause(
    follow, monkeypatch, end, cause
):
    monkeypatch.setattr(open_vault, "STALLED_SECONDS", 1.0)
    command = (sys.executable, "-c", f"import os, sys, time; time.sleep(0.4); {end}")
    settings = WorkerSettings(command=command, backoff_seconds=(0.01,), retry_seconds=0.01)
    worker = SemanticWorker(find_model("hashing"), settings=settings)
    follower = follow(worker=worker)
    try:
        await worker.start()
        await follower.rescan()
        async with asyncio.timeout(60):
            with pytest.raises(WorkerUnavailable, match=cause):
                await follower.wait_until_embedded()
    finally:
        await follower.close()
        await worker.stop()


class WrongWorker(WorkerHere):
    """A worker that returns wrong vectors for a while."""

    def __init__(self, wrong: Callable[[Any], Any]) -> None:
        super().__init__()
        self.wrong: Callable[[Any], Any] | None = wrong
        self.asked = 0

    async def embed(self, texts: Any, **more: Any) -> Any:
        vectors = await super().embed(texts, **more)
        self.asked += 1
        return vectors if self.wrong is None else self.wrong(vectors)


WRONG: dict[str, Callable[[Any], Any]] = {
    "not finite": lambda vectors: np.full_like(vectors, np.nan),
    "too short": lambda vectors: vectors[:, :3],
    "too few": lambda vectors: vectors[:-1],
    "none": lambda vectors: vectors[:0],
}


@pytest.mark.fault("I5")
@pytest.mark.parametrize("kind", WRONG)
async def test_i5_wrong_vectors_cost_no_search_by_word(follow, kind):
    follower = follow(worker=(worker := WrongWorker(WRONG[kind])))
    await until(lambda: worker.asked > 1 or (worker.asked and not follower.pending))
    assert len(hits_of(follower.vault.keyword_index.search("pump", 5))) == 1


class WrongEncoder(HashingEncoder):
    """An encoder that returns wrong vectors for one text, or for several at a time."""

    def __init__(self, wrong: Callable[[Any], Any], *, batches: bool) -> None:
        super().__init__()
        self.wrong, self.batches = wrong, batches

    def encode(self, texts: Any, **more: Any) -> Any:
        vectors = super().encode(texts, **more)
        is_wrong = len(texts) > 1 if self.batches else "bad" in texts
        return self.wrong(vectors) if is_wrong else vectors


@pytest.mark.fault("I4", "I5")
@pytest.mark.parametrize("kind", WRONG)
@pytest.mark.parametrize("batches", [False, True])
def test_i5_only_the_text_with_a_wrong_vector_is_without_one(kind, batches):
    embedded = embed_texts(WrongEncoder(WRONG[kind], batches=batches), ["a", "bad", "c", "d"])
    assert [index for index, _ in embedded.failed] == ([] if batches else [1])
    assert np.isfinite(embedded.vectors).all(axis=1).tolist() == [True, batches, True, True]


@pytest.mark.fault("I4", "Invariant 4")
@pytest.mark.parametrize("name", ["passage_text", "note_text"])
async def test_i4_a_text_that_cannot_be_composed_costs_only_itself(follow, monkeypatch, name):
    real = getattr(unembedded, name)

    def compose(**parts: Any) -> Any:
        if "breaks" in parts["title"]:
            raise IndexError("a bug")
        return real(**parts)

    monkeypatch.setattr(unembedded, name, compose)
    follower = follow({**NOTES, "c.md": "# It breaks\n\ngranite"})
    await until(lambda: follower.state == "ready" and not follower.pending)
    ledger = follower.vault.ledger
    assert {path: problem.code for path, problem in ledger.problems.all()} == {"c.md": "not_embedded"}
    assert follower.vault.activity.embed_problem is None
    monkeypatch.undo()
    (follower.vault.options.root / "c.md").write_text("# It is whole\n\ngranite")
    await until(lambda: not ledger.problems.all() and not follower.pending)


@pytest.mark.fault("J3")
def test_j3_a_log_has_a_greatest_size(monkeypatch):
    monkeypatch.setattr(limits, "LOG_BYTES", 10_000)
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    try:
        main._start_log()
        for number in range(3000):
            logging.getLogger("vaultseek").error("the same thing failed again, for the %dth time", number)
    finally:
        for handler in [handler for handler in root.handlers if handler not in before]:
            root.removeHandler(handler)
            handler.close()
        root.setLevel(level)
    files = list(paths.state_directory().glob("daemon.log*"))
    assert len(files) == main.LOG_FILES + 1
    assert sum(file.stat().st_size for file in files) <= 10_000 * len(files)


async def fails_for_ever(tries: int) -> None:
    """Keep a task running that always fails, until it has been restarted more than this many times."""
    began = 0

    async def work() -> None:
        nonlocal began
        began += 1
        raise OSError(5, "Input/output error")

    task = asyncio.create_task(tasks.keep_running(work, "test"))
    await until(lambda: began > tries)
    task.cancel()


@pytest.mark.fault("J3", "A16")
async def test_j3_what_fails_for_ever_is_logged_once(caplog, monkeypatch):
    monkeypatch.setattr(tasks, "WORKER_BACKOFF_SECONDS", (0.0,))
    await fails_for_ever(tries=100)
    assert len(caplog.records) == 1


async def test_a_task_that_was_well_for_a_while_is_soon_started_again(monkeypatch):
    monkeypatch.setattr(tasks, "WORKER_BACKOFF_SECONDS", (0.0, 3600.0))
    monkeypatch.setattr(tasks, "STABLE_SECONDS", 0.0)
    await fails_for_ever(tries=5)


@pytest.mark.fault("B4", "B3")
async def test_b4_what_was_healed_is_in_the_log(follow, caplog):
    follower = follow()
    await until(lambda: follower.state == "ready" and not follower.pending)
    index = follower.vault.engine.directory
    for file in index.iterdir():
        file.write_bytes(b"noise")
    with pytest.raises(IndexDamaged, match="another program"):
        follower.vault.keyword_index.search("granite", 5)
    (follower.vault.options.root / "c.md").write_text("granite")

    def is_found() -> bool:
        with contextlib.suppress(IndexDamaged):
            return bool(hits_of(follower.vault.keyword_index.search("granite", 5)))
        return False

    await until(is_found)
    await follower.vault.embedding.discard_store("it is lost")
    await until(lambda: not follower.pending)
    warnings = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert any("from the ledger" in text for text in warnings)
    assert any("discarding and refilling" in text for text in warnings)
    assert not list(index.parent.glob("keyword.old*"))


@pytest.mark.fault("B12")
async def test_b12_vectors_that_no_note_needs_are_forgotten_when_they_are_many(follow, monkeypatch):
    follower = follow()
    root, vectors = follower.vault.options.root, follower.vault.ledger.vectors
    for turn in range(10):
        (root / "a.md").write_text(f"# Pump {turn}\n\nturn {turn}")
        await follower.rescan()
        await follower.wait_until_embedded()
    before = vectors.keys_after("", 1000)
    # Not earlier: sooner or later, the daemon compacts its index once by itself.
    monkeypatch.setattr(unembedded, "LEAST_OUTDATED", 2)
    await follower.maintenance.compact()
    after = vectors.keys_after("", 1000)
    assert len(after) <= 4 < len(before)
    store = follower.vault.embedding.store
    await until(lambda: not follower.pending and follower.vault.embedding.ready)
    await follower.vault.embedding.discard_store("a test")
    await until(lambda: not follower.pending and follower.vault.embedding.ready)
    assert (vectors.keys_after("", 1000), follower.vault.embedding.store) == (after, store)


@pytest.mark.fault("C15")
async def test_c15_a_clock_that_was_ahead_does_not_end_compaction(follow, monkeypatch):
    monkeypatch.setattr(maintenance, "COMPACT_POLL_SECONDS", 0.05)
    follower = follow()
    await until(lambda: follower.state == "ready" and not follower.pending)
    ledger, ahead = follower.vault.ledger, time.time() + 1e9
    await follower.vault.in_writer(ledger.compact, ahead)
    (follower.vault.options.root / "c.md").write_text("granite")
    await until(lambda: ledger.compacted()[0] < ahead - 1e8)


@pytest.mark.fault("K3")
async def test_k3_a_store_that_is_damaged_again_at_once_is_rebuilt_ever_more_rarely(
    follow, monkeypatch, caplog
):
    class TornWorker(WorkerHere):
        is_torn = True
        refused = 0

        async def apply(self, *arguments: Any, **more: Any) -> None:
            if self.is_torn and more.get("numbers"):
                self.refused += 1
                raise IndexDamaged("it is torn")
            await super().apply(*arguments, **more)

    monkeypatch.setattr(store_migration, "WORKER_BACKOFF_SECONDS", (0.1, 0.2, 0.4, 0.8))
    monkeypatch.setattr(open_vault, "STALLED_SECONDS", 2.0)
    worker = TornWorker()
    follower = follow(worker=worker)
    await follower.rescan()
    with pytest.raises(WorkerUnavailable, match=r"no progress for 2 s: .*damaged again.*it is torn"):
        await follower.wait_until_embedded()
    assert "damaged again" in follower.status().as_json()["lanes"]["semantic"]["reason"]
    assert 2 <= worker.refused <= 8
    assert caplog.text.count("discarding and refilling") <= worker.refused
    worker.is_torn = False
    await follower.wait_until_embedded()
    assert not follower.pending
