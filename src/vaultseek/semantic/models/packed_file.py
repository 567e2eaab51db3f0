"""Reading a packed encoder: one file with the sizes, the vocabulary and the tensors of a BERT model.

All numbers are little-endian. In this order, the file has:

1. ``E5S1``, a version, seven sizes (width, layers, heads, inner width, tokens, positions, kinds of text), the
   epsilon of the norms, and the size of a block of four-bit numbers;
2. the number of pieces, the tokens of begin, end, padding and the unknown, and the length of all pieces in
   bytes; where each piece begins, and where the last one ends; a score for each; the pieces in UTF-8;
3. the number of characters to be replaced and the bytes that follow; for each the character, the number of
   those in its place, and these;
4. the number of tensors; for each its name, kind (0 for float32, 1 for four bits), count of numbers, place
   and length in bytes.

The file is untrusted: whatever it says of sizes and places is checked against its length.
"""

from __future__ import annotations

import math
import struct
from array import array
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.models.metadata import BertShape
from vaultseek.semantic.models.unigram import Vocabulary

MAGIC = b"E5S1"
VERSION = 1
LEAST_POSITIONS = 3
"""A token between those of begin and end."""
_FLOATS, _QUANTIZED = 0, 1
_HEADER = struct.Struct("<4sI7ifi")
_VOCABULARY = struct.Struct("<5iQ")
_NAMES = {
    "embeddings.position_embeddings.weight": "emb.pos",
    "embeddings.token_type_embeddings.weight": "emb.type",
    "embeddings.LayerNorm": "emb.ln",
    "attention.self.query": "q",
    "attention.self.key": "k",
    "attention.self.value": "v",
    "attention.output.dense": "ao",
    "attention.output.LayerNorm": "aln",
    "intermediate.dense": "fi",
    "output.dense": "fo",
    "output.LayerNorm": "oln",
}
"""Names of BERT's tensors, and those in the file."""
WORDS = "emb.word"
"""Tensor with the vectors of the tokens."""


class _Place(NamedTuple):
    kind: int
    length: int
    start: int
    size: int


class PackedFile:
    """The contents of a packed encoder. Raises ValueError if ``data`` is damaged.

    ``get`` and ``rows`` know the tensors by the names that BERT models give them, as `Weights` does.
    """

    def __init__(self, data: bytes | bytearray) -> None:
        self._data = memoryview(data)
        self._at = 0
        magic, version, *sizes, epsilon, block = self._unpack(_HEADER)
        if magic != MAGIC or version != VERSION or block != BLOCK:
            raise ValueError("it is not a packed encoder of a known version")
        width, layers, heads, inner, self.tokens, self.positions, self._kinds = sizes
        config = dict(
            zip(
                ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
                (width, layers, heads, inner),
                strict=True,
            )
        )
        if min(self.tokens, self._kinds) < 1 or self.positions < LEAST_POSITIONS:
            raise ValueError("it has no tokens, positions or kinds of text")
        if not 0 < epsilon < 1:
            raise ValueError(f"the epsilon of the norms is {epsilon}")
        self.shape = BertShape.from_config({**config, "layer_norm_eps": epsilon})
        self.vocabulary = self._vocabulary()
        if not len(self.vocabulary.pieces) <= self.tokens:
            raise ValueError("it has more pieces than tokens")
        self._places = self._directory()

    def words(self) -> QuantizedMatrix:
        """Return the vectors of the tokens: ``(tokens, width)``."""
        return self._matrix(WORDS, self.tokens, self.shape.width)

    def rows(self, name: str) -> int:
        """Return the number of rows of one of the tables of embeddings. Raises KeyError."""
        counts: dict[str, int] = {"emb.pos": self.positions, "emb.type": self._kinds}
        return counts[_NAMES[name]]

    def get(self, name: str, *shape: int) -> NDArray[np.float32]:
        """Return the tensor that BERT models call ``name``.

        Raises:
            KeyError: there is no such tensor.
            ValueError: its size or place is wrong.
        """
        short = _short_name(name)
        place = self._place(short)
        if place.kind == _QUANTIZED:
            rows, width = shape
            return self._matrix(short, rows, width)[:]
        if place.kind != _FLOATS or place.length != math.prod(shape) or place.size != 4 * place.length:
            raise ValueError(f"the tensor {short} has {place.length} numbers, not {shape}")
        return np.frombuffer(self._bytes_at(place, short), "<f4").astype(np.float32).reshape(shape)

    def quantized(self, name: str, rows: int, width: int) -> QuantizedMatrix | None:
        """Return the weights that BERT models call ``name`` as they are; None if they have all their bits."""
        short = _short_name(name)
        return self._matrix(short, rows, width) if self._place(short).kind == _QUANTIZED else None

    def _matrix(self, name: str, rows: int, width: int) -> QuantizedMatrix:
        place = self._place(name)
        if place.kind != _QUANTIZED or place.length != rows * width:
            raise ValueError(f"the tensor {name} has {place.length} numbers, not {rows} x {width}")
        try:
            return QuantizedMatrix(self._bytes_at(place, name), rows, width)
        except ValueError as error:
            raise ValueError(f"the tensor {name}: {error}") from None

    def _place(self, name: str) -> _Place:
        if name not in self._places:
            raise KeyError(f"it has no tensor {name}")
        return self._places[name]

    def _bytes_at(self, place: _Place, name: str) -> memoryview:
        data = self._data[place.start : place.start + place.size]
        if len(data) != place.size:
            raise ValueError(f"the tensor {name} is cut off")
        return data

    # The parts of the file in their order

    def _vocabulary(self) -> Vocabulary:
        count, begin, end, _, unknown, size = self._unpack(_VOCABULARY)
        if count < 1 or not all(0 <= token < count for token in (begin, end, unknown)):
            raise ValueError("the vocabulary has no tokens for begin, end or the unknown")
        starts = np.frombuffer(self._take(4 * (count + 1)), "<u4").tolist()
        scores = np.frombuffer(self._take(4 * count), "<f4")
        text = bytes(self._take(size))
        if not np.isfinite(scores).all():
            raise ValueError("the vocabulary has scores that are not finite")
        if starts[-1] > size or any(start > after for start, after in pairwise(starts)):
            raise ValueError("the vocabulary has pieces at impossible places")
        pieces = [text[start:after].decode() for start, after in pairwise(starts)]
        return Vocabulary(pieces, array("f", scores.tobytes()), begin, end, unknown, self._replacements())

    def _replacements(self) -> dict[int, str]:
        count, size = self._unpack(struct.Struct("<iI"))
        end = self._at + size
        replacements = {}
        for _ in range(count):
            character, length = self._unpack(struct.Struct("<IB"))
            replacements[character] = bytes(self._take(4 * length)).decode("utf-32-le")
        if self._at != end:
            raise ValueError("the characters to be replaced do not end where they should")
        return replacements

    def _directory(self) -> dict[str, _Place]:
        (count,) = self._unpack(struct.Struct("<i"))
        places = {}
        for _ in range(count):
            (length,) = self._unpack(struct.Struct("<H"))
            name = bytes(self._take(length)).decode()
            places[name] = _Place(*self._unpack(struct.Struct("<BIQQ")))
        return places

    def _unpack(self, fields: struct.Struct) -> tuple[Any, ...]:
        return fields.unpack(self._take(fields.size))

    def _take(self, size: int) -> memoryview:
        data = self._data[self._at : self._at + size]
        if len(data) != size:
            raise ValueError("the file is cut off")
        self._at += size
        return data


