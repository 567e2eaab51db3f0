"""BERT models give the same vectors as in sentence-transformers; damaged ones are refused."""

import json
import shutil
import struct
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaultseek.errors import ConfigError, WorkerUnavailable
from vaultseek.semantic.inference import embed
from vaultseek.semantic.inference.bert import BertEncoder, Network, NetworkOnDemand
from vaultseek.semantic.models.metadata import WEIGHTS

pytestmark = pytest.mark.slow

TEXTS = [
    "",
    "one",
    "two words",
    "ein Satz über Äpfel",
    "中文的一句话",
    *(f"word {i} " * i for i in range(1, 120, 3)),
]


def load(directory: Path) -> BertEncoder:
    encoder = embed.load(str(directory), directory)
    assert isinstance(encoder, BertEncoder)
    return encoder


def sentence_transformers_vectors(directory: Path, texts: list[str]) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries' own
        return embed.SentenceEncoder(directory, fingerprint="general").encode(texts)


def test_half_the_digits_lose_nothing_that_matters(tiny_embedding: Path) -> None:
    half = embed.load(str(tiny_embedding), tiny_embedding, half=True).encode(TEXTS)
    cosines = (half * sentence_transformers_vectors(tiny_embedding, TEXTS)).sum(axis=1)
    assert cosines.min() > 0.999


@pytest.fixture
def copy(tiny_embedding: Path, tmp_path: Path) -> Path:
    """A copy of the tiny model that tests may change."""
    return Path(shutil.copytree(tiny_embedding, tmp_path / "copy"))


def change_json(file: Path, **values: Any) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def test_vectors_are_those_of_sentence_transformers(tiny_embedding: Path) -> None:
    ours = load(tiny_embedding).encode(TEXTS)
    assert np.abs(ours - sentence_transformers_vectors(tiny_embedding, TEXTS)).max() < 1e-5


