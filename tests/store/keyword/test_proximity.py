"""Words near each other, compared with the formula in plain dictionaries, on random vaults."""

import math
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from keyword_answers import hits_of
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.bm25f import FIELD_B, K1
from vaultseek.store.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex
from vaultseek.store.keyword.proximity import WINDOW
from vaultseek.store.keyword.segment import GAP

WORDS = ("alfa", "bravo", "charlie", "delta", "echo")
texts = st.lists(st.sampled_from(WORDS), max_size=14).map(" ".join)
notes = st.tuples(texts, st.lists(texts, max_size=2), st.lists(texts, max_size=2))
batches = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 5), notes, max_size=4), st.sets(st.integers(0, 5), max_size=2)),
    min_size=1,
    max_size=4,
)
queries = st.lists(st.sampled_from((*WORDS, "xylophone")), max_size=4, unique=True)
Note = tuple[str, list[str], list[str]]


def document(number: int, note: Note) -> KeywordDocument:
    title, headings, passages = note
    chunks = tuple(KeywordChunk(f"{number}.{at}", text) for at, text in enumerate(passages))
    return KeywordDocument(number, "", title, headings=tuple(headings), chunks=chunks)


def places(values: Sequence[str]) -> list[tuple[int, str]]:
    """Every word of a field with its position."""
    positions, position = [], 0
    for value in values:
        for word in value.split():
            positions.append((position, word))
            position += 1
        position += GAP
    return positions


def near(note: Note, first: str, second: str) -> int:
    title, headings, passages = note
    fields = [places([title]), places(headings), places(passages)]
    return sum(
        any(word == second and abs(at - here) <= WINDOW for at, word in field)
        for field in fields
        for here, one in field
        if one == first
    )


def expected(query: list[str], vault: dict[int, Note], number: int) -> float:
    words = {n: set(" ".join([title, *heads, *body]).split()) for n, (title, heads, body) in vault.items()}
    lengths = {n: sum(len(text.split()) for text in body) for n, (_, _, body) in vault.items()}
    present = [length for length in lengths.values() if length]
    average = sum(present) / len(present) if present else 1.0
    b, total = FIELD_B["body"], 0.0
    for first, second in pairwise(
        word for word in query if any(word in of_note for of_note in words.values())
    ):
        both = sum(first in present and second in present for present in words.values())
        idf = math.log1p((len(vault) - both + 0.5) / (both + 0.5))
        count = near(vault[number], first, second)
        if both and query.index(second) - query.index(first) <= 3:
            total += idf * count / (count + K1 * (1 - b + b * lengths[number] / average))
    return total


@examples(80)
@given(batches, queries)
def test_words_near_each_other_count_by_the_formula(
    changes: list[tuple[dict[int, Note], set[int]]], query: list[str]
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        index = KeywordIndex.create(Path(directory) / "index", LanguageRules(None, for_all=True))
        vault: dict[int, Note] = {}
        for step, (upserts, deletes) in enumerate(changes):
            index.apply([document(n, note) for n, note in upserts.items()], deletes - set(upserts), str(step))
            vault = {n: note for n, note in vault.items() if n not in deletes} | upserts
        for hit in hits_of(index.search(" ".join(query), 10)):
            assert hit.proximity == pytest.approx(expected(query, vault, hit.note)), hit.note


def test_a_note_with_the_words_together_comes_before_one_that_has_them_apart(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index", LanguageRules("en", for_all=True))
    apart = " ".join(["pressure", *["water"] * 20, "valve"])
    together = " ".join(["pressure valve", *["water"] * 20])
    texts = {1: apart, 2: together}
    index.apply(
        [KeywordDocument(n, "", "", chunks=(KeywordChunk(str(n), text),)) for n, text in texts.items()],
        (),
        "1",
    )
    near = {hit.note: hit.proximity for hit in hits_of(index.search("the pressure of a valve", 10))}
    assert near[2] > near[1] == 0.0


def test_a_word_is_not_near_itself_and_repeated_words_keep_their_places(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index", LanguageRules(None, for_all=True))
    texts = {1: "the form", 2: "giraffe user", 3: "forms and forts"}
    documents = [
        KeywordDocument(n, "", "", chunks=(KeywordChunk(str(n), text),)) for n, text in texts.items()
    ]
    index.apply(documents, (), "1")
    near = {hit.note: hit.proximity for hit in hits_of(index.search("form forn", 10))}
    assert near[1] == 0.0
    near = {hit.note: hit.proximity for hit in hits_of(index.search("user_id giraffe user", 10))}
    assert near[2] > 0.0


def test_scripts_without_spaces_have_their_pairs_as_terms_already(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index", LanguageRules(None, for_all=True))
    index.apply([KeywordDocument(1, "", "", chunks=(KeywordChunk("1", "知識管理方法"),))], (), "1")
    (hit,) = hits_of(index.search("知識管理", 10))
    assert hit.score > 0 == hit.proximity
