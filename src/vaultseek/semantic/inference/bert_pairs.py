"""BERT cross-encoders, which score pairs of query and passage with the network of embedding models.

A cross-encoder reads query and passage as one text with two token types; the score comes from the first
token's vector. Without torch and sentence-transformers, the model is loaded in a fraction of the time. The
scores agree to six digits with those of sentence-transformers, which `rerank` uses for all other models.

Source of the computation: Devlin et al., *BERT* (2019), classification of sentence pairs.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.inference.bert import is_plain_bert, padded, processors, tokenizer_of
from vaultseek.semantic.inference.bert_graph import EncoderGraph, OnnxNetwork, Weights, embeddings
from vaultseek.semantic.models.metadata import WEIGHTS, BertShape, max_length, read_json

_KINDS = "embeddings.token_type_embeddings.weight"


class Batch(NamedTuple):
    """The indexes of some texts, and a function that computes the scores of these texts."""

    texts: list[int]
    score: Callable[[], NDArray[np.float32]]


def is_bert_cross_encoder(directory: Path) -> bool:
    """Return true if `BertReranker` supports the model: a plain BERT encoder with one output score."""
    config = read_json(directory / "config.json")
    modules = read_json(directory / "modules.json") or [{"type": ".Transformer"}]
    kinds = [str(module.get("type", "")).rpartition(".")[2] for module in modules if isinstance(module, dict)]
    return (
        is_plain_bert(config)
        and config.get("architectures") == ["BertForSequenceClassification"]
        and len(config.get("id2label") or (0, 1)) == 1
        and kinds == ["Transformer"]
        and not read_json(directory / "config_sentence_transformers.json").get("default_prompt_name")
        and all((directory / name).is_file() for name in (WEIGHTS, "tokenizer.json"))
    )


class BertReranker:
    """A BERT cross-encoder on the CPU.

    Raises KeyError, ValueError or `ConfigError` if the folder is damaged or its tensors have unexpected
    names.
    """

    all_at_once = False

    def __init__(self, directory: Path) -> None:
        tensors = Weights((directory / WEIGHTS).read_bytes())
        shape = BertShape.from_config(read_json(directory / "config.json"))
        width = shape.width
        self._words, self._positions = embeddings(shape, tensors, directory / WEIGHTS)
        kinds = tensors.get(_KINDS, tensors.rows(_KINDS), width)
        # The position vectors already include the vector of the first token type.
        self._kinds = kinds - kinds[0]
        self._pooler = _linear(tensors, "pooler.dense", width, width)
        self._classifier = _linear(tensors, "classifier", 1, width)
        if len(self._positions) < max_length(directory):
            raise ValueError(
                f"the weights have {len(self._positions)} positions, not {max_length(directory)}"
            )
        self._tokenizer = tokenizer_of(directory)
        self._network = OnnxNetwork(EncoderGraph(shape, tensors).build(), 1)
        self.threads = processors()

    def batches(self, query: str, texts: Sequence[str]) -> list[Batch]:
        """Return one batch per pair: larger batches are not faster, and would lose more work at a
        deadline."""
        pairs = self._tokenizer.encode_batch([(query, text) for text in texts])
        return [Batch([number], partial(self._scores, pair)) for number, pair in enumerate(pairs)]

    def _scores(self, pair: Any) -> NDArray[np.float32]:
        ids, lengths = padded([pair.ids])
        values = self._words[ids] + self._positions[: ids.shape[1]] + self._kinds[[pair.type_ids]]
        first = np.zeros((1, 1, ids.shape[1]), dtype=np.float32)
        first[:, :, 0] = 1
        states = self._network(values, lengths, first)
        weights, bias = self._pooler
        pooled = np.tanh(states @ weights.T + bias)
        weights, bias = self._classifier
        logits = (pooled @ weights.T + bias)[:, 0]
        return np.asarray(0.5 * (1 + np.tanh(logits / 2)), dtype=np.float32)  # the logistic function


def _linear(
    tensors: Weights, name: str, outputs: int, inputs: int
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return copies of the weights and the bias of a linear map."""
    return tensors.get(f"{name}.weight", outputs, inputs).copy(), tensors.get(f"{name}.bias", outputs).copy()
