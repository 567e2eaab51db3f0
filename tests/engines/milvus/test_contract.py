"""The contract of engines, held by Milvus."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from engines import lite_engine
from notes_and_queries import NOTE, PATH
from vaultseek.content.query.grammar import parse_query
from vaultseek.core.search.filter import filter_notes
from vaultseek.engines.milvus import backend as milvus_backend
from vaultseek.engines.milvus.vocabulary import StoredVocabulary
from vaultseek.engines.port import Batch, ByMeaning, ByWords, VectorEntries
from vaultseek.settings.engine import EngineOptions
from vaultseek.store.documents import stored_documents
from vaultseek.store.keyword.candidates import note_terms, segment_of
from vaultseek.store.keyword.inverter import Lexicon
from worlds import World, write_files

NOW = datetime(2026, 10, 21, 15, 30, tzinfo=UTC)
NOTES = {
    "a.md": "---\nstatus: open\nn: 5\n---\n# Pumps\n\nThe pump of the station. #work/pumps\n\n[[b]]",
    "b.md": "---\nstatus: done\nn: [3, 12]\n---\n# Brakes\n\nBrakes and a pump, pump, pump. #work",
    "Deep/Er/c.md": "# Garden\n\nA garden with roses. #home/garden",
    "Deep/d.md": '# "Odd" \\ name\n\nNothing of the kind. #home',
}
SPACE = "space"


@pytest.fixture(scope="module")
def lite(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineOptions]:
    with lite_engine(tmp_path_factory.mktemp("milvus"), seconds=60.0) as options:
        yield options


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with contextlib.closing(World(write_files(tmp_path / "vault", NOTES), tmp_path)) as here:
        yield here


@pytest.fixture
def backend(lite, request):
    with milvus(lite, request.node.name) as engine:
        yield engine


@contextlib.contextmanager
def milvus(options: EngineOptions, shard: str):
    from vaultseek.engines.milvus.backend import MilvusBackend

    engine = MilvusBackend(replace(options, shard=shard))
    yield engine
    engine.drop()
    engine.close()


def decided(world: World, condition):
    result = filter_notes(condition, world.ledger)
    assert result is not None
    return result.ids


def entries(world: World, *names: str):
    from vaultseek.engines.sync import entries_of

    ids = [world.note(name).id for name in names] if names else sorted(world.ledger.notes.ids())
    documents = stored_documents(world.ledger, ids)
    segment = segment_of(documents, world.vault.keyword_index.rules, Lexicon())
    whole = segment.block(0, len(segment.tables.vocabulary))
    averages = np.full(8, 5.0)
    return entries_of(world.ledger, documents, note_terms(segment.tables, whole, averages), segment.tables)


def vectors(world: World, kind="notes") -> VectorEntries:
    ids = np.array(sorted(world.ledger.notes.ids()))
    matrix = np.eye(len(ids), 8, dtype=np.float32) + 0.1
    matrix /= np.linalg.norm(matrix, axis=1, keepdims=True)
    return VectorEntries(SPACE, kind, ids, ids, matrix)


def names(world: World, hits) -> list[str]:
    rows = world.ledger.notes.by_id(hits.notes.tolist())
    return [rows[id].path for id in hits.notes.tolist()]


def test_words_propose_the_notes_that_have_them(world, backend):
    backend.apply(Batch(entries(world), position="g:1"))
    hits = backend.candidates(ByWords({"pump": 2.0, "garden": 1.0}), 10)
    assert names(world, hits) == ["a.md", "b.md", "Deep/Er/c.md"]
    assert hits.is_whole
    assert list(hits.scores) == sorted(hits.scores, reverse=True)
    assert len(backend.candidates(ByWords({"pump": 2.0}), 1)) == 1
    assert len(backend.candidates(ByWords({}), 5)) == 0
    assert len(backend.candidates(ByWords({"unheard": 1.0}), 5)) == 0


def test_meaning_proposes_the_nearest(world, backend):
    stored = vectors(world)
    query = ByMeaning(SPACE, "notes", stored.vectors[2])
    assert len(backend.candidates(query, 3)) == 0
    backend.apply(Batch(vectors=[stored]))
    hits = backend.candidates(query, 2)
    assert hits.notes[0] == stored.numbers[2]
    assert hits.scores[0] == pytest.approx(1.0, abs=1e-5)
    every = backend.candidates(query, 10)
    assert every.scores.tolist() == pytest.approx(
        sorted((stored.vectors @ stored.vectors[2]).tolist(), reverse=True), abs=1e-5
    )
    backend.apply(Batch(forgotten=[(SPACE, "notes", stored.numbers[2:3])]))
    assert stored.numbers[2] not in backend.candidates(query, 10).notes


@pytest.mark.parametrize("most", [1, 4000])
def test_a_filter_precedes_the_cut(world, backend, monkeypatch, most):
    """Also one that more notes pass than an expression may name."""
    monkeypatch.setattr(milvus_backend, "NOTES_IN_FILTER", most)
    backend.apply(Batch(entries(world), vectors=[vectors(world)]))
    at_work = decided(world, parse_query("tag:work", now=NOW).filter)
    pump = backend.candidates(ByWords({"pump": 1.0, "garden": 9.0}), 1, at_work)
    assert names(world, pump) == ["a.md"]
    one = np.array([world.note("a").id])
    assert names(world, backend.candidates(ByWords({"pump": 1.0}), 5, one)) == ["a.md"]
    near = backend.candidates(ByMeaning(SPACE, "notes", vectors(world).vectors[3]), 9, at_work)
    assert set(names(world, near)) == {"a.md", "b.md"}
    assert len(backend.candidates(ByWords({"pump": 1.0}), 5, one[:0])) == 0


def test_a_batch_may_be_repeated_and_its_position_is_kept(world, backend):
    assert backend.statistics().position is None
    batch = Batch(entries(world), vectors=[vectors(world)], position="g:7")
    backend.apply(batch)
    backend.apply(batch)
    statistics = backend.statistics()
    assert statistics.position == "g:7"
    counts = world.ledger.counts()
    assert (statistics.notes, statistics.passages) == (4, counts.chunks)
    assert statistics.vectors == {(SPACE, "notes"): 4}


def test_what_is_removed_or_dropped_is_gone(world, backend):
    backend.apply(Batch(entries(world), vectors=[vectors(world)], position="g:1"))
    backend.apply(Batch(removed=[world.note("b").id], position="g:2"))
    assert names(world, backend.candidates(ByWords({"pump": 1.0}), 5)) == ["a.md"]
    assert backend.statistics().notes == 3
    assert backend.statistics().vectors[SPACE, "notes"] == 3
    backend.drop(SPACE)
    assert len(backend.candidates(ByMeaning(SPACE, "notes", vectors(world).vectors[0]), 5)) == 0
    assert backend.statistics().notes == 3
    backend.drop()
    assert len(backend.candidates(ByWords({"pump": 1.0}), 5)) == 0
    assert backend.statistics().position in (None, "")


def test_a_vocabulary_counts_as_the_index_does(world, tmp_path):
    vocabulary = StoredVocabulary(tmp_path / "vocabulary.sqlite")
    index = world.vault.keyword_index

    def put(ids: list[int], removed: list[int]) -> None:
        documents = stored_documents(world.ledger, ids)
        segment = segment_of(documents, index.rules)
        vocabulary.apply(segment, removed, "g:1")

    put(sorted(world.ledger.notes.ids()), [])
    world.write({"a.md": None, "b.md": "# Brakes\n\nstation", "e.md": "roses and brakes"})
    gone = set(range(1, 5)) - set(world.ledger.notes.ids())
    put([world.note("b").id, world.note("e").id], sorted(gone))
    index = world.vault.keyword_index
    assert vocabulary.count == len(index)
    assert dict(vocabulary.words()) == dict(index.terms())
    snapshot = index._state.snapshot
    assert vocabulary.averages.tolist() == snapshot.averages.tolist()
    assert vocabulary.chunk_averages.tolist() == snapshot.chunk_averages.tolist()
    vocabulary.close()


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(st.dictionaries(PATH, NOTE, min_size=1, max_size=5), st.data())
def test_stored_postings_are_those_of_the_analysis(notes, data):
    with (
        tempfile.TemporaryDirectory() as home,
        contextlib.closing(World(write_files(Path(home) / "vault", notes), Path(home))) as here,
        contextlib.closing(StoredVocabulary(Path(home) / "vocabulary.sqlite")) as vocabulary,
    ):
        documents = stored_documents(here.ledger, sorted(here.ledger.notes.ids()))
        analysed = segment_of(documents, here.vault.keyword_index.rules)
        vocabulary.apply(analysed, [], "g:1")
        texts = [text.decode() for text in analysed.tables.vocabulary[:]]
        terms = data.draw(st.lists(st.sampled_from([*texts, "unheard"]), unique=True))
        stored = vocabulary.segment(analysed.tables.notes.tolist(), terms)
        assert stored is not None
        for name in ("notes", "languages", "lengths", "first_chunks", "chunk_lengths"):
            assert getattr(stored.tables, name).tolist() == getattr(analysed.tables, name).tolist(), name
        assert stored.tables.chunk_ids[:] == analysed.tables.chunk_ids[:]
        for term in terms:
            assert (stored.term(term) < 0) == (analysed.term(term) < 0)
            if term in texts:
                own = stored.places(stored.term(term))
                assert own.tolist() == analysed.places(analysed.term(term)).tolist()
