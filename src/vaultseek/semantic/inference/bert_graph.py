"""Graph of a BERT encoder for onnxruntime, built from the weights in the model's safetensors file.

Source of the computation: Devlin et al., *BERT* (2019), encoder with post-layer normalisation.
"""

from __future__ import annotations

import json
import math
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.base import limits
from vaultseek.semantic.models.metadata import BertShape
from vaultseek.semantic.models.packed_file import PackedFile, QuantizedMatrix

_PREFIX = 8
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8"}


class Weights:
    """The tensors in a safetensors file by name, as float32. Raises ValueError if the file is damaged."""

    def __init__(self, data: bytes) -> None:
        self._data = memoryview(data)
        length = int.from_bytes(data[:_PREFIX], "little")
        self._start = _PREFIX + length
        if len(data) < self._start or length > limits.MODEL_JSON_BYTES:
            raise ValueError("the weights are cut off")
        try:
            header = json.loads(data[_PREFIX : self._start])
        except RecursionError:
            raise ValueError("the list of tensors is nested too deeply") from None
        if not isinstance(header, dict):
            raise ValueError("the weights have no list of tensors")
        self._places: dict[str, Mapping[str, Any]] = {
            name.removeprefix("bert."): place for name, place in header.items() if name != "__metadata__"
        }

    def mapped(self, file: Path, name: str, *shape: int) -> NDArray[np.float32]:
        """Return the tensor ``name``, memory-mapped from ``file`` so that only used parts are read.

        If the tensor is not stored as float32, return a copy. Raises the errors of `get`.
        """
        array, place = self.get(name, *shape), self._places[name]
        if place["dtype"] != "F32":
            return array.copy()
        return np.asarray(np.memmap(file, "<f4", "r", self._start + place["data_offsets"][0], shape))

    def get(self, name: str, *shape: int) -> NDArray[np.float32]:
        """Return the tensor ``name``.

        Raises:
            KeyError: there is no such tensor.
            ValueError: the tensor's shape or size is wrong.
        """
        place = self._places[name]
        try:
            lengths = [int(length) for length in place["shape"]]
            begin, end = (int(offset) for offset in place["data_offsets"])
            kind = np.dtype(_TYPES[place["dtype"]])
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"the tensor {name} has an invalid description") from None
        if tuple(lengths) != shape:
            raise ValueError(f"the tensor {name} has the shape {lengths}, not {list(shape)}")
        if not 0 <= begin <= end <= len(self._data) - self._start or end - begin != kind.itemsize * math.prod(
            lengths
        ):
            raise ValueError(f"the tensor {name} is cut off")
        array = np.frombuffer(self._data[self._start + begin : self._start + end], kind).reshape(lengths)
        if place["dtype"] == "BF16":  # the upper half of a float32
            return (array.astype(np.uint32) << 16).view(np.float32)
        return np.asarray(array, dtype=np.float32)

    def quantized(self, name: str, rows: int, width: int) -> None:
        """Return None, because safetensors files contain no four-bit tensors."""

    def rows(self, name: str) -> int:
        """Return the number of rows of the tensor ``name``. Raises KeyError or ValueError, as `get` does."""
        try:
            return int(self._places[name]["shape"][0])
        except (TypeError, IndexError, ValueError, AttributeError):
            raise ValueError(f"the tensor {name} has an invalid description") from None


_EIGHT_BITS = 4
"""Accuracy level of onnxruntime's multiplications by low-bit weights. At this level, the other factor is also
rounded to eight bits, with one scale per block."""

Matrix = NDArray[np.float32]


class EightBitMatrix:
    """Weights ``(outputs, inputs)`` rounded to eight bits, with a scale for each block of a row."""

    bits, block = 8, 16

    def __init__(self, weights: Matrix) -> None:
        self.shape = weights.shape
        blocks = weights.reshape(len(weights), -1, self.block)
        peaks = np.abs(blocks).max(axis=2)
        self._scales = np.where(peaks > 0, peaks / _LARGEST, 1).astype(np.float32)
        self._numbers = (np.rint(blocks / self._scales[..., None]) + _ZERO).astype(np.uint8)

    def interleaved(self) -> tuple[NDArray[np.uint8], Matrix]:
        """Return the numbers and their scales in the layout of onnxruntime's ``MatMulNBits``."""
        return self._numbers, self._scales.ravel()


_LARGEST, _ZERO = 127, 128


FileTensors = Weights | PackedFile
"""The tensors of a model, by the names that BERT models use."""


