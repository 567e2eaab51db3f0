"""A packed model is read as data from an installed package, checked before use, and embeds correctly."""

from array import array
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import Unigram
from tokenizers.pre_tokenizers import Metaspace, Sequence, WhitespaceSplit

from tiny_packed import POSITIONS, WIDTH, TinyPacked, installed_package
from vaultseek.errors import ConfigError
from vaultseek.semantic.inference import embed
from vaultseek.semantic.inference.bert import BertEncoder
from vaultseek.semantic.inference.bert_graph import Tensors
from vaultseek.semantic.inference.embed import read_parts
from vaultseek.semantic.models import packed
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.models.packed import PackedModel
from vaultseek.semantic.models.packed_file import PackedFile, QuantizedMatrix
from vaultseek.semantic.models.tokens import describe_counter, load_counter
from vaultseek.semantic.models.unigram import KeyTable, Pieces, UnigramTokenizer

TEXTS = ["the note", "", "ä\tб?", "the notes and the others " * 9, "中文 x"]
DATA = TinyPacked().to_bytes()


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[PackedModel]:
    """The tiny packed model, installed."""
    with installed_package(tmp_path / "site", DATA) as model:
        yield model


def test_texts_become_unit_vectors(tiny: PackedModel) -> None:
    encoder = embed.load(tiny.name)
    assert (encoder.dimension, encoder.window) == (WIDTH, POSITIONS - 4)
    vectors = encoder.encode(TEXTS)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    for text, vector in zip(TEXTS, vectors, strict=True):
        assert encoder.encode([text])[0] @ vector == pytest.approx(1, abs=1e-3)


def test_queries_and_passages_have_prompts(tiny: PackedModel) -> None:
    encoder = embed.load(tiny.name)
    as_query, as_passage = encoder.encode(["the"], query=True)[0], encoder.encode(["the"])[0]
    assert as_query @ as_passage < 0.999


class _InFull:
    """The tensors of a packed file, all as float32."""

    def __init__(self, tensors: Tensors) -> None:
        self.get, self.rows = tensors.get, tensors.rows

    def quantized(self, name: str, rows: int, width: int) -> None: ...


@pytest.mark.parametrize("half", [False, True])
def test_few_bits_compute_what_float32_computes(tiny: PackedModel, half: bool) -> None:
    encoder = embed.load(tiny.name, half=half)
    parts = read_parts(tiny)
    in_full = _InFull(parts.tensors)
    exact = BertEncoder(replace(parts, tensors=in_full, tensors_again=lambda: in_full))
    assert (encoder.encode(TEXTS) * exact.encode(TEXTS)).sum(axis=1).min() > 0.999


def test_the_package_is_found_but_not_imported(tiny: PackedModel) -> None:
    model = find_model(tiny.name)
    assert model.fingerprint == f"tiny-packed-{tiny.sha256[:16]}"
    assert model.counter()("the note") == 2


