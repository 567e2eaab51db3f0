"""Reading the tensors of a safetensors file from its bytes, without copying them.

The file is an eight-byte length, a JSON object with type, shape and place of each tensor, and their numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaultseek.base import limits

_PREFIX = 8
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8"}


class Weights:
    """The tensors of a file by name, as float32. Raises ValueError if the file is damaged."""

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

    def get(self, name: str, *shape: int) -> NDArray[np.float32]:
        """Return the tensor ``name``.

        Raises:
            KeyError: there is no such tensor.
            ValueError: its shape or size is wrong.
        """
        place = self._places[name]
        try:
            lengths = [int(length) for length in place["shape"]]
            begin, end = (int(offset) for offset in place["data_offsets"])
            kind = np.dtype(_TYPES[place["dtype"]])
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"the tensor {name} is described in a way that is not known") from None
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
        """Return None: no tensor has four bits."""

    def rows(self, name: str) -> int:
        """Return the number of rows of the tensor ``name``. Raises KeyError or ValueError, as `get` does."""
        try:
            return int(self._places[name]["shape"][0])
        except (TypeError, IndexError, ValueError, AttributeError):
            raise ValueError(f"the tensor {name} is described in a way that is not known") from None