class EightBitTensors:
    """The tensors of a model, with eight-bit weights for matrix products.

    Compared with float32, a short query takes two thirds of the time, a long text takes the same time, and
    the weights take a quarter of the memory.
    """

    def __init__(self, tensors: FileTensors) -> None:
        self.get, self.rows = tensors.get, tensors.rows
        self._quantized = tensors.quantized

    def quantized(self, name: str, rows: int, width: int) -> QuantizedMatrix | EightBitMatrix | None:
        """Return the weights ``name`` in eight bits, or unchanged if they already have fewer bits. Return
        None if they do not fill whole blocks.

        Raises the errors of `get`.
        """
        matrix = self._quantized(name, rows, width)
        if matrix is not None or width % EightBitMatrix.block:
            return matrix
        return EightBitMatrix(self.get(name, rows, width))


Tensors = FileTensors | EightBitTensors


def embeddings(shape: BertShape, weights: Weights, file: Path) -> tuple[Matrix, Matrix]:
    """Return two arrays ``(count, width)``: the token vectors and the position vectors.

    The token vectors stay in the ``file`` with the weights: they make up half of a small model, and a query
    needs only a few rows.
    """
    words = "embeddings.word_embeddings.weight"
    return weights.mapped(file, words, weights.rows(words), shape.width), position_embeddings(shape, weights)


def position_embeddings(shape: BertShape, weights: Tensors) -> Matrix:
    """Return the position vectors plus the vector of the first token type: ``(count, width)``."""
    positions, kinds = (f"embeddings.{name}_embeddings.weight" for name in ("position", "token_type"))
    kind = weights.get(kinds, weights.rows(kinds), shape.width)[0]
    vectors: Matrix = weights.get(positions, weights.rows(positions), shape.width) + kind
    return vectors


class EncoderGraph:
    """The graph of the encoder, from embeddings to pooled vectors.

    Inputs are ``embeddings`` ``(texts, tokens, width)`` and ``shares`` ``(texts, 1, tokens)``, each token's
    share in the vector of its text. The output ``pooled`` is ``(texts, 1, width)``. All texts must have the
    same number of tokens, so that no mask is needed; without a mask, attention takes a third of the time.
    """

    def __init__(self, shape: BertShape, weights: Tensors) -> None:
        self._shape = shape
        self._weights = weights
        self._graph = Graph()

    def build(self) -> Graph:
        """Return the whole graph. Raises KeyError or ValueError if a tensor is missing or damaged."""
        graph, width = self._graph, self._shape.width
        embeddings = graph.input("embeddings", ("texts", "tokens", width))
        shares = graph.input("shares", ("texts", 1, "tokens"))
        states = self._normalized("embeddings.LayerNorm", embeddings)
        for number in range(self._shape.layers):
            states = self._layer(f"encoder.layer.{number}.", states)
        graph.output(graph.add("MatMul", shares, states), ("texts", 1, width))
        return graph

    def _layer(self, prefix: str, states: str) -> str:
        width, inner = self._shape.width, self._shape.inner
        context = self._attention(prefix, states)
        states = self._add_and_norm(prefix + "attention.output", context, states, width)
        hidden = self._product(prefix + "intermediate.dense", states, inner, width)
        bias = self._constant(f"{prefix}intermediate.dense.bias", inner)
        hidden = self._graph.add("BiasGelu", hidden, bias, domain=FUSED)
        return self._add_and_norm(prefix + "output", hidden, states, inner)

    def _attention(self, prefix: str, states: str) -> str:
        width, heads = self._shape.width, self._shape.heads
        names = [f"{prefix}attention.self.{name}" for name in ("query", "key", "value")]
        biases = np.concatenate([self._weights.get(f"{name}.bias", width) for name in names])
        bias = self._graph.constant(biases)
        maps = [self._product(name, states, width, width) for name in names]
        return self._graph.add("MultiHeadAttention", *maps, bias, domain=FUSED, num_heads=heads)

    def _add_and_norm(self, prefix: str, values: str, states: str, inputs: int) -> str:
        """Map the values linearly, add the states, and normalise."""
        # In three steps, because the combined operator takes three times as long.
        width = self._shape.width
        mapped = self._product(f"{prefix}.dense", values, width, inputs)
        mapped = self._graph.add("Add", mapped, self._constant(f"{prefix}.dense.bias", width))
        return self._normalized(f"{prefix}.LayerNorm", self._graph.add("Add", mapped, states))

    def _normalized(self, name: str, values: str) -> str:
        pair = self._pair(name, self._shape.width)
        return self._graph.add("LayerNormalization", values, *pair, epsilon=self._shape.epsilon)

    def _product(self, name: str, values: str, outputs: int, inputs: int) -> str:
        """Map the values linearly, without the bias."""
        quantized = self._weights.quantized(f"{name}.weight", outputs, inputs)
        if quantized is not None:
            return self._quantized_product(quantized, values)
        weights = self._weights.get(f"{name}.weight", outputs, inputs)
        return self._graph.add("MatMul", values, self._graph.constant(weights.T))

    def _quantized_product(self, weights: QuantizedMatrix | EightBitMatrix, values: str) -> str:
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
            bits=weights.bits,
            block_size=weights.block,
            accuracy_level=_EIGHT_BITS,
        )

    def _pair(self, name: str, size: int) -> tuple[str, str]:
        return self._constant(f"{name}.weight", size), self._constant(f"{name}.bias", size)

    def _constant(self, name: str, size: int) -> str:
        return self._graph.constant(self._weights.get(name, size))


