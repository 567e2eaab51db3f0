"""Reader of a packed encoder: one file with the sizes, the vocabulary and the tensors of a BERT model.

All numbers are little-endian. The file contains, in this order:

1. ``E5S1``, a version, seven sizes (width, layers, heads, inner width, tokens, positions, token types), the
  epsilon of the norms, and the size of a block of four-bit numbers;
2. the number of pieces, the tokens for begin, end, padding and unknown pieces, and the length of all pieces
  in bytes; the start of each piece, and the end of the last one; a score for each piece; the pieces in UTF-8;
3. the number of characters to be replaced, and the number of bytes that follow; for each, the character, the
  number of characters that replace it, and these characters;
4. the number of tensors; for each, its name, type (0 for float32, 1 for four bits), number of values,
  position, and length in bytes.

Only known files are read: `packed.py` first verifies the digest of the whole file.
"""

from __future__ import annotations

import struct
from array import array
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vaultseek.semantic.models.metadata import BertShape
from vaultseek.semantic.models.unigram import Pieces, Vocabulary

_QUANTIZED = 1
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
"""Names of BERT's tensors, mapped to their names in the file."""
WORDS = "emb.word"
"""Name of the tensor with the token vectors."""


class _Place(NamedTuple):
    kind: int
    length: int
    start: int
    size: int


class PackedFile:
    """The contents of a packed encoder.

    Like `Weights`, ``get`` and ``rows`` use the tensor names of BERT models.
    """

    def __init__(self, data: bytes | bytearray) -> None:
        self._data = memoryview(data)
        self._at = 0
        _, _, *sizes, epsilon, _ = self._unpack(_HEADER)
        width, layers, heads, inner, self.tokens, self.positions, self._kinds = sizes
        self.shape = BertShape(width, inner, heads, layers, epsilon)
        self.vocabulary = self._vocabulary()
        self._places = self._directory()

    def words(self, file: Path) -> QuantizedMatrix:
        """Return the token vectors, ``(tokens, width)``, which stay in the packed ``file``."""
        place = self._places[WORDS]
        data = np.memmap(file, np.uint8, "r", place.start, (place.size,))
        return QuantizedMatrix(data.data, self.tokens, self.shape.width)

    def rows(self, name: str) -> int:
        """Return the number of rows of an embedding table. Raises KeyError for other tensors."""
        counts: dict[str, int] = {"emb.pos": self.positions, "emb.type": self._kinds}
        return counts[_NAMES[name]]

    def get(self, name: str, *shape: int) -> NDArray[np.float32]:
        """Return the tensor that BERT models call ``name``, as float32."""
        short = _short_name(name)
        if self._places[short].kind == _QUANTIZED:
            rows, width = shape
            return self._matrix(short, rows, width)[:]
        return np.frombuffer(self._bytes_of(short), "<f4").astype(np.float32).reshape(shape)

    def quantized(self, name: str, rows: int, width: int) -> QuantizedMatrix | None:
        """Return the packed weights that BERT models call ``name``; None if they are stored in full
        precision."""
        short = _short_name(name)
        return self._matrix(short, rows, width) if self._places[short].kind == _QUANTIZED else None

    def _matrix(self, name: str, rows: int, width: int) -> QuantizedMatrix:
        return QuantizedMatrix(self._bytes_of(name), rows, width)

    def _bytes_of(self, name: str) -> memoryview:
        place = self._places[name]
        return self._data[place.start : place.start + place.size]

    # The parts of the file in order

    def _vocabulary(self) -> Vocabulary:
        count, begin, end, _, unknown, size = self._unpack(_VOCABULARY)
        edges = array("I", np.frombuffer(self._take(4 * (count + 1)), "<u4").astype("=u4").tobytes())
        scores = np.frombuffer(self._take(4 * count), "<f4")
        pieces = Pieces(bytes(self._take(size)), edges)
        return Vocabulary(pieces, array("f", scores.tobytes()), begin, end, unknown, self._replacements())

    def _replacements(self) -> dict[int, str]:
        count, _ = self._unpack(struct.Struct("<iI"))
        replacements = {}
        for _ in range(count):
            character, length = self._unpack(struct.Struct("<IB"))
            replacements[character] = bytes(self._take(4 * length)).decode("utf-32-le")
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
        self._at += size
        return self._data[self._at - size : self._at]


def _short_name(name: str) -> str:
    """Return the name under which the file stores a BERT tensor."""
    if name in _NAMES:
        return _NAMES[name]
    owner, _, part = name.rpartition(".")
    if owner.startswith("encoder.layer."):
        number, _, place = owner.removeprefix("encoder.layer.").partition(".")
        return f"l{number}.{_NAMES[place]}.{part[0]}"
    return f"{_NAMES[owner]}.{part[0]}"


BLOCK = 32
"""Number of values that share a scale."""
BLOCK_BYTES = 2 + BLOCK // 2
_ZERO = 8


class QuantizedMatrix:
    """A matrix ``(rows, width)`` of four-bit numbers; rows are returned as float32."""

    bits, block = 4, BLOCK

    def __init__(self, data: memoryview | bytes, rows: int, width: int) -> None:
        self._blocks = np.frombuffer(data, np.uint8).reshape(rows, width // BLOCK, BLOCK_BYTES)
        self.shape = (rows, width)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: NDArray[Any] | slice) -> NDArray[np.float32]:
        """Return rows by their numbers, an array of any shape; the result is ``(*rows.shape, width)``."""
        blocks = self._blocks[rows]
        numbers = _numbers(blocks).astype(np.float32) - _ZERO
        return (numbers * _scales(blocks)).reshape(*blocks.shape[:-2], self.shape[1])

    def interleaved(self) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
        """Return the four-bit numbers and their scales. Each byte has two adjacent numbers, the first in its
        lower half.

        Shapes are ``(rows, blocks, 16)`` and ``(rows * blocks,)``, as onnxruntime's ``MatMulNBits`` reads
        them.
        """
        numbers = _numbers(self._blocks)
        pairs: NDArray[np.uint8] = numbers[..., 0::2] | numbers[..., 1::2] << np.uint8(4)
        return pairs, _scales(self._blocks).ravel()


def _scales(blocks: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)


def _numbers(blocks: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the four-bit numbers, from 0 to 15, in order."""
    pairs = blocks[..., 2:]
    return np.concatenate((pairs & 0x0F, pairs >> 4), axis=-1)
