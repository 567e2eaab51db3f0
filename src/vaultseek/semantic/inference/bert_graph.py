"""The graph of a BERT encoder for onnxruntime, from the weights of its safetensors file.

Source of the computation: Devlin et al., *BERT* (2019), encoder with post-layer normalisation.
"""

from __future__ import annotations

import os
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.inference.onnx import FUSED, Graph
from vaultseek.semantic.models.metadata import BertShape
from vaultseek.semantic.models.quantized import BLOCK, QuantizedMatrix

_EIGHT_BITS = 4
"""Accuracy of a product with four-bit weights: the other side has eight bits, with a scale for 32 numbers.

The vectors have a cosine of 0.9999 to those of float32, and a query takes three quarters of the time.
"""

Matrix = NDArray[np.float32]


class Tensors(Protocol):
    """The tensors of a model by the names that BERT models give them."""

    def get(self, name: str, *shape: int) -> Matrix:
        """Return a tensor. Raises KeyError if there is none, ValueError if it is damaged."""

    def quantized(self, name: str, rows: int, width: int) -> QuantizedMatrix | None:
        """Return the weights of a linear map if they have four bits, else None. Raises as `get` does."""

    def rows(self, name: str) -> int:
        """Return the number of rows of a table of embeddings. Raises KeyError or ValueError."""


def embeddings(shape: BertShape, weights: Tensors) -> tuple[Matrix, Matrix]:
    """Return the vectors of the tokens, and those of the positions: ``(count, width)``."""
    words = "embeddings.word_embeddings.weight"
    return weights.get(words, weights.rows(words), shape.width), position_embeddings(shape, weights)


def position_embeddings(shape: BertShape, weights: Tensors) -> Matrix:
    """Return the vectors of the positions, with that of the kind of text: ``(count, width)``."""
    positions, kinds = (f"embeddings.{name}_embeddings.weight" for name in ("position", "token_type"))
    kind = weights.get(kinds, weights.rows(kinds), shape.width)[0]
    vectors: Matrix = weights.get(positions, weights.rows(positions), shape.width) + kind
    return vectors


def encoder_graph(shape: BertShape, weights: Tensors) -> Graph:
    """Return the graph of the encoder, from embeddings to pooled vectors.

    Inputs are ``embeddings`` ``(texts, tokens, width)``, ``lengths`` ``(texts,)`` and ``shares``
    ``(texts, 1, tokens)``, the part that each token has in the vector of its text. The output ``pooled`` is
    ``(texts, 1, width)``.
    """
    return _Builder(shape, weights).build()


class _Builder:
    def __init__(self, shape: BertShape, weights: Tensors) -> None:
        self._shape = shape
        self._weights = weights
        self._graph = Graph()

    def build(self) -> Graph:
        graph, width = self._graph, self._shape.width
        embeddings = graph.input("embeddings", ("texts", "tokens", width))
        lengths = graph.input("lengths", ("texts",), "int32")
        shares = graph.input("shares", ("texts", 1, "tokens"))
        states = graph.add(
            "LayerNormalization",
            embeddings,
            *self._pair("embeddings.LayerNorm", width),
            epsilon=self._shape.epsilon,
        )
        for number in range(self._shape.layers):
            states = self._layer(f"encoder.layer.{number}.", states, lengths)
        graph.output(graph.add("MatMul", shares, states), ("texts", 1, width))
        return graph

    def _layer(self, prefix: str, states: str, lengths: str) -> str:
        width, inner = self._shape.width, self._shape.inner
        context = self._attention(prefix, states, lengths)
        states = self._add_and_norm(prefix + "attention.output", context, states, width)
        hidden = self._product(prefix + "intermediate.dense", states, inner, width)
        bias = self._constant(f"{prefix}intermediate.dense.bias", inner)
        hidden = self._graph.add("BiasGelu", hidden, bias, domain=FUSED)
        return self._add_and_norm(prefix + "output", hidden, states, inner)

    def _attention(self, prefix: str, states: str, lengths: str) -> str:
        width, heads = self._shape.width, self._shape.heads
        names = [f"{prefix}attention.self.{name}" for name in ("query", "key", "value")]
        biases = np.concatenate([self._weights.get(f"{name}.bias", width) for name in names])
        bias = self._graph.constant(biases)
        if self._weights.quantized(f"{names[0]}.weight", width, width) is not None:
            maps = [self._product(name, states, width, width) for name in names]
            return self._graph.add("MultiHeadAttention", *maps, bias, lengths, domain=FUSED, num_heads=heads)
        # Query, key and value are joined in one map.
        weights = np.concatenate([self._weights.get(f"{name}.weight", width, width) for name in names])
        joined = self._graph.constant(weights.T)
        return self._graph.add("Attention", states, joined, bias, lengths, domain=FUSED, num_heads=heads)

    def _add_and_norm(self, prefix: str, values: str, states: str, inputs: int) -> str:
        """Map the values linearly, add the states, and normalise."""
        width = self._shape.width
        return self._graph.add(
            "SkipLayerNormalization",
            self._product(f"{prefix}.dense", values, width, inputs),
            states,
            *self._pair(f"{prefix}.LayerNorm", width),
            self._constant(f"{prefix}.dense.bias", width),
            domain=FUSED,
            epsilon=self._shape.epsilon,
        )

    def _product(self, name: str, values: str, outputs: int, inputs: int) -> str:
        """Map the values linearly, without the bias."""
        quantized = self._weights.quantized(f"{name}.weight", outputs, inputs)
        if quantized is not None:
            return self._quantized_product(quantized, values)
        weights = self._weights.get(f"{name}.weight", outputs, inputs)
        return self._graph.add("MatMul", values, self._graph.constant(weights.T))

    def _quantized_product(self, weights: QuantizedMatrix, values: str) -> str:
        outputs, inputs = weights.shape
        numbers, scales = weights.interleaved()
        return self._graph.add(
            "MatMulNBits",
            values,
            self._graph.constant(numbers),
            self._graph.constant(scales),
            domain=FUSED,
            K=inputs,
            N=outputs,
            bits=4,
            block_size=BLOCK,
            accuracy_level=_EIGHT_BITS,
        )

    def _pair(self, name: str, size: int) -> tuple[str, str]:
        return self._constant(f"{name}.weight", size), self._constant(f"{name}.bias", size)

    def _constant(self, name: str, size: int) -> str:
        return self._graph.constant(self._weights.get(name, size))


_ERRORS_ONLY = 3


class OnnxNetwork:
    """A session with the graph of an encoder. Its threads wait actively only while it computes.

    Raises KeyError or ValueError if shape and weights do not fit. With one thread it computes in the thread
    of the caller. Several callers may use it at the same time.
    """

    def __init__(self, shape: BertShape, weights: Tensors, threads: int) -> None:
        # Its import alone would write an identifier of the device and a queue of events to the user's cache.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime

        graph = encoder_graph(shape, weights)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS_ONLY
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.force_spinning_stop", "1")
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in graph.constants.values()]
        options.add_external_initializers(list(graph.constants), values)
        self._session: Any = onnxruntime.InferenceSession(
            graph.to_bytes(), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, embeddings: Matrix, lengths: NDArray[np.int32], shares: Matrix) -> Matrix:
        """Return the pooled vectors, ``(texts, width)``; see `encoder_graph` for the arguments."""
        pooled: Matrix = self._session.run(
            None, {"embeddings": embeddings, "lengths": lengths, "shares": shares}
        )[0]
        return pooled[:, 0]