_ERRORS_ONLY = 3


class OnnxNetwork:
    """An onnxruntime session with the graph of an encoder. Its threads do not spin-wait: on a busy machine,
    spinning costs more time than it saves.

    A session with one thread computes in the caller's thread. Several threads may use the session at the same
    time.
    """

    def __init__(self, graph: Graph, threads: int) -> None:
        # Without this, importing onnxruntime would write a device identifier and an event queue to the user's
        # cache.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = _ERRORS_ONLY
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(array) for array in graph.constants.values()]
        options.add_external_initializers(list(graph.constants), values)
        self._session: Any = onnxruntime.InferenceSession(
            graph.to_bytes(), options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, embeddings: Matrix, lengths: NDArray[np.int32], shares: Matrix) -> Matrix:
        """Return the pooled vectors, ``(texts, width)``; see `EncoderGraph` for the arguments.

        Raises ValueError if a text is padded.
        """
        if lengths.min() < embeddings.shape[1]:
            raise ValueError("texts with a different number of tokens have to be computed separately")
        pooled: Matrix = self._session.run(None, {"embeddings": embeddings, "shares": shares})[0]
        return pooled[:, 0]


IR_VERSION = 10
OPSET = 20
FUSED = "com.microsoft"
"""Domain of the operators that onnxruntime adds to the standard operators."""

_ELEMENTS = {"float32": 1, "uint8": 2}
_EXTERNAL = 1
_ANYWHERE = "constants"
"""Name of the file in which the graph expects its constants. There is no such file: the constants are passed
in memory."""

_Field = tuple[int, int | float | str | bytes]
Attribute = int | float | str


class Graph:
    """A graph under construction. ``constants`` contains its weights by name; the session gets them
    separately."""

    def __init__(self) -> None:
        self.constants: dict[str, NDArray[np.generic]] = {}
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._nodes: list[bytes] = []

    def input(self, name: str, shape: Sequence[int | str]) -> str:
        """Declare an input and return its name. Variable dimensions are given by name."""
        self._inputs.append(_value(name, shape))
        return name

    def output(self, name: str, shape: Sequence[int | str]) -> None:
        """Declare that the value ``name`` is an output."""
        self._outputs.append(_value(name, shape))

    def constant(self, array: NDArray[np.generic]) -> str:
        """Add a constant and return its name."""
        name = f"constant{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array)
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Add a node with one output and return the output's name. An empty input name stands for an omitted
        input."""
        name = f"value{len(self._nodes)}"
        self._nodes.append(
            _message(
                *((1, value) for value in inputs),
                (2, name),
                (4, operator),
                *((5, _attribute(key, value)) for key, value in attributes.items()),
                (7, domain),
            )
        )
        return name

    def to_bytes(self) -> bytes:
        """Return the graph as a serialized ONNX model, without its constants."""
        graph = _message(
            *((1, node) for node in self._nodes),
            (2, "encoder"),
            *((5, _tensor(name, array)) for name, array in self.constants.items()),
            *((11, value) for value in self._inputs),
            *((12, value) for value in self._outputs),
        )
        opsets = [_message((1, domain), (2, version)) for domain, version in (("", OPSET), (FUSED, 1))]
        return _message((1, IR_VERSION), (7, graph), *((8, opset) for opset in opsets))


def _tensor(name: str, array: NDArray[np.generic]) -> bytes:
    """Return the description of a constant whose data is stored elsewhere."""
    places = {"location": _ANYWHERE, "offset": "0", "length": str(array.nbytes)}
    return _message(
        *((1, length) for length in array.shape),
        (2, _ELEMENTS[array.dtype.name]),
        (8, name),
        *((13, _message((1, key), (2, value))) for key, value in places.items()),
        (14, _EXTERNAL),
    )


def _value(name: str, shape: Sequence[int | str]) -> bytes:
    lengths = [_message((1 if isinstance(length, int) else 2, length)) for length in shape]
    tensor = _message((1, _ELEMENTS["float32"]), (2, _message(*((1, length) for length in lengths))))
    return _message((1, name), (2, _message((1, tensor))))


def _attribute(name: str, value: Attribute) -> bytes:
    field, kind = {int: (3, 2), float: (2, 1), str: (4, 3)}[type(value)]
    return _message((1, name), (field, value), (20, kind))


def _message(*fields: _Field) -> bytes:
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: int | float | str | bytes) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(number: int) -> bytes:
    """Encode a non-negative number in groups of seven bits per byte, lowest group first."""
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*data, number))
