"""Vectors are checked, a failing text affects no other text, and the fast encoder's vectors equal the general
one's."""

import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from vaultseek.errors import ConfigError
from vaultseek.semantic.inference import embed
from vaultseek.semantic.inference.embed import HashingEncoder
from vaultseek.semantic.models.directories import bundled_directory
from vaultseek.semantic.models.metadata import WEIGHTS

pytestmark = pytest.mark.slow

QUESTIONS = [
    "how do I restart the backup server",
    "",
    "ein Satz über Äpfel und Birnen",
    "中文的一句话",
    "word " * 600,
    "lone \udcff surrogate",
]


class Faulty(HashingEncoder):
    """An encoder that corrupts the vectors of a batch with the text "bad"."""

    def __init__(self, fault: Callable[[np.ndarray], np.ndarray]) -> None:
        super().__init__(8)
        self.calls = 0
        self._fault = fault

    def encode(
        self, texts: Sequence[str], *, query: bool = False, pause: Callable[[], None] | None = None
    ) -> np.ndarray:
        self.calls += 1
        vectors = super().encode(texts)
        return self._fault(vectors) if "bad" in texts else vectors


def out_of_memory(vectors: np.ndarray) -> np.ndarray:
    raise MemoryError


@pytest.mark.fault("I4")
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (lambda vectors: vectors * np.nan, "non-finite"),
        (lambda vectors: vectors[:, :3], "shape"),
        (lambda vectors: vectors[:-1], "shape"),
        (lambda vectors: vectors[0], "shape"),
        (out_of_memory, "MemoryError"),
    ],
)
def test_only_the_text_that_fails_is_without_a_vector(
    fault: Callable[[np.ndarray], np.ndarray], reason: str
) -> None:
    texts = [f"text {i}" for i in range(32)]
    texts[13] = "bad"
    encoder = Faulty(fault)
    done = embed.embed(encoder, texts)
    assert [row for row, _ in done.failed] == [13]
    assert reason in done.failed[0][1]
    assert np.isnan(done.vectors).all(axis=1).nonzero()[0].tolist() == [13]
    good = HashingEncoder(8).encode(texts)
    assert np.array_equal(np.delete(done.vectors, 13, axis=0), np.delete(good, 13, axis=0))
    assert encoder.calls < 15


def test_no_texts_and_all_texts_bad() -> None:
    encoder = Faulty(out_of_memory)
    assert embed.embed(encoder, []).vectors.shape == (0, 8)
    done = embed.embed(encoder, ["bad", "bad"])
    assert [row for row, _ in done.failed] == [0, 1]


def test_a_surrogate_does_not_reach_the_model() -> None:
    done = embed.embed(HashingEncoder(), ["\udcff\ud800"])
    assert done.failed == ()


def test_stand_ins_are_loaded_by_name() -> None:
    assert embed.load("hashing-16").dimension == 16


@pytest.mark.fault("I1")
@pytest.mark.model
def test_a_half_copied_model_is_a_settings_error(tmp_path: Path) -> None:
    whole = bundled_directory()
    shutil.copytree(whole, tmp_path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(WEIGHTS))
    with (whole / WEIGHTS).open("rb") as weights:
        (tmp_path / WEIGHTS).write_bytes(weights.read(1_000_000))
    with pytest.raises(ConfigError, match="cannot be loaded"):
        embed.load(str(tmp_path))


@pytest.fixture(scope="module")
def general() -> embed.SentenceEncoder:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the libraries' own
        return embed.SentenceEncoder(bundled_directory(), fingerprint="general")


@pytest.mark.model
def test_the_fast_way_gives_the_vectors_of_sentence_transformers(general: embed.SentenceEncoder) -> None:
    fast = embed.load("bundled")
    ours = embed.embed(fast, QUESTIONS).vectors
    theirs = embed.embed(general, QUESTIONS).vectors
    assert np.abs(ours - theirs).max() < 1e-5
    assert (fast.dimension, fast.window) == (general.dimension, general.window) == (384, 254)


@pytest.mark.model
def test_the_vectors_of_queries_are_near_to_those_of_sentence_transformers(
    general: embed.SentenceEncoder,
) -> None:
    ours, exact = (
        embed.embed(each, QUESTIONS, query=True).vectors for each in (embed.load("bundled"), general)
    )
    cosines = (ours * exact).sum(axis=1)
    assert cosines.min() > 0.998
    assert cosines.mean() > 0.999


@pytest.mark.model
def test_meaning_is_closeness() -> None:
    model = embed.load("bundled")
    query, near, far = model.encode(
        ["How can I reboot the machine?", "Restarting the server", "A recipe for sourdough bread"]
    )
    assert query @ near > 0.4 > query @ far


@pytest.mark.model
def test_other_models_of_sentence_transformers_go_the_general_way(tmp_path: Path) -> None:
    directory = tiny_model(tmp_path / "tiny-distil")
    model = embed.load(str(directory), directory)
    assert isinstance(model, embed.SentenceEncoder)
    vectors = model.encode(["one", "two words", "three words here"] * 5)
    assert vectors.shape == (15, 32)
    assert np.allclose(vectors[0], vectors[3], atol=1e-5)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(15), abs=1e-5)


def tiny_model(directory: Path) -> Path:
    """A small untrained model other than BERT, created and saved by sentence-transformers itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer, models
        from transformers import DistilBertConfig, DistilBertModel, DistilBertTokenizerFast

        base = directory.with_name("base")
        config = DistilBertConfig(dim=32, hidden_dim=64, n_heads=2, n_layers=1, max_position_embeddings=64)
        DistilBertModel(config).save_pretrained(base)
        vocabulary = str(bundled_directory() / "vocab.txt")
        DistilBertTokenizerFast(vocabulary).save_pretrained(base)
        transformer = models.Transformer(str(base), max_seq_length=32)
        pooling = models.Pooling(transformer.get_word_embedding_dimension())
        SentenceTransformer(modules=[transformer, pooling], device="cpu").save(str(directory))
    return directory