def _short_name(name: str) -> str:
    """Return the file's name of one of BERT's tensors."""
    if name in _NAMES:
        return _NAMES[name]
    owner, _, part = name.rpartition(".")
    if owner.startswith("encoder.layer."):
        number, _, place = owner.removeprefix("encoder.layer.").partition(".")
        return f"l{number}.{_NAMES[place]}.{part[0]}"
    return f"{_NAMES[owner]}.{part[0]}"


BLOCK = 32
"""Numbers that share a scale."""
BLOCK_BYTES = 2 + BLOCK // 2
_ZERO = 8


class QuantizedMatrix:
    """A matrix ``(rows, width)`` that stays in four bits; rows are given as float32. Copies ``data``.

    Raises ValueError if ``data`` has another size than such a matrix, or the width is no multiple of 32.
    """

    def __init__(self, data: memoryview | bytes, rows: int, width: int) -> None:
        if width % BLOCK or len(data) != rows * width // BLOCK * BLOCK_BYTES:
            raise ValueError(f"a matrix of {rows} x {width} numbers does not have {len(data)} bytes")
        blocks = np.frombuffer(data, np.uint8).reshape(rows, width // BLOCK, BLOCK_BYTES)
        self._blocks = blocks.copy()
        self.shape = (rows, width)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[Any] | slice) -> NDArray[np.float32]:
        """Return rows by their numbers, an array of any shape: ``(*rows.shape, width)``."""
        blocks = self._blocks[rows]
        numbers = _numbers(blocks).astype(np.float32) - _ZERO
        return (numbers * _scales(blocks)).reshape(*blocks.shape[:-2], self.shape[1])

    def interleaved(self) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Return the numbers in pairs of neighbours, the first in the lower half of a byte, and the scales.

        Shapes are ``(rows, blocks, 16)`` and ``(rows * blocks,)``, as onnxruntime's ``MatMulNBits`` reads
        them.
        """
        numbers = _numbers(self._blocks)
        pairs: NDArray[np.uint8] = numbers[..., 0::2] | numbers[..., 1::2] << np.uint8(4)
        return pairs, _scales(self._blocks).ravel()


def _scales(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)


def _numbers(blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the numbers in their order, from 0 to 15."""
    pairs = blocks[..., 2:]
    return np.concatenate((pairs & 0x0F, pairs >> 4), axis=-1)
