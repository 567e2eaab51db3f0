"""Frames between the daemon, the semantic worker and the worker's processes: a header and arrays.

Frames have the format of `vaultseek.base.child_process`. The header's ``arrays`` gives the type and shape of
each array; the payload contains the arrays' bytes, in little-endian order.
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from vaultseek.base import child_process
from vaultseek.base.model import JSON
from vaultseek.errors import FrameLost, VaultseekError, WorkerUnavailable, error_classes

Array = NDArray[Any]
_TYPES: dict[str, np.dtype[Any]] = {"f4": np.dtype("<f4"), "i8": np.dtype("<i8")}


@dataclass(frozen=True, slots=True)
class Frame:
    """One message: a JSON object with its float32 and int64 arrays."""

    header: JSON
    arrays: tuple[Array, ...] = field(default=())


def parts_of(header: JSON, arrays: Sequence[Array] = ()) -> tuple[JSON, bytes]:
    """Return the two parts of a frame: the header, which describes ``arrays``, and the payload, which
    contains their bytes."""
    descriptions = []
    parts = []
    for array in arrays:
        name = "f4" if array.dtype.kind == "f" else "i8"
        descriptions.append([name, list(array.shape)])
        parts.append(np.ascontiguousarray(array, dtype=_TYPES[name]).tobytes())
    return {**header, "arrays": descriptions}, b"".join(parts)


def pack(header: JSON, arrays: Sequence[Array] = ()) -> bytes:
    """Return the bytes of a frame. Raises `FrameTooLarge` if the receiver would refuse it."""
    return child_process.pack(*parts_of(header, arrays))


def read(stream: BinaryIO) -> Frame | None:
    """Return the next frame, or None at the end of the stream. Raises `FrameLost` if the stream is broken."""
    frame = child_process.read(stream)
    return None if frame is None else frame_of(*frame)


async def read_async(stream: asyncio.StreamReader) -> Frame | None:
    """Return the next frame from an asyncio stream; see `read`."""
    try:
        prefix = await stream.readexactly(child_process.PREFIX.size)
        head, payload = child_process.lengths_of(prefix)
        data = await stream.readexactly(head + payload)
    except asyncio.IncompleteReadError as error:
        if not error.partial and error.expected == child_process.PREFIX.size:
            return None
        raise FrameLost("the semantic worker's message was cut off") from None
    return frame_of(*child_process.parse(data[:head], data[head:], payload))


def error_of(header: JSON) -> VaultseekError:
    """Convert the error in the header of an answer to an exception."""
    kind = error_classes().get(header["error"], WorkerUnavailable)
    error = kind(header.get("message", "the semantic worker failed"))
    error.cause, error.advice = header.get("cause"), header.get("advice")
    return error


def frame_of(header: JSON, payload: bytes) -> Frame:
    """Decode a frame's header and payload. Raises `FrameLost`."""
    try:
        arrays = []
        offset = 0
        for name, shape in header.pop("arrays"):
            dtype = _TYPES[name]
            if min(shape, default=0) < 0:
                raise ValueError("negative length")
            size = math.prod(shape) * dtype.itemsize
            arrays.append(np.frombuffer(payload[offset : offset + size], dtype=dtype).reshape(shape))
            offset += size
        if offset != len(payload):
            raise ValueError("lengths differ")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise FrameLost("a message from the semantic worker cannot be read") from None
    return Frame(header, tuple(arrays))
