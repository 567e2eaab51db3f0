"""BM25F in bulk, compared with the formula in plain dictionaries, on random vaults."""

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from keyword_answers import KeywordHit, hits_of
from vaultseek.store.keyword.analysis import LanguageRules
from vaultseek.store.keyword.bm25f import FIELD_B, FIELD_WEIGHTS, K1
from vaultseek.store.keyword.index import KeywordChunk, KeywordDocument, KeywordIndex
from vaultseek.store.keyword.segment import FIELDS

WORDS = ("alfa", "bravo", "charlie", "delta", "echo", "foxtrot", "golf")
UNKNOWN = "xylophone"

texts = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
values = st.lists(texts, max_size=2).map(tuple)
chunks = st.lists(st.tuples(texts, texts), max_size=3)
Content = tuple[str, str, tuple[str, ...], tuple[str, ...], tuple[str, ...], list[tuple[str, str]]]
contents = st.tuples(texts, texts, values, values, values, chunks)
batches = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 9), contents, max_size=4), st.sets(st.integers(0, 9), max_size=3)
    ),
    min_size=1,
    max_size=5,
)
queries = st.lists(st.sampled_from((*WORDS, UNKNOWN)), max_size=4, unique=True)


def document(note: int, content: Content) -> KeywordDocument:
    title, path, aliases, headings, tags, parts = content
    passages = tuple(KeywordChunk(f"{note}.{n}", prose, code) for n, (prose, code) in enumerate(parts))
    return KeywordDocument(note, path, title, aliases, headings, tags, passages)


def tokens(doc: KeywordDocument) -> dict[str, list[str]]:
    fields = zip(FIELDS, doc.values(), strict=True)
    return {field: " ".join(text for text, _ in texts).split() for field, texts in fields}


def means(lengths: list[dict[str, int]]) -> dict[str, float]:
    return {
        field: (lambda present: sum(present) / len(present) if present else 1.0)(
            [n[field] for n in lengths if n[field]]
        )
        for field in lengths[0]
    }


def formula(query: list[str], vault: dict[int, KeywordDocument]) -> dict[int, float]:
    """Scores by note, directly from the paper."""
    words = {note: tokens(doc) for note, doc in vault.items()}
    if not words:
        return {}
    average = means(
        [
            {field: len(words_of_field) for field, words_of_field in fields.items()}
            for fields in words.values()
        ]
    )
    scores: dict[int, float] = {}
    for term in query:
        tf = {
            note: sum(
                FIELD_WEIGHTS[f]
                * words_of_field.count(term)
                / (1 - FIELD_B[f] + FIELD_B[f] * len(words_of_field) / average[f])
                for f, words_of_field in fields.items()
            )
            for note, fields in words.items()
            if any(term in words_of_field for words_of_field in fields.values())
        }
        idf = math.log(1 + (len(vault) - len(tf) + 0.5) / (len(tf) + 0.5))
        for note, value in tf.items():
            scores[note] = scores.get(note, 0.0) + idf * value / (K1 + value)
    return {note: score for note, score in scores.items() if score > 0}


def chunk_formula(query: list[str], vault: dict[int, KeywordDocument]) -> dict[str, float]:
    """Scores by chunk id: two fields, with the idf of the notes."""
    parts = {c.id: (c.prose.split(), c.code.split()) for doc in vault.values() for c in doc.chunks}
    if not parts:
        return {}
    average = means([{"body": len(prose), "code": len(code)} for prose, code in parts.values()])
    scores = dict.fromkeys(parts, 0.0)
    for term in query:
        df = sum(
            any(term in words_of_field for words_of_field in tokens(doc).values()) for doc in vault.values()
        )
        idf = math.log(1 + (len(vault) - df + 0.5) / (df + 0.5))
        for key, both in parts.items():
            tf = sum(
                FIELD_WEIGHTS[f]
                * words_of_field.count(term)
                / (1 - FIELD_B[f] + FIELD_B[f] * len(words_of_field) / average[f])
                for f, words_of_field in zip(("body", "code"), both, strict=True)
            )
            scores[key] += idf * tf / (K1 + tf)
    return scores


