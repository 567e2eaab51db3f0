"""Every vector store gives the answers that exact arithmetic gives, filters included."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultseek.base import limits
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.vectors import chroma, matrix
from vaultseek.semantic.vectors import index as vectors_index
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.matrix import VectorHits
from vaultseek.semantic.vectors.port import MemoryDirectory, MemoryStore, StoreDirectory, VectorBatch
from vaultseek.semantic.worker.store_process import RemoteDirectory, StoreProcess

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what the libraries warn of while they are imported is theirs
    import chromadb  # noqa: F401

    from vaultseek.semantic.vectors import chroma as semantic_chroma

Opener = Callable[[], StoreDirectory]


def unit(count: int, dimension: int = 8, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def entries(vectors: np.ndarray, per_note: int = 1, first: int = 0) -> VectorBatch:
    rows = range(first, first + len(vectors))
    return batch(rows, [row // per_note for row in rows], vectors)


def batch(numbers: Iterable[int], notes: Iterable[int], vectors: np.ndarray) -> VectorBatch:
    return VectorBatch(array(numbers), array(notes), vectors)


def array(numbers: Iterable[int]) -> np.ndarray:
    return np.array(list(numbers), dtype=np.int64)


def rows(hits: VectorHits) -> list[tuple[int, int, float]]:
    return list(zip(*(column.tolist() for column in hits), strict=True))


def brute_force(
    stored: VectorBatch, vector: np.ndarray, k: int, allowed: set[int] | None = None
) -> list[int]:
    """The ``k`` best notes by the best of their vectors."""
    scores = stored.vectors @ vector
    notes: dict[int, float] = {}
    for note, score in zip(stored.notes.tolist(), scores.tolist(), strict=True):
        if allowed is None or note in allowed:
            notes[note] = max(score, notes.get(note, -2.0))
    return sorted(notes, key=lambda note: (-notes[note], note))[:k]


def notes_of(hits: VectorHits) -> list[int]:
    return list(dict.fromkeys(hits.notes.tolist()))


@pytest.fixture(scope="module")
def process() -> Iterator[StoreProcess]:
    process = StoreProcess()
    yield process
    process.end()


@pytest.fixture(params=["memory", "chroma", "remote"])
def opener(request: pytest.FixtureRequest, tmp_path: Path, process: StoreProcess) -> Iterator[Opener]:
    """Opens the same place again and again; what was opened is closed before."""
    opened: list[StoreDirectory] = []
    memory = MemoryDirectory(tmp_path)

    def open_again() -> StoreDirectory:
        if request.param == "memory":
            return memory
        for directory in opened:
            directory.close()
        path = tmp_path / "store"
        remote = request.param == "remote"
        opened.append(RemoteDirectory(process, path) if remote else semantic_chroma.ChromaDirectory(path))
        return opened[-1]

    yield open_again
    for directory in opened:
        directory.close()


@pytest.fixture(params=["scanned", "coarse", "proposed"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ways of answering: in full precision, by codes first, or by what the store proposes."""
    if request.param == "coarse":
        monkeypatch.setattr(matrix, "SCAN_FULL", 0)
    if request.param == "proposed":
        monkeypatch.setattr(limits, "VECTOR_SCAN_BYTES", 0)


def opened(directory: StoreDirectory, name: str = "chunks") -> VectorIndex:
    store = directory.collection(name, create=True)
    assert store is not None
    return VectorIndex(store, directory.folder, name)


def test_what_was_written_is_found_and_outlives_closing(opener: Opener) -> None:
    stored = entries(unit(50), per_note=5)
    opened(opener()).apply(stored, version="one")

    index = opened(opener())
    assert (len(index), index.version) == (50, "one")
    hits = index.search(stored.vectors[7], 3)
    assert rows(hits)[0] == (7, 1, pytest.approx(1.0, abs=1e-5))
    assert notes_of(hits) == brute_force(stored, stored.vectors[7], 3)
    assert hits.scores.tolist() == sorted(hits.scores.tolist(), reverse=True)


def test_an_empty_store_answers_with_nothing(opener: Opener) -> None:
    directory = opener()
    assert directory.collection("chunks", create=False) is None
    index = opened(directory)
    assert (len(index), index.version) == (0, None)
    assert rows(index.search(unit(1)[0], 5)) == []
    assert rows(index.search(unit(1)[0], 5, array([1]))) == []
    index.apply(VectorBatch.empty(), array([99]), "stamped")
    assert index.version == "stamped"


