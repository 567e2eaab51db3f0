"""Terms cached by a snapshot: bounded, correct after every change, and the same in every thread."""

import threading
from pathlib import Path

import numpy as np
import pytest

from keyword_answers import content_of, hits_of
from vaultseek.store.keyword import term_index
from vaultseek.store.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex
from vaultseek.store.keyword.snapshot import ENTRY_BYTES, ByteCache

WORDS = ("red", "green", "blue", "kettle", "tea", "pot", "water", "leaf")


def note(number: int) -> KeywordDocument:
    """A note with two passages of words; every third note also has code."""
    prose = [" ".join(WORDS[(number * step + at) % 8] for at in range(6)) for step in (1, 3)]
    code = "kettle()" if number % 3 == 0 else ""
    chunks = tuple(KeywordChunk(f"{number}.{at}", text, code) for at, text in enumerate(prose))
    return KeywordDocument(number, "", WORDS[number % 8], chunks=chunks)


@pytest.fixture
def index(tmp_path: Path) -> KeywordIndex:
    """An index of several segments with deleted and replaced notes."""
    index = KeywordIndex.create(tmp_path / "index")
    for first in range(0, 60, 20):
        index.apply([note(number) for number in range(first, first + 20)], (), str(first))
    index.apply([note(7)], range(30, 35), "last")
    return index


@pytest.mark.parametrize("allowed", [None, [1, 2, 3, 8, 13, 40, 41]])
@pytest.mark.parametrize("k", [1, 5, 99])
def test_common_words_answer_as_rare_ones(
    index: KeywordIndex, monkeypatch: pytest.MonkeyPatch, allowed: list[int] | None, k: int
) -> None:
    mask = None if allowed is None else np.array(allowed, np.int64)
    queries = ("red", "kettle tea", "red gren water* leaf kettle", "green blu kett*")
    expected = [content_of(index.search(query, k, mask)) for query in queries]
    monkeypatch.setattr(term_index, "RARE_NOTES", 0)
    index.apply([], [999], "same")
    assert [content_of(index.search(query, k, mask)) for query in queries] == expected


def test_searching_again_answers_the_same(index: KeywordIndex) -> None:
    first = content_of(index.search("red kettle tea", 9))
    assert content_of(index.search("red kettle tea", 9)) == first


def test_changes_are_seen_by_the_next_search(index: KeywordIndex) -> None:
    before = index.search("kettle", 99)
    index.apply([], [0], "less")
    assert set(before.columns.notes.tolist()) - set(index.search("kettle", 99).columns.notes.tolist()) == {0}
    assert index.search("kettle", 99).terms[0].df == before.terms[0].df - 1
    while index.merge_step():
        pass
    assert index.search("kettle", 99).total == before.total - 1


def test_a_cache_keeps_what_was_used_last_within_its_budget() -> None:
    cache = ByteCache(10 * (ENTRY_BYTES + 800))
    for number in range(100):
        cache.get(number, lambda: np.zeros(100))
        cache.get(0, lambda: np.zeros(100))
        assert cache.nbytes <= 10 * (ENTRY_BYTES + 800)
    value = cache.get(0, lambda: np.ones(1))
    assert value.sum() == 0
    assert cache.get(1, lambda: np.ones(1)).sum() == 1
    cache.get("large", lambda: np.zeros(10_000))
    assert cache.get(0, lambda: np.ones(1)) is value


def test_many_threads_share_a_cache(index: KeywordIndex) -> None:
    expected = {word: hits_of(index.search(word, 9)) for word in WORDS}
    index.apply([], [999], "same")
    wrong: list[str] = []

    def search(start: int) -> None:
        for step in range(200):
            word = WORDS[(start + step * start) % 8]
            if hits_of(index.search(word, 9)) != expected[word]:
                wrong.append(word)

    threads = [threading.Thread(target=search, args=(start,)) for start in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("far", [0, 10**12])
def test_a_filter_leaves_the_living_notes_with_these_ids(tmp_path: Path, far: int) -> None:
    index = KeywordIndex.create(tmp_path / "index")
    index.apply([KeywordDocument(n + far, "", "red tea") for n in range(20)], (), "one")
    index.apply([KeywordDocument(3 + far, "", "red pot")], [4 + far], "two")
    allowed = np.array([-5, 3 + far, 4 + far, 5 + far, 77 + far, 10**15], np.int64)
    for query, expected in (("red", {3, 5}), ("tea", {5}), ("pot", {3})):
        answer = index.search(query, 9, allowed)
        assert {note - far for note in answer.columns.notes.tolist()} == expected
        assert answer.total == len(expected)
