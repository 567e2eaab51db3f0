"""Framing between daemon and semantic worker: a JSON header and raw arrays, little-endian, no pickle.

A frame is a magic number, the lengths of header and arrays, the header as UTF-8 JSON (an object whose
``arrays`` has the type and shape of each array), then the bytes of the arrays.
"""

from __future__ import annotations

import asyncio
import json
import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from vaultseek.base import limits
from vaultseek.base.model import JSON
from vaultseek.errors import FrameLost, FrameTooLarge

Array = NDArray[Any]
_PREFIX = struct.Struct("<4sII")
_MAGIC = b"vsw1"
_TYPES: dict[str, np.dtype[Any]] = {"f4": np.dtype("<f4"), "i8": np.dtype("<i8")}


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: a JSON object and the float32 and int64 arrays that belong to it."""

    header: JSON
    arrays: tuple[Array, ...] = field(default=())


def pack(header: JSON, arrays: Sequence[Array] = ()) -> bytes:
    """Return the bytes of a frame. Raises `FrameTooLarge` if the other side would refuse it."""
    descriptions = []
    parts = []
    for array in arrays:
        name = "f4" if array.dtype.kind == "f" else "i8"
        descriptions.append([name, list(array.shape)])
        parts.append(np.ascontiguousarray(array, dtype=_TYPES[name]).tobytes())
    head = json.dumps({**header, "arrays": descriptions}, separators=(",", ":")).encode("ascii")
    payload = b"".join(parts)
    _check_lengths(len(head), len(payload))
    return _PREFIX.pack(_MAGIC, len(head), len(payload)) + head + payload


def read(stream: BinaryIO) -> Frame | None:
    """Return the next frame, or None at the end of the stream. Raises `FrameLost` if the stream is broken."""
    prefix = stream.read(_PREFIX.size)
    if not prefix:
        return None
    head, payload = _lengths(prefix)
    data = stream.read(head + payload)
    return _frame(data[:head], data[head:], payload)


async def read_async(stream: asyncio.StreamReader) -> Frame | None:
    """Return the next frame of an asyncio stream, as `read` does."""
    try:
        prefix = await stream.readexactly(_PREFIX.size)
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        raise FrameLost("the semantic worker was cut off in the middle of a message") from None
    head, payload = _lengths(prefix)
    try:
        data = await stream.readexactly(head + payload)
    except asyncio.IncompleteReadError:
        raise FrameLost("the semantic worker was cut off in the middle of a message") from None
    return _frame(data[:head], data[head:], payload)


def _lengths(prefix: bytes) -> tuple[int, int]:
    if len(prefix) < _PREFIX.size:
        raise FrameLost("a message of the semantic worker's pipe was cut off")
    magic, head, payload = _PREFIX.unpack(prefix)
    if magic != _MAGIC:
        raise FrameLost("the semantic worker's pipe carries something that is not a message")
    try:
        _check_lengths(head, payload)
    except FrameTooLarge as error:
        raise FrameLost(str(error)) from None
    return head, payload


def _check_lengths(head: int, payload: int) -> None:
    if head > limits.WORKER_HEADER_BYTES or payload > limits.WORKER_PAYLOAD_BYTES:
        raise FrameTooLarge("a message to or from the semantic worker is too large")


def _frame(head: bytes, payload: bytes, expected: int) -> Frame:
    try:
        header = json.loads(head)
        arrays = []
        offset = 0
        for name, shape in header.pop("arrays"):
            dtype = _TYPES[name]
            if min(shape, default=0) < 0:
                raise ValueError("negative length")
            size = math.prod(shape) * dtype.itemsize
            arrays.append(np.frombuffer(payload[offset : offset + size], dtype=dtype).reshape(shape))
            offset += size
        if offset != expected or len(payload) != expected:
            raise ValueError("lengths differ")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise FrameLost("a message of the semantic worker's pipe cannot be read") from None
    return Frame(header, tuple(arrays))
