"""Models of the shapes that docs/models.md suggests, made small: each embeds like sentence-transformers.

BERT with pooling runs in the fast way; dense layers and other architectures need the extra torch.
"""

import json
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaultseek.errors import ConfigError
from vaultseek.semantic.inference import embed
from vaultseek.semantic.inference.bert import BertEncoder
from vaultseek.semantic.models.catalogue import find_model
from vaultseek.semantic.models.directories import bundled_directory
from vaultseek.semantic.models.metadata import dimension_of
from vaultseek.semantic.models.safety import check_model

pytestmark = pytest.mark.slow

TEXTS = ["the pump leaks", "Where is the KEY?", "a longer text about water and pumps " * 9]
ASKING = "Represent this sentence for searching relevant passages: "
Make = Callable[[Path, Path], None]


def _change(file: Path, **values: Any) -> None:
    before = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps({**before, **values}))


def _saved(base: Path, folder: Path, *added: Any, prompts: dict[str, str], pooling: str) -> None:
    """Save the transformer in ``base`` as a model with this pooling, further modules and prompts."""
    from sentence_transformers import SentenceTransformer, models

    transformer = models.Transformer(str(base), max_seq_length=64)
    pooled = models.Pooling(transformer.get_word_embedding_dimension(), pooling_mode=pooling)
    modules = [transformer, pooled, *added, models.Normalize()]
    SentenceTransformer(modules=modules, device="cpu", prompts=prompts).save(str(folder))


def arctic(base: Path, folder: Path) -> None:
    """The first token, and a prompt for questions: snowflake-arctic-embed-xs."""
    _saved(base, folder, prompts={"query": ASKING}, pooling="cls")


def bge(base: Path, folder: Path) -> None:
    """The first token, and text in lower case: bge-small-en."""
    _saved(base, folder, prompts={}, pooling="cls")
    _change(folder / "sentence_bert_config.json", do_lower_case=True, max_seq_length=64)


def leaf(base: Path, folder: Path) -> None:
    """A dense layer that widens the mean: mdbr-leaf-ir."""
    from sentence_transformers import models

    _saved(base, folder, models.Dense(32, 48), prompts={"query": ASKING}, pooling="mean")


def gemma(base: Path, folder: Path) -> None:
    """Another architecture, two dense layers without bias, and prompts for both sides: EmbeddingGemma."""
    import torch
    from sentence_transformers import models
    from transformers import BertTokenizerFast, Gemma3TextConfig, Gemma3TextModel

    sizes = {"hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 2, "num_hidden_layers": 1}
    config = Gemma3TextConfig(vocab_size=30522, head_dim=16, num_key_value_heads=1, pad_token_id=0, **sizes)
    own = base.with_name("gemma")
    Gemma3TextModel(config).save_pretrained(own)
    BertTokenizerFast(str(bundled_directory() / "vocab.txt")).save_pretrained(own)
    plain = {"bias": False, "activation_function": torch.nn.Identity()}
    dense = [models.Dense(32, 64, **plain), models.Dense(64, 40, **plain)]
    prompts = {"query": "task: search result | query: ", "document": "title: none | text: "}
    _saved(own, folder, *dense, prompts=prompts, pooling="mean")


@pytest.fixture(scope="module")
def models_of(tiny_embedding: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Make], Path]:
    folder = tmp_path_factory.mktemp("shapes")
    base = Path(shutil.copytree(tiny_embedding.with_name(f"{tiny_embedding.name}-base"), folder / "base"))

    def made(make: Make) -> Path:
        if not (folder / make.__name__).is_dir():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the libraries' own
                make(base, folder / make.__name__)
        return folder / make.__name__

    return made


@pytest.mark.parametrize(
    ("make", "is_fast", "dimension"),
    [(arctic, True, 32), (bge, False, 32), (leaf, False, 48), (gemma, False, 40)],
)
def test_the_suggested_shapes_embed_like_sentence_transformers(
    models_of: Callable[[Make], Path], make: Make, is_fast: bool, dimension: int
) -> None:
    folder = models_of(make)
    assert check_model(folder) == "embedding"
    assert (dimension_of(folder), find_model(str(folder)).window) == (dimension, 62)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from sentence_transformers import SentenceTransformer

        encoder = embed.load(str(folder), folder)
        library = SentenceTransformer(str(folder), device="cpu")
    assert isinstance(encoder, BertEncoder) is is_fast
    assert encoder.dimension == dimension
    for query in (False, True):
        prompt = library.prompts.get("query" if query else "document") or None
        theirs = library.encode(TEXTS, prompt=prompt, normalize_embeddings=True)
        ours = np.vstack([encoder.encode([text], query=query) for text in TEXTS])
        assert (ours * theirs).sum(axis=1).min() > (0.998 if query else 0.99999)


@pytest.mark.parametrize("make", [bge, leaf, gemma])
def test_a_shape_beyond_the_fast_way_needs_one_extra(
    models_of: Callable[[Make], Path], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = models_of(make)
    monkeypatch.setattr("vaultseek.base.extras.has_extra", lambda name: name != "torch")
    with pytest.raises(ConfigError, match=r"needs the torch extra; add it"):
        embed.load(str(folder), folder)
