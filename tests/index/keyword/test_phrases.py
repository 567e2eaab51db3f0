"""Phrases and near words against the plainest way to find them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from vaultseek.index.keyword.fuzzy import one_typo
from vaultseek.index.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex

words = st.lists(st.sampled_from(["red", "green", "blue"]), max_size=6)
notes = st.lists(st.tuples(words, st.lists(words, max_size=3), st.lists(words, max_size=2)), max_size=6)
letters = st.text(alphabet="abé", max_size=5)


def contains(value: list[str], phrase: list[str]) -> bool:
    return any(value[at : at + len(phrase)] == phrase for at in range(len(value) - len(phrase) + 1))


@settings(max_examples=60, deadline=None)
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
        index = KeywordIndex.create(Path(directory) / "index", language=None)
        for at in range(0, len(documents), batch):
            index.apply(documents[at : at + batch], (), str(at))
        assert index.phrase_notes(" ".join(phrase)) == expected
        index.apply([], expected, "gone")
        assert index.phrase_notes(" ".join(phrase)) == set()


def edits(word: str) -> set[str]:
    """Everything one typo away, by making it."""
    alphabet = "abé"
    cut = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    made = {a + b[1:] for a, b in cut if b}
    made |= {a + b[1] + b[0] + b[2:] for a, b in cut if len(b) > 1}
    made |= {a + c + b[1:] for a, b in cut if b for c in alphabet}
    made |= {a + c + b for a, b in cut for c in alphabet}
    return made - {word}


@given(letters, letters)
def test_one_typo_is_one_edit(one: str, other: str) -> None:
    assert one_typo(one, other) == (other in edits(one))


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.text(alphabet="abcé", min_size=3, max_size=8), max_size=30),
    st.text(alphabet="abcé", min_size=4, max_size=8),
)
def test_every_word_one_typo_away_is_found(vault: set[str], word: str) -> None:
    from vaultseek.index.keyword.bm25f import Collection
    from vaultseek.index.keyword.fuzzy import with_one_typo

    with tempfile.TemporaryDirectory() as directory:
        index = KeywordIndex.create(Path(directory) / "index", language=None)
        index.apply([KeywordDocument(0, "", " ".join(sorted(vault)))], (), "1")
        collection: Collection = index._state.collection
        found = set(with_one_typo(collection, word.replace("é", "e"), 1000))
    folded = {w.replace("é", "e") for w in vault}
    assert found == {w for w in folded if one_typo(w, word.replace("é", "e"))}