def test_writing_again_replaces_and_the_last_of_equal_ids_counts(opener: Opener) -> None:
    one, two, three = unit(3)
    index = opened(opener())
    index.apply(batch([1, 1, 2], [1, 2, 3], np.stack([one, two, three])))
    assert len(index) == 2
    assert rows(index.search(two, 1))[0] == (1, 2, pytest.approx(1.0, abs=1e-5))
    index.apply(batch([1], [7], np.stack([one])))
    assert rows(index.search(one, 1))[0][:2] == (1, 7)
    assert rows(index.search(two, 5, array([2]))) == []


def test_deletes_come_first_and_unknown_ones_are_nothing(opener: Opener) -> None:
    stored = entries(unit(20))
    index = opened(opener())
    index.apply(stored)
    index.apply(stored.slice(3, 4), array([*range(10), *range(10), 99]))
    assert len(index) == 11
    assert set(index.search(stored.vectors[0], 20).numbers.tolist()) == {3, *range(10, 20)}


@pytest.mark.fault("H9")
def test_vectors_that_are_not_finite_are_left_out(opener: Opener) -> None:
    vectors = unit(3)
    vectors[1] = np.nan
    index = opened(opener())
    index.apply(entries(vectors))
    assert set(index.search(vectors[0], 5).numbers.tolist()) == {0, 2}


@pytest.mark.fault("H5")
def test_more_ids_than_a_statement_takes(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_index, "VECTOR_WRITE", 100)
    count = 2 * chroma.VECTOR_IDS + 1
    stored = entries(unit(count, 4))
    index = opened(opener())
    index.apply(stored)
    monkeypatch.setattr(vectors_index, "VECTOR_EXACT", count)
    everything = np.arange(count, dtype=np.int64)
    assert notes_of(index.search(stored.vectors[9], 7, everything)) == brute_force(
        stored, stored.vectors[9], 7
    )
    index.apply(VectorBatch.empty(), stored.numbers)
    assert len(index) == 0


