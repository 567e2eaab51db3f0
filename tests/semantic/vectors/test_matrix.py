"""A scan by eight-bit codes gives the results of full precision, and files restore the same matrix."""

import errno
import gc
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.semantic.vectors import index as vectors_index
from vaultseek.semantic.vectors import matrix as matrix_module
from vaultseek.semantic.vectors import matrix_file
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.matrix import VECTOR_PASSAGES, Codes, Matrix, VectorHits
from vaultseek.semantic.vectors.matrix_file import examine
from vaultseek.semantic.vectors.port import VectorBatch

NONE = np.zeros(0, np.int64)


def unit(count: int, dimension: int = 8, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def batch(numbers: Any, notes: Any, vectors: np.ndarray) -> VectorBatch:
    return VectorBatch(np.array(numbers, np.int64), np.array(notes, np.int64), vectors)


def rows(hits: VectorHits) -> list[tuple[int, int, float]]:
    return list(zip(*(column.tolist() for column in hits), strict=True))


def expected(stored: VectorBatch, vector: np.ndarray, k: int, allowed: set[int] | None) -> list[Any]:
    """The passages of the ``k`` best notes, computed one by one in full precision."""
    scored = sorted(
        (-float(np.float32(row @ vector)), number, note)
        for number, note, row in zip(
            stored.numbers.tolist(), stored.notes.tolist(), stored.vectors, strict=True
        )
        if allowed is None or note in allowed
    )
    notes: dict[int, int] = {}
    hits = []
    for score, number, note in scored:
        if (note in notes or len(notes) < k) and notes.get(note, 0) < VECTOR_PASSAGES:
            notes[note] = notes.get(note, 0) + 1
            hits.append((number, note, pytest.approx(-score, abs=1e-6)))
    return hits


@examples(150)
@given(st.data())
def test_a_scan_by_codes_is_exact(data: st.DataObject) -> None:
    draw = data.draw
    seed, dimension = draw(st.integers(0, 1 << 20)), draw(st.sampled_from([2, 8, 33, 384]))
    count, per_note = draw(st.integers(1, 400)), draw(st.sampled_from([1, 3, 20]))
    vectors = unit(count, dimension, seed)
    if draw(st.booleans()):  # near each other, where rounding matters most
        vectors = vectors[:1] + np.float32(draw(st.sampled_from([0.001, 0.05, 0.5]))) * vectors
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stored = batch(range(count), [row // per_note for row in range(count)], vectors)
    allowed = draw(st.none() | st.sets(st.integers(0, count // per_note + 1)))
    k, vector = draw(st.integers(1, 30)), unit(1, dimension, seed + 1)[0]
    matrix = Matrix(1 << 30)
    matrix.append(stored, NONE)
    whole = matrix.snapshot(vectors)
    coded = matrix_module.Snapshot(
        whole.vectors, whole.numbers, whole.notes, whole.notes_end, Codes.of(vectors)
    )
    ids = None if allowed is None else np.array(sorted(allowed), dtype=np.int64)
    assert rows(coded.search(vector, k, ids)) == rows(whole.search(vector, k, ids))
    hits, found = rows(coded.search(vector, k, ids)), expected(stored, vector, k, allowed)
    assert sorted(hits) == sorted(found) or _are_ties(hits, found)


def _are_ties(hits: list[Any], found: list[Any]) -> bool:
    """True if only the order of additions decided between notes whose best scores are practically equal."""
    scores, wanted = (_best_of_notes(each) for each in (hits, found))
    extra = scores[len(wanted) :]
    return scores[: len(wanted)] == wanted and extra == [wanted[-1]] * len(extra)


def _best_of_notes(hits: list[Any]) -> list[Any]:
    best = {note: score for _, note, score in reversed(hits)}
    return sorted(best.values(), key=lambda score: -getattr(score, "expected", score))


def test_the_bound_of_an_error_holds() -> None:
    vectors, queries = unit(500, 384), unit(20, 384, seed=1)
    codes = Codes.of(vectors)
    for query in queries:
        scores, bound = codes.scores(query, None)
        assert np.abs(scores - vectors @ query).max() <= bound < 0.05


@pytest.mark.fault("J2")
@pytest.mark.parametrize("full", [0, 1 << 30])
def test_a_search_takes_no_reference_that_it_was_not_given(
    full: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrix_module, "SCAN_FULL", full)
    matrix, vectors = Matrix(1 << 30), unit(50, 8)
    matrix.append(batch(range(50), range(50), vectors), NONE)
    snapshot = matrix.snapshot(vectors)
    gc.collect()
    before = sys.getrefcount(None)
    for _ in range(1000):
        snapshot.search(vectors[0], 3)
    gc.collect()
    assert abs(sys.getrefcount(None) - before) < 100


def test_a_vector_of_nothing_has_codes() -> None:
    scores, bound = Codes.of(np.zeros((2, 8), np.float32)).scores(np.zeros(8, np.float32), None)
    assert scores.tolist() == [0, 0]
    assert bound < 1e-5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


def filled(folder: Path) -> VectorIndex:
    index = VectorIndex(folder, "chunks")
    index.apply(batch(range(50), [row // 5 for row in range(50)], unit(50)), version="one")
    index.apply(batch([50, 3], [11, 12], unit(2, seed=3)), np.array([7, 8]), version="one")
    return index


def answers(index: VectorIndex) -> list[Any]:
    return [rows(index.search(vector, 6)) for vector in unit(5, seed=9)]


def test_files_bring_the_matrix_back(folder: Path) -> None:
    before = filled(folder)
    again = VectorIndex(folder, "chunks")
    assert (len(again), again.version) == (49, "one")
    assert examine(folder, "chunks") == (49, "one")
    assert answers(again) == answers(before)
    assert {path.stat().st_mode & 0o077 for path in [folder, *folder.iterdir()]} == {0}
    notes, vectors = again.vectors([11, 0, 99])
    assert notes.tolist() == [0, 11]
    assert vectors.tolist() == [unit(50)[0].tolist(), unit(2, seed=3)[0].tolist()]


def damage(kind: str, folder: Path) -> None:
    journal, matrix = folder / "chunks.journal", next(folder.glob("chunks.*.rows"))
    if kind == "rows gone":
        matrix.unlink()
        return
    path = journal if kind.startswith("journal") else matrix
    data = bytearray(path.read_bytes())
    if kind.endswith("half"):
        del data[len(data) // 2 :]
    elif kind.endswith("end"):
        del data[-1:]
    elif kind.endswith("empty"):
        data.clear()
    else:
        data[{"head": 9, "record": 30, "middle": len(data) // 2, "last": -1}[kind.split()[1]]] ^= 0x10
    path.write_bytes(data)


@pytest.mark.fault("B4")
@pytest.mark.parametrize(
    "kind",
    [
        *("journal half", "journal end", "journal empty", "journal head", "journal record", "journal middle"),
        *("rows gone", "rows half", "rows end", "rows empty", "rows middle", "rows last"),
    ],
)
def test_damaged_files_are_noticed(kind: str, folder: Path) -> None:
    filled(folder)
    damage(kind, folder)
    with pytest.raises(IndexDamaged, match="has to be rebuilt"):
        VectorIndex(folder, "chunks")
    with pytest.raises(IndexDamaged, match="has to be rebuilt"):
        examine(folder, "chunks")


def test_a_write_that_fails_leaves_what_was_and_can_be_repeated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = filled(folder)
    late = batch([60, 61], [13, 14], unit(2, seed=5))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        with pytest.raises(WorkerUnavailable, match="the disk is full; free some space"):
            index.apply(late, version="two")
    again = VectorIndex(folder, "chunks")
    assert (again.version, len(again)) == ("one", 49)
    index.apply(late, version="two")
    assert (index.version, len(index)) == ("two", 51)
    again = VectorIndex(folder, "chunks")
    assert (answers(again), again.version) == (answers(index), "two")


def test_files_that_cannot_be_made_anew_leave_none_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = filled(folder)
    monkeypatch.setattr(vectors_index, "VECTOR_PAGE", 10)
    index.apply(batch([], [], unit(0)), np.arange(40), version="one")
    before, late = sorted(folder.iterdir()), batch([60], [13], unit(1, seed=5))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        for _ in range(3):
            with pytest.raises(WorkerUnavailable, match="the disk is full"):
                index.apply(late, version="two")
    assert sorted(folder.iterdir()) == before
    index.apply(late, version="two")
    assert len(VectorIndex(folder, "chunks")) == len(index)


def test_what_a_kill_leaves_at_the_end_of_the_files_is_overwritten(folder: Path) -> None:
    before = answers(filled(folder))
    for path in folder.iterdir():
        with path.open("ab") as file:
            file.write(os.urandom(13) if path.suffix == ".rows" else path.read_bytes()[24:48])
    again = VectorIndex(folder, "chunks")
    assert answers(again) == before
    again.apply(batch([70], [15], unit(1, seed=6)), version="one")
    assert answers(VectorIndex(folder, "chunks")) == answers(again)


@pytest.mark.fault("B4")
def test_folders_in_place_of_the_files_are_noticed(folder: Path) -> None:
    filled(folder)
    for path in list(folder.iterdir()):
        path.unlink()
        (path / "inside").mkdir(parents=True)
    with pytest.raises(IndexDamaged, match="has to be rebuilt"):
        VectorIndex(folder, "chunks")


@pytest.mark.fault("B12")
@pytest.mark.fault("B12")
def test_vectors_that_are_replaced_all_the_time_take_little_more_than_the_present_ones(folder: Path) -> None:
    index, chance = VectorIndex(folder, "chunks"), np.random.default_rng(1)
    index.apply(batch(range(8000), range(8000), unit(8000)))
    for turn in range(100):
        numbers = chance.choice(8000, 200, replace=False)
        index.apply(batch(numbers, numbers, unit(200, seed=turn)), version=str(turn))
        (rows,) = folder.glob("chunks.*.rows")
        assert rows.stat().st_size < 1.35 * 8000 * 8 * 4
    assert len(index) == 8000


def test_files_that_are_mostly_of_no_use_are_made_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors_index, "LEAST_SPARE", 10)
    monkeypatch.setattr(matrix_file, "_RECORDS", 20)
    index = VectorIndex(folder, "chunks")
    for turn in range(60):
        index.apply(batch(range(8), range(8), unit(8, seed=turn)), version="one")
    again = VectorIndex(folder, "chunks")
    assert (answers(again), len(again)) == (answers(index), 8)
    (matrix,) = folder.glob("chunks.*.rows")
    assert matrix.stat().st_size < 50 * 8 * 4 * 8
