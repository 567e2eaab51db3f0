"""Words with one typo against all words made by one edit."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from vaultseek.index.keyword.fuzzy import is_one_edit, terms_within_one_edit
from vaultseek.index.keyword.index import KeywordDocument, KeywordIndex
from vaultseek.index.keyword.snapshot import Snapshot

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
        index = KeywordIndex.create(Path(directory) / "index", language=None)
        index.apply([KeywordDocument(0, "", " ".join(sorted(vault)))], (), "1")
        snapshot: Snapshot = index._state.snapshot
        terms = set(terms_within_one_edit(snapshot, word.replace("é", "e"), 1000))
    folded = {w.replace("é", "e") for w in vault}
    assert terms == {w for w in folded if is_one_edit(w, word.replace("é", "e"))}