@pytest.mark.fault("H5")
def test_a_filter_gives_what_brute_force_gives(
    opener: Opener, way: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = entries(unit(900), per_note=3)
    index = opened(opener())
    index.apply(stored)
    for exact in (0, 50, 10_000):
        monkeypatch.setattr(vectors_index, "VECTOR_EXACT", exact)
        for kept in (2, 6, 90, 300):
            allowed = np.random.default_rng(kept).choice(300, kept, replace=False)
            for vector in unit(5, seed=2):
                expected = brute_force(stored, vector, 10, set(allowed.tolist()))
                assert notes_of(index.search(vector, 10, np.append(allowed, 99_999))) == expected


def test_a_filter_that_leaves_only_what_is_far_away(
    opener: Opener, way: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors_index, "VECTOR_EXACT", 10)
    stored = entries(unit(600))
    vector = stored.vectors[0]
    far = np.argsort(stored.vectors @ vector)[:60]
    index = opened(opener())
    index.apply(stored)
    assert notes_of(index.search(vector, 20, far)) == brute_force(stored, vector, 20, set(far.tolist()))


def test_a_store_is_read_page_by_page(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = entries(unit(30), per_note=3)
    opened(opener()).apply(stored)
    for page in (1, 7, 10, 30, 31):
        monkeypatch.setattr(chroma, "VECTOR_PAGE", page)
        store = opener().collection("chunks", create=False)
        notes: dict[int, int] = {}
        for part in store.pages():
            notes |= zip(part.numbers.tolist(), part.notes.tolist(), strict=True)
        assert notes == dict(zip(stored.numbers.tolist(), stored.notes.tolist(), strict=True))


def test_one_long_note_does_not_crowd_out_the_others(opener: Opener, way: None) -> None:
    vector = unit(1)[0]
    close = np.stack([vector + 0.001 * noise for noise in unit(300, seed=1)])
    close /= np.linalg.norm(close, axis=1, keepdims=True)
    index = opened(opener())
    index.apply(batch(range(300), [1] * 300, close.astype(np.float32)))
    index.apply(batch([300, 301], [2, 3], unit(2, seed=3)))
    hits = index.search(vector, 3)
    assert set(notes_of(hits)) == {1, 2, 3}
    assert hits.notes.tolist().count(1) == matrix.VECTOR_PASSAGES


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_history_of_writes_gives_what_a_dictionary_gives(data: st.DataObject) -> None:
    numbers = st.integers(0, 11)
    index = VectorIndex(MemoryStore())
    model: dict[int, tuple[int, int]] = {}
    vectors = unit(40)
    for _ in range(data.draw(st.integers(1, 5))):
        gone = data.draw(st.lists(numbers, max_size=4))
        new = data.draw(st.lists(st.tuples(numbers, st.integers(0, 4), st.integers(0, 39)), max_size=6))
        new_vectors = vectors[[row for _, _, row in new]]
        index.apply(batch([id for id, _, _ in new], [note for _, note, _ in new], new_vectors), array(gone))
        for id in gone:
            model.pop(id, None)
        model.update({id: (note, row) for id, note, row in new})
    stored = batch(model, [note for note, _ in model.values()], vectors[[row for _, row in model.values()]])
    allowed = data.draw(st.none() | st.sets(st.integers(0, 5)))
    k = data.draw(st.integers(1, 4))
    hits = rows(index.search(vectors[0], k, None if allowed is None else array(sorted(allowed))))
    scores = sorted({note: score for _, note, score in reversed(hits)}.values(), reverse=True)
    best = sorted(
        (
            float(max(stored.vectors[i] @ vectors[0] for i in range(len(stored)) if stored.notes[i] == note))
            for note in brute_force(stored, vectors[0], k, allowed)
        ),
        reverse=True,
    )
    as_near_as_the_last = [best[-1]] * (len(scores) - len(best)) if best else []
    assert scores == pytest.approx(best + as_near_as_the_last, abs=1e-5)
    assert all(model[number][0] == note for number, note, _ in hits)


@pytest.mark.fault("B13")
def test_no_text_and_nothing_readable_by_others_on_disk(tmp_path: Path) -> None:
    directory = semantic_chroma.ChromaDirectory(tmp_path / "store")
    opened(directory).apply(entries(unit(10)), version="s")
    directory.close()
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0


def test_another_models_vectors_are_damage(tmp_path: Path) -> None:
    directory = semantic_chroma.ChromaDirectory(tmp_path)
    index = opened(directory)
    index.apply(entries(unit(3, 8)))
    with pytest.raises(IndexDamaged, match="rebuilt") as caught:
        index.apply(entries(unit(3, 9), first=3))
    assert "\n" not in str(caught.value)
    directory.close()


def cut_to_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def overwrite(file: Path) -> None:
    with file.open("r+b") as rows:
        rows.write(bytes(range(64)))
    os.utime(file, ns=(0, 0))  # a clock ticks too seldom to tell it from the write before


@pytest.mark.fault("B4")
@pytest.mark.parametrize("damage", [cut_to_half, overwrite])
def test_rows_that_another_program_changes_are_damage(damage: Callable[[Path], None], tmp_path: Path) -> None:
    store = MemoryStore()
    index = VectorIndex(store, tmp_path, "chunks")
    for first in (0, 3):
        index.apply(entries(unit(3), first=first))
        assert len(index.search(unit(1)[0], 9).notes) == first + 3
    (rows_file,) = tmp_path.glob("chunks.*.rows")
    damage(rows_file)
    with pytest.raises(IndexDamaged, match="another program"):
        index.search(unit(1)[0], 9)
    with pytest.raises(IndexDamaged, match="another program"):
        index.vectors([1])
    with pytest.raises(IndexDamaged, match="another program"):
        index.apply(entries(unit(3), first=6))
    assert len(VectorIndex(store, tmp_path, "chunks").search(unit(1)[0], 9).notes) == 6


def test_a_full_disk_is_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = semantic_chroma.ChromaDirectory(tmp_path)
    index = opened(directory)
    index.apply(entries(unit(3, 8)))
    store = directory.collection("chunks", create=False)
    monkeypatch.setattr(limits, "VECTOR_FREE_BYTES", 1 << 62)
    with pytest.raises(WorkerUnavailable, match="the disk is full; free some space"):
        # whatever fails while there is no space
        store.write(entries(unit(3, 9), first=3), array([]))
    directory.close()