@pytest.fixture
def eight_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the processor report eight-bit multiplication; onnxruntime can do it on any processor."""
    monkeypatch.setattr("vaultseek.semantic.inference.bert.multiplies_eight_bits", lambda: True)


@pytest.mark.usefixtures("eight_bits")
def test_queries_have_weights_of_eight_bits_and_passages_all_digits(tiny_embedding: Path) -> None:
    encoder = load(tiny_embedding)
    exact = sentence_transformers_vectors(tiny_embedding, TEXTS)
    assert np.abs(encoder.encode(TEXTS) - exact).max() < 1e-5
    for text, vector in zip(TEXTS, exact, strict=True):
        query = encoder.encode([text], query=True)[0]
        assert query @ vector > 0.999
        assert np.abs(query - vector).max() > 1e-5
    assert "queries with 8-bit weights" in encoder.computing


def test_other_processors_compute_queries_in_all_digits(
    tiny_embedding: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vaultseek.semantic.inference.bert.processor_flags", frozenset)
    encoder = load(tiny_embedding)
    exact = sentence_transformers_vectors(tiny_embedding, TEXTS[:4])
    for text, vector in zip(TEXTS, exact, strict=False):
        assert np.abs(encoder.encode([text], query=True)[0] - vector).max() < 1e-5
    assert "eight bits" not in encoder.computing


def test_the_weights_for_passages_are_read_again_after_a_pause() -> None:
    made = []

    def make() -> Network:
        made.append(1)
        return lambda embeddings, lengths, shares: embeddings[:, 0]

    network, arguments = NetworkOnDemand(make, idle_seconds=0.05), (np.ones((1, 1, 2)), None, None)
    network(*arguments)
    network(*arguments)
    assert len(made) == 1
    end = time.monotonic() + 20
    while len(made) < 2 and time.monotonic() < end:
        time.sleep(0.2)
        network(*arguments)
    assert len(made) == 2


@pytest.mark.usefixtures("eight_bits")
def test_passages_are_not_embedded_with_another_model(copy: Path) -> None:
    encoder = load(copy)
    (copy / WEIGHTS).write_bytes((copy / WEIGHTS).read_bytes()[:-1] + b"\x01")
    encoder.encode(["queries go on"], query=True)
    with pytest.raises(WorkerUnavailable, match="restart the daemon"):
        encoder.encode(["a passage"])


@pytest.mark.parametrize(
    "how",
    [
        {"embedding_dimension": 32, "pooling_mode": "cls"},
        {"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
    ],
)
def test_the_first_token_can_stand_for_the_text(copy: Path, how: dict[str, object]) -> None:
    pooling = next(copy.glob("*_Pooling")) / "config.json"
    pooling.write_text(json.dumps(how))
    ours = load(copy).encode(TEXTS)
    assert np.abs(ours - sentence_transformers_vectors(copy, TEXTS)).max() < 1e-5


@pytest.mark.model
def test_a_vector_of_the_bundled_model_does_not_depend_on_the_texts_beside_it() -> None:
    encoder = embed.load("bundled")
    texts = [f"{'The pump needs a seal. ' * n} Number {n}." for n in (1, 2, 3, 5, 8, 20)] + TEXTS
    alone = np.vstack([encoder.encode([text]) for text in texts])
    for together in (encoder.encode(texts), encoder.encode(texts[::-1])[::-1]):
        assert np.array_equal(together, alone)


def test_the_pause_is_called_before_each_batch(tiny_embedding: Path) -> None:
    calls: list[int] = []
    load(tiny_embedding).encode(["word " * 200] * 4, pause=lambda: calls.append(1))
    assert len(calls) >= 4


def rewrite(copy: Path, change: Any) -> None:
    """Change the header of the weights, as a dictionary."""
    data = (copy / WEIGHTS).read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    header = change(header)
    text = json.dumps(header).encode()
    (copy / WEIGHTS).write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


NAME = "embeddings.LayerNorm.weight"


@pytest.mark.parametrize(
    "place",
    [
        {"dtype": "F32", "shape": [32], "data_offsets": [0, 1 << 60]},
        {"dtype": "F32", "shape": [32], "data_offsets": [-128, 0]},
        {"dtype": "F32", "shape": [32], "data_offsets": [128, 0]},
        {"dtype": "F32", "shape": [1 << 62], "data_offsets": [0, 128]},
        {"dtype": "F32", "shape": [-32], "data_offsets": [0, 128]},
        {"dtype": "F32", "shape": 32, "data_offsets": [0, 128]},
        {"dtype": "F32", "shape": [32], "data_offsets": None},
        {"dtype": "V1", "shape": [32], "data_offsets": [0, 128]},
        {"dtype": "F64", "shape": [32], "data_offsets": [0, 128]},
        {"shape": [32]},
        None,
        [],
    ],
)
def test_a_damaged_tensor_is_a_settings_error(copy: Path, place: Any) -> None:
    rewrite(copy, lambda header: {**header, NAME: place})
    with pytest.raises(ConfigError, match="cannot be loaded"):
        embed.load(str(copy), copy)


@pytest.mark.parametrize(
    "data", [b"", b"\0" * 8, b"\xff" * 16, struct.pack("<Q", 2) + b"[]", b"\x02" + b"\0" * 7 + b"{"]
)
def test_damaged_weights_are_a_settings_error(copy: Path, data: bytes) -> None:
    (copy / WEIGHTS).write_bytes(data)
    with pytest.raises(ConfigError, match="cannot be loaded"):
        embed.load(str(copy), copy)


@pytest.mark.parametrize(
    "values",
    [
        {"hidden_size": 64},
        {"intermediate_size": 63},
        {"num_attention_heads": 3},
        {"num_attention_heads": 0},
        {"num_hidden_layers": 0},
        {"hidden_size": "32"},
        {"layer_norm_eps": "small"},
        {"max_position_embeddings": 100_000},
    ],
)
def test_a_configuration_that_does_not_fit_the_weights_is_a_settings_error(
    copy: Path, values: dict[str, Any]
) -> None:
    change_json(copy / "config.json", **values)
    if "max_position_embeddings" in values:
        (copy / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 100_000}))
    with pytest.raises(ConfigError, match="cannot be loaded"):
        embed.load(str(copy), copy)


def test_shorter_numbers_are_read_as_they_are(copy: Path) -> None:
    exact = load(copy).encode(TEXTS)
    from safetensors.numpy import load_file, save_file

    tensors = load_file(copy / WEIGHTS)
    save_file({name: tensor.astype(np.float16) for name, tensor in tensors.items()}, copy / WEIGHTS)
    assert np.abs(load(copy).encode(TEXTS) - exact).max() < 0.01


def test_tensors_of_other_names_go_the_general_way(copy: Path) -> None:
    from safetensors.numpy import load_file, save_file

    tensors = load_file(copy / WEIGHTS)
    tensors.pop("embeddings.token_type_embeddings.weight")
    save_file(tensors, copy / WEIGHTS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert isinstance(embed.load(str(copy), copy), embed.SentenceEncoder)
