"""Writing ONNX models as bytes: the few fields of the format that the graph of an encoder needs.

The format is a protocol buffer: each field is a number, a type of encoding, and a value. The numbers are
those of ``onnx.proto``.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

IR_VERSION = 10
OPSET = 20
FUSED = "com.microsoft"
"""Domain of the operators that onnxruntime adds to the standard ones."""

_ELEMENTS = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
_EXTERNAL = 1
_ANYWHERE = "constants"
"""Name of the file that would hold the constants; they are handed over in memory instead."""

_Field = tuple[int, int | float | str | bytes]
Attribute = int | float | str


class Graph:
    """A graph under construction. ``constants`` are its weights by name; the session gets them separately."""

    def __init__(self) -> None:
        self.constants: dict[str, NDArray[np.generic]] = {}
        self._inputs: list[bytes] = []
        self._outputs: list[bytes] = []
        self._nodes: list[bytes] = []

    def input(self, name: str, shape: Sequence[int | str], element: str = "float32") -> str:
        """Declare an input and return its name. A length that varies has a name."""
        self._inputs.append(_value(name, shape, element))
        return name

    def output(self, name: str, shape: Sequence[int | str]) -> None:
        """Declare that the value ``name`` is an output."""
        self._outputs.append(_value(name, shape, "float32"))

    def constant(self, array: NDArray[np.generic]) -> str:
        """Add a constant and return its name."""
        name = f"constant{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(array)
        return name

    def add(self, operator: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Add a node with one output and return the name of that. An input left out is empty."""
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
        """Return the model."""
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
    """Return the description of a constant whose data is elsewhere."""
    places = {"location": _ANYWHERE, "offset": "0", "length": str(array.nbytes)}
    return _message(
        *((1, length) for length in array.shape),
        (2, _ELEMENTS[array.dtype.name]),
        (8, name),
        *((13, _message((1, key), (2, value))) for key, value in places.items()),
        (14, _EXTERNAL),
    )


def _value(name: str, shape: Sequence[int | str], element: str) -> bytes:
    lengths = [_message((1 if isinstance(length, int) else 2, length)) for length in shape]
    tensor = _message((1, _ELEMENTS[element]), (2, _message(*((1, length) for length in lengths))))
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
    """Return a number that is not negative, seven bits a byte, the lowest first."""
    data = bytearray()
    while number > 0x7F:
        data.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*data, number))
