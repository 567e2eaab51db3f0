"""Every vector store gives the answers that exact arithmetic gives, filters included."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultseek import limits
from vaultseek.errors import IndexDamaged, WorkerUnavailable
from vaultseek.index.vectors import chroma
from vaultseek.index.vectors import index as vectors_index
from vaultseek.index.vectors.index import VectorHit, VectorIndex
from vaultseek.index.vectors.port import (
    MemoryDirectory,
    MemoryStore,
    StoreDirectory,
    VectorBatch,
    VectorStore,
)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what the libraries warn of while they are imported is theirs
    from vaultseek.index.vectors import chroma as semantic_chroma

    semantic_chroma.warm_up()

Opener = Callable[[], StoreDirectory]


def unit(count: int, dimension: int = 8, seed: int = 0) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def entries(vectors: np.ndarray, per_note: int = 1, first: int = 0) -> VectorBatch:
    rows = range(first, first + len(vectors))
    return VectorBatch([f"c{row}" for row in rows], [row // per_note for row in rows], vectors)


def brute_force(
    stored: VectorBatch, vector: np.ndarray, k: int, allowed: set[int] | None = None
) -> list[int]:
    """The ``k`` best notes by the best of their vectors."""
    scores = stored.vectors @ vector
    notes: dict[int, float] = {}
    for note, score in zip(stored.notes, scores.tolist(), strict=True):
        if allowed is None or note in allowed:
            notes[note] = max(score, notes.get(note, -2.0))
    return sorted(notes, key=lambda note: (-notes[note], note))[:k]


def notes_of(hits: list[VectorHit]) -> list[int]:
    return list(dict.fromkeys(hit.note for hit in hits))


@pytest.fixture(params=["memory", "chroma"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Opens the same place again and again; what was opened is closed before."""
    opened: list[StoreDirectory] = []
    memory = MemoryDirectory(tmp_path)

    def open_again() -> StoreDirectory:
        if request.param == "memory":
            return memory
        for directory in opened:
            directory.close()
        opened.append(semantic_chroma.ChromaDirectory(tmp_path / "store"))
        return opened[-1]

    yield open_again
    for directory in opened:
        directory.close()


def collection(directory: StoreDirectory, name: str = "chunks") -> VectorStore:
    store = directory.collection(name, create=True)
    assert store is not None
    return store


def test_what_was_written_is_found_and_outlives_closing(opener: Opener) -> None:
    stored = entries(unit(50), per_note=5)
    VectorIndex(collection(opener())).apply(stored, version="one")

    index = VectorIndex(collection(opener()))
    assert (len(index), index.version) == (50, "one")
    hits = index.search(stored.vectors[7], 3)
    assert hits[0].id == "c7"
    assert hits[0].note == 1
    assert hits[0].score == pytest.approx(1.0, abs=1e-5)
    assert notes_of(hits) == brute_force(stored, stored.vectors[7], 3)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_an_empty_store_answers_with_nothing(opener: Opener) -> None:
    directory = opener()
    assert directory.collection("chunks", create=False) is None
    index = VectorIndex(collection(directory))
    assert (len(index), index.version) == (0, None)
    assert index.search(unit(1)[0], 5) == []
    assert index.search(unit(1)[0], 5, np.array([1], dtype=np.int64)) == []
    index.apply(VectorBatch((), (), np.empty((0, 0), dtype=np.float32)), ["unknown"], "stamped")
    assert index.version == "stamped"


def test_writing_again_replaces_and_the_last_of_equal_ids_counts(opener: Opener) -> None:
    one, two, three = unit(3)
    index = VectorIndex(collection(opener()))
    index.apply(VectorBatch(["a", "a", "b"], [1, 2, 3], np.stack([one, two, three])))
    assert len(index) == 2
    assert index.search(two, 1)[0] == VectorHit("a", 2, pytest.approx(1.0, abs=1e-5))
    index.apply(VectorBatch(["a"], [7], np.stack([one])))
    assert index.search(one, 1)[0][:2] == ("a", 7)
    assert index.search(two, 5, np.array([2], dtype=np.int64)) == []


