"""The vector index gives the answers of exact arithmetic, with and without filters."""

import os
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from daemons import eventually
from examples import examples
from vaultseek.base import limits
from vaultseek.errors import IndexDamaged
from vaultseek.semantic.vectors import index as vectors_index
from vaultseek.semantic.vectors import matrix, proposals
from vaultseek.semantic.vectors.index import VectorIndex
from vaultseek.semantic.vectors.matrix import VectorHits
from vaultseek.semantic.vectors.port import VectorBatch
from vaultseek.semantic.worker.chroma_process import ChromaProcess

Opener = Callable[[], VectorIndex]


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
    """The ``k`` best notes, each by its best vector."""
    scores = stored.vectors @ vector
    notes: dict[int, float] = {}
    for note, score in zip(stored.notes.tolist(), scores.tolist(), strict=True):
        if allowed is None or note in allowed:
            notes[note] = max(score, notes.get(note, -2.0))
    return sorted(notes, key=lambda note: (-notes[note], note))[:k]


def notes_of(hits: VectorHits) -> list[int]:
    return list(dict.fromkeys(hits.notes.tolist()))


@pytest.fixture
def opener(tmp_path: Path) -> Opener:
    """A function that opens the same index repeatedly."""
    return lambda: VectorIndex(tmp_path / "store", "chunks")


