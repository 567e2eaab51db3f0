"""Answers: the columns of all notes agree with the details of each."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from keyword_answers import hits_of
from vaultseek.store.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex


@pytest.fixture
def index(tmp_path: Path) -> KeywordIndex:
    """An index of two segments with a replaced note."""
    index = KeywordIndex.create(tmp_path / "index")
    texts = [("red kettle", "green tea"), ("a kettle", "kettle and red tea"), ("blue sky",), ("red red",)]
    index.apply([note(number, *passages) for number, passages in enumerate(texts)], (), "one")
    index.apply([note(3, "the red tea kettle"), note(9, "nothing", title="tea")], (), "two")
    return index


def note(number: int, *passages: str, title: str = "") -> KeywordDocument:
    chunks = tuple(KeywordChunk(f"{number}.{n}", text) for n, text in enumerate(passages))
    return KeywordDocument(number, "", title, chunks=chunks)


def test_columns_and_hits_say_the_same(index: KeywordIndex) -> None:
    answer = index.search("red tea kettle", 10)
    columns = answer.columns
    assert len(answer) == answer.total == 4
    assert answer.columns.notes.tolist() == [hit.note for hit in hits_of(answer)]
    assert columns.scores.tolist() == [hit.score for hit in hits_of(answer)]
    assert columns.proximity.tolist() == [hit.proximity for hit in hits_of(answer)]
    assert columns.coverage.tolist() == [hit.coverage for hit in hits_of(answer)]
    best = [hit.chunks[0].score if hit.chunks else 0.0 for hit in hits_of(answer)]
    assert columns.passage_scores.tolist() == best


def test_words_and_passages_of_single_notes(index: KeywordIndex) -> None:
    answer = index.search("red tea kettle", 10)
    for hit in hits_of(answer):
        assert answer.matched(hit.note) == hit.matched
        assert answer.passages([hit.note]) == {hit.note: hit.chunks}
    assert answer.passages([9, 3, 77]) == {9: (), 3: answer.passages([3])[3]}
    assert answer.matched(77) == ()


def test_an_answer_stays_as_it_is_when_the_index_changes(index: KeywordIndex) -> None:
    answer, expected = index.search("red tea kettle", 10), hits_of(index.search("red tea kettle", 10))
    index.apply([note(0, "other")], [1, 3], "three")
    while index.merge_step():
        pass
    index.close()
    assert hits_of(answer) == expected


def test_an_answer_without_notes(index: KeywordIndex) -> None:
    for answer in (index.search("zzzz", 10), index.search("red", 10, np.array([2])), index.search("", 10)):
        assert (len(answer), answer.total, hits_of(answer)) == (0, 0, ())
        assert answer.columns.passage_scores.tolist() == []
        assert answer.passages([1]) == {}


@examples(40)
@given(st.lists(st.sampled_from(["red", "tea", "kettle", "sky"]), min_size=1, max_size=4), st.integers(1, 5))
def test_a_shorter_answer_is_the_beginning_of_a_longer_one(
    tmp_path_factory: pytest.TempPathFactory, words: list[str], k: int
) -> None:
    directory = tmp_path_factory.mktemp("vault") / "index"
    index = KeywordIndex.create(directory)
    index.apply([note(n, f"{word} tea", word) for n, word in enumerate(["red", "sky", "kettle"])], (), "1")
    long, short = index.search(" ".join(words), 9), index.search(" ".join(words), k)
    assert hits_of(short) == hits_of(long)[:k]
    assert short.total == long.total