def test_deletes_come_first_and_unknown_ones_are_nothing(opener: Opener) -> None:
    stored = entries(unit(20))
    index = VectorIndex(collection(opener()))
    index.apply(stored)
    index.apply(stored.slice(3, 4), [*stored.ids[:10], *stored.ids[:10], "unknown"])
    assert len(index) == 11
    assert {hit.id for hit in index.search(stored.vectors[0], 20)} == {"c3", *stored.ids[10:]}


def test_vectors_that_are_not_finite_are_left_out(opener: Opener) -> None:
    vectors = unit(3)
    vectors[1] = np.nan
    index = VectorIndex(collection(opener()))
    index.apply(entries(vectors))
    assert {hit.id for hit in index.search(vectors[0], 5)} == {"c0", "c2"}


def test_more_ids_than_a_statement_takes(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_index, "VECTOR_WRITE", 5000)
    count = 2 * chroma.VECTOR_IDS + 1
    stored = entries(unit(count, 4))
    index = VectorIndex(collection(opener()))
    index.apply(stored)
    monkeypatch.setattr(vectors_index, "VECTOR_EXACT", count)
    everything = np.arange(count, dtype=np.int64)
    assert notes_of(index.search(stored.vectors[9], 7, everything)) == brute_force(
        stored, stored.vectors[9], 7
    )
    index.apply(stored.slice(0, 0), stored.ids)
    assert len(index) == 0