@pytest.fixture(params=["scanned", "coarse", "unproposed", "proposed", "chosen"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Opener]:
    """A function that opens indexes in one of the user's modes: in full precision, with codes first, beyond
    the budget without or with Chroma's proposals, or with Chroma below the budget."""
    opened: list[VectorIndex] = []
    chosen = bool if request.param == "chosen" else (lambda size: False)

    def open_index() -> VectorIndex:
        open_chroma = ChromaProcess if request.param in ("proposed", "chosen") else None
        opened.append(VectorIndex(tmp_path / "store", "chunks", open_chroma, chosen))
        return opened[-1]

    if request.param == "coarse":
        monkeypatch.setattr(matrix, "SCAN_FULL", 0)
    if request.param.endswith("proposed"):
        monkeypatch.setattr(limits, "VECTOR_SCAN_BYTES", 0)
    yield open_index
    for index in opened:
        index.end()


def opened_with(open_index: Opener, stored: VectorBatch) -> VectorIndex:
    """Return an index of these vectors that proposes candidates, if its kind can."""
    index = open_index()
    index.apply(stored)
    propose(index)
    return index


def propose(index: VectorIndex) -> None:
    """Wait until the approximate index of an index, if it has one, is open and full."""
    if index._current.proposals is not None:
        eventually(lambda: index.has_proposals)


def test_what_was_written_is_found_and_outlives_closing(opener: Opener) -> None:
    stored = entries(unit(50), per_note=5)
    opener().apply(stored, version="one")

    index = opener()
    assert (len(index), index.version) == (50, "one")
    hits = index.search(stored.vectors[7], 3)
    assert rows(hits)[0] == (7, 1, pytest.approx(1.0, abs=1e-5))
    assert notes_of(hits) == brute_force(stored, stored.vectors[7], 3)
    assert hits.scores.tolist() == sorted(hits.scores.tolist(), reverse=True)


def test_an_empty_store_answers_with_nothing(opener: Opener) -> None:
    index = opener()
    assert (len(index), index.version) == (0, None)
    assert rows(index.search(unit(1)[0], 5)) == []
    assert rows(index.search(unit(1)[0], 5, array([1]))) == []
    index.apply(VectorBatch.empty(), array([99]), "stamped")
    assert index.version == "stamped"


def test_writing_again_replaces_and_the_last_of_equal_ids_counts(opener: Opener) -> None:
    one, two, three = unit(3)
    index = opener()
    index.apply(batch([1, 1, 2], [1, 2, 3], np.stack([one, two, three])))
    assert len(index) == 2
    assert rows(index.search(two, 1))[0] == (1, 2, pytest.approx(1.0, abs=1e-5))
    index.apply(batch([1], [7], np.stack([one])))
    assert rows(index.search(one, 1))[0][:2] == (1, 7)
    assert rows(index.search(two, 5, array([2]))) == []


def test_deletes_come_first_and_unknown_ones_are_nothing(opener: Opener) -> None:
    stored = entries(unit(20))
    index = opener()
    index.apply(stored)
    index.apply(batch([3], [3], stored.vectors[3:4]), array([*range(10), *range(10), 99]))
    assert len(index) == 11
    assert set(index.search(stored.vectors[0], 20).numbers.tolist()) == {3, *range(10, 20)}


@pytest.mark.fault("H9")
def test_vectors_that_are_not_finite_are_left_out(opener: Opener) -> None:
    vectors = unit(3)
    vectors[1] = np.nan
    index = opener()
    index.apply(entries(vectors))
    assert set(index.search(vectors[0], 5).numbers.tolist()) == {0, 2}


@pytest.mark.fault("H5")
def test_a_filter_gives_what_brute_force_gives(way: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = entries(unit(900), per_note=3)
    index = opened_with(way, stored)
    for proposed in (100, 1000):
        monkeypatch.setattr(vectors_index, "PROPOSED", proposed)
        for kept in (2, 6, 90, 300):
            allowed = np.random.default_rng(kept).choice(300, kept, replace=False)
            for vector in unit(5, seed=2):
                expected = brute_force(stored, vector, 10, set(allowed.tolist()))
                assert notes_of(index.search(vector, 10, np.append(allowed, 99_999))) == expected


def test_a_filter_that_leaves_only_what_is_far_away(way: Opener) -> None:
    stored = entries(unit(600))
    vector = stored.vectors[0]
    far = np.argsort(stored.vectors @ vector)[:60]
    index = opened_with(way, stored)
    assert notes_of(index.search(vector, 20, far)) == brute_force(stored, vector, 20, set(far.tolist()))


def test_what_is_written_and_deleted_after_the_proposals_were_made_counts(way: Opener) -> None:
    stored = entries(unit(120))
    index = opened_with(way, stored)
    index.apply(batch([500], [500], stored.vectors[:1]), array([0, 7]))
    hits = index.search(stored.vectors[0], 5)
    assert hits.numbers[0] == 500
    left = [row for row in range(120) if row not in (0, 7)]
    kept = batch([500, *left], [500, *left], stored.vectors[[0, *left]])
    assert notes_of(hits) == brute_force(kept, stored.vectors[0], 5)


def test_one_long_note_does_not_crowd_out_the_others(way: Opener) -> None:
    vector = unit(1)[0]
    close = np.stack([vector + 0.001 * noise for noise in unit(300, seed=1)])
    close /= np.linalg.norm(close, axis=1, keepdims=True)
    index = opened_with(way, batch(range(300), [1] * 300, close.astype(np.float32)))
    index.apply(batch([300, 301], [2, 3], unit(2, seed=3)))
    hits = index.search(vector, 3)
    assert set(notes_of(hits)) == {1, 2, 3}
    assert hits.notes.tolist().count(1) == matrix.VECTOR_PASSAGES


def test_what_was_written_last_takes_the_place_of_nothing_nearer(way: Opener) -> None:
    about = unit(40)
    near = np.repeat(about, 20, axis=0) + 0.1 * unit(800, seed=1)
    near /= np.linalg.norm(near, axis=1, keepdims=True)
    index = opened_with(way, entries(near.astype(np.float32), per_note=20))
    late = batch(range(800, 860), range(40, 100), unit(60, seed=2))
    index.apply(late)
    stored = batch(
        range(860), [*np.repeat(range(40), 20), *range(40, 100)], np.concatenate([near, late.vectors])
    )
    for vector in about[:5]:
        assert notes_of(index.search(vector, 20)) == brute_force(stored, vector, 20)


@examples(60)
@given(st.data())
def test_any_history_of_writes_gives_what_a_dictionary_gives(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    numbers = st.integers(0, 11)
    index = VectorIndex(tmp_path_factory.mktemp("store"), "chunks")
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
def test_no_file_is_readable_by_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "VECTOR_SCAN_BYTES", 0)
    index = VectorIndex(tmp_path / "store", "chunks", ChromaProcess)
    index.apply(entries(unit(10)), version="s")
    propose(index)
    files = [tmp_path / "store", *(tmp_path / "store").rglob("*")]
    assert [path for path in files if path.name == "chroma.sqlite3"]
    assert [path for path in files if path.stat().st_mode & 0o077] == []
    index.end()
    assert [path for path in (tmp_path / "store").iterdir() if path.is_dir()] == []


def test_another_models_vectors_are_damage(opener: Opener) -> None:
    index = opener()
    index.apply(entries(unit(3, 8)))
    with pytest.raises(IndexDamaged, match="rebuilt") as caught:
        index.apply(entries(unit(3, 9), first=3))
    assert "\n" not in str(caught.value)


class Counted(ChromaProcess):
    """A store that counts the rows written to it."""

    written = 0

    def add(self, first: int, vectors: np.ndarray) -> None:
        type(self).written += len(vectors)
        super().add(first, vectors)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> type[Counted]:
    """A class of Chroma's process that counts, for indexes that are always beyond the budget."""
    monkeypatch.setattr(limits, "VECTOR_SCAN_BYTES", 0)
    monkeypatch.setattr(Counted, "written", 0)
    return Counted


def test_the_process_of_chroma_ends_when_it_is_idle_and_need_not_be_filled_again(
    tmp_path: Path, counted: type[Counted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "PROPOSAL_WRITE", 100)
    stored = entries(unit(500))
    index = VectorIndex(tmp_path, "chunks", counted)
    index.apply(stored)
    assert not list(tmp_path.glob("*.proposals")), "a write starts no process"
    monkeypatch.setattr(proposals, "PROPOSAL_IDLE_SECONDS", 0.1)
    expected = brute_force(stored, stored.vectors[3], 9)
    assert notes_of(index.search(stored.vectors[3], 9)) == expected
    thread = index._current.proposals._thread
    eventually(lambda: not thread.is_alive())
    assert counted.written == 500
    monkeypatch.setattr(proposals, "PROPOSAL_IDLE_SECONDS", 60.0)
    again = VectorIndex(tmp_path, "chunks", counted)
    propose(again)
    assert counted.written == 500
    assert notes_of(again.search(stored.vectors[3], 9)) == expected
    monkeypatch.setattr(proposals, "PROPOSAL_TAIL", 10)
    again.apply(entries(unit(30, seed=4), first=500))
    again.search(stored.vectors[3], 9)
    propose(again)
    assert counted.written == 530
    again.end()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much of a file is in memory")
def test_rows_that_need_not_be_scanned_any_more_take_no_memory(
    tmp_path: Path, counted: type[Counted]
) -> None:
    stored = entries(unit(3000, dimension=256))
    index = VectorIndex(tmp_path, "chunks", counted)
    index.apply(stored)
    index.search(stored.vectors[3], 9)
    assert resident(tmp_path) > stored.vectors.nbytes // 2
    index.apply(entries(unit(2, dimension=256, seed=7), first=3000))  # maps the rows again
    index.search(stored.vectors[3], 9)
    propose(index)
    eventually(lambda: resident(tmp_path) < stored.vectors.nbytes // 10)
    assert notes_of(index.search(stored.vectors[3], 9)) == brute_force(stored, stored.vectors[3], 9)
    index.end()


def resident(folder: Path) -> int:
    """Return how many bytes of the rows in ``folder`` are in this process's memory."""
    parts = re.split(r"(?m)^(?=[0-9a-f]+-[0-9a-f]+ )", Path("/proc/self/smaps").read_text())
    rows = [part for part in parts if f"{folder}/chunks." in part and ".rows" in part.split("\n")[0]]
    return sum(int(re.search(r"(?m)^Rss:\s+(\d+) kB", part)[1]) * 1024 for part in rows)


@pytest.mark.fault("B4", "K3")
@pytest.mark.parametrize("damage", ["killed", "missing"])
def test_without_chroma_all_vectors_are_scanned(
    damage: str, tmp_path: Path, counted: type[Counted], monkeypatch
) -> None:
    stored = entries(unit(500))
    index = VectorIndex(tmp_path, "chunks", counted)
    index.apply(stored)
    if damage == "missing":
        package = tmp_path / "broken" / "chromadb"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("import a_package_that_is_not_there\n")
        monkeypatch.setenv("PYTHONPATH", str(package.parent))
    else:
        propose(index)
        index._current.proposals._index._process.kill()
    for vector in stored.vectors[:3]:
        assert notes_of(index.search(vector, 9)) == brute_force(stored, vector, 9)
    eventually(lambda: index._current.proposals._has_ended)
    eventually(lambda: not list(tmp_path.glob("*.proposals")))
    assert notes_of(index.search(vector, 9)) == brute_force(stored, vector, 9)


def cut_to_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def overwrite(file: Path) -> None:
    with file.open("r+b") as rows:
        rows.write(bytes(range(64)))
    os.utime(file, ns=(0, 0))  # the clock is too coarse to distinguish it from the write before


@pytest.mark.fault("B4")
@pytest.mark.parametrize("damage", [cut_to_half, overwrite])
def test_rows_that_another_program_changes_are_damage(damage: Callable[[Path], None], tmp_path: Path) -> None:
    index = VectorIndex(tmp_path, "chunks")
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


def displace_rows(folder: Path) -> None:
    """Move a fifth of Chroma's rows far away, so that it gives wrong answers without an error."""
    process = ChromaProcess(folder)
    for row in range(0, 500, 5):
        process.add(row, -unit(500)[row : row + 1])
    process.end()


def with_other_vectors(folder: Path) -> None:
    """Replace Chroma's vectors by those of another model."""
    process = ChromaProcess(folder)
    process.add(0, unit(500, seed=9))
    process.end()


def flip_a_bit(file: Path, place: float) -> None:
    data = bytearray(file.read_bytes())
    data[int(place * len(data))] ^= 1
    file.write_bytes(data)


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a bit of a vector": lambda folder: flip_a_bit(next(folder.rglob("data_level0.bin")), 0.5),
    "a file missing": lambda folder: next(folder.rglob("link_lists.bin")).unlink(),
    "an interrupted write": lambda folder: (folder / "sealed").unlink(),
}


@pytest.mark.fault("B4")
def test_any_change_of_the_files_of_chroma_is_noticed(tmp_path: Path, counted: type[Counted]) -> None:
    stored = entries(unit(500))
    index = VectorIndex(tmp_path, "chunks", counted)
    index.apply(stored)
    propose(index)
    for times, (name, damage) in enumerate(DAMAGES.items(), 2):
        close(index)
        (folder,) = tmp_path.glob("*.proposals")
        damage(folder)
        index = VectorIndex(tmp_path, "chunks", counted)
        propose(index)
        assert counted.written == 500 * times, name
        assert notes_of(index.search(stored.vectors[3], 9)) == brute_force(stored, stored.vectors[3], 9), name
    index.end()


@pytest.mark.fault("B4")
@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_to_the_files_of_chroma_while_they_are_open_is_not_sealed(
    tmp_path: Path, counted: type[Counted], damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proposals, "PROPOSAL_TAIL", 10)
    index = VectorIndex(tmp_path, "chunks", counted)
    index.apply(entries(unit(500)))
    propose(index)
    (folder,) = tmp_path.glob("*.proposals")
    DAMAGES[damage](folder)
    index.apply(entries(unit(30, seed=4), first=500))
    index.search(unit(500)[3], 9)
    propose(index)
    assert counted.written == 500 + 530
    stored = entries(np.concatenate([unit(500), unit(30, seed=4)]))
    assert notes_of(index.search(unit(500)[3], 9)) == brute_force(stored, unit(500)[3], 9)
    index.end()


@pytest.mark.fault("B4")
def test_a_flipped_bit_in_any_page_breaks_a_seal(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("chroma.sqlite3", "inner/data_level0.bin"):
        (tmp_path / name).write_bytes(os.urandom(30 * 4096 + 7))
    proposals.seal(tmp_path)
    assert proposals.is_sealed(tmp_path)
    for file in [each for each in tmp_path.rglob("*") if each.is_file()]:
        data = file.read_bytes()
        for page in range(0, len(data), 4096):
            flip_a_bit(file, random.Random(page).uniform(page, min(page + 4096, len(data))) / len(data))
            assert not proposals.is_sealed(tmp_path), (file, page)
            file.write_bytes(data)
    assert proposals.is_sealed(tmp_path)


def close(index: VectorIndex) -> None:
    """End the process of an index, and keep its files."""
    proposals_of = index._current.proposals
    proposals_of._index.end()
    proposals_of._has_ended = True
    proposals_of._asked.set()
    proposals_of._thread.join()


def test_an_index_that_does_not_find_what_a_scan_finds_is_filled_again(
    tmp_path: Path, counted: type[Counted]
) -> None:
    stored = entries(unit(500))
    index = VectorIndex(tmp_path, "chunks", counted)
    index.apply(stored)
    propose(index)
    assert counted.written == 500
    for times, damage in enumerate((displace_rows, with_other_vectors), 2):
        close(index)
        (folder,) = tmp_path.glob("*.proposals")
        damage(folder)
        proposals.seal(folder)
        index = VectorIndex(tmp_path, "chunks", counted)
        propose(index)
        assert counted.written == 500 * times, damage
        assert notes_of(index.search(stored.vectors[3], 9)) == brute_force(stored, stored.vectors[3], 9)
    index.end()
