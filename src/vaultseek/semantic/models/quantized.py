"""Matrices of four-bit numbers in blocks of 32, each block with a scale, as llama.cpp's Q4_0 lays them out.

A block takes 18 bytes: a scale as float16, and 16 bytes of two numbers each. The lower halves of these bytes
are the first 16 numbers, the upper halves the other 16; 8 stands for zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

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