def test_a_filter_gives_what_brute_force_gives(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = entries(unit(900), per_note=3)
    index = VectorIndex(collection(opener()))
    index.apply(stored)
    for exact in (0, 50, 10_000):
        monkeypatch.setattr(vectors_index, "VECTOR_EXACT", exact)
        for kept in (2, 6, 90, 300):
            allowed = np.random.default_rng(kept).choice(300, kept, replace=False)
            for vector in unit(5, seed=2):
                expected = brute_force(stored, vector, 10, set(allowed.tolist()))
                assert notes_of(index.search(vector, 10, np.append(allowed, 99_999))) == expected


def test_a_filter_that_leaves_only_what_is_far_away(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors_index, "VECTOR_EXACT", 10)
    stored = entries(unit(600))
    vector = stored.vectors[0]
    far = np.argsort(stored.vectors @ vector)[:60]
    index = VectorIndex(collection(opener()))
    index.apply(stored)
    assert notes_of(index.search(vector, 20, far)) == brute_force(stored, vector, 20, set(far.tolist()))


def test_a_store_is_read_page_by_page(opener: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = entries(unit(30), per_note=3)
    VectorIndex(collection(opener())).apply(stored)
    for page in (1, 7, 10, 30, 31):
        monkeypatch.setattr(chroma, "VECTOR_PAGE", page)
        assert collection(opener()).notes() == dict(zip(stored.ids, stored.notes, strict=True))


def test_one_long_note_does_not_crowd_out_the_others(opener: Opener) -> None:
    vector = unit(1)[0]
    close = np.stack([vector + 0.001 * noise for noise in unit(300, seed=1)])
    close /= np.linalg.norm(close, axis=1, keepdims=True)
    index = VectorIndex(collection(opener()))
    index.apply(VectorBatch([f"long{i}" for i in range(300)], [1] * 300, close.astype(np.float32)))
    index.apply(VectorBatch(["x", "y"], [2, 3], unit(2, seed=3)))
    hits = index.search(vector, 3)
    assert set(notes_of(hits)) == {1, 2, 3}
    assert sum(hit.note == 1 for hit in hits) == vectors_index.VECTOR_PASSAGES


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_history_of_writes_gives_what_a_dictionary_gives(data: st.DataObject) -> None:
    ids = st.sampled_from([f"c{i}" for i in range(12)])
    index = VectorIndex(MemoryStore())
    model: dict[str, tuple[int, int]] = {}
    vectors = unit(40)
    for _ in range(data.draw(st.integers(1, 5))):
        gone = data.draw(st.lists(ids, max_size=4))
        new = data.draw(st.lists(st.tuples(ids, st.integers(0, 4), st.integers(0, 39)), max_size=6))
        rows = [row for _, _, row in new]
        index.apply(VectorBatch([id for id, _, _ in new], [note for _, note, _ in new], vectors[rows]), gone)
        for id in gone:
            model.pop(id, None)
        model.update({id: (note, row) for id, note, row in new})
    stored = VectorBatch(
        list(model), [note for note, _ in model.values()], vectors[[row for _, row in model.values()]]
    )
    allowed = data.draw(st.none() | st.sets(st.integers(0, 5)))
    k = data.draw(st.integers(1, 4))
    hits = index.search(vectors[0], k, None if allowed is None else np.array(sorted(allowed), dtype=np.int64))
    scores = {note: score for note, score in reversed([(hit.note, hit.score) for hit in hits])}
    best = brute_force(stored, vectors[0], k, allowed)
    assert len(scores) == len(best)
    assert sorted(scores.values()) == pytest.approx(
        sorted(
            max(stored.vectors[i] @ vectors[0] for i in range(len(stored.ids)) if stored.notes[i] == note)
            for note in best
        ),
        abs=1e-5,
    )
    assert all(model[hit.id][0] == hit.note for hit in hits)


def test_a_store_that_lost_vectors_is_damaged() -> None:
    class Forgetful(MemoryStore):
        def vectors(self, ids: object) -> dict[str, np.ndarray]:
            return {}

    store = Forgetful()
    store.write(entries(unit(3)), ())
    with pytest.raises(IndexDamaged, match="rebuilt"):
        VectorIndex(store)


def test_no_text_and_nothing_readable_by_others_on_disk(tmp_path: Path) -> None:
    directory = semantic_chroma.ChromaDirectory(tmp_path / "store")
    VectorIndex(collection(directory)).apply(entries(unit(10)), version="s")
    directory.close()
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0


def test_another_models_vectors_are_damage(tmp_path: Path) -> None:
    directory = semantic_chroma.ChromaDirectory(tmp_path)
    index = VectorIndex(collection(directory))
    index.apply(entries(unit(3, 8)))
    with pytest.raises(IndexDamaged, match="rebuilt") as caught:
        index.apply(entries(unit(3, 9), first=3))
    assert "\n" not in str(caught.value)
    directory.close()


def test_a_full_disk_is_not_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = semantic_chroma.ChromaDirectory(tmp_path)
    index = VectorIndex(collection(directory))
    index.apply(entries(unit(3, 8)))
    monkeypatch.setattr(limits, "VECTOR_FREE_BYTES", 1 << 62)
    with pytest.raises(WorkerUnavailable, match="the disk is full; free some space"):
        index.apply(entries(unit(3, 9), first=3))  # whatever fails while there is no space
    directory.close()


def test_llama_index_gets_its_own_interface(tmp_path: Path) -> None:
    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery

    directory = semantic_chroma.ChromaDirectory(tmp_path)
    store = collection(directory)
    stored = entries(unit(30), per_note=3)
    store.write(stored, ())
    assert isinstance(store, semantic_chroma.ChromaStore)
    vector = stored.vectors[4].tolist()
    plain = store.llama_index.query(VectorStoreQuery(query_embedding=vector, similarity_top_k=2))
    assert plain.ids[0] == "c4"
    assert plain.nodes is None
    filters = MetadataFilters(filters=[MetadataFilter(key=semantic_chroma.NOTE, value=9)])
    filtered = store.llama_index.query(
        VectorStoreQuery(query_embedding=vector, similarity_top_k=5, filters=filters)
    )
    assert set(filtered.ids) == {"c27", "c28", "c29"}
    directory.close()