@examples(60)
@given(
    batches,
    queries,
    st.integers(1, 12),
    st.none() | st.sets(st.integers(0, 12)),
    st.booleans(),
)
def test_scores_are_those_of_the_formula(
    rounds: list[tuple[dict[int, Content], set[int]]],
    query: list[str],
    k: int,
    allowed: set[int] | None,
    merged: bool,
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        index, vault = indexed(Path(directory) / "index", rounds)
        while merged and index.merge_step():
            pass
        mask = None if allowed is None else np.array(sorted(allowed), np.int64)
        answer = index.search(" ".join(query), k, mask)
    expected = formula(query, vault)
    visible = {note: s for note, s in expected.items() if allowed is None or note in allowed}
    assert answer.total == len(visible)
    assert_best_first(hits_of(answer), visible, k)
    assert_terms(hits_of(answer), vault, query)
    assert_chunks(hits_of(answer), vault, chunk_formula(query, vault))


def indexed(
    directory: Path, rounds: list[tuple[dict[int, Content], set[int]]]
) -> tuple[KeywordIndex, dict[int, KeywordDocument]]:
    """Apply each round of changes; return the index and the remaining documents."""
    index = KeywordIndex.create(directory, LanguageRules(None, for_all=True))
    vault: dict[int, KeywordDocument] = {}
    for number, (changed, deleted) in enumerate(rounds):
        upserts = [document(note, content) for note, content in changed.items()]
        index.apply(upserts, deleted - set(changed), str(number))
        vault = {n: d for n, d in vault.items() if n not in deleted} | {d.note: d for d in upserts}
    return index, vault


def assert_best_first(hits: Sequence[KeywordHit], expected: dict[int, float], k: int) -> None:
    """Compare the scores with the expected ones; equal scores are ordered by note."""
    assert len({hit.note for hit in hits}) == len(hits) == min(k, len(expected))
    assert {hit.note: hit.score for hit in hits} == {
        hit.note: pytest.approx(expected[hit.note], rel=1e-9) for hit in hits
    }
    ordered = sorted(expected.values(), reverse=True)
    assert [hit.score for hit in hits] == pytest.approx(ordered[:k], rel=1e-9)
    keys = [(-hit.score, hit.note) for hit in hits]
    assert keys == sorted(keys)


def assert_terms(hits: Sequence[KeywordHit], vault: dict[int, KeywordDocument], query: list[str]) -> None:
    for hit in hits:
        present = {word for words_of_field in tokens(vault[hit.note]).values() for word in words_of_field}
        assert set(hit.matched) == present & set(query)
        assert 0 < hit.coverage <= 1


def assert_chunks(
    hits: Sequence[KeywordHit], vault: dict[int, KeywordDocument], expected: dict[str, float]
) -> None:
    """Compare the best chunks of each hit with the expected scores by chunk id."""
    for hit in hits:
        assert {c.id: c.score for c in hit.chunks} == {
            c.id: pytest.approx(expected[c.id]) for c in hit.chunks
        }
        own = sorted((expected[c.id] for c in vault[hit.note].chunks if expected[c.id] > 0), reverse=True)
        assert [c.score for c in hit.chunks] == pytest.approx(own[:3])


def test_terms_say_how_rare_they_are(tmp_path: Path) -> None:
    index = KeywordIndex.create(tmp_path / "index")
    index.apply([document(n, ("alfa" if n else "alfa bravo", "", (), (), (), [])) for n in range(4)], (), "1")
    alfa, bravo = index.search("alfa bravo", 10).terms
    assert (alfa.df, bravo.df) == (4, 1)
    assert alfa.idf == pytest.approx(math.log(1 + 0.5 / 4.5))
    assert bravo.idf == pytest.approx(math.log(1 + 3.5 / 1.5))
