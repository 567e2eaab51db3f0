"""Metadata from the files in a model's folder: kind, window, dimension, digest. Loads no model."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vaultseek.base import limits
from vaultseek.errors import ConfigError
from vaultseek.semantic.models.directories import BUNDLED_PACKAGE

Kind = Literal["embedding", "reranker"]

WEIGHTS = "model.safetensors"
MODEL_SUFFIXES = frozenset({".json", ".safetensors", ".txt", ".model"})
"""Suffixes of the files that determine a model's vectors."""

_SPECIAL_TOKENS = 2
_MAX_LENGTH = 512
"""Maximum number of input tokens if the model's folder does not specify a maximum."""


@dataclass(frozen=True, slots=True)
class BertShape:
    """The sizes of a BERT model. Raises KeyError or ValueError if ``config.json`` does not state them."""

    width: int
    inner: int
    heads: int
    layers: int
    epsilon: float

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> BertShape:
        """Return the sizes given in a model's parsed ``config.json``."""
        names = ("hidden_size", "intermediate_size", "num_attention_heads", "num_hidden_layers")
        sizes = [config[name] for name in names]
        if not all(isinstance(size, int) and size > 0 for size in sizes) or sizes[0] % sizes[2]:
            raise ValueError(f"the sizes in config.json do not describe an encoder: {sizes}")
        width, inner, heads, layers = sizes
        return cls(width, inner, heads, layers, float(config.get("layer_norm_eps", 1e-12)))


def kind_of(directory: Path) -> Kind:
    """Return ``"reranker"`` for a cross-encoder, which scores pairs of texts, otherwise ``"embedding"``."""
    names = _table(directory / "config.json").get("architectures")
    architectures = [str(name) for name in names] if isinstance(names, list) else []
    is_classifier = any(name.endswith("ForSequenceClassification") for name in architectures)
    return "reranker" if is_classifier else "embedding"


def dimension_of(directory: Path) -> int | None:
    """Return the dimension of the vectors; None for a reranker, or if the folder does not specify it."""
    if kind_of(directory) == "reranker":
        return None
    dense = [_table(file).get("out_features") for file in sorted(directory.glob("*_Dense/config.json"))]
    pooled = [
        _table(file).get("word_embedding_dimension") for file in directory.glob("*_Pooling/config.json")
    ]
    hidden = [_table(directory / "config.json").get("hidden_size")]
    known = [number for number in (*reversed(dense), *pooled, *hidden) if isinstance(number, int)]
    return known[0] if known else None


def window_of(directory: Path) -> int:
    """Return the maximum number of tokens that the model reads from a text, without special tokens."""
    return max_length(directory) - _SPECIAL_TOKENS


def max_length(directory: Path) -> int:
    """Return the number of tokens, including special ones, after which sentence-transformers truncates a
    text."""
    sentence = read_json(directory / "sentence_bert_config.json").get("max_seq_length")
    if sentence is None:
        sentence = _table(directory / "tokenizer_config.json").get("model_max_length")
    positions = read_json(directory / "config.json").get("max_position_embeddings")
    known = [n for n in (sentence, positions) if isinstance(n, int) and n > _SPECIAL_TOKENS]
    return min(known, default=_MAX_LENGTH)


def fingerprint(directory: Path, weights: str | None = None) -> str:
    """Return the identity of the model's vectors: the folder's name, and the first digits of the model's
    `digest`.
    """
    is_package = directory.name == "model" and directory.parent.name == BUNDLED_PACKAGE
    return f"{'all-MiniLM-L6-v2' if is_package else directory.name}-{digest(directory, weights)[:16]}"


def digest(directory: Path, weights: str | None = None) -> str:
    """Return the SHA-256, in hexadecimal, of all files that determine the model's vectors.

    These files contain weights, tokenizer, window, pooling, prompts and modules. Passing the SHA-256 of the
    weights avoids reading them, which takes a tenth of a second.
    """
    total = hashlib.sha256()
    for path in sorted(files_of(directory)):
        if path.suffix in MODEL_SUFFIXES:
            total.update(os.fsencode(path.relative_to(directory)) + b"\0")
            if weights is not None and path == directory / WEIGHTS:
                total.update(bytes.fromhex(weights))
            else:
                total.update(sha256(path))
    return total.hexdigest()


def sha256(path: Path) -> bytes:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def files_of(directory: Path) -> Iterator[Path]:
    """Yield every file in a folder. Raises `ConfigError` if there are more than ``limits.MODEL_FILES``."""
    count = 0
    for folder, _, names in os.walk(directory):
        for name in names:
            count += 1
            if count > limits.MODEL_FILES:
                raise ConfigError(
                    f"model folder {directory} has too many files for a model; fetch the model again"
                )
            yield Path(folder) / name


def read_json(path: Path) -> Any:
    """Return the JSON value in ``path``, or ``{}`` if the file is missing. Raises `ConfigError` if it cannot
    be read."""
    try:
        if path.stat().st_size > limits.MODEL_JSON_BYTES:
            raise ConfigError(f"model file {path} is too large; fetch the model again")
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        raise ConfigError(f"model file {path} cannot be read; fetch the model again") from None


def _table(file: Path) -> dict[str, object]:
    value = read_json(file)
    return value if isinstance(value, dict) else {}
