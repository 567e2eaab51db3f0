"""Words with one typo against all words made by one edit."""

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.index import KeywordDocument, KeywordIndex
from vaultseek.store.keyword.snapshot import Snapshot
from vaultseek.store.keyword.strings import Strings, first_bytes
from vaultseek.store.keyword.term_index import TermIndex, is_one_edit

letters = st.text(alphabet="abé", max_size=5)


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
    assert is_one_edit(one, other) == (other in edits(one))


@settings(max_examples=40, deadline=None)
@given(
    st.sets(st.text(alphabet="abcé", min_size=3, max_size=8), max_size=30),
    st.text(alphabet="abcé", min_size=4, max_size=8),
)
def test_every_word_one_typo_away_is_found(vault: set[str], word: str) -> None:
    with tempfile.TemporaryDirectory() as directory:
        index = KeywordIndex.create(Path(directory) / "index", LanguageRules(None, for_all=True))
        index.apply([KeywordDocument(0, "", " ".join(sorted(vault)))], (), "1")
        snapshot: Snapshot = index._state.snapshot
        terms = set(TermIndex(snapshot).within_one_edit(word.replace("é", "e"), 1000))
    folded = {w.replace("é", "e") for w in vault}
    assert terms == {w for w in folded if is_one_edit(w, word.replace("é", "e"))}


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.lists(st.text(alphabet="abcé", min_size=1, max_size=4), max_size=12), min_size=1, max_size=4),
    st.text(alphabet="abc", min_size=1, max_size=2),
    st.integers(1, 4),
)
def test_the_most_frequent_words_with_a_beginning(batches: list[list[str]], prefix: str, limit: int) -> None:
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as directory:
        index = KeywordIndex.create(Path(directory) / "index", LanguageRules(None, for_all=True))
        for number, words in enumerate(batches):
            notes = [KeywordDocument(10 * number, "", " ".join(words))]
            notes += [KeywordDocument(100 * number + at + 50, "", word) for at, word in enumerate(words[:3])]
            index.apply(notes, (), str(number))
            for note in notes:
                counts.update(set(note.title.replace("é", "e").split()))
        terms = TermIndex(index._state.snapshot).with_prefix(prefix, limit)
    expected = sorted((word for word in counts if word.startswith(prefix)), key=lambda w: (-counts[w], w))
    assert list(terms) == expected[:limit]


@given(st.sets(st.binary(max_size=12)), st.lists(st.binary(max_size=12)), st.binary(max_size=12))
def test_strings_are_found_by_value_and_beginning(
    values: set[bytes], some: list[bytes], value: bytes
) -> None:
    strings = Strings.of(sorted(values))
    wanted = [*some, value]
    found = strings.find_all(wanted, first_bytes(wanted))
    assert found == [sorted(values).index(each) for each in wanted if each in values]
    if b"\xff" not in value and not any(b"\xff" in each for each in values):
        expected = [each for each in sorted(values) if each.startswith(value)]
        assert [strings[at] for at in strings.with_prefix(value)] == expected