def test_a_model_that_is_not_installed_says_how_to_install_it(
    tiny: PackedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(packed.PACKED, tiny.name, replace(tiny, package="no_such_package"))
    for use in (embed.load, find_model):
        with pytest.raises(ConfigError, match="needs the tiny extra; add it"):
            use(tiny.name)


def test_a_file_that_is_not_the_known_one_is_refused(tiny: PackedModel) -> None:
    file = tiny.file()
    file.write_bytes(DATA[:-1] + bytes([DATA[-1] ^ 1]))
    with pytest.raises(ConfigError, match="not the model that vaultseek trusts"):
        embed.load(tiny.name)
    with pytest.raises(ConfigError, match="not the model that vaultseek trusts"):
        find_model(tiny.name).counter()("text")


def test_a_file_that_is_too_large_is_not_read(tiny: PackedModel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vaultseek.base.limits.PACKED_BYTES", len(DATA) - 1)
    with pytest.raises(ConfigError, match="not the model that vaultseek trusts"):
        embed.load(tiny.name)


def test_rows_of_four_bits_are_those_that_were_packed() -> None:
    numbers = np.random.default_rng(1).integers(-8, 8, (5, 2, 32))
    scales = np.array([0.5, 2.0], "<f2").view(np.uint8).reshape(2, 2)
    raised = (numbers + 8).astype(np.uint8)
    pairs = raised[..., :16] | raised[..., 16:] << 4
    blocks = np.concatenate((np.broadcast_to(scales, (5, 2, 2)), pairs), axis=-1)
    matrix = QuantizedMatrix(blocks.tobytes(), 5, 64)
    expected = (numbers * np.array([[0.5], [2.0]])).reshape(5, 64)
    assert np.array_equal(matrix[:], expected)
    assert np.array_equal(matrix[np.array([[3, 1], [1, 0]])], expected[[[3, 1], [1, 0]]])


# Tokens

VOCABULARY = PackedFile(DATA).vocabulary
TOKENIZER = UnigramTokenizer(VOCABULARY)


def _library() -> Tokenizer:
    tokenizer = Tokenizer(Unigram(list(zip(VOCABULARY.pieces, VOCABULARY.scores, strict=True)), unk_id=3))
    tokenizer.pre_tokenizer = Sequence([WhitespaceSplit(), Metaspace()])
    return tokenizer


LIBRARY = _library()


@given(st.lists(st.sampled_from([*"abcdeghinorst ?:äюб中文 x", "the", "ing ", "note"])).map("".join))
def test_tokens_are_those_of_the_tokenizers_library(text: str) -> None:
    tokens = TOKENIZER.encode(text, 1000)
    assert tokens[1:-1] == LIBRARY.encode(text, add_special_tokens=False).ids
    assert (tokens[0], tokens[-1]) == (VOCABULARY.begin, VOCABULARY.end)
    assert TOKENIZER.count(text) == len(tokens) - 2


@given(st.text(max_size=40), st.text(max_size=40))
def test_counts_add_up_over_white_space(one: str, other: str) -> None:
    assert TOKENIZER.count(f"{one}\n{other}") == TOKENIZER.count(one) + TOKENIZER.count(other)


@given(st.text(max_size=200), st.integers(2, 30))
def test_long_texts_are_cut(text: str, most: int) -> None:
    tokens = TOKENIZER.encode(text, most)
    whole = TOKENIZER.encode(text, 1000)
    assert len(tokens) == min(most, len(whole))
    assert tokens[-1] == VOCABULARY.end


@given(st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=4), unique=True))
def test_a_table_has_the_number_of_every_string_and_of_no_other(strings: list[str]) -> None:
    encoded = [string.encode() for string in strings]
    edges = array("I", [0, *accumulate(map(len, encoded))])
    keys, starts, lengths = Pieces(b"".join(encoded), edges).keys()
    assert lengths.tolist() == [*map(len, strings)]
    assert len({*keys.tolist()}) == len(strings)
    assert len({*starts.tolist()}) == len({string[:2] for string in strings})
    table = KeyTable(keys[::2], np.arange(len(keys[::2])))
    assert [table.get(key, -1) for key in keys[::2].tolist()] == [*range(len(keys[::2]))]
    assert {table.get(key, -1) for key in keys[1::2].tolist()} <= {-1}


def test_of_equal_keys_the_last_one_counts() -> None:
    table = KeyTable(np.array([9, 5, 9], np.uint64), np.array([1, 2, 3]))
    assert (table.get(9, 0), table.get(5, 0), table.get(7, 0)) == (3, 2, 0)


def test_spelling_does_not_decide_tokens() -> None:
    assert TOKENIZER.encode("a\u0308 ﬁn\x01e", 99) == TOKENIZER.encode("ä fine", 99)


def test_letters_that_are_in_no_piece_are_counted() -> None:
    assert TOKENIZER.unknown_letters("the ж aжжжб— a") == 4


def test_a_counter_can_be_made_again_in_another_process(tiny: PackedModel) -> None:
    description = describe_counter(find_model(tiny.name).counter())
    assert description == tiny.name
    assert load_counter(description)("the note and") == 3


@pytest.mark.model
def test_the_multilingual_model_knows_a_sentence_in_two_languages() -> None:
    encoder = embed.load("multilingual-e5-small")
    query = encoder.encode(["Wie viele Menschen wohnen in der Stadt?"], query=True)[0]
    texts = [
        "The city has two million inhabitants.",
        "Bread is baked at two hundred degrees.",
        "Население города составляет два миллиона.",
        "Хлеб пекут при двухстах градусах.",
    ]
    cosines = encoder.encode(texts) @ query
    assert min(cosines[0], cosines[2]) > max(cosines[1], cosines[3]) + 0.03
