"""Stored positions: a note contains a phrase exactly where the positions of its terms are consecutive."""

import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from keyword_dump import dump
from vaultseek.store.keyword.analysis import Analyzer, LanguageRules
from vaultseek.store.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex

words = st.lists(st.sampled_from(["red", "green", "blue"]), max_size=6)
notes = st.lists(st.tuples(words, st.lists(words, max_size=3), st.lists(words, max_size=2)), max_size=6)


def notes_with_phrase(index: KeywordIndex, phrase: str, language: str | None) -> set[int]:
    """The notes with one field that contains all terms of the phrase at their distances."""
    stored: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for line in dump(index).splitlines():
        term, _, rows = line.rpartition(": ")
        for row in () if line.startswith("note ") else rows.split():
            field, _, positions = row.partition("@")
            stored[term].update((field, int(position)) for position in positions.split(","))
    starts = [
        {(field, position - distance) for field, position in stored[term.text]}
        for distance, term in Analyzer(language).terms(phrase)
    ]
    return {int(field.split("/")[0]) for field, _ in set.intersection(*starts)} if starts else set()


def contains(value: list[str], phrase: list[str]) -> bool:
    return any(value[at : at + len(phrase)] == phrase for at in range(len(value) - len(phrase) + 1))


@examples(60)
@given(notes, st.lists(st.sampled_from(["red", "green", "blue"]), min_size=1, max_size=4), st.integers(1, 6))
def test_a_phrase_is_found_where_its_words_follow_each_other(
    vault: list[tuple[list[str], list[list[str]], list[list[str]]]], phrase: list[str], batch: int
) -> None:
    documents = [
        KeywordDocument(
            number,
            "",
            " ".join(title),
            aliases=tuple(map(" ".join, aliases)),
            chunks=tuple(KeywordChunk(str(n), " ".join(body), "code") for n, body in enumerate(bodies)),
        )
        for number, (title, bodies, aliases) in enumerate(vault)
    ]
    expected = {
        number
        for number, (title, bodies, aliases) in enumerate(vault)
        if any(contains(value, phrase) for value in (title, *bodies, *aliases))
    }
    with tempfile.TemporaryDirectory() as directory:
        index = KeywordIndex.create(Path(directory) / "index", LanguageRules(None, for_all=True))
        for at in range(0, len(documents), batch):
            index.apply(documents[at : at + batch], (), str(at))
        assert notes_with_phrase(index, " ".join(phrase), None) == expected
        index.apply([], expected, "gone")
        assert notes_with_phrase(index, " ".join(phrase), None) == set()


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("the quick brown fox", "quick brown"),
        ("quick. Brown fox!", "quick brown"),
        ("set the user_id field", "the user_id field"),
        ("set the user_id field", "user id field"),
        ("the getUserName call", "user name call"),
        ("by long-term memory", "long-term memory"),
        ("我爱北京天安门", "北京天安门"),
        ("我爱北京天安门", "京"),
        ("用Python编程", "python编程"),
        ("at 12:30 on 2024-01-15 today", "12:30 on 2024-01-15"),
    ],
)
def test_phrases_with_identifiers_and_without_spaces(tmp_path: Path, text: str, phrase: str) -> None:
    index = KeywordIndex.create(tmp_path / "index")
    texts = (text, "the brown quick fox")
    index.apply(
        [KeywordDocument(n, "", "", chunks=(KeywordChunk(str(n), t),)) for n, t in enumerate(texts)], (), "1"
    )
    assert notes_with_phrase(index, phrase, "en") == {0}


def test_a_phrase_stays_within_one_value(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index")
    passages = (KeywordChunk("1.0", "ends with quick"), KeywordChunk("1.1", "brown begins"))
    note = KeywordDocument(2, "", "quick", aliases=("brown", "fox"))
    index.apply([KeywordDocument(1, "", "", chunks=passages), note], (), "1")
    assert notes_with_phrase(index, "quick brown", "en") == set()
    assert notes_with_phrase(index, "brown fox", "en") == set()
    assert notes_with_phrase(index, "brown begins", "en") == {1}
