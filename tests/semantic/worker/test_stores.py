"""Vectors through the whole stack: daemon, pipe, child, files on disk."""

import asyncio
import itertools
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semantic_answers import ChunkHit, NoteHit, chunks_of, notes_of
from vaultseek.errors import IndexDamaged, VaultseekError, WorkerUnavailable
from vaultseek.semantic.worker import CHUNKS, NOTES, SemanticWorker

pytestmark = pytest.mark.slow

TEXTS = ["the cat sleeps", "restart the backup server", "bread needs flour and salt"]


def unit(count: int, dimension: int = 8) -> np.ndarray:
    vectors = np.random.default_rng(0).standard_normal((count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


async def fill(worker: SemanticWorker, store: Path, version: str = "one") -> np.ndarray:
    vectors = await worker.embed(TEXTS)
    ids = list(range(len(TEXTS)))
    await worker.apply(store, CHUNKS, numbers=ids, notes=[10, 20, 30], vectors=vectors, version=version)
    await worker.apply(store, NOTES, numbers=[10, 20], notes=[10, 20], vectors=vectors[:2], version=version)
    return vectors


async def test_the_nearest_passages_and_notes(workers: Any, tmp_path: Path) -> None:
    worker = workers.real()
    vectors = await fill(worker, tmp_path)
    answer = await worker.query(tmp_path, "restart a server", 2)
    assert notes_of(answer)[0].note == 20
    assert chunks_of(answer)[0] == ChunkHit(
        "1", 20, pytest.approx(float(answer.vector @ vectors[1]), abs=1e-5)
    )
    assert notes_of(answer)[0] == NoteHit(20, pytest.approx(chunks_of(answer)[0].score, abs=1e-5))
    assert answer.embed_ms >= 0
    by_vector = await worker.query(tmp_path, answer.vector, 2)
    assert (chunks_of(by_vector), notes_of(by_vector)) == (chunks_of(answer), notes_of(answer))


async def test_a_store_whose_folder_was_removed_is_filled_again(workers: Any, tmp_path: Path) -> None:
    worker = workers.real()
    store = tmp_path / "store"
    await fill(worker, store)
    shutil.rmtree(store)
    assert await worker.version(store, NOTES) is None
    await fill(worker, store, "two")
    assert await worker.version(store, NOTES) == "two"
    assert notes_of(await worker.query(store, "restart a server", 2))[0].note == 20


async def test_an_empty_collection_has_no_version_yet(workers: Any, tmp_path: Path) -> None:
    worker = workers.real()
    await worker.apply(tmp_path, CHUNKS, deletes=[1])
    assert await worker.version(tmp_path, CHUNKS) is None
    assert await worker.count(tmp_path, CHUNKS) == 0


async def test_filters_and_missing_collections(workers: Any, tmp_path: Path) -> None:
    worker = workers.real()
    await fill(worker, tmp_path)
    only = await worker.query(tmp_path, "server", 5, allowed=np.array([30, 10, 99]))
    assert {hit.note for hit in chunks_of(only)} == {10, 30}
    assert {hit.note for hit in notes_of(only)} == {10}
    nothing = await worker.query(tmp_path, "server", 5, allowed=np.array([], dtype=np.int64))
    assert (chunks_of(nothing), notes_of(nothing)) == ([], [])
    chunks_only = await worker.query(tmp_path, "server", 5, collections=(CHUNKS, None))
    assert (len(chunks_of(chunks_only)), notes_of(chunks_only)) == (3, [])
    elsewhere = await worker.query(tmp_path / "other", "server", 5)
    assert (chunks_of(elsewhere), notes_of(elsewhere)) == ([], [])
    assert await worker.version(tmp_path / "other", CHUNKS) is None
    assert await worker.count(tmp_path / "other", CHUNKS) == 0
    assert not (tmp_path / "other").exists()


async def test_a_version_alone_and_deletes(workers: Any, tmp_path: Path) -> None:
    worker = workers.real()
    await worker.apply(tmp_path, CHUNKS, version="empty")
    assert (await worker.version(tmp_path, CHUNKS), await worker.count(tmp_path, CHUNKS)) == ("empty", 0)
    await fill(worker, tmp_path)
    await worker.apply(tmp_path, CHUNKS, deletes=[0, 99])
    assert (await worker.version(tmp_path, CHUNKS), await worker.count(tmp_path, CHUNKS)) == ("one", 2)
    with pytest.raises(ValueError, match="1 numbers"):
        await worker.apply(tmp_path, CHUNKS, numbers=[0])


async def test_a_call_that_fails_says_why_and_the_child_lives(workers: Any, tmp_path: Path) -> None:
    worker = workers.real()
    await fill(worker, tmp_path)
    pid = worker.state.pid
    with pytest.raises(WorkerUnavailable, match="ValueError"):
        await worker.query(tmp_path, unit(1, 3)[0], 5)
    assert chunks_of(await worker.query(tmp_path, "server", 1))[0].note == 20
    assert worker.state.pid == pid


async def test_vectors_outlive_the_child_and_no_one_else_may_read_them(workers: Any, tmp_path: Path) -> None:
    store = tmp_path / "data" / "semantic"
    store.parent.mkdir()
    worker = workers.real()
    await fill(worker, store, version="first")
    await worker.stop()
    await worker.start()
    assert (await worker.version(store, CHUNKS), await worker.count(store, CHUNKS)) == ("first", 3)
    assert chunks_of(await worker.query(store, "restart a server", 1, deadline=20))[0].note == 20
    modes = {path.name: path.stat().st_mode & 0o077 for path in store.parent.rglob("*")}
    assert modes
    assert set(modes.values()) == {0}
    written = b"".join(path.read_bytes() for path in store.rglob("*") if path.is_file())
    assert b"backup" not in written
    await worker.drop(store)
    assert not store.exists()
    assert chunks_of(await worker.query(store, "server", 1, deadline=20)) == []
    await fill(worker, store, version="second")
    assert await worker.version(store, NOTES) == "second"


@pytest.mark.fault("A5")
async def test_a_kill_in_the_middle_of_a_write_loses_no_committed_version(
    workers: Any, tmp_path: Path
) -> None:
    worker = workers.real("hashing-8")
    vectors = unit(3000)
    ids = list(range(3000))
    await worker.ready()
    versions: list[int] = []

    async def write() -> None:
        for end in itertools.count(100, 100):  # it continues until the kill, however fast it is
            first = (end - 100) % 3000
            rows = slice(first, first + 100)
            await worker.apply(
                tmp_path, CHUNKS, numbers=ids[rows], notes=ids[rows], vectors=vectors[rows], version=str(end)
            )
            versions.append(end)

    writing = asyncio.create_task(write())
    while len(versions) < 12:
        await asyncio.sleep(0.01)
    os.kill(worker.state.pid, signal.SIGKILL)
    with pytest.raises(WorkerUnavailable):
        await writing
    version = int(await worker.version(tmp_path, CHUNKS) or 0)
    assert version >= versions[-1]
    stored = min(version, 3000)
    assert await worker.count(tmp_path, CHUNKS) >= stored
    for row in range(0, stored, 97):
        answer = await worker.query(tmp_path, vectors[row], 1, deadline=20)
        assert chunks_of(answer)[0].id == f"{row}"


@pytest.mark.fault("B4")
@pytest.mark.parametrize("name", ["chunks.*.rows", "chunks.journal"])
async def test_a_damaged_store_is_reported_dropped_and_filled_again(
    workers: Any, tmp_path: Path, name: str
) -> None:
    worker = workers.real("hashing-8")
    count = 3_000
    vectors = unit(count)
    ids = list(range(count))
    whole, store = tmp_path / "whole", tmp_path / "store"
    await worker.apply(whole, CHUNKS, numbers=ids, notes=ids, vectors=vectors, version="s")
    shutil.copytree(whole, store)
    (file,) = store.glob(name)
    file.write_bytes(np.random.default_rng(1).bytes(file.stat().st_size))
    with pytest.raises(IndexDamaged):
        await worker.query(store, vectors[0], 3, deadline=20)
    await worker.drop(store)
    await worker.apply(store, CHUNKS, numbers=ids[:5], notes=range(5), vectors=vectors[:5], version="new")
    assert chunks_of(await worker.query(store, vectors[3], 1, deadline=20))[0].id == "3"


@pytest.mark.fault("I2")
@pytest.mark.model
async def test_the_bundled_model_without_a_network(
    workers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every attempt to use the network, even a name lookup, is recorded."""
    mark = tmp_path / "network"
    (tmp_path / "sitecustomize.py").write_text(
        "import socket\n"
        "def refuse(*args, **options):\n"
        f"    open({str(mark)!r}, 'a').write(repr(args))\n"
        "    raise OSError('no network here')\n"
        "socket.socket.connect = socket.socket.connect_ex = refuse\n"
        "socket.getaddrinfo = socket.gethostbyname = refuse\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = workers.real("bundled", log=tmp_path / "log")
    vectors = await fill(worker, tmp_path / "store")
    assert vectors.shape == (3, 384)
    answer = await worker.query(
        tmp_path / "store", "how do I reboot the machine that keeps copies?", 3, deadline=20
    )
    assert chunks_of(answer)[0].note == 20
    assert chunks_of(answer)[0].score > chunks_of(answer)[1].score + 0.1
    assert (worker.state.model, worker.state.window) == (worker.state.model, 254)
    assert not mark.exists()
    if sys.platform == "linux":
        assert 19 in priorities(worker.state.pid)


def priorities(pid: int) -> set[int]:
    """Return the nice values of the threads of the process."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return {int((thread / "stat").read_text().rsplit(")", 1)[1].split()[16]) for thread in threads}


@pytest.mark.model
async def test_a_model_that_was_tampered_with_is_not_loaded(
    workers: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "vaultseek_minilm"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").write_text("raise SystemExit('never imported')\n")
    (package / "model" / "config.json").write_text("{}")
    (package / "model" / "model.safetensors").write_bytes(b"not the model")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = workers.real("bundled", backoff_seconds=(60.0,))
    with pytest.raises(VaultseekError, match="not the model that vaultseek trusts"):
        await worker.ready()
    assert worker.state.status == "broken"
